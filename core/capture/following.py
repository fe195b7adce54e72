"""Looks on while a node is replayed, and notes what has to do with one message.

What a node was told is in its capture; what it answered, wrote and sent comes out of it again when it is told so anew.
So this stands beside the replay and needs no more than events and outputs. A request is of interest once its answer
speaks of the message: until then it is kept in mind, as long as somebody waits for the answer. What follows from an
append (that it is durable, that others say so) is noted only where the append itself was seen.

It changes nothing in the node, and asks it only for what it knows: its topics, and how far readers may see.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, evolve

from goqueue.core.capture.events import Event
from goqueue.core.capture.mentions import (
    PUBLISHES,
    batch_with,
    buried_in,
    kept_to,
    may_mention,
    mentions,
    pulled_with,
)
from goqueue.core.capture.timeline import Kind, Place, Step, in_order
from goqueue.core.log.effects import Append, Cut, Effect, SyncToken
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.targets import dead_topic
from goqueue.core.ready import Letter, Ready
from goqueue.core.records.batch import Header
from goqueue.core.replication.messages import Kept, Pull, Pulled
from goqueue.core.requests.call import Caller
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded

STEPS_MAX = 10_000
_ERRANDS_MAX = 1 << 16


@define
class Errand:
    """A request that waits for its answer: when it came, from whom or to whom, on whose behalf."""

    wall_ns: int
    event: int
    peer: str
    caller: Caller
    request: object


class Witness:
    """What one node, or one process after another of it, has to do with a message."""

    def __init__(self, place: Place) -> None:
        self.place = evolve(place)
        self.node_id = ""
        # Steps beyond the bound are left out.
        self.is_full = False
        self._steps: list[Step] = []
        self._event = Event(-2, 0, "")
        self._wall_ns = 0
        self._stream = f"logs/{place.topic}/{place.partition}"
        self._errands: dict[tuple[Any, ...], Errand] = {}
        # Whether the message came into the log here, and what needs to be told only once after that.
        self._has_seen = False
        self._told: set[tuple[Any, ...]] = set()
        self._partition: Partition | None = None
        self._is_visible = False
        self._hears: dict[str, Callable[[Node, Event, Any], None]] = {
            "ask": self._asked,
            "forget": self._forgotten,
            "receive": self._received,
            "synced": self._synced,
            "take": self._taken,
        }

    @property
    def steps(self) -> list[Step]:
        """What was noted, in order."""
        return in_order(self._steps)

    def heard(self, node: Node, event: Event, came: object) -> None:
        """A node was told something, and this came of it."""
        if event.number != self._event.number + 1:
            self._begin(node)
        self._event = event
        self._wall_ns = node.clock.wall_ms(event.now) * 1_000_000 + event.now % 1_000_000
        hears = self._hears.get(event.verb)
        if hears is not None:
            hears(node, event, came)
        self._look(node)

    def _begin(self, node: Node) -> None:
        """Another process, or events are missing: nothing is known."""
        self.node_id = node.options.node_id
        self._errands.clear()
        self._told.clear()
        self._has_seen = False
        self._partition = None

    def _note(self, kind: Kind, detail: str, peer: str = "") -> None:
        self._note_at(self._wall_ns, self._event.number, kind, detail, peer)

    def _note_at(self, wall_ns: int, event: int, kind: Kind, detail: str, peer: str) -> None:
        if len(self._steps) < STEPS_MAX:
            self._steps.append(Step(wall_ns, self.node_id, kind, detail, peer, event))
        else:
            self.is_full = True

    def _is_first(self, *what: object) -> bool:
        is_first = what not in self._told
        self._told.add(what)
        return is_first

    def _look(self, node: Node) -> None:
        """See whether readers may have the message now; of what was so from the first look on, nothing is said."""
        partition = node.led.streams.get(self._stream)
        is_visible = partition is not None and partition.is_settled and partition.high_watermark > self.place.offset
        if is_visible and partition is self._partition and not self._is_visible:
            assert partition is not None
            self._note(Kind.VISIBLE, f"high watermark {partition.high_watermark}, epoch {partition.leader_epoch}")
        self._partition, self._is_visible = partition, is_visible

    def _know_topic(self, node: Node) -> None:
        leader = node.led.topics.get(self.place.topic)
        self.place.topic_id = -1 if leader is None else leader.topic.topic_id

    # --- requests and answers

    def _asked(self, node: Node, event: Event, came: object) -> None:
        to, caller, request = event.args
        self._await(("client", to), "", caller, request)

    def _forgotten(self, node: Node, event: Event, came: object) -> None:
        self._errands.pop(("client", event.args[0]), None)

    def _await(self, key: tuple[Any, ...], peer: str, caller: Caller, request: object) -> None:
        if may_mention(self.place, request) and key not in self._errands:
            if len(self._errands) >= _ERRANDS_MAX:
                self._errands.pop(next(iter(self._errands)))
            self._errands[key] = Errand(self._wall_ns, self._event.number, peer, caller, request)

    def _answered(self, key: tuple[Any, ...], reply: object) -> None:
        """Note what a request has come to, and, of a publish, the request as well."""
        errand = self._errands.pop(key, None)
        if errand is None:
            return
        for kind, detail in mentions(self.place, errand.request, reply):
            if isinstance(errand.request, PUBLISHES):
                self._note_publish(key[0], errand)
            if kind is Kind.COMMITTED and not self._is_first(key[0], kind, detail.partition(",")[0]):
                continue
            if key[0] == "client":
                self._note(kind, detail)
            else:
                passed = Kind.RETURNED if key[0] == "for" else Kind.LEARNED
                self._note(passed, detail if kind is Kind.ANSWERED else f"{kind}: {detail}", errand.peer)

    def _note_publish(self, way: str, errand: Errand) -> None:
        kind = {"client": Kind.ASKED, "for": Kind.ACCEPTED, "by": Kind.FORWARDED}[way]
        self._note_at(errand.wall_ns, errand.event, kind, _described(errand), errand.peer)

    # --- letters

    def _received(self, node: Node, event: Event, came: object) -> None:
        sender, message = event.args
        self._know_topic(node)
        match message:
            case Forwarded():
                self._await(("for", sender, message.origin, message.number), sender, message.caller, message.request)
            case Abandoned():
                self._errands.pop(("for", sender, message.origin, message.number), None)
            case Answered():
                self._answered(("by", sender, message.origin, message.number), message.reply)
            case Pulled():
                header = pulled_with(self.place, message)
                if header is not None:
                    self._note(Kind.RECEIVED, _spelled(header), sender)
            case Pull() | Kept():
                self._confirmed(Kind.HEARD, sender, message)

    def _sent(self, letter: Letter) -> None:
        message = letter.message
        match message:
            case Forwarded():
                self._await(
                    ("by", letter.to, message.origin, message.number), letter.to, message.caller, message.request
                )
            case Answered():
                self._answered(("for", letter.to, message.origin, message.number), message.reply)
            case Pulled():
                header = pulled_with(self.place, message)
                if header is not None:
                    self._note(Kind.SENT, _spelled(header), letter.to)
            case Pull() | Kept():
                self._confirmed(Kind.CONFIRMED, letter.to, message)

    def _confirmed(self, kind: Kind, peer: str, message: Pull | Kept) -> None:
        kept = kept_to(self.place, message) if self._has_seen else None
        if kept is not None and self._is_first(kind, peer):
            self._note(kind, f"durable up to {kept}, by {type(message).__name__}", peer)

    # --- the disk

    def _synced(self, node: Node, event: Event, came: object) -> None:
        stream: str = event.args[0]
        token: SyncToken = event.args[1]
        if stream == self._stream and self._has_seen and token.next_offset > self.place.offset:
            if self._is_first(Kind.DURABLE):
                self._note(Kind.DURABLE, f"up to {token.next_offset}")

    def _taken(self, node: Node, event: Event, came: object) -> None:
        assert isinstance(came, Ready)
        self._know_topic(node)
        for effect in came.writes:
            self._written(node, effect)
        for send in came.sends:
            self._answered(("client", send.to), send.reply)
        for letter in came.letters:
            self._sent(letter)

    def _written(self, node: Node, effect: Effect) -> None:
        match effect:
            case Append() if effect.stream == self._stream:
                header = batch_with(self.place.offset, effect.buffers)
                if header is not None:
                    self._appended(Kind.APPENDED if self._stream in node.led.streams else Kind.COPIED, header)
            case Append() if effect.stream in node.led.streams and effect.stream != self._stream:
                self._buried(node, effect)
            case Cut() if effect.stream == self._stream and effect.offset <= self.place.offset:
                self._has_seen = False
                self._note(Kind.CUT, f"everything from {effect.offset} on")

    def _appended(self, kind: Kind, header: Header) -> None:
        self._has_seen = True
        self._told.clear()
        self._note(kind, _spelled(header))

    def _buried(self, node: Node, effect: Append) -> None:
        leader = node.led.topics.get(self.place.topic)
        target = node.led.streams[effect.stream].topic
        if leader is None or target != dead_topic(leader.topic) or target == self.place.topic:
            return
        found = buried_in(self.place, effect.buffers)
        if found is not None:
            self._note(Kind.BURIED, f"{effect.stream.removeprefix('logs/')}/{found[0]}, {found[1]}")


def _spelled(header: Header) -> str:
    """The batch that holds a message."""
    last = f" to {header.last_offset}" if header.last_offset_delta else ""
    return f"offset {header.base_offset}{last}, epoch {header.leader_epoch}, {header.size} bytes"


def _described(errand: Errand) -> str:
    """A publish, and on whose behalf it is."""
    caller = errand.caller
    named = {
        "client": caller.client_id, "by": caller.protocol, "principal": caller.principal, "tenant": caller.tenant,
        "trace": caller.trace,
    }  # fmt: skip
    said = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    return f"{type(errand.request).__name__}, {said}" if said else type(errand.request).__name__


def precedes(node: Node, place: Place) -> bool:
    """Whether a node, as it is, has the partition of a message and not yet the message."""
    held = node.led.held(f"logs/{place.topic}/{place.partition}")
    return held is not None and held.log.next_offset <= place.offset
