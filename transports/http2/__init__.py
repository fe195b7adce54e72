"""HTTP/2 as a state machine: bytes and time in, bytes and news of streams out, for servers and clients.

No socket, clock or task lives here; those are in `goqueue.transports.trio_http2`. The protocol's tables are h2's. Start
at `connection.py`, whose `Connection` a driver feeds, then `stream.py`, which is what a request's server sees;
`limits.py` holds every bound, `engine.py` where we differ from h2.
"""
