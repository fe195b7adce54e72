"""All work queues of a node: requests of members and of whoever shows receipts, and what groups are told of queues.

A request is carried out in memory at once, and what it changed is written at the end of the turn; its answer is held
until that is durable (`ledgers`). A poll may wait in line for messages (`polling`).

The groups themselves are the coordinator's: who is a member, the mode, the settings. Here it is heard when a member is
gone, whose messages are then others', and when a group is, whose queues then end. How far a shared group has come is
known here alone: below a queue's floor everything is settled.

Dead letters stay where they are, in their queues, until whoever moves them (`core/deadletters`) says that they are
buried. That service looks into `books`, is told by `doomed` which of them to look at, and says by `touch` what it has
changed.

Among several nodes each serves the queues of the partitions that it leads, and the one that was asked by a client asks
the others for theirs: polls go round (`rounds`), receipts are shown where they belong (`spreading`), and the
coordinator gathers how far a group has come (`gathering`). What a node passes on is served by the other from what it
leads itself.

Invariant: a request is answered once, or forgotten.
"""

from goqueue.core.cluster.queue_settings import SPAN_MS_MAX
from goqueue.core.groups import plan
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.shared import fetched, topics_of
from goqueue.core.groups.state import Group
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.dispatcher import GroupDispatcher, Poll
from goqueue.core.queues.errands import Errands, Slot, Turn
from goqueue.core.queues.gathering import Gathering
from goqueue.core.queues.ledgers import Ledgers
from goqueue.core.queues.measure import measured_lanes
from goqueue.core.queues.newcomers import Newcomers
from goqueue.core.queues.nodes import Nodes
from goqueue.core.queues.openings import Openings
from goqueue.core.queues.policy import in_flight_max
from goqueue.core.queues.polling import BYTES_MAX, MESSAGES_MAX, Polls
from goqueue.core.queues.resets import Resets
from goqueue.core.queues.rounds import Rounds
from goqueue.core.queues.settling import Settling, carry_out, problem
from goqueue.core.queues.spreading import Spreading
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import FetchOffsets, GroupMode, ResetOffsets
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import (
    DescribeQueues,
    EndPoll,
    MeasureLanes,
    MeasureWork,
    PollWork,
    QueuesTold,
    QueueTold,
    ReleaseWork,
    ResetQueues,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.service import ServiceContext


class WorkLeader:
    """The work queues of one node."""

    def __init__(self, site: ServiceContext, groups: GroupLeader) -> None:
        self._site = site
        self._groups = groups
        groups.queues = self
        self.wishes = InternalRequests(ServiceName.QUEUES)
        errands, turn = Errands(self.wishes), Turn()
        self._nodes = Nodes(site.led)
        self._rounds = Rounds(self._nodes, errands, site.random)
        self._newcomers = Newcomers(groups, errands)
        self._polls = Polls(errands, groups.knows)
        self._ledgers = Ledgers(site, errands, turn, self._polls, groups)
        self._spreading = Spreading(self._nodes, self._ledgers.homes, errands)
        self._gathering = Gathering(self._nodes, errands)
        self.books = self._ledgers.books
        # Ledgers that are other than they were; emptied by whoever moves their dead letters.
        self.doomed = self._ledgers.doomed
        # What was buried, by group; counted by whoever moves dead letters.
        self.buried_by = self._ledgers.measures.buried_by
        self._openings = Openings(errands, site.led, self._ledgers.books)
        self._resets = Resets(site, self._ledgers, self._polls)

    def touch(self, slot: Slot, group: str = "") -> None:
        """The moves of a book that is ready were changed from outside, or the queue of a group."""
        self._ledgers.touch(slot, group)

    # --- requests

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Take a request; its answer is sent once it holds."""
        if isinstance(request, PollWork):
            self._poll(now, call, request)
        elif isinstance(request, MeasureWork | MeasureLanes) and request.everywhere:
            self._gathering.measure(call, request, sorted(self._site.led.topics))
        elif isinstance(request, MeasureWork):
            self._site.send(call, self._ledgers.measures.work(request, self._polls))
        elif isinstance(request, MeasureLanes):
            self._site.send(call, measured_lanes(now, request, self._site.led.topics, self.books))
        elif isinstance(request, EndPoll):
            self._end_poll(request)
            self._site.send(call, None)
        elif isinstance(request, DescribeQueues):
            self._tell_own(call, request)
        elif isinstance(request, ResetQueues):
            self._reset_own(now, call, request)
        else:
            assert isinstance(request, Settling)
            self._show(now, call, request)

    def _poll(self, now: int, call: Call, request: PollWork) -> None:
        """Serve a member from here, or go round the nodes that can if somebody asks who is none of them."""
        is_client = not call.is_part
        group = self._polled(now, request, tells=is_client)
        if group is None:
            self._newcomers.add(now, call, request, asks=is_client)
        elif isinstance(group, Refusal):
            self._site.send(call, group)
        else:
            member = group.members[request.member_id]
            # Who is waited for longer than a session lasts would be taken for dead.
            wait_ns = min(max(request.wait_ns, 0), member.session_timeout_ms * 1_000_000 // 3)
            nodes = self._nodes.of(member.topics) if is_client and self._nodes.are_several else []
            if nodes and nodes != [self._nodes.own]:
                self._rounds.begin(now, call, request, member.topics, wait_ns)
            else:
                self._serve(now, call, request, group, wait_ns)

    def _serve(self, now: int, call: Call, request: PollWork, group: Group, wait_ns: int) -> None:
        """Serve a member from the partitions that are led here."""
        dispatcher, member = self._dispatcher(group), group.members[request.member_id]
        self._openings.prepare(now, dispatcher, group, member.topics)
        refusal = None if dispatcher.serves(member.topics) else self.refusal(member.topics)
        if refusal is not None:
            self._site.send(call, refusal)
            return
        messages_max = min(max(request.messages_max, 1), MESSAGES_MAX)
        bytes_max = min(max(request.bytes_max, 1), BYTES_MAX)
        bounds = messages_max, bytes_max, request.visibility_ms
        poll = Poll(call, member.member_id, member.topics, *bounds, now + wait_ns, request.round)
        self._polls.poll(now, dispatcher, poll)

    def _end_poll(self, request: EndPoll) -> None:
        dispatcher = self._polls.dispatchers.get(request.group)
        if dispatcher is not None:
            self._polls.end_round(dispatcher, request.member_id, request.round)
        self._ledgers.end_round(request.round)

    def _polled(self, now: int, request: PollWork, *, tells: bool) -> Group | Refusal | None:
        """The group that a member polls, or why it may not; None where it is not known here if it is one."""
        if not 0 <= request.visibility_ms <= SPAN_MS_MAX:
            message = f"visibility_ms must be from 0 to {SPAN_MS_MAX}, not {request.visibility_ms}"
            return Refusal(Code.INVALID, message, "visibility_ms")
        group = self._groups.alive(now, request.group, request.member_id, tells=tells)
        if group is None or isinstance(group, Refusal) or group.mode is GroupMode.SHARED:
            return group
        message = f"group {group.name} is {group.mode}, and its members are given partitions, not messages"
        return Refusal(Code.WRONG_MODE, message, "group")

    def _dispatcher(self, group: Group) -> GroupDispatcher:
        dispatcher = self._polls.dispatcher(group.name)
        dispatcher.max_in_flight = in_flight_max(group.config)
        return dispatcher

    def _show(self, now: int, call: Call, request: Settling) -> None:
        """Take receipts, or pass them on to the nodes that lead their partitions if somebody asks who is none."""
        refusal = problem(request)
        if refusal is not None:
            self._site.send(call, refusal)
        elif call.is_part or not self._spreading.begin(call, request):
            self._settle_receipts(now, call, request)

    def _settle_receipts(self, now: int, call: Call, request: Settling) -> None:
        """Carry out what is asked by receipts of queues that are here."""
        # How often a message may fail is the group's to say, so nothing fails before the groups are known.
        refusal = self._groups.unready()
        if refusal is not None:
            self._site.send(call, refusal)
            return
        settled = carry_out(now, request, self._ledgers.homes)
        for reader in settled.readers:
            self._polls.stir(reader)
        self._ledgers.say(call, settled.answer, [reader.slot for reader in settled.readers])

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more; what it would have given is handed back."""
        self._rounds.forget(call)
        self._newcomers.forget(call)
        self._spreading.forget(call)
        self._gathering.forget(call)
        self._polls.forget(call)
        self._resets.forget(call)
        self._ledgers.forget(call)

    def forget_found(self) -> None:
        """Let go of the batches in memory that were read in advance."""
        self._polls.forget_found()

    # --- groups

    def offsets(self, group: str) -> dict[Slot, tuple[int, int]]:
        """By partition, below which offset everything is settled, and how many messages are not."""
        dispatcher = self._polls.dispatchers.get(group)
        return (
            {}
            if dispatcher is None
            else {slot: (reader.floor, reader.left) for slot, reader in dispatcher.readers.items()}
        )

    def refusal(self, topics: list[str]) -> Refusal | None:
        """Why nothing can be said of some topics for now."""
        return self._ledgers.refusal(topics)

    def tell(self, now: int, call: Call, request: FetchOffsets) -> None:
        """Answer how far a group has come, on all nodes."""
        group = self._groups.known[request.group]
        self._gathering.tell(call, request, topics_of(group, request, self.offsets(group.name)))

    def _answer_told(self, call: Call, request: FetchOffsets, known: dict[Slot, tuple[int, int]]) -> None:
        group = self._groups.known.get(request.group)
        if group is None:
            refusal = Refusal(Code.GROUP_NOT_FOUND, f"there is no group {request.group!r}", "group")
            self._site.send(call, self._groups.unready() or refusal)
            return
        names, counts = topics_of(group, request, known), self._site.led.partition_counts()
        self._site.send(call, fetched(group, names, counts, known, self._groups.about))

    def _tell_own(self, call: Call, request: DescribeQueues) -> None:
        """Tell how far the queues have come that are here."""
        refusal = self.refusal(request.topics)
        if refusal is not None:
            self._site.send(call, refusal)
            return
        dispatcher = self._polls.dispatchers.get(request.group)
        readers = {} if dispatcher is None else dispatcher.readers
        queues = [QueueTold(*slot, reader.floor, reader.left, reader.open) for slot, reader in readers.items()]
        self._site.send(call, QueuesTold(queues))

    def look_idle(self, group: str) -> None:
        """Find out whether anything of a group is under way on any node; the coordinator hears of it if nothing is."""
        topics = {name: each for name, each in self._site.led.topics.items() if Side.LEDGER in each.topic.sides}
        # Of a partition that nobody leads nobody knows.
        if all(each.leader(number) for each in topics.values() for number in range(each.topic.partitions)):
            self._gathering.look_idle(group, [*topics])

    def reset(self, now: int, call: Call, request: ResetOffsets) -> None:
        """Have the queues of a group go on from somewhere else, and answer when that is durable."""
        coordinator = self._groups.coordinator
        partitions, wall_ms = coordinator.partitions(request.topic), self._site.clock.wall_ms(now)
        planned = plan.plan_reset(coordinator.groups, request, partitions, self._groups.ends, wall_ms)
        if isinstance(planned, Refusal):
            self._site.send(call, planned)
        else:
            self._gathering.reset(call, ResetQueues(request.group, request.topic, planned[1], request.dry_run))

    def _reset_own(self, now: int, call: Call, request: ResetQueues) -> None:
        """Reset the queues that are here."""
        group = self._groups.known.get(request.group)
        if group is None:
            message = f"group {request.group!r} is not known here"
            self._site.send(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
            return
        dispatcher = self._dispatcher(group)
        self._openings.prepare(now, dispatcher, group, [request.topic])
        self._open_begun(now)
        self._resets.reset(now, call, request, dispatcher)

    def _follow_groups(self, now: int) -> None:
        """Members that are gone have nothing any more, groups that are gone no queues."""
        self._ledgers.end_gone(now)
        for call, request in self._newcomers.take_known():
            self._poll(now, call, request)
        news = self._groups.take_news()
        if news is None:
            return
        names = [*self._polls.dispatchers] if news.all_differ else [*news.stood]
        for name in names:
            group = self._groups.known.get(name)
            if name in news.gone:
                self._ledgers.end(name)
            if group is None or group.mode is not GroupMode.SHARED:
                self._ledgers.end(name)
            elif name in self._polls.dispatchers:
                self._regroup(group)
        for departure in news.departures:
            self._ledgers.depart(now, departure)
        self._openings.renew()

    def _regroup(self, group: Group) -> None:
        """A group has other members or settings."""
        dispatcher = self._dispatcher(group)
        for reader in dispatcher.readers.values():
            self._ledgers.configure(reader)
        for poll in [*dispatcher.line.values()]:
            member = plan.member_of(group, poll.member_id)
            if isinstance(member, Refusal):
                self._polls.refuse(dispatcher, poll.member_id, member)
            else:
                poll.topics = member.topics

    # --- what the node reports

    def topics_changed(self, now: int) -> None:
        """There are other topics than before, or with other settings or leaders."""
        self._nodes.topics_changed()
        self._rounds.topics_changed(now)
        self._ledgers.topics_changed()
        self._openings.renew()

    def opened(self, now: int, partition: Partition) -> None:
        """A stream was recovered: a ledger is read, and what was read of a partition may be another."""
        if partition.side is Side.LEDGER:
            self._ledgers.opened(now, partition)
        elif partition.side is Side.DATA:
            self._ledgers.reread(now, partition)
        self._openings.renew()

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used until it is opened again."""
        self._ledgers.failed(now, stream, why)
        self._openings.renew()

    def news(self, now: int, partition: Partition) -> bool:
        """There may be more to read in a partition."""
        return partition.side is Side.DATA and self._ledgers.news(partition)

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """Take the answer to an internal request."""
        if self._ledgers.answered(now, number, reply):
            self._openings.renew()

    def regained(self, now: int) -> None:
        """This node may act as a leader again: ledgers that could not be read are read at once."""
        self._ledgers.renew(now)

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        if self._ledgers.is_due or self._polls.is_due or self._openings.is_stale or self._is_due:
            return 0
        components = self._ledgers, self._polls, self._openings, self._rounds, self._newcomers
        times = [component.deadline() for component in components]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._ledgers.wake(now)
        self._polls.wake(now)
        self._openings.wake(now)
        self._rounds.wake(now)
        self._newcomers.wake(now)

    @property
    def _is_due(self) -> bool:
        return self._rounds.is_due or self._spreading.is_due or self._gathering.is_due

    def clock_jumped(self, now: int) -> None:
        """What waits, waits for spans; what is to expire goes by the calendar, and is looked at when it is read."""

    def settle(self, now: int) -> None:
        """Write what is to be written, and say what may be said."""
        self._follow_groups(now)
        self._settle_once(now)
        while self._is_due:
            self._go_on(now)
            self._settle_once(now)
        for call, refusal in self._newcomers.take_refused():
            self._site.send(call, refusal)

    def _settle_once(self, now: int) -> None:
        returned = self._ledgers.take_returned()
        if returned:
            for reader in carry_out(now, ReleaseWork(returned), self._ledgers.homes).readers:
                self._polls.stir(reader)
        if self._openings.is_stale:
            self._look_again(now)
        self._open_begun(now)
        self._polls.turn(now)
        for over in self._polls.take_answers():
            self._ledgers.say(over.call, over.answer, over.slots, over.round)
        self._ledgers.write(now)

    def _go_on(self, now: int) -> None:
        """Pass on what has come of requests that several nodes had parts of."""
        for call, polled in self._rounds.take_answers():
            self._site.send(call, polled)
        for call, done in self._spreading.take_answers():
            self._site.send(call, done)
        for call, changes in self._gathering.take_answers():
            self._site.send(call, changes)
        for told in self._gathering.take_told():
            self._answer_told(*told)
        for name in self._gathering.take_idle():
            self._groups.found_idle(now, name)

    def _open_begun(self, now: int) -> None:
        for name, slot in self._openings.take_begun():
            book = self.books.get(slot)
            # A partition that was lost in the same turn took the queue along.
            if book is not None and name in book.queues:
                self._ledgers.open(now, name, book)

    def _look_again(self, now: int) -> None:
        """Something has come that those in line may have waited for."""
        self._openings.is_stale = False
        groups = self._groups.known
        for dispatcher in self._polls.dispatchers.values():
            group = groups.get(dispatcher.group)
            if dispatcher.line and group is not None:
                topics = [*dict.fromkeys(topic for poll in dispatcher.line.values() for topic in poll.topics)]
                self._openings.prepare(now, dispatcher, group, topics)
                self._polls.rouse(dispatcher)
        for call, request in self._resets.take_waiting():
            self._reset_own(now, call, request)

    def check(self) -> None:
        """Assert the invariants."""
        self._polls.check()
        self._openings.check()
        self._ledgers.check()
        self._rounds.check()
        self._newcomers.check()
        self._spreading.check()
        self._gathering.check()
