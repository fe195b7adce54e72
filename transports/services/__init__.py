"""The broker's own gRPC services: the methods of goqueue.v1 as requests to a broker.

What a message means is in `goqueue.proto`, what is decided about it in `goqueue.core`, how it travels in
`goqueue.transports.grpc`. Here bytes become requests and replies become bytes, for one method or for a stream of them.
Start at `application.py`, which mounts everything. `publishing.py` and `feed.py` are the two fast paths: the latter
reads for `subscription.py` and, with `group_reading.py` between, for a group's member in `group_stream.py`. A member of
a shared group has `work_reading.py` for what is leased to it and `settling.py` for what it says of that.
"""
