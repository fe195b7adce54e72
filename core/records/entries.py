"""A key and a value each: what the broker's own streams consist of, as batches and back.

A value of None says that a key has none any more. Not here: what keys and values mean, which is their room's business.
"""

from collections.abc import Iterable, Iterator

from goqueue.core.records.batch import validate
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable

Entry = tuple[bytes, bytes | None]

BATCH_BYTES = 1 << 20


def entries_in(batches: Readable) -> Iterator[Entry]:
    """The entries of some batches. Raises BatchError where they are damaged."""
    at = 0
    while at < len(batches):
        size = validate(batches, at, compacted=True).size
        for record in iterate(batches[at : at + size]):
            yield bytes(record.key or b""), None if record.value is None else bytes(record.value)
        at += size


def batches_of(wall_ms: int, entries: Iterable[Entry]) -> list[bytearray]:
    """Entries as batches of about a megabyte at most; one entry is never cut."""
    batches: list[bytearray] = []
    records: list[tuple[int, bytes, bytes | None, tuple[()]]] = []
    size = 0
    for key, value in entries:
        records.append((wall_ms, key, value, ()))
        size += len(key) + len(value or b"")
        if size >= BATCH_BYTES:
            batches.append(encode(records))
            records, size = [], 0
    if records:
        batches.append(encode(records))
    return batches
