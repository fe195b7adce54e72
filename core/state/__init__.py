"""The runtime for replicated state: a service keeps its state as records in a log, and rebuilds it from there.

`state_log` owns the reading, the writing and the waiting: a machine says what a record means, and what a snapshot of it
is. Not here: what the state is, and who may change it.
"""
