"""Which messages of a batch have expired: those whose time to live is over, by their own word or by the topic's.

A message says it in the header `goqueue.expires`, and its batch by a bit that one of its messages may. What a message
says goes before what the topic says; of several times the earliest counts, and what is no time is as if it was not
there. Without a bit, and under a topic without a time to live, nothing is read.
"""

from goqueue.core.records.batch import Header
from goqueue.core.records.headers import EXPIRES, Headers
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable

_LETTERS_MAX = 19


def expired(batch: Readable, header: Header, wall_ms: int, ttl_ms: int = 0) -> list[int]:
    """The offsets of a batch that are past their time; `ttl_ms` is the topic's, 0 for none.

    Raises BatchError where the records cannot be read.
    """
    if not header.record_count or not (ttl_ms or header.is_expiring):
        return []
    # Here the header says how old each of them is, and nearly always that it may stay.
    is_alike = header.record_count == 1 or header.is_append_time
    if is_alike and not header.is_expiring and header.max_timestamp + ttl_ms > wall_ms:
        return []
    found: list[int] = []
    for record in iterate(batch):
        until_ms = expiry(record.headers)
        if until_ms is None and ttl_ms and record.timestamp >= 0:
            until_ms = record.timestamp + ttl_ms
        if until_ms is not None and until_ms <= wall_ms:
            found.append(record.offset)
    return found


def expiry(headers: Headers) -> int | None:
    """Until when a message with these headers is delivered, in milliseconds since 1970."""
    times = [time for name, value in headers if name == EXPIRES and (time := _read_time(value)) is not None]
    return min(times, default=None)


def _read_time(value: bytes | None) -> int | None:
    if not value or len(value) > _LETTERS_MAX or not value.isdigit():
        return None
    return int(value)
