"""What a node knows of forwarding: it asks here first, and carries out itself what is not looked after.

A request that belongs to this node alone, as most publishes and fetches of a client that knows the leaders do, costs a
look at the routes and nothing else. All others become errands (`errands.py`), whose attempts are carried out here or
sent to another node (`outgoing.py`); what others send comes in by `incoming.py`, and is never passed on a second time,
so nothing can go in circles.

Publishes to a topic of which one is held wait behind it, so that messages are not overtaken by later ones.

Invariants: every errand is answered once or forgotten; it is held or has an attempt under way, and never waits past its
deadline. What is looked after is bounded in number and in bytes.
"""

from collections.abc import Iterator
from typing import Any

from goqueue.core.ready import Letter
from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.cluster import NodeHeartbeat, RegisterNode
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.messages import Publish, PublishBatch, Published
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Route, ServiceName
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.table import TABLE, weight
from goqueue.core.routing.context import RoutingContext
from goqueue.core.routing.errands import Attempt, Errand, PublishErrand
from goqueue.core.routing.incoming import Incoming
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded, ForwardingMessage, Inquiry, Missing
from goqueue.core.routing.outgoing import Outgoing
from goqueue.core.routing.routes import Routes
from goqueue.core.timers.alarms import Alarms

_ERRANDS_MAX = 20_000
_BYTES_MAX = 64 << 20
_REQUEST_BYTES = 256
_WAIT_NS_MAX = 300_000_000_000
# Leaders know better than whoever has asked them when a request has taken too long.
_GRACE_NS = 2_000_000_000


