"""What all nodes agree on: topics and their settings, as records of one metadata log.

A request is planned into records by `plan.py`, which reads and changes nothing; `apply.py` is the only place where the
agreed state changes, live and at a start alike. Not here: how the log is agreed on, and what a partition does with its
batches (`partition/`). Start at `records.py`.
"""
