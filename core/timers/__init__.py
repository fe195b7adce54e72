"""Time in the core: alarms by key, the timing wheel of many keys, and pauses that grow.

Nothing here reads a clock; `now` is an argument.
"""
