"""Record batches: Kafka's RecordBatch v2, byte for byte.

The batch is the unit of everything: it travels from socket to disk to follower as bytes behind a 61-byte header, and
nobody loops over its records who need not. Here it is built, checked, stamped and read. Not here: where batches are
kept (`log/`) and who may write them. Start at `batch.py`.
"""
