"""What the library tells those who use it is what brokers have told the library.

A message that is published was acknowledged by a broker, at that place. An acknowledgement or a rejection that was
heard was taken by a broker. What a laborer is handed was leased to it, and is handed out once under a lease. Where
nothing fails, what the library looks after is nobody else's meanwhile.
"""

from collections.abc import Iterator

from goqueue.core.requests.messages import NO_OFFSET, PublishBatch, Published, PublishReply
from goqueue.core.requests.queues import AckWork, ExtendWork, PolledWork, PollWork, RejectWork, ReleaseWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation, name_of
from goqueue.fuzz.users.laborer import Laborer, Lease
from goqueue.fuzz.users.publisher import Publisher


class Told(Checker):
    """Keeps what brokers have said, and compares."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # Messages that were acknowledged, and where: several places where they may repeat.
        self._acknowledged: dict[bytes, set[tuple[int, int]]] = {}
        self._leased: dict[Lease, bytes | None] = {}
        self._settled: dict[str, set[Lease]] = {"ack": set(), "reject": set()}
        # When leases were handed back.
        self._released: dict[Lease, int] = {}
        self._looked: dict[str, int] = {}
        # By name, the ids of all topics that were seen.
        self._ids: dict[str, set[int]] = {}

    def asked(self, asked: Asked) -> None:
        """Note which topics there are."""
        for name, topic_id in self.sight.topic_ids().items():
            self._ids.setdefault(name, {*self.sight.ids_since(name, 0)}).add(topic_id)
        if isinstance(asked.request, ReleaseWork):
            for run in asked.request.receipts:
                for place in range(min(run.count, 1_000)):
                    self._released.setdefault((run.stem, run.first_offset + place), self.sight.now)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Note what is promised."""
        request = asked.request
        if isinstance(request, PublishBatch) and isinstance(reply, PublishReply):
            self._published(asked, reply.results[0])
        elif isinstance(request, PollWork) and isinstance(reply, PolledWork):
            self._lent(asked, reply)
        elif isinstance(request, AckWork) and isinstance(reply, WorkDone):
            self._settled["ack"].update(_done(request, reply))
        elif isinstance(request, ExtendWork) and isinstance(reply, WorkDone):
            self._check_in_time(reply)
        elif isinstance(request, RejectWork) and isinstance(reply, WorkDone):
            self._settled["reject"].update(_done(request, reply))

    def _check_in_time(self, reply: WorkDone) -> None:
        """What the library looks after is prolonged before it is over."""
        laborers = [user for user in self.sight.users if isinstance(user, Laborer)]
        # With a topic that is deleted its leases are over.
        if not self.sight.was_quiet or any(user.options.p_slow or user.options.p_topic_change for user in laborers):
            return
        tended = {lease: user.name for user in laborers for lease in user.tended}
        for one in reply.refusals:
            who = tended.get((one.stem, one.offset))
            if who is not None and one.refusal.code is Code.RECEIPT_EXPIRED:
                raise Violation(f"{(one.stem, one.offset)} is looked after for {who}, and was prolonged too late")

    def _lent(self, asked: Asked, reply: PolledWork) -> None:
        names = {(given.run.stem, given.spot[3]): name_of(given.record) for given in asked.given}
        for run in (run for part in reply.parts for run in part.leases):
            for offset in range(run.first_offset, run.first_offset + run.count):
                # Of a topic that somebody replaces meanwhile, and where bits rot, nobody says what it was.
                self._leased[run.stem, offset] = names.get((run.stem, offset))

    def _published(self, asked: Asked, result: Published | Refusal) -> None:
        if isinstance(result, Refusal):
            if result.code is Code.DUPLICATE:
                for message in asked.messages:
                    self._acknowledged.setdefault(message.name, set())
            return
        for place, message in enumerate(asked.messages):
            at = result.partition, NO_OFFSET if result.offset == NO_OFFSET else result.offset + place
            self._acknowledged.setdefault(message.name, set()).add(at)

    def stepped(self) -> None:
        """Look at what programs were told since."""
        for user in self.sight.users:
            if isinstance(user, Publisher):
                self._see_publisher(user)
            elif isinstance(user, Laborer):
                self._see_laborer(user)

    def _see_publisher(self, publisher: Publisher) -> None:
        flaws, publisher.flaws = publisher.flaws, []
        for topic, said in flaws:
            # A producer may be forgotten with what another topic of the name, or a disk, has lost.
            ids, rotten = self._ids.get(topic, ()), {topic_id for topic_id, _ in self.history.rotten}
            if len(ids) == 1 and all(map(self.history.is_strong, ids)) and not rotten.intersection(ids):
                raise Violation(said)
        known = self._looked.get(publisher.name, 0)
        if len(publisher.published) == known:
            return
        self._looked[publisher.name] = len(publisher.published)
        for name in [*publisher.published][known:]:
            told, places = publisher.published[name], self._acknowledged.get(name)
            if places is None:
                raise Violation(f"the library told that {name!r} is published, and no broker has said so")
            at = told.partition, told.offset
            if told.offset >= 0 and places and at not in places:
                raise Violation(f"the library told that {name!r} is at {at}, and brokers said {sorted(places)}")

    def _see_laborer(self, laborer: Laborer) -> None:
        if laborer.flaws:
            raise Violation(laborer.flaws[0])
        told, laborer.told = laborer.told, []
        for said in told:
            settled = self._settled.get(said.verb)
            if settled is not None and said.lease not in settled:
                what = f"{laborer.name} was told that {said.lease} is settled by {said.verb}"
                raise Violation(f"{what}, and no broker has said so")
        fresh, laborer.fresh = laborer.fresh, []
        for lease, name, at in fresh:
            if lease not in self._leased or self._leased[lease] not in (None, name):
                what = f"{laborer.name} was handed {name!r} under {lease}"
                raise Violation(f"{what}, by which {self._leased.get(lease)!r} was leased")
            if self._released.get(lease, at) < at:
                raise Violation(f"{laborer.name} was handed {name!r} under {lease}, which the library has handed back")
            self._check_alone(laborer, lease, name)

    def _check_alone(self, laborer: Laborer, lease: Lease, name: bytes) -> None:
        if not self.sight.was_quiet or laborer.options.p_slow:
            return
        for other in self.sight.users:
            if isinstance(other, Laborer) and other.group == laborer.group:
                if any(one != lease and tended == name for one, tended in other.tended.items()):
                    raise Violation(f"{name!r} is looked after for {other.name}, and was handed to {laborer.name}")


def _done(request: AckWork | RejectWork, reply: WorkDone) -> Iterator[Lease]:
    """The leases for which an answer says that it was done."""
    refused = {(one.stem, one.offset) for one in reply.refusals}
    for run in request.receipts:
        for offset in range(run.first_offset, run.first_offset + run.count):
            if (run.stem, offset) not in refused:
                yield run.stem, offset
