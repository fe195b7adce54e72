"""The client library: producers, consumers and topics over gRPC, on trio, on asyncio and on no loop at all.

The asynchronous code is written once, against the seam in `loops.py`; `trio_loop.py`, `asyncio_loop.py` and
`blocking_loop.py` are what it runs on. `channel.py` makes calls over one connection. What a client decides, batches,
retries, positions, is `goqueue.core.client` and knows no network. Start at `connection.py`.
"""
