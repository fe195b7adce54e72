"""The messages around batches, coded by hand where batches are many: PublishBatchRequest, its reply, and what is read.

A general codec makes an object of a message, and copies what is in it. Here a batch stays where it is: a view of the
bytes that came, and bytes behind a head when it goes. Only the plain spelling is read here, the one that serializers
write: every field once at most, numbers no longer than they must be. For all else the answer is None, and the general
codec decides what it means, or says what is wrong with it.
"""

# topic, partition, batch, acks, request_id, due
Envelope = tuple[str, int, memoryview, int, int, int]

_TOPIC, _PARTITION, _BATCH, _ACKS, _REQUEST_ID, _DUE = 0x0A, 0x10, 0x1A, 0x20, 0x28, 0x30
_UINT32_MAX = (1 << 32) - 1
_UINT64_MAX = (1 << 64) - 1
_ENUM_MAX = (1 << 31) - 1


def open_publish(body: memoryview) -> Envelope | None:
    """What a PublishBatchRequest says, the batch as a view of `body`; None if it is not spelled plainly."""
    topic, batch = "", body[:0]
    partition = acks = request_id = due = 0
    at, size, last = 0, len(body), 0
    try:
        while at < size:
            tag = body[at]
            if tag <= last:
                return None
            last = tag
            value = body[at + 1]
            at += 2
            if value >= 0x80:
                value, at = _long(value, body, at)
            if tag == _BATCH:
                batch = body[at : at + value]
                at += value
            elif tag == _TOPIC:
                topic = str(body[at : at + value], "utf-8")
                at += value
            elif tag == _REQUEST_ID:
                request_id = value
            elif tag == _PARTITION:
                partition = value
            elif tag == _ACKS:
                acks = value
            elif tag == _DUE:
                due = value
            else:
                return None
    except (IndexError, UnicodeDecodeError):
        return None
    plain = at == size and partition <= _UINT32_MAX and max(acks, due) <= _ENUM_MAX and request_id <= _UINT64_MAX
    return (topic, partition, batch, acks, request_id, due) if plain else None


def _long(value: int, body: memoryview, at: int) -> tuple[int, int]:
    """A varint of more than one byte, the first of which has been read; the value and where it ends."""
    value &= 0x7F
    shift = 7
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError


def publish_reply(request_id: int, offset: int, timestamp_ms: int) -> bytes:
    """A PublishBatchReply that grants."""
    reply = b""
    if request_id:
        reply = b"\x08" + _varint(request_id)
    if offset:
        reply += b"\x10" + _varint(offset)
    if timestamp_ms:
        reply += b"\x18" + _varint(timestamp_ms)
    return reply


def bytes_field(number: int, size: int) -> bytes:
    """What goes before the bytes of a field of that number, nothing if there are none."""
    assert 0 < number < 16
    return bytes((number << 3 | 2,)) + _varint(size) if size else b""


def number_field(number: int, value: int) -> bytes:
    """An int64, uint64 or uint32 field, nothing if it is zero."""
    assert 0 < number < 16
    return bytes((number << 3,)) + _varint(value) if value else b""


def _varint(value: int) -> bytes:
    """A number as a varint, a negative one as the ten bytes that an int64 has."""
    if 0 <= value < 0x80:
        return _ONE[value]
    value &= _UINT64_MAX
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


_ONE = [bytes((value,)) for value in range(0x80)]
