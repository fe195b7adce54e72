"""GoQueue's own protocol: the .proto files, what is generated of them, and the way to and from the core's requests.

What travels is here; how it travels (HTTP/2, framing, deadlines, flow control) is in `transports`. Messages of these
classes stay at the edge: `translate.py` turns them into the core's requests and its replies back, `codec.py` turns
them into bytes. Start reading at `goqueue/v1/goqueue.proto`.
"""
