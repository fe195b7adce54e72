"""Fuzzing: what is thrown at the product to see whether it holds.

`bytes/` throws bytes at everything that parses them, guided by coverage. `sim.py` runs whole worlds, drawn from a
seed (`case.py`): nodes on simulated machines (`process.py`), letters between them (`post.py`), clients (`workloads/`)
on a network (`network.py`), faults (`trouble.py`, `calamities.py`), known bugs (`plants/`), and what must hold
whatever happens (`checkers/`). `command.py` is `goqueue sim`. What clients saw is a history: `scribing/` writes it in
simulated worlds, and `chaos/`, which is `goqueue chaos`, over real brokers; `histories/` judges either. No broker runs
any of this, and no package of the product imports it. Start at `bytes/__main__.py` or at `world.py`.
"""
