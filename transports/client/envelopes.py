"""The messages around batches, as a producer spells and reads them where batches are many.

A general codec makes an object of a message; here a request is a few bytes before and after a batch, and an answer that
grants is three numbers. Whatever is not spelled as plainly as that goes to the general codec.
"""

from goqueue.core.client.failure import Failure
from goqueue.core.requests.messages import Due
from goqueue.proto import v1
from goqueue.proto.wire import unsigned
from goqueue.transports.client.errors import CODEC, refusal_failure

# The tags of PublishBatchReply's request_id, offset and timestamp_ms, which come in this order.
_REQUEST_ID, _OFFSET, _TIMESTAMP = 0x08, 0x10, 0x18
_INT64_BYTES_MAX = 10
_DUES: dict[Due, v1.Due] = {due: v1.Due[due.name] for due in Due}


def publish_head(topic: str, partition: int, due: Due) -> bytes:
    """What a PublishBatchRequest for this partition begins with."""
    return CODEC.encode(v1.PublishBatchRequest(topic=topic, partition=partition, due=_DUES[due]))


def publish_front(head: bytes, request_id: int, acks: int, size: int) -> bytes:
    """All of a PublishBatchRequest but the `size` bytes of its batch, which follow: fields may come in any order."""
    if acks:
        head += b"\x20" + unsigned(acks)
    return b"".join((head, b"\x28", unsigned(request_id), b"\x1a", unsigned(size)))


def read_publish_reply(body: bytes) -> tuple[int, int, int, Failure | None]:
    """Which request it answers, the offset of the first record and the latest time, or else why it was refused.

    Raises ValueError.
    """
    plain = _plain_reply(body)
    if plain is not None:
        return (*plain, None)
    reply: v1.PublishBatchReply = CODEC.decode(v1.PublishBatchReply, body)
    refusal = reply.refusal
    if refusal.code or refusal.message:
        return reply.request_id, -1, -1, refusal_failure(refusal)
    return reply.request_id, reply.offset, reply.timestamp_ms, None


def _plain_reply(body: bytes) -> tuple[int, int, int] | None:
    """Request, offset and time of a reply in which numbers of known fields, and nothing else, come in their order."""
    numbers = [0, 0, 0]
    at, end, last = 0, len(body), -1
    try:
        while at < end:
            place = (body[at] >> 3) - 1
            if body[at] not in (_REQUEST_ID, _OFFSET, _TIMESTAMP) or place <= last:
                return None
            last = place
            at += 1
            value = shift = 0
            while (byte := body[at]) >= 0x80:
                value |= (byte & 0x7F) << shift
                shift += 7
                at += 1
            numbers[place] = value | byte << shift
            at += 1
            # A negative number, which takes ten bytes, is none that is plain.
            if shift >= 7 * (_INT64_BYTES_MAX - 1):
                return None
    except IndexError:
        return None
    return numbers[0], numbers[1], numbers[2]
