"""What a node writes for itself, read back from batches on their way to the disk.

A capture may leave the records of clients' batches out. Those of ledgers, journals and schedules the node makes itself,
and makes them again when it is told everything again.
"""

from collections.abc import Iterator

from goqueue.core.log.effects import Buffer
from goqueue.core.records.entries import Entry
from goqueue.core.records.record import iterate


def entries_of(content: Buffer) -> Iterator[Entry]:
    """The entries of one batch, in order."""
    for record in iterate(content):
        yield bytes(record.key or b""), None if record.value is None else bytes(record.value)
