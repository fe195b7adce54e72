"""Stands beside a replay and tells listeners what happens: requests with their answers, batches with their streams.

What several listeners need is found out once here: which answer belongs to which request, what a batch's header says,
and whether the node leads or follows the stream that it goes to.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from goqueue.core.capture.events import Event
from goqueue.core.log.effects import Append
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Letter, Ready
from goqueue.core.records.batch import read_header
from goqueue.core.requests.messages import Side
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded
from goqueue.spark.facts.errands import Errands
from goqueue.spark.facts.inside import under_way
from goqueue.spark.facts.listening import CLIENT, Batch, Errand, Listener, Stream
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.roles import Roles
from goqueue.spark.facts.streams import parse_stream

# What changes nothing in how streams stand that the next `take` would not show.
_QUIET = frozenset((
    "ask", "forget", "deadline", "clock_moved", "read_done", "read_failed", "forget_recent", "disk_room",
    "compaction_failed",
))  # fmt: skip

_Heard = Callable[..., None]
_Tables = dict[Any, list[_Heard]]


class Hearing:
    """All listeners to one node."""

    def __init__(self, notebook: Notebook, listeners: Iterable[Listener]) -> None:
        self._notebook = notebook
        self._listeners = [*listeners]
        self._errands = Errands()
        self._roles = Roles()
        self._own: dict[str, Callable[[Node, Event, Any], None]] = {
            "ask": self._asked,
            "forget": self._forgotten,
            "receive": self._received,
            "take": self._taken,
        }
        self._join_tables()

    def _join_tables(self) -> None:
        heard = [one.hears() for one in self._listeners]
        self._verbs = _joined(one.verbs for one in heard)
        self._by_request = _joined(one.asked for one in heard)
        self._by_answered = _joined(one.answered for one in heard)
        self._by_forgotten = _joined(one.forgotten for one in heard)
        self._by_side = _joined(one.batches for one in heard)
        self._by_effect = _joined(one.effects for one in heard)
        self._by_received = _joined(one.received for one in heard)
        self._by_sent = _joined(one.sent for one in heard)
        self._leads = [one.leads for one in heard if one.leads is not None]
        self._follows = [one.follows for one in heard if one.follows is not None]
        self._dropped = [one.dropped for one in heard if one.dropped is not None]
        self._after = [one.after for one in heard if one.after is not None]

    def begin(self, node: Node) -> None:
        """See the node as it is before the first event."""
        self._notebook.know(node.clock, node.led.topics)
        self._roles.look(node, "opened")
        for to, caller, request in under_way(node):
            self._errands.known(to, Errand(CLIENT, "", None, caller, request))
        for listener in self._listeners:
            for to, errand in listener.begin(node):
                self._errands.known(to, errand)

    def end(self, node: Node) -> None:
        """The file is over."""
        for listener in self._listeners:
            listener.end(node)

    def heard(self, node: Node, event: Event, came: object) -> None:
        """The node was told something, and this came of it."""
        self._notebook.turn_to(event)
        verb = event.verb
        is_loud = verb not in _QUIET
        if is_loud:
            self._look(node, verb)
        own = self._own.get(verb)
        if own is not None:
            own(node, event, came)
        for hear in self._verbs.get(verb, ()):
            hear(node, event, came)
        if is_loud:
            for after in self._after:
                after(node, event)

    def _look(self, node: Node, verb: str) -> None:
        changes = self._roles.look(node, verb)
        if changes is None:
            return
        for gone in changes.gone:
            for hear in self._dropped:
                hear(node, parse_stream(gone))
        for held in changes.held:
            stream = parse_stream(held.log.stream)
            listening: list[_Heard] = self._leads if isinstance(held, Partition) else self._follows
            for hear_held in listening:
                hear_held(node, stream, held)

    # --- requests and answers

    def _asked(self, node: Node, event: Event, came: object) -> None:
        to, caller, request = event.args
        self._tell_asked(node, self._errands.asked(event.now, to, caller, request))

    def _tell_asked(self, node: Node, errand: Errand) -> None:
        for hear in self._by_request.get(type(errand.request), ()):
            hear(node, errand)

    def _forgotten(self, node: Node, event: Event, came: object) -> None:
        self._tell_forgotten(node, self._errands.answered(event.args[0]))

    def _tell_forgotten(self, node: Node, errand: Errand | None) -> None:
        if errand is not None:
            for hear in self._by_forgotten.get(type(errand.request), ()):
                hear(node, errand)

    def _tell_answered(self, node: Node, errand: Errand | None, reply: object) -> None:
        if errand is not None:
            for hear in self._by_answered.get(type(errand.request), ()):
                hear(node, errand, reply)
            for hear in self._by_answered.get(object, ()):
                hear(node, errand, reply)

    # --- letters

    def _received(self, node: Node, event: Event, came: object) -> None:
        sender, message = event.args
        if type(message) is Forwarded:
            errand = self._errands.passed_on(event.now, sender, message)
            if errand is not None:
                self._tell_asked(node, errand)
        elif type(message) is Abandoned:
            self._tell_forgotten(node, self._errands.returned(sender, message))
        for hear in self._by_received.get(type(message), ()):
            hear(node, sender, message)

    def _sent(self, node: Node, letter: Letter) -> None:
        message = letter.message
        if type(message) is Answered:
            self._tell_answered(node, self._errands.returned(letter.to, message), message.reply)
        for hear in self._by_sent.get(type(message), ()):
            hear(node, letter.to, message)

    # --- output

    def _taken(self, node: Node, event: Event, came: Ready) -> None:
        for effect in came.writes:
            stream = parse_stream(effect.stream)
            if type(effect) is Append and stream.side is not None:
                self._appended(node, stream, stream.side, effect)
            for hear in self._by_effect.get(type(effect), ()):
                hear(node, stream, effect)
        self._roles.taken()
        for send in came.sends:
            self._tell_answered(node, self._errands.answered(send.to), send.reply)
        for letter in came.letters:
            self._sent(node, letter)

    def _appended(self, node: Node, stream: Stream, side: Side, effect: Append) -> None:
        hears = self._by_side.get(side, ())
        for content in effect.buffers:
            header = read_header(content)
            batch = Batch(stream, header, content, self._roles.is_led(stream.name, header.leader_epoch))
            for hear in hears:
                hear(node, batch)


def _joined(tables: Iterable[dict[Any, Any]]) -> _Tables:
    """Several tables as one: who is to be told, by what it is to be told of."""
    joined: _Tables = defaultdict(list)
    for table in tables:
        for key, hear in table.items():
            joined[key].append(hear)
    return dict(joined)
