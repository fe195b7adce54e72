"""Byte fuzzing: every parser gets bytes that nobody meant to write.

A target (`targets/`) is a pure check of some bytes, with seeds to begin from and a mutation that knows the format. It
holds for any input: the parser answers or raises its one error, and what it answered is true. Two things drive targets:
atheris, guided by coverage (`child.py`, started by `session.py`), and the tests, with a few thousand mutations that are
the same every time (`mutation.py`). Not here: faults of disks, networks and clocks. Start at `target.py`.
"""
