"""What nodes write to each other, as bytes: every kind of letter under its number, and the few kept small by hand.

Not here: what the letters mean (`core/quorum`, `core/replication`, `core/routing`, `core/cluster`), and
the connections that they go over (`transports/peers`). Begin with `codec.py`.
"""
