"""Bugs that somebody might really write, each of which breaks a promise: a simulator that finds nothing proves nothing.

One file for each area of the product. A plant (`plant.py`) changes one place of the product while a world is run, in
this process only. Each shows in narrow worlds of its own (`lone.py`, `clusters.py`), which is a test, and `goqueue sim
--planted` looks for each among the worlds that anybody gets. Nothing of it is imported until somebody asks for a plant.
Start at `catalogue.py`.
"""

from goqueue.fuzz.plants.catalogue import planted, plants

__all__ = ["planted", "plants"]
