"""One broker without its I/O: composition and verbs, no decisions of its own.

Requests come in by `ask`, letters of peers by `receive`, answers and effects go out by `take`. In between, what all
nodes agree on is changed through the metadata log (`cluster/`), batches go to partitions (`broker/publishes.py`,
`partition/`), and what the driver found out about disks is handed on (`broker/streams.py`). What a node among others
has besides is in `broker/peering.py`.

A turn of the driver: `ask` for all that came in, `take`, perform the writes, report failures, `written`, `take` again.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from goqueue.core.broker.descriptions import Descriptions
from goqueue.core.broker.metadata_listener import MetadataListener
from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.broker.peering import NodeAccess, Peering
from goqueue.core.broker.publishes import Publishes
from goqueue.core.broker.reads import Look, Reads
from goqueue.core.broker.streams import Streams
from goqueue.core.broker.upkeep import Upkeep
from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_STREAM, Agreement
from goqueue.core.cluster.plans import Plans
from goqueue.core.deadletters.leader import DeadLeader
from goqueue.core.delays.leader import DelayLeader
from goqueue.core.gate.gate import Gate
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.log.compaction import CompactionOutput
from goqueue.core.log.effects import ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import LogState
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.peers.faults import PeerFaults
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Letter, Ready, SaveVote, Send
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replication.sources import REPLICA_TOKENS
from goqueue.core.requests.call import Call, Caller, Origin
from goqueue.core.requests.internal import AskNode, RollSide, TrimSide
from goqueue.core.requests.messages import Fetch, FindOffset, NewRecord, Publish, PublishBatch
from goqueue.core.requests.nodes import DescribeNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.requests.table import ABOUT_PEERS, of_service
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.service import Service, ServiceContext, Services

# Followers are served from memory what a client would rather have from the disk.
_RECENT_BATCH_BYTES = 32 << 10
_RECENT_BATCH_BYTES_CLUSTER = 1 << 20
# The wall clock as it is read strays by a little all the time; alarms need not follow that.
_CLOCK_STEP_MS = 1000


class Node:
    """The state machine of one broker."""

    def __init__(self, options: NodeOptions, clock: Clock, now: int) -> None:
        self.options = options
        self.clock = clock
        self._ready, self._gate = Ready(), Gate()
        self.led = ReplicaSet(options.node_id, options.thresholds)
        cluster = options.cluster
        random = Random(options.seed)  # noqa: S311 - no secret
        batch_bytes_max = _RECENT_BATCH_BYTES if cluster is None else _RECENT_BATCH_BYTES_CLUSTER
        self._recent = RecentBatches(options.recent_bytes, batch_bytes_max)
        founders = len(cluster.founders) if cluster is not None else 0
        self._plans = Plans(options.node_id, options.partitions_default, options.replication_default, founders)
        self._agreement = self._make_agreement(clock)
        self._upkeep = Upkeep(self.led.held, options.thresholds.compaction_pause_ns)
        self._reads = Reads(self._answer, self.led)
        self._wishes = InternalRequests(ServiceName.NODE)
        # The requests of clients that have no answer yet, by number.
        self._clients: dict[int, Call] = {}
        site = ServiceContext(clock, random, options.secrets, self.led, self._answer)
        self._groups = groups = GroupLeader(site, options.session_timeout_ms, options.groups)
        self._delays = DelayLeader(site)
        work = WorkLeader(site, groups)
        rooms: list[Service] = [groups, work, DeadLeader(site, work), self._delays]
        self._peering: Peering | None = None
        if cluster is not None:
            doors = NodeAccess(self._carry_out_for_peer, self._answer, self._forget_local, self._spread)
            self._peering = Peering(site, cluster, options.version, self._agreement, self._recent, doors)
            rooms.append(self._peering.attendance)
        # What peers have said that was refused.
        self.faults = PeerFaults() if self._peering is None else self._peering.faults
        self._services = Services(rooms, self.led)
        replication = None if self._peering is None else self._peering.replication
        self._streams = Streams(self.led, self._reads, self._upkeep, self._services, replication, self._answer)
        self._publishes = Publishes(clock, self.led, self._delays, self._answer, self._streams.touch)
        self._leading = MetadataListener(
            clock,
            self.led,
            self._agreement,
            self._streams.follower(),
            self._recent,
            options.topic_config,
            replication,
            None if cluster is None else cluster.incarnation,
        )
        self._armed_at_ms = clock.wall_ms(0)
        attendance = None if self._peering is None else self._peering.attendance
        descriptions = Descriptions(options, self.led, self._agreement, self._answer, self._gate, now, attendance)
        self._verbs: dict[type, Callable[[int, Call, Any], None]] = {
            **dict.fromkeys((*of_service(ServiceName.METADATA), *self._plans.table()), self._change),
            **dict.fromkeys(of_service(ServiceName.NODE), descriptions.topics),
            DescribeNode: descriptions.node,
            Publish: self._publishes.publish,
            PublishBatch: self._publishes.publish_batch,
            Fetch: self._reads.fetch,
            FindOffset: self._reads.find,
            RollSide: self._streams.roll_side,
            TrimSide: self._streams.trim_side,
            AskNode: self._ask_here,
        }
        if self._peering is not None:
            self._verbs.update(dict.fromkeys(of_service(ServiceName.CONTROLLER), self._peering.ask))
        else:
            self._verbs.update(dict.fromkeys(ABOUT_PEERS, descriptions.alone))

    def _make_agreement(self, clock: Clock) -> Agreement:
        options = self.options
        random = Random(f"{options.seed}/agreement")  # noqa: S311 - no secret
        return Agreement(options.node_id, options.cluster, clock, random, self._plans.table(), options.thresholds)

    # --- requests

    def ask(self, now: int, number: int, caller: Caller, request: Request) -> None:
        """Take one request; its answer, once there is one, is a `Send` to `number`."""
        call = self._clients[number] = Call(number, caller)
        refusal = self._gate.admit(now, call, request)
        if refusal is not None:
            self._answer(call, refusal)
        elif not (self._agreement.is_current or type(request) in ABOUT_PEERS) or not self._leading.is_open:
            self._answer(call, Refusal(Code.UNAVAILABLE, "the node is starting", retry_after_ms=200))
        elif self._peering is None or not self._peering.ask_others(now, call, request):
            self._carry_out(now, call, request)

    def _carry_out_for_peer(self, now: int, call: Call, request: Any) -> None:  # noqa: ANN401 - see above
        """Do what another node has asked, which knows more than this one when this one has just begun."""
        refusal = self._gate.admit(now, call, request)
        if refusal is not None:
            self._answer(call, refusal)
        elif self._agreement.is_current:
            self._carry_out(now, call, request)
        else:
            self._answer(call, Refusal(Code.NOT_LEADER, "the node is starting", retry_after_ms=200))

    def _carry_out(self, now: int, call: Call, request: Any) -> None:  # noqa: ANN401 - any request
        """Do what is asked here, whoever leads."""
        verb = self._verbs.get(type(request))
        if verb is not None:
            verb(now, call, request)
        else:
            self._services.ask(now, call, request)

    @property
    def has_metadata(self) -> bool:
        """Whether it is known which topics there are."""
        return self._leading.is_open

    def is_started(self, now: int) -> bool:
        """Whether all partitions that were there at the start have been looked at, and a cluster knows this process."""
        is_known = self._peering is None or self._peering.attendance.may_lead(now)
        return is_known and self._leading.is_settled

    def forget(self, number: int) -> None:
        """Nobody waits for the answer to the request with a number any more."""
        call = self._clients.pop(number, None)
        if call is not None:
            self._forget_local(call)
            if self._peering is not None:
                self._peering.dispatch.forget(call)

    def _forget_local(self, call: Call) -> None:
        self._reads.forget(call)
        self._services.forget(call)

    def _answer(self, call: Call | None, reply: Reply) -> None:
        """Tell whoever asked: a client by way of the driver, a service of this node, or another node."""
        if call is None:
            return
        if call.origin is Origin.CLIENT:
            self._clients.pop(call.number, None)
            self._gate.answered(reply)
            self._ready.sends.append(Send(call.number, reply))
        elif call.service is ServiceName.NODE:
            pass
        elif call.origin is Origin.NODE or call.service is ServiceName.ROUTING:
            assert self._peering is not None
            self._peering.dispatch.answered(call, reply)
        else:
            self._services.answered(call, reply)

    def _spread(self, topic: str, records: Sequence[NewRecord]) -> dict[int, list[int]]:
        return self._publishes.spread(topic, records)

    # --- peers

    def receive(self, now: int, sender: str, message: Any) -> None:  # noqa: ANN401 - a letter of any kind
        """Take a letter of a peer."""
        if self._peering is not None and self._leading.is_open:
            self._peering.hear(now, sender, message)
            self._follow(now)

    def peer_met(self, now: int, peer: str) -> None:
        """There is a link to a peer."""
        if self._peering is not None:
            self._peering.met(now, peer)

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer is gone, and with it what was under way."""
        if self._peering is not None:
            self._peering.lost(now, peer)

    def peer_gone(self, now: int, peer: str) -> None:
        """The process of a peer is certainly no more: its machine says so."""
        if self._peering is not None:
            self._peering.gone(now, peer)
            self._follow(now)

    def vote_saved(self, now: int, vote: SaveVote) -> None:
        """A vote is where it outlives the process."""
        self._agreement.vote_saved(now, vote)
        self._follow(now)

    @property
    def is_controller(self) -> bool:
        """Whether this node decides for all."""
        return self._agreement.is_controller

    @property
    def controller(self) -> str:
        """The node that decides for all, as far as is known; empty while nobody does."""
        return self._agreement.controller

    @property
    def cluster_id(self) -> str:
        """The cluster that this node belongs to; empty while that is not agreed."""
        return self._agreement.state.cluster_id

    @property
    def problem(self) -> str:
        """Why the cluster does not let this node in, for people; empty where nothing is wrong."""
        return "" if self._peering is None else self._peering.attendance.problem

    def peers(self) -> dict[str, str]:
        """Where other nodes are reached; the same object until that changes."""
        return {} if self._peering is None else self._peering.addresses

    def leave(self, now: int) -> None:
        """The process is about to end: have others lead what is led here."""
        if self._peering is not None:
            self._peering.leave(now)
            self._services.stir()

    @property
    def has_left(self) -> bool:
        """Whether others lead all that they can."""
        return self._peering is None or self._peering.has_left

    # --- topics

    def _change(self, now: int, call: Call, request: Any) -> None:  # noqa: ANN401 - whatever can be agreed on
        self._leading.change(now, call, request)
        self._follow(now)

    def _follow(self, now: int) -> None:
        """Make of what has been agreed on what it is to be here."""
        if not self._agreement.has_news and not self._leading.finished:
            return
        changed = self._leading.follow(now)
        if self._peering is not None:
            self._peering.follow(now, changed)
            self._services.stir()
        finished, self._leading.finished = self._leading.finished, []
        for request in finished:
            self._wishes.ask(request)

    # --- what the driver reports

    def opened(
        self,
        now: int,
        stream: str,
        state: LogState,
        entries: Iterable[Entry] = (),
        vote: SaveVote | None = None,
        claimed: Iterable[tuple[str, int]] = (),
    ) -> None:
        """A stream was recovered, at first or after a failure or a cut.

        For the metadata with all that is in it, and with folders of partitions here and the topics' ids (`claimed`).
        """
        if stream == METADATA_STREAM:
            self._leading.metadata_opened(now, state, entries, vote, claimed)
            self._follow(now)
        else:
            self._leading.opened(now, stream, state)

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        if stream != METADATA_STREAM:
            self._leading.open_failed(now, stream, why)

    def removed(self, now: int, folder: str) -> None:
        """The folder of a topic or of a partition is gone."""
        self._leading.removed(now, folder)
        self._follow(now)

    def written(self, now: int) -> None:
        """All writes taken so far are in the hands of the operating system, save where `disk_failed` was said."""
        self._streams.written(now)

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise."""
        if stream == METADATA_STREAM:
            self._agreement.synced(now, token)
            self._follow(now)
        else:
            self._streams.synced(now, stream, token)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """A stream's disk refused or lost something; the driver is asked to recover it."""
        if stream == METADATA_STREAM:
            self._agreement.disk_failed(now, why)
            self._follow(now)
        else:
            self._streams.disk_failed(now, stream, why)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to a `Fetching`."""
        if token < REPLICA_TOKENS:
            self._reads.done(now, token, result)
        elif self._peering is not None:
            assert not isinstance(result, TimeResult)
            self._peering.replication.read_done(now, token, result)

    def looks_into(self, token: int) -> Look:
        """What the node itself sees of what a `Fetching` brings; the rest is passed on unseen."""
        return self._reads.looks_into(token) if token < REPLICA_TOKENS else Look.NOTHING

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer a `Fetching`: what it holds is damaged, or it may work another time."""
        if token < REPLICA_TOKENS:
            self._reads.failed(now, token, why, damaged=damaged)
        elif self._peering is not None:
            self._peering.replication.read_failed(now, token, why, damaged=damaged)

    def compacted(self, now: int, stream: str, end_offset: int, outputs: list[CompactionOutput]) -> bool:
        """A `Compact` was carried out; False when its files are of no use any more and should go."""
        is_taken = self._upkeep.compacted(now, end_offset, outputs)
        if is_taken:
            held = self.led.held(stream)
            assert held is not None
            self._streams.touch(held)
        return is_taken

    def compaction_failed(self, now: int) -> None:
        """A `Compact` was not carried out, and nothing has changed."""
        self._upkeep.compaction_failed(now)

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        times = [self._reads.deadline(), self._upkeep.deadline(), self._services.deadline(), self._leading.deadline()]
        times += [self._agreement.deadline(), self._streams.deadline()]
        if self._peering is not None:
            times.append(self._peering.deadline())
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self._agreement.wake(now)
        self._leading.wake(now)
        if self._peering is not None:
            self._peering.wake(now)
        self._follow(now)
        self._reads.wake(now)
        self._services.wake(now)
        self._streams.wake(now)

    def clock_moved(self, now: int, wall_ms: int) -> None:
        """A new reading of the wall clock."""
        self.clock.moved(now, wall_ms)
        self._services.stir()
        origin_ms = self.clock.wall_ms(0)
        if abs(origin_ms - self._armed_at_ms) >= _CLOCK_STEP_MS:
            self._armed_at_ms = origin_ms
            self._upkeep.watch_all(now, self.led.streams.values())
            self._services.clock_jumped(now)

    def disk_room(self, _now: int, is_full: bool) -> None:
        """Whether the disk has room for messages of clients: while it is full, they are refused at once."""
        self.led.is_disk_full = is_full

    def forget_recent(self, now: int) -> None:
        """Let go of the batches in memory that are on the disk as well."""
        self._recent.clear()
        self._streams.check_anew()
        self._services.forget_found()

    def close(self, now: int) -> None:
        """Leave every log so that the next start has nothing to read back."""
        for partition in self.led.streams.values():
            self._streams.touch(partition)
            partition.close(now)
        for replica in self.led.replicas.values():
            self._streams.touch(replica)
            replica.close(now)
        self._agreement.close(now)

    def take(self, now: int) -> Ready:
        """Everything to be done since the last call."""
        self._attend(now)
        ready, leading, agreement = self._ready, self._leading, self._agreement
        if agreement.is_stirred:
            ready.writes.extend(agreement.take(now))
            ready.votes = agreement.take_votes()
        self._follow(now)
        self._publishes.turn()
        ready.writes.extend(self._streams.take(now))
        if self._peering is not None or agreement.letters:
            ready.letters = self._take_letters(now)
        if self._reads.has_wanted:
            ready.reads += self._reads.take()
        if self._upkeep.wanted:
            ready.compactions, self._upkeep.wanted = self._upkeep.wanted, []
        if leading.opens:
            ready.opens, leading.opens = leading.opens, []
        if leading.removes:
            ready.removes, leading.removes = leading.removes, []
        ready.notes = self._groups.take_notes()
        self._ready = Ready()
        ready.is_last = ready.is_quiet and self._peering is None and self._is_at_rest
        return ready

    @property
    def _is_at_rest(self) -> bool:
        """Whether nothing is under way within the node that goes on at once."""
        return not self._wishes.asked and self._services.is_at_rest and not self._streams.has_touched

    def _attend(self, now: int) -> None:
        """Let the services speak and ask until nothing more comes at once."""
        peering = self._peering
        if self._wishes.asked:
            for call, wish in self._wishes.take():
                self._perform(now, call, wish)
        self._services.attend(now, self._perform)
        while peering is not None and peering.dispatch.settle(now):
            self._services.attend(now, self._perform)

    def _take_letters(self, now: int) -> list[Letter]:
        """What is to be told to peers, and what replication wants besides."""
        letters, self._agreement.letters = self._agreement.letters, []
        peering = self._peering
        if peering is not None:
            for partition in peering.take_moved():
                self._streams.settle(now, partition)
            for request in peering.take_requests():
                self._wishes.ask(request)
            letters += peering.take_letters(now)
            self._ready.reads += peering.take_reads()
        return letters

    def _perform(self, now: int, call: Call, wish: Request) -> None:
        """Do what a service asks for."""
        if self._peering is None or not self._peering.ask_others(now, call, wish):
            self._carry_out(now, call, wish)

    def _ask_here(self, now: int, call: Call, request: AskNode) -> None:
        """Carry out the part of this node in what a service asks of several."""
        assert request.node == self.led.node_id
        self._carry_out(now, call, request.request)

    def check(self) -> None:
        """Assert every component's invariants."""
        for partition in self.led.streams.values():
            partition.check()
        self._reads.check()
        self._upkeep.check()
        self._services.check()
        self._agreement.check()
        self._leading.check()
        if self._peering is not None:
            self._peering.check()
