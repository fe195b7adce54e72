"""Record headers: ordered pairs of a string key and an optional value, behind a count, at the end of every record.

Nearly all records have none, which is the one byte that the loops of `build.py` and `record.py` deal with themselves;
what comes here has some. Keys may repeat, and order is part of the content. Not to be confused with `batch.Header`.
"""

from collections.abc import Sequence
from typing import TypeAlias

from goqueue.core.errors import BatchError
from goqueue.core.records.varint import Readable, decode_varint, encode_varint

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

EXPIRES = "goqueue.expires"
"""The header that says until when work queues deliver a record: decimal milliseconds since 1970."""

# The least that a header takes: an empty key and no value.
_HEADER_BYTES_MIN = 2


def encode_headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """The count of `headers` and then each key and value, all with their lengths."""
    parts = [encode_varint(len(headers))]
    for key, value in headers:
        try:
            spelled = key.encode()
        except UnicodeEncodeError:
            raise BatchError("header", f"The header key {key!r} has no UTF-8 form.") from None
        parts += (encode_varint(len(spelled)), spelled)
        parts += (b"\x01",) if value is None else (encode_varint(len(value)), value)
    return b"".join(parts)


def decode_headers(buffer: Readable, position: int, end: int) -> Headers:
    """The headers that fill the bytes from the count at `position` up to `end` of their record, exactly."""
    if end > len(buffer):
        raise BatchError("truncated", "The bytes end inside a record.", position=position)
    count, at = decode_varint(buffer, position)
    if not 0 <= count * _HEADER_BYTES_MIN <= end - at:
        raise BatchError("header", f"{count} headers do not fit into {end - at} bytes.", position=position)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        spelled, at = _field(buffer, at, end)
        if spelled is None:
            raise BatchError("header", "A header has no key.", position=at)
        try:
            key = spelled.decode()
        except UnicodeDecodeError:
            raise BatchError("header", "A header's key is not UTF-8.", position=at - len(spelled)) from None
        value, at = _field(buffer, at, end)
        headers.append((key, value))
    if at != end:
        raise BatchError("record", f"{end - at} bytes follow the last header of a record.", position=at)
    return tuple(headers)


def _field(buffer: Readable, position: int, end: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(buffer, position)
    if size == -1:
        return None, at
    if not 0 <= size <= end - at:
        raise BatchError("header", f"A header's field of {size} bytes does not fit into its record.", position=position)
    return bytes(buffer[at : at + size]), at + size
