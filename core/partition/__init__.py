"""A partition as its leader sees it: who may append, when it is acknowledged, what readers may see.

It stands on `goqueue.core.log` and adds the requests of clients to it. Which partition a message goes to is in
`partitioners.py`, whether a producer's batch is the one that comes next in `producers.py`, the newest batches in memory
in `recent.py`. Not here: which topics there are (`cluster/`). Start at `partition.py`.
"""
