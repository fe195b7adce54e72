"""Raft: how a few voters agree on one log of entries, whatever becomes of letters, disks and nodes.

What the entries mean is not known here, nor are files, sockets or clocks: time comes with every call, letters and what
is to be kept go out as lists. `core/cluster/agreement.py` binds it to the metadata log. Start at `quorum.py`; each role
is a class of its own (`follower.py`, `candidate.py`, `leader.py`); `docs/adr/0008-quorum.md` says what was decided.
"""
