"""What this machine can do, measured: `goqueue bench`.

A benchmark is a list of figures. Each is taken next to the bare loop of system calls that would be its limit, in
rounds that take turns, so that both see the same machine. `command.py` is the face and the place to start reading,
`figures.py` says what a figure is, `workbench.py` what it is measured with; the other modules hold the figures, one
file a subject.

Nothing here decides anything for the product, and nothing below imports it. `docs/benchmarks.md` explains the figures.
"""
