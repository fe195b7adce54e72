"""A partition as its leader sees it: who may append, when it is acknowledged, what readers may see, who waits.

It stands on `goqueue.core.log` and adds the requests of clients to it. Not here: which partition a message goes to is
`partitioners.py`, but which topics there are is `cluster/`. Start at `partition.py`.
"""
