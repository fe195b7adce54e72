"""What a node among others has besides: replication, forwarding, its attendance, and the controller's office.

Not here: what is agreed on and how (`core/cluster`), and what a node does with topics and messages, which is the same
for one that is alone (`node.py`).

Invariant: the node serves clients as a leader only while it is in office: from the sending of a heartbeat that the
controller answered, for as long as that must hear of it again.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, get_args

from attrs import define

from goqueue.core.broker.lifecycle import BrokerLifecycle
from goqueue.core.cluster.agreement import Agreement, Changed
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.controller import Controller
from goqueue.core.cluster.describe import describe_cluster
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.remote_offsets import Ends
from goqueue.core.cluster.standstill import stands_still
from goqueue.core.cluster.tally import Tally
from goqueue.core.errors import ProtocolError
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.peers.faults import PeerFaults
from goqueue.core.quorum.messages import QuorumLetter
from goqueue.core.ready import Fetching, Letter
from goqueue.core.replication.messages import ReplicationMessage
from goqueue.core.replication.replication import Replication
from goqueue.core.requests.call import Call
from goqueue.core.requests.cluster import (
    AlterIsr,
    CatchingUp,
    ClusterFigures,
    ClusterReply,
    DescribeCluster,
    IsrChange,
    LogEnd,
    MeasureCluster,
    NodeHeartbeat,
)
from goqueue.core.requests.messages import NewRecord
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.voters import MoveController
from goqueue.core.routing.context import RoutingContext
from goqueue.core.routing.dispatch import Dispatch
from goqueue.core.services.service import ServiceContext


@define
class NodeAccess:
    """How the node is reached from here, by what each is to be called for."""

    # Carry out a request here, whoever leads.
    carry_out: Callable[[int, Call, Any], None]
    # Tell whoever asked.
    answer: Callable[[Call | None, Reply], None]
    # Nobody waits for the answer to a call.
    forget: Callable[[Call], None]
    # Which partitions messages go to.
    spread: Callable[[str, Sequence[NewRecord]], dict[int, list[int]]]


class Peering:
    """A node's part in a cluster."""

    def __init__(
        self,
        site: ServiceContext,
        options: ClusterOptions,
        version: str,
        agreement: Agreement,
        recent: RecentBatches,
        doors: NodeAccess,
    ) -> None:
        node_id = site.led.node_id
        self._site = site
        self._led = site.led
        self._options = options
        self._agreement = agreement
        self._doors = doors
        # Where other nodes are reached; another object when that has changed.
        self.addresses: dict[str, str] = {}
        self._incarnations: dict[str, int] = {}
        self.faults = PeerFaults()
        self._was_controller = False
        self._controller_seen = ""
        # The last controller that was another node.
        self._controller_before = ""
        self.attendance = BrokerLifecycle(node_id, options, version, self._state, self._catching_up, self._logs)
        self.controller = Controller(node_id, options, Random(site.random.getrandbits(64)))  # noqa: S311 - no secret
        self.tally = Tally()
        self.replication = Replication(node_id, options, recent, self._incarnations.get)
        self.dispatch = Dispatch(
            RoutingContext(
                node_id,
                options,
                self._state,
                self._known_controller,
                doors.spread,
                doors.carry_out,
                doors.answer,
                doors.forget,
            )
        )

    def _state(self) -> ClusterState:
        return self._agreement.state

    def _known_controller(self) -> str:
        return self._agreement.controller

    def _catching_up(self) -> list[CatchingUp]:
        """How far replicas have come that are being brought to partitions led here."""
        return self.replication.catching_up()

    def _logs(self) -> list[LogEnd]:
        """How far the logs reach that this node has of partitions that stand still."""
        topics, logs = self._agreement.state.topics, []
        for replica in self.replication.leaderless():
            topic = topics.get(replica.topic)
            placed = topic.placements.get(replica.number) if topic is not None else None
            if placed is not None and stands_still(placed) and replica.log.unsound is None:
                log = replica.log
                logs.append(
                    LogEnd(replica.topic, replica.number, placed.leader_epoch, log.epochs.latest, log.next_offset)
                )
        return logs

    # --- requests to the controller

    def ask(self, now: int, call: Call, request: Any) -> None:  # noqa: ANN401 - one that is taken
        """Answer a request from what is known here."""
        state = self._agreement.state
        if isinstance(request, DescribeCluster):
            self._doors.answer(call, self._described(now))
        elif isinstance(request, MeasureCluster):
            figures = self.tally.figures(state, is_controller=self.controller.is_active)
            self._doors.answer(call, self._with_replication(figures))
        elif not self.controller.is_active:
            message = "this node is not the controller"
            leader = self._agreement.controller
            self._doors.answer(call, Refusal(Code.NOT_CONTROLLER, message, retry_after_ms=100, leader=leader))
        elif isinstance(request, NodeHeartbeat):
            self._doors.answer(call, self.controller.heartbeat(now, state, request, self._agreement.silence_ns(now)))
        else:
            self._doors.answer(call, self.controller.reassignments(state, request))

    def _with_replication(self, figures: ClusterFigures) -> ClusterFigures:
        counts = self.replication.measure()
        figures.bytes_replicated_total = counts.bytes_in
        for (topic, _), behind in counts.lag.items():
            figures.replication_lag[topic] = max(behind, figures.replication_lag.get(topic, 0))
        return figures

    def _described(self, now: int) -> ClusterReply:
        agreement, controller = self._agreement, self.controller
        liveness = controller.liveness if controller.is_active else None
        voters = agreement.voters
        absence = self._absence(now)
        return describe_cluster(now, agreement.state, agreement.controller, agreement.term, voters, liveness, absence)

    def _absence(self, now: int) -> str:
        """Why this node takes no part in the cluster at the moment; empty while it does."""
        if self._agreement.is_founding and not self._agreement.controller:
            founders = ", ".join(self._options.founders)
            return f"this node founds a cluster, and waits until all founders are there: {founders}"
        return self.attendance.absence(now)

    def ask_others(self, now: int, call: Call, request: Any) -> bool:  # noqa: ANN401 - requests, wishes
        """Have another node see to a request if it is another's; False where it is to be carried out here."""
        self.look(now)
        return self.dispatch.ask(now, call, request)

    # --- peers

    def hear(self, now: int, sender: str, message: Any) -> None:  # noqa: ANN401 - a letter of any kind
        """Take a letter of a peer, unless it cannot be true: then nothing comes of it but a note."""
        try:
            self._receive(now, sender, message)
        except ProtocolError as error:
            self.faults.note(sender, f"a {type(message).__name__} was refused: {error}")

    def _receive(self, now: int, sender: str, message: Any) -> None:  # noqa: ANN401 - as above
        self.look(now)
        kind = type(message)
        if kind in _REPLICATION:
            self.replication.receive(now, sender, message)
        elif kind is QuorumLetter:
            self._agreement.receive(now, sender, message)
        elif kind is Ends:
            self._led.horizon.heard(message)
        else:
            self.dispatch.receive(now, sender, message)

    def met(self, now: int, peer: str) -> None:
        """There is a link to a peer."""
        self.controller.peer_met(peer)
        self.dispatch.met(now, peer)

    def lost(self, now: int, peer: str) -> None:
        """The link to a peer is gone, and with it what was under way."""
        self._agreement.peer_lost(now, peer)
        self.replication.peer_lost(now, peer)
        self.dispatch.peer_lost(now, peer)

    def gone(self, now: int, peer: str) -> None:
        """The process of a peer is certainly no more."""
        self._agreement.peer_gone(now, peer)
        self.controller.peer_gone(now, self._agreement.state, peer)

    # --- what is agreed

    def follow(self, now: int, changed: Changed) -> None:
        """Take note of what all have agreed on."""
        state, agreement = self._agreement.state, self._agreement
        for misfit in agreement.take_misfits():
            self.faults.note(agreement.controller or self._led.node_id, misfit)
        self.tally.led_by(agreement.controller, agreement.term)
        if changed.everything:
            self.tally.begin(now, state)
        else:
            self.tally.follow(now, state, changed.topics)
        if changed.nodes or changed.everything:
            self._follow_nodes(now)
        self._follow_office(now, bool(changed.nodes or changed.topics or changed.everything))
        if changed.everything or changed.topics:
            self._led.horizon.forget_topics(topic.topic_id for topic in state.topics.values())
        if changed.everything or changed.topics or changed.nodes or agreement.controller != self._controller_seen:
            if agreement.controller != self._controller_seen:
                self._controller_seen = agreement.controller
                if agreement.controller not in ("", self._led.node_id):
                    self._controller_before = agreement.controller
                self.attendance.controller_changed(now)
            self.look(now)
            self.dispatch.routes_changed(now)

    def _follow_nodes(self, now: int) -> None:
        nodes = self._agreement.state.nodes
        others = {one: node.internal for one, node in nodes.items() if one != self._led.node_id}
        if others != self.addresses:
            self.addresses = others
        for node_id in sorted(nodes):
            incarnation = nodes[node_id].incarnation
            if self._incarnations.get(node_id) != incarnation:
                self._incarnations[node_id] = incarnation
                self.replication.peer_changed(now, node_id)
                self._led.horizon.tell_all(now)
        for node_id in [one for one in self._incarnations if one not in nodes]:
            del self._incarnations[node_id]
        # After what an earlier process had is forgotten: nobody is asked for on account of that.
        leaving = (Standing.STOPPING, Standing.DEAD)
        self.replication.bar(now, (one for one, node in nodes.items() if node.standing in leaving))

    def _follow_office(self, now: int, has_changed: bool) -> None:
        is_controller = self._agreement.is_controller
        if is_controller and (not self._was_controller or self.controller.term != self._agreement.term):
            agreement = self._agreement
            before, silent_since = self._controller_before, agreement.silent_since
            self.controller.became(now, agreement.term, agreement.state, before, silent_since)
        elif is_controller and has_changed:
            self.controller.changed(now, self._agreement.state)
        elif self._was_controller and not is_controller:
            self.controller.lost()
        self._was_controller = is_controller
        if is_controller and self._agreement.are_voters_agreed:
            self.controller.voters_agreed(now, self._agreement.voters)

    def look(self, now: int) -> None:
        """See whether this node may still act as a leader: it may have slept since it was last told so."""
        is_in_office = self.attendance.may_lead(now)
        self._led.is_in_office = is_in_office
        self.dispatch.in_touch(now, is_in_touch=is_in_office)

    # --- the end

    def leave(self, now: int) -> None:
        """The process is about to end."""
        self.attendance.leave(now)
        if self.controller.is_active:
            self._agreement.ask(now, None, MoveController())

    @property
    def has_left(self) -> bool:
        """Whether others lead all that they can, and another is the controller."""
        is_replaced = not self.controller.is_active or len(self._agreement.voters) == 1
        return self.attendance.has_left and is_replaced

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [self.controller.deadline(), self.replication.deadline(), self.dispatch.deadline()]
        times.append(self._led.horizon.deadline())
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        agreement = self._agreement
        for request in self.controller.wake(now, agreement.state, agreement.voters, agreement.has_caught_up):
            agreement.ask(now, None, request)
        self.replication.wake(now)
        self.dispatch.wake(now)
        self.look(now)

    def take_requests(self) -> list[AlterIsr]:
        """What is to be asked of the controller."""
        wishes, self.replication.lanes.wishes = self.replication.lanes.wishes, []
        if not wishes:
            return []
        changes = [
            IsrChange(
                one.topic,
                one.partition,
                one.leader_epoch,
                one.version,
                one.isr,
                one.incarnations,
                one.resigns,
                one.lost,
            )
            for one in wishes
        ]
        return [AlterIsr(self._led.node_id, self._options.incarnation, changes)]

    def take_moved(self) -> list[Partition]:
        """Partitions that are led and have come further."""
        moved, self.replication.lanes.moved = self.replication.lanes.moved, {}
        return [*moved.values()]

    def take_reads(self) -> list[Fetching]:
        """What followers want that is not in memory."""
        reads, self.replication.lanes.reads = self.replication.lanes.reads, []
        return reads

    def take_letters(self, now: int) -> list[Letter]:
        """What is to be told to peers."""
        letters = [*self.replication.lanes.letters, *self.dispatch.letters]
        self.replication.lanes.letters, self.dispatch.letters = [], []
        horizon = self._led.horizon
        due = horizon.deadline()
        if due is not None and due <= now:
            letters += horizon.tell(now, [*self.addresses], self._all_led())
        return letters

    def _all_led(self) -> Iterator[tuple[int, Partition]]:
        for leader in self._led.topics.values():
            for partition in leader.partitions():
                yield leader.topic.topic_id, partition

    def check(self) -> None:
        """Assert the invariants."""
        self.replication.check()
        self.dispatch.check()
        self.controller.check()


_REPLICATION = frozenset(get_args(ReplicationMessage))
