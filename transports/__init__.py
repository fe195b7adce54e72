"""Transports: bytes from the network to requests of the core and back; the only room where a loop runs.

`runtime.py` is the one loop that drives a node. `listening` is a port, whatever is spoken there, and `trio_server.py`
that of clients: HTTP/1.1 (`http1`, `trio_http1.py`) and HTTP/2 (`http2`, `trio_http2.py`) bring requests, `rest` and
`grpc` serve them, `metrics` counts them. The protocols are state machines without sockets, the trio files are thin. No
decision about messages is taken here. Start at `runtime.py`, then `rest/edge.py`.
"""
