"""What is read was sent: to this topic, once, never refused, and it lies at the offsets asked for, without gaps."""

from goqueue.core.records.batch import read_header, split
from goqueue.core.verbs import Fetch, Fetched, Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation, names_in


class Contents(Checker):
    """Holds every answer to a fetch against all that was ever sent."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge one answer."""
        if isinstance(asked.request, Fetch) and isinstance(reply, Fetched):
            self._check_run(asked.request, reply)
            self._check_messages(asked, asked.request.partition, reply)

    def _check_run(self, fetch: Fetch, reply: Fetched) -> None:
        at: int | None = None
        for batch in split(reply.batches):
            header = read_header(batch)
            covers = header.base_offset <= fetch.offset < header.next_offset
            if header.base_offset != at if at is not None else not covers:
                raise Violation(f"a fetch from {fetch.offset} got a batch at {header.base_offset} after {at}")
            at = header.next_offset
        if reply.next_offset != (fetch.offset if at is None else at):
            raise Violation(f"a fetch from {fetch.offset} got batches up to {at} and goes on at {reply.next_offset}")

    def _check_messages(self, asked: Asked, partition: int, reply: Fetched) -> None:
        for offset, name in names_in(reply.batches):
            message = self.history.messages.get(name)
            if message is None:
                raise Violation(f"nobody sent {name!r}, which is at offset {offset} of {asked.request}")
            if message.topic_id != asked.topic_id:
                raise Violation(f"{name!r} was sent to topic {message.topic_id} and is in {asked.topic_id}")
            if message.is_refused:
                raise Violation(f"{name!r} was refused for good and is at offset {offset}")
            if message.place is not None and (message.place[1], message.offset) != (partition, offset):
                known = self.history.promised.get(message.place, {}).get(message.offset)
                raise Violation(
                    f"{name!r} was acknowledged at {message.place}, {message.offset}, is at {offset}; {known}"
                )
