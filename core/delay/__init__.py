"""Time as a structure: when which of a million keys comes up.

Here lives the timing wheel. Not here: what is done when a key comes up, and the schedule of delayed messages, which are
records of a partition. `core/alarms.py` does the same by a heap, and is the better choice for a handful of keys.
Start with `wheel`.
"""
