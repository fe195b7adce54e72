"""The core: one node of GoQueue as pure state machines.

Here lives every decision the broker takes: what a batch is, where a log rolls, what is kept and what goes. Nothing
here reads a clock, opens a file or a socket, starts a thread or draws a random number: time, bytes and seeds come in
as arguments, and effects go out as data (`ready.py`). Start at `records/batch.py` (the format), then `log/log.py`.
"""
