"""Requests that another node is to carry out: whose they are, the way there and back, and what happens on the way.

Not here: the bytes of letters (`core/peers`), what leaders are (`core/cluster`), and requests that a service divides by
itself (`core/queues`, `core/deadletters`, `core/delays`). Begin with `dispatch.py`, which is what the node knows of it.
"""
