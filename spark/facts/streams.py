"""Streams by name: which topic, partition and side a folder is of."""

from functools import lru_cache

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.requests.messages import Side
from goqueue.spark.facts.listening import Stream


@lru_cache(1 << 14)
def parse_stream(name: str) -> Stream:
    """A stream from its name, such as `logs/orders/3` or `logs/orders/3/ledger`."""
    if name == METADATA_STREAM:
        return Stream(name, "", -1, None)
    _, topic, partition, *side = name.split("/")
    return Stream(name, topic, int(partition), Side(side[0]) if side else Side.DATA)
