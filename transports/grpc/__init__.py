"""gRPC over exchanges: framing, status, metadata, deadlines and the dispatch to classes that betterproto generates.

Framing, status and metadata are pure; `service.py` is the application that a server is given, `call.py` what a method
sees. GoQueue's own messages live in `goqueue.proto`, gRPC's own services in `health.py` and `reflection.py`. HTTP/2 is
`goqueue.transports.http2`. Start at `service.py`.
"""
