"""A running cluster as a source: topics by ranges of offsets or times, read over gRPC, at once or as a stream.

Batches come as they are stored and are parsed by `goqueue.spark.records`; whom to ask is known by the client library.
"""
