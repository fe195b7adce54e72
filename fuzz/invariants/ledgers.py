"""What is said of a message in a work queue is in the ledger, and agreed there, before anybody is told of it.

A lease that is given, an acknowledgement, another try, a rejection, more time: each is an entry of the ledger of its
partition. Below the offset that a group is told to have come to, everything is settled there. A ledger is read here as
it is agreed, one leader after the other, so the next leader knows all that members were told. In that order of entries
a message is leased to one member at a time: nobody gets it before the lease before was given back, had run out or was
settled.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.partition.partition import Partition
from goqueue.core.queues.receipts import read_stem
from goqueue.core.queues.records import (
    WORK_CODEC,
    Cut,
    Delivered,
    Doomed,
    Extended,
    Restarted,
    Returned,
    Settled,
    unpacked_runs,
    unpacked_triples,
)
from goqueue.core.requests.groups import FetchOffsets, GroupOffset
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    PolledWork,
    PollWork,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.deliveries import Showing, Spot
from goqueue.fuzz.history import Asked, Place, Violation
from goqueue.fuzz.invariants.tapes import Tape

_SHOWING = (AckWork, NackWork, RejectWork, ExtendWork, ReleaseWork)


@define
class _Leased:
    """A lease as the ledger says it: whose it is, and what of it is open."""

    lease: int
    member: str


@define(eq=False)
class Account:
    """All that a ledger has ever said of one group."""

    settled: set[int] = field(factory=set)
    # By lease and offset: who was given it, and what ended or lengthened it.
    given: dict[tuple[int, int], str] = field(factory=dict)
    ended: set[tuple[int, int]] = field(factory=set)
    extended: set[tuple[int, int]] = field(factory=set)
    # By offset: the lease that is open.
    open: dict[int, _Leased] = field(factory=dict)
    # Where it began, or was reset to last.
    floor: int = 0

    def take(self, record: object) -> str:
        """Take the next entry; says what is wrong with it, if anything is."""
        if isinstance(record, Delivered):
            return self._deliver(record)
        if isinstance(record, Settled):
            for lease, start, end in unpacked_triples(record.runs):
                self.settled.update(range(start, end))
                self._end(lease, start, end)
        elif isinstance(record, Returned | Doomed):
            for start, end in unpacked_runs(record.runs):
                self._end(record.lease, start, end)
        elif isinstance(record, Extended):
            for start, end in unpacked_runs(record.runs):
                self.extended.update((record.lease, offset) for offset in range(start, end))
        elif isinstance(record, Restarted | Cut):
            # Somebody moves the group, or messages are gone: offsets begin anew.
            end = record.floor if isinstance(record, Restarted) else record.reach
            self.floor = end if isinstance(record, Restarted) else min(self.floor, end)
            self.open.clear()
            self.settled = {offset for offset in self.settled if offset < end}
        return ""

    def _deliver(self, record: Delivered) -> str:
        for start, end in unpacked_runs(record.leased):
            for offset in range(start, end):
                other = self.open.get(offset)
                if other is not None and other.lease != record.lease:
                    return f"{offset} is leased to {record.member}, and {other.member} has it under {other.lease}"
                if offset in self.settled:
                    return f"{offset} is leased to {record.member}, and was settled"
                self.open[offset] = _Leased(record.lease, record.member)
                self.given[record.lease, offset] = record.member
        return ""

    def _end(self, lease: int, start: int, end: int) -> None:
        for offset in range(start, end):
            held = self.open.get(offset)
            if held is not None and lease in (0, held.lease):
                del self.open[offset]
            self.ended.add((lease, offset))


class Ledgers(Checker):
    """Reads all ledgers as they are agreed, and holds answers against them."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._tapes: dict[Place, Tape] = {}
        self._accounts: dict[tuple[Place, str], Account] = {}

    def stepped(self) -> None:
        """Read on in what the node leads of which something was heard."""
        if self.sight.stirred is not None:
            self._read(self.sight.stirred, self.sight.stirred_streams())

    def _read(self, broker: Broker, streams: list[tuple[int, Partition]]) -> None:
        for topic_id, partition in streams:
            if partition.side is not Side.LEDGER or not self.history.is_strong(topic_id):
                continue
            place = topic_id, partition.number
            tape = self._tapes.get(place)
            if tape is None:
                tape = self._tapes[place] = Tape()
            if partition.high_watermark > tape.end:
                for key, value in tape.entries(broker, partition):
                    if key.decode() not in self.history.deliveries.terms:
                        # What the broker moves from topic to topic is no group.
                        continue
                    if value is None:
                        self._accounts.pop((place, key.decode()), None)
                        continue
                    account = self._accounts.setdefault((place, key.decode()), Account())
                    wrong = account.take(WORK_CODEC.decode(value))
                    if wrong and not tape.has_gap and place not in self.history.rotten:
                        raise Violation(f"the ledger of {key.decode()} in {partition.log.stream}: {wrong}")

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Hold what is told of messages against what is agreed of them."""
        request = asked.request
        is_showing = isinstance(request, _SHOWING) and isinstance(reply, WorkDone)
        is_asking = isinstance(request, FetchOffsets) and request.group in self.history.deliveries.terms
        if not (isinstance(reply, PolledWork) or is_showing or (is_asking and isinstance(reply, list))):
            return
        broker = self.sight.broker(asked.node_id)
        if broker is not None:
            self._read(broker, self.sight.led_streams(broker))
        if isinstance(request, PollWork):
            for given in asked.given:
                self._check(given.spot, read_stem(given.run.stem).lease, request)
        elif isinstance(request, FetchOffsets) and isinstance(reply, list):
            self._check_floors(request.group, [one for one in reply if isinstance(one, GroupOffset)])
        elif isinstance(request, _SHOWING) and isinstance(reply, WorkDone):
            for spot, lease in self._shown(request, reply):
                self._check(spot, lease, request)

    def _shown(self, request: Showing, reply: WorkDone) -> Iterator[tuple[Spot, int]]:
        deliveries = self.history.deliveries
        refused = {(one.stem, one.offset) for one in reply.refusals}
        for hold, stem in deliveries.holds_of(request):
            if (stem, hold.spot[3]) not in refused:
                yield hold.spot, read_stem(stem).lease

    def _check_floors(self, group: str, told: list[GroupOffset]) -> None:
        topics = self.sight.topic_ids()
        for one in told:
            place = topics.get(one.topic, -1), one.partition
            account = self._accounts.get((place, group))
            if account is None or not self._is_sure(group, place):
                continue
            left = [offset for offset in range(account.floor, one.offset) if offset not in account.settled]
            if left:
                what = f"{group} is told to have come to {one.offset} of {one.topic}-{one.partition}"
                raise Violation(f"{what}, and {left[0]} is not settled in the ledger as far as it is agreed")

    def _is_sure(self, group: str, place: Place) -> bool:
        """Whether all that a ledger has ever said of a group is known, and holds."""
        tape = self._tapes.get(place)
        if group in self.history.deliveries.meddled or not self.history.is_strong(place[0]):
            return False
        return not (place[0] in self.history.is_doomed or place in self.history.rotten or (tape and tape.has_gap))

    def _check(self, spot: Spot, lease: int, request: object) -> None:
        group, place, offset = spot[0], spot[1:3], spot[3]
        if not self._is_sure(group, place):
            return
        account = self._accounts.get((place, group)) or Account()
        terms = self.history.terms.get(place[0])
        if terms is not None and terms.retains and not isinstance(request, PollWork):
            # What retention has taken is settled without a word.
            return
        if isinstance(request, PollWork):
            is_there = account.given.get((lease, offset)) == request.member_id
        elif isinstance(request, AckWork):
            is_there = offset in account.settled or offset < account.floor
        elif isinstance(request, ExtendWork):
            is_there = (lease, offset) in account.extended or (lease, offset) in account.ended
        else:
            is_there = (lease, offset) in account.ended or offset in account.settled
        if not is_there:
            what = f"{type(request).__name__} of {spot} under lease {lease}"
            raise Violation(f"{what} is answered, and the ledger does not say so as far as it is agreed")
