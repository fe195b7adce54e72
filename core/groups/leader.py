"""All groups of a node: the coordinator, the journal it stands on, and who asked before it could answer.

A request is taken when the journal is ready. Before that it waits, as long as it is being made or read; where the
journal has failed it is refused. Replies of the coordinator are held until every entry before them is durable. When an
entry cannot be made durable, memory is ahead of the disk: whoever waits is refused, and the coordinator begins anew
with what the journal holds.

Where another node leads the journal, that one is the coordinator. Requests are refused here with its name, and nothing
of them was carried out; those whose entries were under way when the journal went there may have been. What other
services need to know of groups is then taken from a copy (`Mirror`), and a member that polls here is reported alive
(`SignsOfLife`). A coordinator that has lost touch with the others may have a successor: it says nothing and judges
nobody until it is sure that it has none, and then gives every member a whole session, as a successor would.

What this wants of the node's partitions it asks for by `wishes`, and the answers come in by `answered`.

Invariant: a request is answered once, or forgotten.
"""

from collections import deque

from attrs import evolve

from goqueue.core.errors import ProtocolError
from goqueue.core.groups.bounds import GroupBounds
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.journal import JOURNAL_STREAM, JOURNAL_TOPIC, Journal
from goqueue.core.groups.measure import Sight, measured
from goqueue.core.groups.mirror import Mirror
from goqueue.core.groups.moments import Moments
from goqueue.core.groups.offset_lookup import OffsetLookup
from goqueue.core.groups.pending_lookups import PendingLookups
from goqueue.core.groups.plan import member_of
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.shared import Queues, SharedNews
from goqueue.core.groups.signs import SignsOfLife
from goqueue.core.groups.state import Group, Slot
from goqueue.core.partition.partition import Partition
from goqueue.core.replicas.elsewhere import Elsewhere, elsewhere
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import FetchOffsets, GroupMode, JoinGroup, MeasureGroups, PollGroup, ResetOffsets
from goqueue.core.requests.messages import Fetched, FoundOffset, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.service import ServiceContext

_WAITING_MAX = 1000
# So many groups are named in one note.
_NAMED_MAX = 20


