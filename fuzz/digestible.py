"""What of an answer belongs to the fingerprint of a world: what it says, and of messages a sum."""

import hashlib

from attrs import evolve

from goqueue.core.records.varint import Readable
from goqueue.core.requests.delays import DelayedMessage
from goqueue.core.requests.groups import Polled
from goqueue.core.requests.messages import Fetched
from goqueue.core.requests.queues import PolledWork
from goqueue.core.requests.replies import Reply


def _sum(content: Readable) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def digestible(reply: Reply) -> object:
    """The answer, or what stands for it."""
    if isinstance(reply, Fetched):
        return _sum(reply.batches), reply.next_offset, reply.high_watermark
    if isinstance(reply, PolledWork):
        return [(one.topic, one.partition, _sum(one.batches), one.leases) for one in reply.parts]
    if isinstance(reply, Polled):
        return [(one.topic, one.partition, _sum(one.batches), one.first_offset, one.end_offset) for one in reply.parts]
    if isinstance(reply, DelayedMessage):
        # What one says of itself that is a view of memory is where that is.
        return evolve(reply, key=_plain(reply.key), value=_plain(reply.value))
    return reply


def _plain(content: Readable | None) -> bytes | None:
    return None if content is None else bytes(content)
