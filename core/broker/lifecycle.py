"""A node's own side of being in a cluster: it registers, sends heartbeats, and knows how long it may lead.

It is a room of the node: what it asks is brought to the controller like any wish, and the answers come back by number.

Theory: a heartbeat that the controller answered lets the node lead for `dead_ns` from when it was *sent*. The
controller counts the same span from when the heartbeat *came*, which was later, so a node that is cut off stops
leading before it is taken for dead. A controller may itself be cut off, and not know yet: what it gives is shorter by
the time for which it has not been in touch with a majority of voters, since the next controller may count from there.

Nothing that was acknowledged rests on this, or on clocks: epochs and the ISR see to that. It keeps a leader that is
none any more from answering readers with what is old.

A process leads nothing before the metadata *of this node* says that it is registered as itself: what is read from the
own disk at a start may name it as the leader still, with a tail that is lost.

Who is forgotten while it is cut off is told nothing, for a controller writes to nodes alone that it knows. So a node
that nobody has answered for long takes itself for one that is not registered, and asks whichever node it meets.

Two processes under one id, with copies of one folder, would register in turn for ever: who was displaced a few times in
a short while gives up, and `problem` says so.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.partition.partition import Partition
from goqueue.core.requests.call import Call
from goqueue.core.requests.cluster import (
    UNKNOWN,
    CatchingUp,
    LeaveNode,
    LeaveReply,
    LogEnd,
    NodeHeartbeat,
    NodeHeartbeatReply,
    RegisteredReply,
    RegisterNode,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.standing import Standing
from goqueue.core.services.internal_requests import InternalRequests

_MS = 1_000_000
# After a refusal; longer where only an operator can help.
_PAUSE_NS = 200 * _MS
_LONG_PAUSE_NS = 5_000 * _MS
# An answer that does not come was lost with whoever was to give it.
_LOST_NS = 2_000 * _MS
# A node that no controller answers for this many times `dead_ns` assumes that it may have been forgotten.
_UNHEARD = 2
_DISPLACED_MAX = 3
_DISPLACED_NS = 60_000 * _MS
_CATCHING_UP_MAX = 100
_LOGS_MAX = 1000


@define(eq=False)
class BrokerLifecycle:
    """The attendance of one process."""

    node_id: str
    _options: ClusterOptions
    _version: str
    # What is agreed as far as this node knows, how far replicas of moves have come that it leads, and how far the logs
    # reach that it has of partitions that stand still.
    _state: Callable[[], ClusterState]
    _catching_up: Callable[[], list[CatchingUp]]
    _logs: Callable[[], list[LogEnd]] = list
    wishes: InternalRequests = field(factory=lambda: InternalRequests(ServiceName.LIFECYCLE))
    # Why the node is not let in, for whoever looks at it; empty where nothing is wrong.
    problem: str = ""
    # The controller let the node go: nothing hangs on it that could hang on another.
    _is_released: bool = False
    _is_leaving: bool = False
    _is_registered: bool = False
    # Until when it may lead.
    _tenure_until: int = 0
    _lapsed: bool = True
    _term: int = 0
    _beats: int = 0
    _due: int = 0
    # What was asked and when, by number; one registration or leave at a time.
    _registering: tuple[int, int] | None = None
    _leaving: tuple[int, int] | None = None
    _sent: dict[int, int] = field(factory=dict)
    _displaced_at: list[int] = field(factory=list)
    # When a controller last answered a heartbeat, or registered the node.
    _heard_at: int = 0

    # --- what the node wants to know

    def may_lead(self, now: int) -> bool:
        """Whether this process may act as the leader that the metadata says it is."""
        return now < self._tenure_until and self._is_known()

    def absence(self, now: int) -> str:
        """Why this process may not act as a leader at the moment, for people; empty while it may."""
        if self.may_lead(now):
            return ""
        if self.problem:
            return self.problem
        if self._is_registered or self._tenure_until:
            return "this node has lost touch with the controller"
        return "this node waits until the controller has registered it"

    def _is_known(self) -> bool:
        own = self._state().nodes.get(self.node_id)
        return own is not None and own.incarnation == self._options.incarnation

    @property
    def tenure_until(self) -> int:
        """When the node stops leading, unless the controller answers before."""
        return self._tenure_until

    @property
    def has_left(self) -> bool:
        """Whether the stop that was asked for by `leave` hurts nobody any more, as far as this node knows."""
        own = self._state().nodes.get(self.node_id)
        return self._is_released and (own is None or own.standing in (Standing.STOPPING, Standing.DEAD))

    def leave(self, now: int) -> None:
        """The process is about to stop: have others lead first."""
        self._is_leaving = True
        self._due = min(self._due, now)

    def controller_changed(self, now: int) -> None:
        """Another node decides, which has yet to hear of this one."""
        if self._is_registered:
            self._due = min(self._due, now)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do, or the right to lead ends."""
        return self._due if self._lapsed else min(self._due, self._tenure_until)

    def wake(self, now: int) -> None:
        """Ask for what is due: to be registered, to be let go, to be heard."""
        self._lapsed = now >= self._tenure_until
        if now < self._due:
            return
        self._due = now + self._options.heartbeat_ns
        if self._is_leaving and not self._is_released and self._is_free(now, self._leaving):
            number = self.wishes.ask(LeaveNode(self.node_id, self._options.incarnation))
            self._leaving = (number, now)
        if now - self._heard_at >= _UNHEARD * self._options.dead_ns and not self._is_leaving:
            self._is_registered = False
        if self._is_registered:
            self._beat(now)
        elif self._is_free(now, self._registering) and not (self._is_leaving and self._is_released):
            self._registering = (self.wishes.ask(self._registration()), now)

    def _is_free(self, now: int, asked: tuple[int, int] | None) -> bool:
        return asked is None or now - asked[1] >= _LOST_NS

    def _registration(self) -> RegisterNode:
        options = self._options
        return RegisterNode(
            self.node_id,
            options.incarnation,
            options.disk_id,
            options.rack,
            options.internal,
            options.http,
            options.grpc,
            self._version,
            self._state().cluster_id,
            options.whole,
            options.synced,
        )

    def _beat(self, now: int) -> None:
        self._beats += 1
        catching_up = self._catching_up()[:_CATCHING_UP_MAX]
        logs = self._logs()
        if len(logs) > _LOGS_MAX:
            begin = self._beats * _LOGS_MAX % len(logs)
            logs = [*logs[begin:], *logs[:begin]][:_LOGS_MAX]
        beat = NodeHeartbeat(self.node_id, self._options.incarnation, self._beats, catching_up, logs)
        # A later answer would give no tenure, and says nothing that the next one does not.
        self._sent = {number: at for number, at in self._sent.items() if now - at < self._options.dead_ns}
        self._sent[self.wishes.ask(beat)] = now

    # --- answers

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What the controller says; answers that come too late are dropped."""
        if self._registering is not None and number == self._registering[0]:
            asked_at, self._registering = self._registering[1], None
            self._registered(now, asked_at, reply)
        elif self._leaving is not None and number == self._leaving[0]:
            self._leaving = None
            self._is_released = isinstance(reply, LeaveReply)
            self._due = min(self._due, now + (0 if self._is_released else _PAUSE_NS))
        elif number in self._sent:
            self._heard(now, self._sent.pop(number), reply)

    def _registered(self, now: int, asked_at: int, reply: Reply) -> None:
        if isinstance(reply, RegisteredReply):
            self.problem = ""
            self._is_registered = True
            self._due = self._heard_at = now
            # Who was known before is registered without anything to be agreed on, maybe by one that is cut off itself.
            if not self._tenure_until:
                self._extend(asked_at)
            return
        assert isinstance(reply, Refusal)
        # A folder or an id that is not welcome is for people to see to; all else passes.
        is_lasting = reply.code is Code.INVALID
        self.problem = reply.message if is_lasting else self.problem
        self._due = now + (_LONG_PAUSE_NS if is_lasting else _PAUSE_NS)

    def _heard(self, now: int, sent_at: int, reply: Reply) -> None:
        """The answer to a heartbeat; of an older controller's nothing is believed."""
        if not isinstance(reply, NodeHeartbeatReply) or reply.term < self._term:
            return
        self._term, self._heard_at = reply.term, now
        if reply.incarnation == self._options.incarnation and reply.standing is not Standing.DEAD:
            self._extend(sent_at - reply.silence_ns)
            return
        self._is_registered = False
        self._tenure_until, self._lapsed = 0, True
        self._due = now
        if reply.incarnation not in (UNKNOWN, self._options.incarnation):
            self._displaced(now)

    def _displaced(self, now: int) -> None:
        """Another process has registered under this id: once may be an echo of the past, but not time and again."""
        self._displaced_at = [at for at in self._displaced_at if now - at < _DISPLACED_NS]
        self._displaced_at.append(now)
        if len(self._displaced_at) > _DISPLACED_MAX:
            self._displaced_at.clear()
            self.problem = (
                f"another process is node {self.node_id} as well: every node needs an id and a data folder of its own, "
                "and a copy of a folder is no node"
            )
            self._due = now + _DISPLACED_NS

    def _extend(self, sent_at: int) -> None:
        self._tenure_until = max(self._tenure_until, sent_at + self._options.dead_ns)
        # An answer that took too long gives a time that is over: the next `wake` sees to that.
        self._lapsed = False

    # --- what a service hears, and does not care about

    def ask(self, now: int, call: Call, request: Any, /) -> None:  # noqa: ANN401 - the protocol's
        """Nobody asks this service."""
        raise AssertionError(request)

    def forget(self, call: Call) -> None:
        """Nobody asks this service."""

    def forget_found(self) -> None:
        """There are no batches here."""

    def topics_changed(self, now: int) -> None:
        """Topics are no concern of this service."""

    def opened(self, now: int, partition: Partition) -> None:
        """Streams are no concern of this service."""

    def failed(self, now: int, stream: str, why: str) -> None:
        """Streams are no concern of this service."""

    def news(self, now: int, partition: Partition) -> bool:
        """Streams are no concern of this service."""
        return False

    def regained(self, now: int) -> None:
        """Do nothing: this service itself decides whether the node may lead."""

    def clock_jumped(self, now: int) -> None:
        """The wall clock is no concern of this service."""

    def settle(self, now: int) -> None:
        """There is nothing to write."""

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._displaced_at) <= _DISPLACED_MAX + 1
        assert not (self._is_released and not self._is_leaving)
