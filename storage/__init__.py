"""Storage: does to disks what the core decided, and tells the core what came of it.

A `Disk` is the seam: `files.py` is the real one, `simulated.py` one in memory that crashes, tears, rots and fills up on
demand. Everything above the seam (layout, recovery, group commit, index look-ups) is one code for both. No decision
about records is taken here; those are in `goqueue.core.log`. Start at `disk.py`, then `store.py`.
"""
