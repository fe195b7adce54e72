"""What a group is told that it has come to is in the journal, and agreed there: commits, members, and its end."""

from goqueue.core.errors import ProtocolError
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.groups.records import GROUPS_CODEC, GroupRecord, MemberRecord, OffsetRecord, read_key
from goqueue.core.partition.partition import Partition
from goqueue.core.requests.groups import CommitOffsets, CommittedOffsets, DeleteGroup, Joined, JoinGroup, ResetOffsets
from goqueue.core.requests.refusals import Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.invariants.tapes import Tape


class Commits(Checker):
    """Reads the journal as it is agreed, and holds answers against it."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._tape = Tape()
        # By group, topic and partition: how far it was ever committed. To commit less changes nothing.
        self._offsets: dict[tuple[str, str, int], int] = {}
        # How far each is by the last record, and in which groups a request may lead offsets back, by its number.
        self._last: dict[tuple[str, str, int], int] = {}
        self._shaking: dict[int, str] = {}
        self._members: set[tuple[str, str]] = set()
        self._gone: set[str] = set()

    def stepped(self) -> None:
        """Read on, if the node leads the groups of which something was heard."""
        if self.sight.stirred is not None:
            self._read(self.sight.stirred, self.sight.stirred_streams())

    def _read(self, broker: Broker, streams: list[tuple[int, Partition]]) -> None:
        for _, partition in streams:
            if partition.topic == JOURNAL_TOPIC and partition.high_watermark > self._tape.end:
                for key, value in self._tape.entries(broker, partition):
                    self._take(key, value)

    def _take(self, key: bytes, value: bytes | None) -> None:
        try:
            about = read_key(key)
        except ProtocolError as error:
            raise Violation(f"the journal of the groups has a key that is none: {error}") from error
        record = None if value is None else GROUPS_CODEC.decode(value)
        if isinstance(about, str) and isinstance(record, GroupRecord):
            members = (GROUPS_CODEC.decode(content) for content in record.members)
            self._members.update((about, one.member_id) for one in members if isinstance(one, MemberRecord))
        elif isinstance(about, str):
            self._gone.add(about)
        elif isinstance(record, OffsetRecord):
            self._offsets[about] = max(record.offset, self._offsets.get(about, -1))
            before = self._last.get(about, -1)
            if record.offset < before and about[0] not in self._shaking.values():
                raise Violation(
                    f"the journal has {about} at {before}, then at {record.offset}, and nobody has reset it"
                )
            self._last[about] = record.offset
        else:
            self._last.pop(about, None)

    def asked(self, asked: Asked) -> None:
        """Who resets offsets, or commits without being a member, may lead them back."""
        request = asked.request
        if isinstance(request, ResetOffsets) or (isinstance(request, CommitOffsets) and not request.member_id):
            self._shaking[asked.to] = request.group

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Hold what a group is told against the journal."""
        request = asked.request
        if not isinstance(request, CommitOffsets | JoinGroup | DeleteGroup | ResetOffsets):
            return
        broker = self.sight.broker(asked.node_id)
        if broker is not None:
            self._read(broker, self.sight.led_streams(broker))
        if not _is_in_doubt(reply):
            self._shaking.pop(asked.to, None)
        if isinstance(request, CommitOffsets) and isinstance(reply, CommittedOffsets):
            refused = {(one.topic, one.partition) for one in reply.refusals}
            for one in request.offsets:
                slot = request.group, one.topic, one.partition
                if (one.topic, one.partition) not in refused and self._offsets.get(slot, -1) < one.offset:
                    raise Violation(
                        f"the commit of {one.offset} to {slot} is answered, and the journal does not say so"
                    )
        elif isinstance(request, JoinGroup) and isinstance(reply, Joined):
            if (request.group, reply.member_id) not in self._members:
                raise Violation(f"{reply.member_id} is a member of {request.group}, and the journal does not say so")
        elif isinstance(request, DeleteGroup) and reply is None and request.group not in self._gone:
            raise Violation(f"{request.group} is gone, and the journal does not say so")


def _is_in_doubt(reply: Reply) -> bool:
    """Whether an answer leaves open if the journal has what was asked for, or will have it."""
    refusals = [one.refusal for one in reply.refusals] if isinstance(reply, CommittedOffsets) else [reply]
    return any(isinstance(one, Refusal) and one.outcome is Outcome.UNKNOWN for one in refusals)
