"""The log: an append-only sequence of record batches with offsets of its own, as decisions without I/O.

Here is decided where a batch lands, when a segment rolls, what the indexes say, what retention and compaction remove
and what a checkpoint claims. The effects go out as data (`effects.py`) and `goqueue.storage` does them. Not here:
bytes of a batch (`records/`), files and threads (`storage/`), who may append (`partition/`). Start at `log.py`.
"""