class Dispatch:
    """See the module."""

    def __init__(self, bearings: RoutingContext) -> None:
        self._bearings = bearings
        self.routes = Routes(bearings.node_id, bearings.state, bearings.controller)
        self.letters: list[Letter] = []
        life = bearings.options.incarnation
        self._outgoing = Outgoing(life, self._post, self._life, self._returned, self._lost)
        self._incoming = Incoming(life, self._post, bearings.take, self._introduced, self._forget_taken)
        self._errands: dict[Call, Errand] = {}
        self._attempts: dict[Call, Attempt] = {}
        # By call; in the order in which they are to go on.
        self._held: dict[Call, Errand] = {}
        self._held_topics: dict[str, int] = {}
        self._alarms: Alarms[Call] = Alarms()
        # Answers of attempts that were carried out here and not looked at yet.
        self._told: list[tuple[Call, Reply]] = []
        # Nodes to which there is a link, the one that is to be asked next first.
        self._met: dict[str, None] = {}
        # Since when this node, which had been in touch with the controller, is not; None while it is, or never was.
        self._cut_off_at: int | None = None
        self._had_touch = False
        self._bytes = 0
        self._count = 0

    def _life(self, node: str) -> int:
        """The life of another node that may be asked; 0 where there is none."""
        known = self._bearings.state().nodes.get(node)
        if known is None or known.standing is Standing.DEAD:
            return 0
        has_left = known.standing is Standing.STOPPING and node not in self._met
        return 0 if has_left else known.incarnation

    def _post(self, to: str, message: ForwardingMessage) -> None:
        self.letters.append(Letter(to, message))

    # --- requests of clients and of services

    def ask(self, now: int, call: Call, request: Any) -> bool:
        """Look after a request; False when it is to be carried out here like any of a node that is alone."""
        route = TABLE[type(request)].route
        if route is Route.HERE or (route is Route.PARTITIONS and self._is_for_here(request)):
            return False
        if route is not Route.PARTITIONS:
            node = self.routes.node(call, request)
            is_direct = route in (Route.PARTITION, Route.NODE) and not self._is_behind(request)
            if node is None or (is_direct and node == self._bearings.node_id):
                return False
        self._begin(now, call, request)
        return True

    def _is_for_here(self, request: Publish) -> bool:
        if not request.records or not self.routes.knows(request.topic):
            return True
        return self.routes.is_all_here(request.topic) and request.topic not in self._held_topics

    def _is_behind(self, request: Any) -> bool:
        return isinstance(request, PublishBatch) and request.topic in self._held_topics

    def _begin(self, now: int, call: Call, request: Any) -> None:
        size = _REQUEST_BYTES + weight(request)
        if len(self._errands) >= _ERRANDS_MAX or (self._errands and self._bytes + size > _BYTES_MAX):
            message = "too many requests are on their way to other nodes"
            self._bearings.answer(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
            return
        errand = self._errand(now, call, request, size)
        assert call not in self._errands
        self._errands[call] = errand
        self._bytes += size
        self._hasten(errand)
        self._alarms.set(call, errand.deadline)
        if isinstance(request, Publish | PublishBatch) and request.topic in self._held_topics:
            self.hold(now, errand, errand.pause_ns())
        else:
            errand.go(now)

    def _errand(self, now: int, call: Call, request: Any, size: int) -> Errand:
        options = self._bearings.options
        wait_ns = min(max(getattr(request, "wait_ns", 0), 0), _WAIT_NS_MAX)
        deadline = now + wait_ns + options.request_ns + _GRACE_NS
        if isinstance(request, NodeHeartbeat | RegisterNode):
            deadline = now + options.dead_ns
        if isinstance(request, AskNode):
            deadline += min(max(getattr(request.request, "wait_ns", 0), 0), _WAIT_NS_MAX)
        if not isinstance(request, Publish):
            return Errand(self, call, request, now, deadline, size)
        for partition, places in self._bearings.spread(request.topic, request.records).items():
            for at in places:
                request.records[at].partition = partition
        results: list[Published | Refusal | None] = [None] * len(request.records)
        return PublishErrand(self, call, request, now, deadline, size, results=results)

    def forget(self, call: Call) -> None:
        """Nobody waits for an answer any more."""
        errand = self._errands.get(call)
        if errand is not None:
            self._drop(errand)

    def _drop(self, errand: Errand) -> None:
        """End an errand, and what is under way of it."""
        del self._errands[errand.call]
        self._bytes -= errand.size
        self._alarms.drop(errand.call)
        self._release(errand)
        for call, attempt in errand.attempts.items():
            del self._attempts[call]
            if attempt.node == self._bearings.node_id:
                self._bearings.forget(call)
            else:
                self._outgoing.abandon(call)
        errand.attempts.clear()

    # --- whether this node is cut off

    def in_touch(self, now: int, *, is_in_touch: bool) -> None:
        """Whether the controller has answered this node lately; while not, other nodes can do more than this one.

        So nothing is looked after for longer than the others need to go on without this node: whoever asked may still
        have the time to ask one of them.
        """
        if is_in_touch == (self._had_touch and self._cut_off_at is None):
            return
        self._cut_off_at = None if is_in_touch or not self._had_touch else now
        self._had_touch = self._had_touch or is_in_touch
        for errand in self._errands.values():
            errand.deadline = errand.limit
            self._hasten(errand)
            if errand.call not in self._held:
                self._alarms.set(errand.call, errand.deadline)

    def _hasten(self, errand: Errand) -> None:
        """Let an errand of a node that is cut off end early; what the node needs to get in touch again goes on."""
        if self._cut_off_at is not None and not errand.is_impatient:
            errand.deadline = min(errand.limit, max(errand.begun, self._cut_off_at) + self._bearings.options.dead_ns)

    # --- what errands ask for

    def attempt(self, now: int, errand: Errand, node: str | None, request: Any, places: list[int]) -> bool:
        """Have a node carry something out, None for this one; False when there is no such node."""
        here = self._bearings.node_id
        call = self._part(errand)
        if node is None or node == here:
            self._attempts[call] = errand.attempts[call] = Attempt(call, errand, here, places)
            self._bearings.take(now, call, request)
            return True
        if not self._outgoing.send(now, call, node, request):
            return False
        self._attempts[call] = errand.attempts[call] = Attempt(call, errand, node, places)
        return True

    def _part(self, errand: Errand) -> Call:
        """The call by which an attempt is made, on behalf of whoever asked."""
        self._count += 1
        asked = errand.call
        return Call(self._count, asked.caller, Origin.SERVICE, ServiceName.ROUTING, is_own=asked.is_own, parent=asked)

    def introduce(self, now: int, errand: Errand) -> bool:
        """Have a node that was met tell the controller of this one; False when that is not what is asked."""
        if not self._met or not isinstance(errand.request, RegisterNode) or errand.call.origin is Origin.NODE:
            return False
        peer = next(iter(self._met))
        del self._met[peer]
        self._met[peer] = None
        call = self._part(errand)
        self._attempts[call] = errand.attempts[call] = Attempt(call, errand, peer)
        self._outgoing.introduce(now, call, peer, errand.request)
        return True

    def _introduced(self, now: int, call: Call, request: Any) -> None:
        """A node that nobody knows asks to be registered."""
        self._begin(now, call, request)

    def _forget_taken(self, call: Call) -> None:
        """Nobody waits for what another node has passed on."""
        self.forget(call)
        self._bearings.forget(call)

    def hold(self, now: int, errand: Errand, pause_ns: int) -> None:
        """Try again once the routes are others, or after a pause."""
        if errand.call not in self._held:
            self._held[errand.call] = errand
            if isinstance(errand.request, Publish | PublishBatch):
                topic = errand.request.topic
                self._held_topics[topic] = self._held_topics.get(topic, 0) + 1
        self._alarms.set(errand.call, min(now + pause_ns, errand.deadline))

    def _release(self, errand: Errand) -> None:
        if self._held.pop(errand.call, None) is not None and isinstance(errand.request, Publish | PublishBatch):
            topic = errand.request.topic
            self._held_topics[topic] -= 1
            if not self._held_topics[topic]:
                del self._held_topics[topic]

    def finish(self, now: int, errand: Errand, reply: Reply) -> None:
        """Answer whoever asked."""
        self._drop(errand)
        self._bearings.answer(errand.call, reply)

    # --- answers

    def answered(self, call: Call, reply: Reply) -> None:
        """Something was carried out here, for another node or for an errand."""
        if call.service is ServiceName.ROUTING:
            self._told.append((call, reply))
        else:
            self._incoming.answered(call, reply)

    def settle(self, now: int) -> bool:
        """Follow up on what was answered here; True when there was anything."""
        told, self._told[:] = self._told[:], []
        for call, reply in told:
            self._returned(now, call, reply)
        return bool(told)

    def _returned(self, now: int, call: Call, reply: Reply) -> None:
        attempt = self._ended(call)
        if attempt is not None:
            attempt.errand.returned(now, attempt, reply)

    def _lost(self, now: int, call: Call) -> None:
        attempt = self._ended(call)
        if attempt is not None:
            attempt.errand.lost(now, attempt)

    def _ended(self, call: Call) -> Attempt | None:
        """An attempt that has come to an end; None for one that nobody waits for."""
        attempt = self._attempts.pop(call, None)
        if attempt is not None:
            del attempt.errand.attempts[call]
        return attempt

    # --- letters

    def asked(self, node: str, number: int) -> Forwarded | None:
        """What another node was asked to carry out under a number, while its answer is awaited."""
        return self._outgoing.asked(node, number)

    def receive(self, now: int, sender: str, message: ForwardingMessage) -> None:
        """A letter of another node."""
        if isinstance(message, Forwarded):
            self._incoming.forwarded(now, sender, message)
        elif isinstance(message, Answered):
            self._outgoing.answered(now, sender, message)
        elif isinstance(message, Abandoned):
            self._incoming.abandoned(sender, message)
        elif isinstance(message, Inquiry):
            self._incoming.asked(sender, message)
        else:
            assert isinstance(message, Missing)
            self._outgoing.missing(now, sender, message)

    # --- what changes

    def met(self, now: int, peer: str) -> None:
        """There is a link to a node, of which no more may be known than its name."""
        self._met[peer] = None

    def peer_lost(self, now: int, peer: str) -> None:
        """Letters to and from a node may have been lost."""
        self._met.pop(peer, None)
        self._outgoing.peer_lost(now, peer)
        self._outgoing.nodes_changed(now)

    def routes_changed(self, now: int) -> None:
        """The state, or who the controller is, has changed: what was held may go on."""
        self.routes.changed()
        self._outgoing.nodes_changed(now)
        for errand in self._resumed(list(self._held.values())):
            errand.news(now)

    def _resumed(self, errands: list[Errand]) -> Iterator[Errand]:
        """Hold these no more; those that are held again stand in the same order as before."""
        for errand in errands:
            self._release(errand)
            self._alarms.set(errand.call, errand.deadline)
        return (errand for errand in errands if errand.call in self._errands)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = self._alarms.deadline(), self._outgoing.deadline()
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Try again what has waited long enough, and give up what has waited too long."""
        self._outgoing.wake(now)
        paused: list[Errand] = []
        for call in self._alarms.due(now):
            errand = self._errands[call]
            if now >= errand.deadline:
                self.finish(now, errand, errand.late())
            else:
                paused.append(errand)
        for errand in self._resumed(paused):
            errand.go(now)

    def check(self) -> None:
        """Assert the invariants."""
        self._incoming.check()
        self._outgoing.check()
        assert self._bytes == sum(errand.size for errand in self._errands.values())
        assert self._held.keys() <= self._errands.keys()
        assert sum(len(errand.attempts) for errand in self._errands.values()) == len(self._attempts)
        for call, errand in self._errands.items():
            assert call in self._alarms
            assert call in self._held or errand.attempts
            errand.check()