class GroupLeader:
    """The groups of one node."""

    def __init__(self, site: ServiceContext, session_timeout_ms: int, bounds: GroupBounds) -> None:
        self._clock = site.clock
        self._led = site.led
        self._send = site.send
        # How long a member may be silent that does not say.
        self._session_timeout_ms = session_timeout_ms
        # Who knows how far shared groups have come.
        self.queues: Queues | None = None
        self.wishes = InternalRequests(ServiceName.GROUPS)
        self._journal = Journal(self.wishes, self._journal_end)
        self._mirror = Mirror(self.wishes)
        self._signs = SignsOfLife(self.wishes)
        self._reach = OffsetLookup(site.led, self.wishes)
        self._moments = Moments(self.wishes)
        self._sounded = PendingLookups(self._reach)
        self.coordinator = Coordinator(site.clock, site.random, self._reach.ends, {}, bounds, shown=self._reach.about)
        self._polls = Polls(self.coordinator, self._reach.ends, self.wishes, self._reach)
        self._waiting: dict[Call, Request] = {}
        # Replies of the coordinator, each with the count of batches that are to be durable first.
        self._held: deque[tuple[int, Call, Reply]] = deque()

    # --- requests

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Take a request; its answer is sent once it holds."""
        if isinstance(request, MeasureGroups):
            sight = Sight(now, self.coordinator, self._reach.about, self._led.age_ms, self.queues)
            self._send(call, measured(request, sight, self._polls))
            return
        far = self._far()
        if far is not None:
            self._send(call, _not_here(far))
            return
        if not self._led.is_in_office:
            self._send(call, self._led.out_of_office())
            return
        if isinstance(request, JoinGroup) and not request.session_timeout_ms:
            request = evolve(request, session_timeout_ms=self._session_timeout_ms)
        self._journal.ensure()
        if self.is_ready:
            self._take(now, call, request)
        elif self._journal.has_failed:
            self._send(call, self._refusal())
        elif len(self._waiting) >= _WAITING_MAX:
            message = "too many requests wait for the groups to be read"
            self._send(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
        else:
            self._waiting[call] = request

    def _far(self) -> Elsewhere | None:
        """Who else coordinates, if this node does not."""
        return elsewhere(self._led, JOURNAL_TOPIC, 0)

    def _take(self, now: int, call: Call, request: Request) -> None:
        if isinstance(request, ResetOffsets):
            partitions = self.coordinator.partitions(request.topic)
            if self._moments.begin(call, request, partitions):
                return
        self._plumb(now, call, request)

    def _plumb(self, now: int, call: Call, request: Request) -> None:
        """Find out first how far those partitions reach that a request rests on."""
        if not self._sounded.begin(call, request, self._rests_on(request)):
            self._pass_on(now, call, request)

    def _rests_on(self, request: Request) -> list[Slot]:
        """The partitions that somebody asks for whose ends the answer depends on."""
        coordinator = self.coordinator
        if isinstance(request, ResetOffsets):
            numbers = request.partitions or range(coordinator.partitions(request.topic))
            return [(request.topic, number) for number in numbers]
        group = coordinator.groups.groups.get(request.group) if isinstance(request, FetchOffsets) else None
        if group is None or not isinstance(request, FetchOffsets):
            return []
        committed = ((topic, None) for topic, _ in coordinator.groups.committed(group.name))
        read = {topic: None for member in group.members.values() for topic in member.topics}
        topics = request.topics or [*{**read, **dict(committed)}]
        return [(topic, number) for topic in topics for number in range(coordinator.partitions(topic))]

    def _pass_on(self, now: int, call: Call, request: Request) -> None:
        """Have a request answered by whoever knows the answer."""
        if isinstance(request, PollGroup):
            self._polls.poll(now, call, request)
            return
        if self.queues is not None and isinstance(request, FetchOffsets | ResetOffsets):
            group = self.coordinator.groups.groups.get(request.group)
            if group is not None and group.mode is GroupMode.SHARED:
                if isinstance(request, ResetOffsets):
                    self.queues.reset(now, call, request)
                else:
                    self.queues.tell(now, call, request)
                return
        self.coordinator.ask(now, call, request)

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken at once."""
        return self._journal.is_ready

    def found_idle(self, now: int, group: str) -> None:
        """The queues of a shared group that is to be forgotten have nothing under way."""
        if self.is_ready and self._led.is_in_office:
            self.coordinator.found_idle(now, group)

    def take_notes(self) -> list[str]:
        """What whoever looks after the node may want to read: the groups that were forgotten."""
        expiries = self.coordinator.expiries
        if not expiries.forgotten:
            return []
        names, expiries.forgotten = expiries.forgotten, []
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        return [
            f"forgotten with their offsets, as nobody has used them for long: {', '.join(names[:_NAMED_MAX])}{more}"
        ]

    # --- what other services ask

    @property
    def is_known(self) -> bool:
        """Whether it is known what groups there are: by the coordinator, or by a copy."""
        return self.is_ready or self._mirror.is_whole

    @property
    def known(self) -> dict[str, Group]:
        """The groups that there are as far as is known here."""
        return self.coordinator.groups.groups if self.is_ready else self._mirror.groups

    def knows(self, group: str) -> bool:
        """Whether a group is known here."""
        return group in self.known

    def is_sure(self, since: int) -> bool:
        """Whether all that was durable at a time is known: a group that is not is none."""
        return self.is_ready or (self._mirror.is_whole and self._mirror.fresh_at >= since)

    def take_news(self) -> SharedNews | None:
        """What happened in shared groups since the last call, while that can be told."""
        source = self.coordinator.shared if self.is_ready else self._mirror.news if self._mirror.is_whole else None
        if source is None or not (source.stood or source.departures or source.all_differ):
            return None
        if self.is_ready:
            self.coordinator.shared = SharedNews()
            return source
        return self._mirror.take_news()

    def is_member(self, group: str, member_id: str) -> bool:
        """Whether a member is known here."""
        found = self.known.get(group)
        return found is not None and not isinstance(member_of(found, member_id), Refusal)

    def alive(self, now: int, group: str, member_id: str, *, tells: bool) -> Group | Refusal | None:
        """The group of a member that was heard of, and the coordinator if it is to be told.

        None where it is not known here if it is a member.
        """
        far = self._far()
        if self.is_ready or far is None:
            coordinator = self.coordinator
            return self.unready() or coordinator.alive(now, group, member_id) or coordinator.groups.groups[group]
        if not self._mirror.is_whole or not self.is_member(group, member_id):
            return None
        found = self.known[group]
        if far.leader and tells:
            self._signs.note(now, far.leader, found.members[member_id], group)
        return found

    def ends(self, topic: str, number: int) -> tuple[int, int] | None:
        """Where a partition begins and ends; None where that is not known."""
        return self._reach.ends(topic, number)

    def about(self, topic: str, number: int) -> tuple[int, int] | None:
        """Where a partition begins and ends, about."""
        return self._reach.about(topic, number)

    def counterpart(self) -> str:
        """The node that coordinates, if another one does and is known."""
        far = self._far()
        return "" if far is None else far.leader

    def unready(self) -> Refusal | None:
        """Why nothing can be said of groups for now; None where there are none at all."""
        if self.is_known or (self._journal.is_absent and JOURNAL_TOPIC not in self._led.topics):
            return None
        if self._journal.has_failed and self._far() is None:
            return self._refusal()
        return Refusal(Code.UNAVAILABLE, "the groups are being read", retry_after_ms=200)

    def _refusal(self) -> Refusal:
        far = self._far()
        if far is not None:
            return _not_here(far)
        message = f"the groups cannot be read or written: {self._journal.why}"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._waiting.pop(call, None)
        self._moments.forget(call)
        self._sounded.forget(call)
        self._polls.forget(call)
        self.coordinator.forget(call)

    def forget_found(self) -> None:
        """Let go of the batches in memory that polls have found so far."""
        self._polls.forget_found()

    # --- what the node reports

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """Take the answer to an internal request."""
        if isinstance(reply, Fetched | FoundOffset | Refusal):
            slot = self._reach.answered(now, number, reply)
            if slot is not None:
                self._heard(now, slot)
        if isinstance(reply, Fetched | Refusal):
            self._mirror.answered(now, number, reply)
        if isinstance(reply, FoundOffset | Refusal):
            reset = self._moments.answered(number, reply)
            if reset is not None and reset.refusal is not None:
                self._send(reset.call, reset.refusal)
            elif reset is not None:
                self._plumb(now, reset.call, reset.request)
        was_ready = self.is_ready
        is_made = self._journal.answered(now, number, reply)
        if self.is_ready and not was_ready:
            self._begin(now)
        if isinstance(reply, Fetched | FoundOffset | Refusal):
            self._polls.answered(number, reply)
        if not is_made or self._journal.has_failed:
            self._refuse_all()

    def _journal_end(self) -> int:
        """Where ends what was written to the journal, as far as it is led here."""
        partition = self._led.partition(JOURNAL_TOPIC, 0)
        return partition.log.next_offset if isinstance(partition, Partition) else 0

    def _begin(self, now: int) -> None:
        """Coordinate from what the journal holds on."""
        try:
            self.coordinator.restore(now, self._journal.take_loaded().items())
        except ProtocolError as error:
            self._journal.log.unreadable(now, str(error))
            return
        self._mirror.stop()
        waiting, self._waiting = self._waiting, {}
        for call, request in waiting.items():
            self._take(now, call, request)

    def _heard(self, now: int, slot: Slot) -> None:
        """There is news of a partition that another node leads."""
        self._polls.news(*slot)
        if not self._reach.is_sounding(slot):
            for asked in self._sounded.heard(slot):
                self._pass_on(now, *asked)

    def _refuse_all(self) -> None:
        """Whoever waits is told that it cannot be now."""
        self._refuse_waiting()
        refusal = self._refusal()
        for _, call, _ in self._held:
            # The journal may have what this answer rests on.
            self._send(call, refusal.in_doubt())
        self._held.clear()
        for call in self.coordinator.suspend():
            self._send(call, refusal)

    def _refuse_waiting(self) -> None:
        """Those whose requests were not begun may go elsewhere with them."""
        refusal = self._refusal()
        waiting = [*self._waiting, *self._moments.clear(), *self._sounded.clear(), *self._polls.end_all()]
        self._waiting = {}
        for call in waiting:
            self._send(call, refusal)

    def _follow_journal(self, now: int) -> None:
        """Keep a copy of the groups while another node coordinates, and until this one does."""
        if self._far() is None:
            if self.is_ready:
                self._mirror.stop()
            return
        self._mirror.start(now)
        self._mirror.renew(now)
        if self._waiting:
            self._refuse_waiting()

    def topics_changed(self, now: int) -> None:
        """There are other topics than before, or with other partitions."""
        if JOURNAL_TOPIC in self._led.topics:
            self._journal.expected()
        self._reach.topics_changed()
        self._follow_journal(now)
        counts = self._led.partition_counts()
        topic_ids = {name: each.topic.topic_id for name, each in self._led.topics.items()}
        self.coordinator.topics_changed(now, counts, topic_ids)

    def news(self, now: int, partition: Partition) -> bool:
        """There may be more to read in a partition."""
        return partition.side is Side.DATA and self._polls.news(partition.topic, partition.number)

    def opened(self, now: int, partition: Partition) -> None:
        """A partition was recovered; if it is the journal's, that is read from its start."""
        if partition.log.stream == JOURNAL_STREAM:
            assert not self._held, "what was held was refused when the partition failed"
            self._follow_journal(now)
            self._journal.log.opened(partition.log.start_offset)

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used until it is opened again; without the journal's there are no groups."""
        if stream == JOURNAL_STREAM:
            self._journal.log.failed(why)
            self._refuse_all()
            self._follow_journal(now)

    def clock_jumped(self, now: int) -> None:
        """Nothing here comes due by the calendar but what is looked at again when it does."""

    def regained(self, now: int) -> None:
        """This node may coordinate again: members could not be heard, and what could not be read is read at once."""
        self._journal.log.renew(now)
        self._mirror.renew(now)
        for group in self.coordinator.groups.groups.values() if self.is_ready else ():
            for member_id in group.members:
                self.coordinator.session(group.name, member_id).last = now

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        if self.is_ready and self._led.is_in_office and (self.coordinator.entries or self.coordinator.idle):
            return 0
        times = [self._mirror.deadline(), self._reach.deadline()]
        if self._led.is_in_office:
            times.append(self._journal.log.deadline())
        if self._led.is_in_office and self.is_ready:
            times += [self.coordinator.deadline(), self._polls.deadline()]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._mirror.wake(now)
        for slot in self._reach.due(now):
            self._heard(now, slot)
        if not self._led.is_in_office:
            return
        self._journal.log.wake(now)
        if self.is_ready:
            self.coordinator.wake(now)
            self._polls.wake(now)

    def settle(self, now: int) -> None:
        """Write what is to be written, and send what may be said."""
        if not self._led.is_in_office or not self.is_ready:
            return
        coordinator = self.coordinator
        idle, coordinator.idle = coordinator.idle, {}
        for name in idle:
            if self.queues is None:
                coordinator.found_idle(now, name)
            else:
                self.queues.look_idle(name)
        if coordinator.entries:
            entries, coordinator.entries = coordinator.entries, []
            self._journal.append(self._clock.wall_ms(now), entries)
        log = self._journal.log
        appended, durable = log.appended, log.durable
        self._polls.turn(now, appended, durable)
        if coordinator.replies:
            replies, coordinator.replies = coordinator.replies, []
            self._held.extend((appended, call, answer) for call, answer in replies)
        held = self._held
        while held and held[0][0] <= durable:
            _, call, answer = held.popleft()
            self._send(call, answer)
        for call, answer in self._polls.take_replies():
            self._send(call, answer)

    def check(self) -> None:
        """Assert the invariants."""
        self._journal.log.check()
        self._mirror.check()
        self._reach.check()
        self._moments.check()
        self._sounded.check()
        self.coordinator.check()
        self._polls.check()
        assert self.is_ready or not self._held
        assert not self._waiting or not (self._journal.is_absent or self._journal.is_ready or self._journal.has_failed)


def _not_here(far: Elsewhere) -> Refusal:
    message = f"the groups are coordinated by {far.leader or 'another node, which is being elected'}"
    return Refusal(Code.NOT_COORDINATOR, message, retry_after_ms=100, leader=far.leader)
