"""The records of a batch as what a consumer hands out, made straight from the bytes.

`records.record.iterate` decides what a batch holds. Most batches are plain: nothing is compressed, no offset is
missing, records have a value and no headers, and many are alike but for their times. For those there is a shorter way
here, which gives the same; whatever it meets that is not plain it leaves, with the whole batch, to `iterate`, errors
included.

What is made of a record is the caller's choice: `make` gets the origin, offset, timestamp, key, value and headers.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from goqueue.core.records.batch import APPEND_TIME, CODEC_MASK, HEADER_BYTES, Header
from goqueue.core.records.headers import Headers
from goqueue.core.records.record import NEAR_MAX, Record, iterate
from goqueue.core.records.varint import INT64_MAX, LENGTHS, LENGTHS_END, MEANT

T = TypeVar("T")
Origin = TypeVar("Origin")
Make: TypeAlias = Callable[[Origin, int, int, bytes | None, bytes | None, Headers], T]

# No record starts like this: its length would not end.
_NEVER = b"\xff" * 10


def made_of(record: Record, origin: Origin, make: Make[Origin, T]) -> T:
    """What is made of one record, with bytes of its own."""
    key, value = record.key, record.value
    return make(
        origin,
        record.offset,
        record.timestamp,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
        record.headers,
    )


def decode(source: bytes, at: int, header: Header, origin: Origin, make: Make[Origin, T]) -> list[T]:
    """What is made of the records of the batch at `at`, whose header this is; raises BatchError."""
    count = header.record_count
    if header.attributes & (CODEC_MASK | APPEND_TIME) == 0:
        is_inside = NEAR_MAX <= header.base_timestamp <= INT64_MAX - NEAR_MAX
        if count == header.last_offset_delta + 1 <= LENGTHS_END and is_inside:
            made = _plain(source, at, header, origin, make)
            if made is not None:
                return made
    return [made_of(record, origin, make) for record in iterate(source[at : at + header.size])]


def _plain(source: bytes, at: int, header: Header, origin: Origin, make: Make[Origin, T]) -> list[T] | None:
    """The same if all records are plain, else None.

    Often a record is like the one before: without a key, and as long. Then `lead`, its length and attributes, and
    `middle`, the lengths of key and value, are the same, its place is known, and only its time has to be decoded.
    """
    end, offset, base = at + header.size, header.base_offset, header.base_timestamp
    at += HEADER_BYTES
    meant, starts, lead, middle, size, made = MEANT, source.startswith, _NEVER, b"", 0, []
    try:
        for place in LENGTHS[: header.record_count]:
            if starts(lead, at):
                at += len(lead)
                if (first := source[at]) < 0x80:
                    at += 1
                elif not (second := source[at + 1]):
                    return None
                else:
                    first, at = first - 0x80 + (second << 7), at + 2
                value_at = at + len(place) + len(middle)
                stop = value_at + size
                if starts(place + middle, at) and not source[stop]:
                    made.append(make(origin, offset, base + meant[first], None, source[value_at:stop], ()))
                    at, offset = stop + 1, offset + 1
                    continue
                return None
            begin = at
            length, at = _integer(source, at)
            stop, lead_end = at + length - 1, at + 1
            if (first := source[lead_end]) < 0x80:
                elapsed, place_at = meant[first], lead_end + 1
            else:
                elapsed, place_at = _integer(source, lead_end)
            key_at, key, lead = place_at + len(place), None, _NEVER
            if (first := source[key_at]) < 0x80:
                key_size, at = meant[first], key_at + 1
            else:
                key_size, at = _integer(source, key_at)
            if key_size >= 0:
                key, at = source[at : at + key_size], at + key_size
            size, value_at = _integer(source, at)
            # Nothing but a record of these lengths, with no attributes and no headers, is plain.
            if source[lead_end - 1] or source[stop] or not starts(place, place_at):
                return None
            if size < 0 or value_at + size != stop or key_size < -1:
                return None
            if key is None:
                lead, middle = source[begin:lead_end], source[key_at:value_at]
            made.append(make(origin, offset, base + elapsed, key, source[value_at:stop], ()))
            at, offset = stop + 1, offset + 1
    except IndexError:
        return None
    return made if at == end else None


def _integer(source: bytes, at: int) -> tuple[int, int]:
    """A varint of one or two bytes and where it ends; raises IndexError for others, which are not plain."""
    first = source[at]
    if first < 0x80:
        return MEANT[first], at + 1
    second = source[at + 1]
    if not second:
        raise IndexError
    return MEANT[first - 0x80 + (second << 7)], at + 2
