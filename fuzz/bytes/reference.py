"""A second reader of records, as plain as the format's description, for the quick one to be compared with.

It takes one step at a time and a copy of everything, decodes each integer in the same way whatever its size, and knows
the end of each record before it looks inside. So it shares neither the shortcuts of `record.py` nor, one hopes, its
mistakes: where the two differ, one of them is wrong.
"""

from goqueue.core.records.batch import Header
from goqueue.core.records.record import Record


class Unreadable(Exception):
    """The bytes are not the records that the header speaks of."""


def read_records(header: Header, content: bytes) -> list[Record]:
    """The records in `content`, which is what follows the header, decompressed."""
    source = _Bytes(content)
    records: list[Record] = []
    previous = -1
    for _ in range(header.record_count):
        body = _Bytes(source.take(source.varint(32)))
        delta, record = _read_record(header, body)
        if not previous < delta <= header.last_offset_delta:
            raise Unreadable("offsets do not rise within the batch")
        records.append(record)
        previous = delta
    source.require_end()
    return records


def split_records(content: bytes) -> list[bytes]:
    """The bytes of each record without its length, as far as lengths can be followed."""
    source = _Bytes(content)
    bodies: list[bytes] = []
    try:
        while True:
            bodies.append(source.take(source.varint(32)))
    except Unreadable:
        return bodies


def _read_record(header: Header, body: "_Bytes") -> tuple[int, Record]:
    if body.take(1) != b"\x00":
        raise Unreadable("a record has attributes")
    elapsed = body.varint(64)
    delta = body.varint(32)
    timestamp = header.max_timestamp if header.is_append_time else header.base_timestamp + elapsed
    if not -1 <= timestamp < 1 << 63:
        raise Unreadable("a time that no record can have")
    key, value = body.field(), body.field()
    headers = tuple(_read_header(body) for _ in range(body.count()))
    body.require_end()
    return delta, Record(header.base_offset + delta, timestamp, key, value, headers)


def _read_header(body: "_Bytes") -> tuple[str, bytes | None]:
    key = body.field()
    if key is None:
        raise Unreadable("a header has no key")
    try:
        return key.decode(), body.field()
    except UnicodeDecodeError:
        raise Unreadable("a header's key is not UTF-8") from None


class _Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._content[self._at : self._at + max(size, 0)]
        if len(taken) != size:
            raise Unreadable(f"{size} bytes are wanted where {len(taken)} are")
        self._at += size
        return taken

    def varint(self, bits: int) -> int:
        groups = [self.take(1)[0]]
        while groups[-1] & 0x80 and len(groups) < 11:
            groups.append(self.take(1)[0])
        zigzagged = sum((group & 0x7F) << 7 * place for place, group in enumerate(groups))
        if zigzagged >= 1 << bits or (len(groups) > 1 and groups[-1] == 0):
            raise Unreadable("an integer is too large, or not spelled in the one way")
        return -(zigzagged + 1) // 2 if zigzagged % 2 else zigzagged // 2

    def field(self) -> bytes | None:
        size = self.varint(32)
        return None if size == -1 else self.take(size)

    def count(self) -> int:
        count = self.varint(32)
        if count < 0 or count > len(self._content):
            raise Unreadable("a count that cannot be")
        return count

    def require_end(self) -> None:
        if self._at != len(self._content):
            raise Unreadable("bytes are left over")
