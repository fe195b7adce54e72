"""What is read was sent: to this topic, as it was sent, never refused; and it lies at the offsets asked for.

It is in the lane that it was sent in. A message with a time to live expires that long after the time that it bears,
also where it was kept back or put off.

Batches follow each other without gaps, save where compaction makes them. Of a file in which bits have rotted, a client
believes no batch whose sum is wrong: that the broker refuses it, or that the client can tell, is what is promised.
"""

from goqueue.core.errors import BatchError
from goqueue.core.queues.expiry import expiry
from goqueue.core.records.batch import read_header, split, validate
from goqueue.core.records.record import Record
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import LETTERS_ENDING, Asked, Message, Violation


class Contents(Checker):
    """Holds every answer to a fetch against all that was ever sent."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge one answer."""
        if isinstance(asked.request, Fetch) and isinstance(reply, Fetched):
            self._check_run(asked, asked.request, reply)
            # Letters say more than what they once were; `endings.py` looks at them.
            if not asked.request.topic.endswith(LETTERS_ENDING):
                for record in asked.records:
                    self._check_record(asked, record)
                self._check_lanes(asked, reply)

    def _check_run(self, asked: Asked, fetch: Fetch, reply: Fetched) -> None:
        at: int | None = None
        compacts = self._may_be_compacted(asked, fetch)
        for batch in split(reply.batches):
            header = read_header(batch)
            try:
                validate(batch, compacted=compacts)
            except BatchError as error:
                raise Violation(f"a fetch from {fetch.offset} got a batch that is none: {error}") from error
            if at is None:
                fits = (compacts or header.base_offset <= fetch.offset) and fetch.offset < header.next_offset
            else:
                fits = header.base_offset == at or (compacts and header.base_offset > at)
            if not fits:
                raise Violation(f"a fetch from {fetch.offset} got a batch at {header.base_offset} after {at}")
            at = header.next_offset
        if reply.next_offset != at if at is not None else reply.next_offset != fetch.offset and not compacts:
            raise Violation(f"a fetch from {fetch.offset} got batches up to {at} and goes on at {reply.next_offset}")

    def _may_be_compacted(self, asked: Asked, fetch: Fetch) -> bool:
        """Whether the topic that was read is compacted; where it may be one of several, whether any of them may be."""
        if asked.topic_id is not None:
            return self.compacts(asked.topic_id)
        terms = [self.history.terms.get(one) for one in self.sight.ids_since(fetch.topic, asked.least_id)]
        return any(one is None or one.compacts for one in terms)

    def _check_record(self, asked: Asked, record: Record) -> None:
        offset = record.offset
        name = asked.found[offset]
        message = self.history.messages.get(name)
        if message is None:
            raise Violation(f"nobody sent {name!r}, which is at offset {offset} of {asked.request}")
        if message.value != record.value or message.key != record.key:
            raise Violation(f"{name!r} is at offset {offset} with another key or value than it was sent with")
        if not self._may_be_in(message, asked.topic_id):
            raise Violation(f"{name!r} was sent to topics {message.topic_ids} and is in {asked.topic_id}")
        if message.is_refused:
            raise Violation(f"{name!r} was refused for good and is at offset {offset}")

        if message.ttl_ms and not message.may_repeat and expiry(record.headers) != record.timestamp + message.ttl_ms:
            ends = f"expires at {expiry(record.headers)}, of {record.timestamp} and to live for {message.ttl_ms} ms"
            raise Violation(f"{name!r} at offset {offset} {ends}")

    def _check_lanes(self, asked: Asked, reply: Fetched) -> None:
        for batch in split(reply.batches):
            header = read_header(batch)
            for offset in range(header.base_offset, header.next_offset):
                message = self.history.messages.get(asked.found.get(offset, b""))
                if message is not None and 0 <= message.lane != header.lane and not message.is_redriven:
                    what = f"{message.name!r} was sent in lane {message.lane}"
                    raise Violation(f"{what}, and is at offset {offset} in lane {int(header.lane)}")

    def _may_be_in(self, message: Message, topic_id: int | None) -> bool:
        """Whether a message was sent to a topic; in a cluster a send that was not answered may come to a later one."""
        if topic_id in message.topic_ids or message.is_redriven:
            return True
        if not self.sight.is_cluster:
            return False
        least = min((one for one in message.topic_ids if one is not None), default=0)
        return topic_id is None or ((message.place is None or message.sends > 1) and topic_id >= least)
