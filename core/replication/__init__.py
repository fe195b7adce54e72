"""Replication of partitions: followers pull batches from leaders, and leaders learn what followers have.

A follower's log is `replica.py`; `roles.py` makes a leader of a follower and the other way round. One session a pair of
nodes serves all partitions: `pulling.py` is its follower's end, `serving.py` its leader's, `messages.py` what goes
between them. Who is in sync is watched in `insync.py`. What a leader makes of it for publishers and readers is not
here but in `partition/`; who leads is decided in `cluster/`. Start at `replication.py`.
"""
