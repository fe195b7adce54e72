"""The messages of gRPC's own services and of its error details, as .proto files and what is generated from them.

Nothing of GoQueue's own interface lives here. After a change of a .proto file run
`python -m goqueue.transports.grpc.protos.generate`; nothing else here is written by hand.
"""
