"""What clients saw, as a list of operations, and whether a correct broker may have done that.

`operation.py` says what an operation is, `form.py` how a history is written down, `recorder.py` makes one. `judge.py`
asks all checkers: those of logs (`log/`), of work queues (`queue/`) and of registers (`registers/`). None of it knows a
broker, a clock or a disk: a history of the simulator, of `goqueue chaos` and of somebody else's clients are judged
alike. Not here: who makes a history. Start at `operation.py`, then read one checker.
"""
