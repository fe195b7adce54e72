"""A violation told as a table: what befell each node and which roles it had, one column a node, and a message's path.

The world is run twice more. The first time shows which message the violation is about and where it was to lie; the
second time its partition is watched on every node: when the message came, was shown to readers, or was cut away.
"""

import re
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.requests.messages import Publish, PublishBatch
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.history import Message, sent_in
from goqueue.fuzz.insight import term
from goqueue.fuzz.process import Process
from goqueue.fuzz.sim import Verdict
from goqueue.fuzz.world import World

_COLUMN = 34
_ROWS_MAX = 400
_NAME = re.compile(r"b'([a-z]\d+:\d+)'")


@define
class _Roles:
    """What a node was when it was last looked at."""

    life: int = 0
    office: str = ""
    led: dict[str, int] = field(factory=dict)
    # Of the message that is followed: the end of its log here, and how much of it is shown.
    end: int = -1
    shown: int = -1


class Timeline:
    """Watches a world; with a message, that one as well."""

    def __init__(self, message: Message | None = None) -> None:
        self.world: World | None = None
        self.rows: list[tuple[int, str, str]] = []
        self._roles: dict[str, _Roles] = {}
        self._message = message
        self._asked: dict[int, str] = {}

    def begin(self, world: World) -> None:
        """The world that is watched."""
        self.world = world

    def _say(self, node_id: str, text: str) -> None:
        assert self.world is not None
        self.rows.append((self.world.now, node_id, text))

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Something happened that belongs to the fingerprint of the world."""
        if what[0] == "calamity":
            self._say("", str(what[1]))
        elif process is not None and what[0] in ("start", "crash", "kill"):
            self._say(process.node_id, f"{what[0]} (life {what[1]})")

    def asked(self, process: Process, to: int, request: Request) -> None:
        """A node was asked."""
        name = None if self._message is None else self._message.name
        if name is not None and isinstance(request, Publish | PublishBatch):
            if any(message.name == name for message in sent_in(request)):
                self._asked[to] = process.node_id
                self._say(process.node_id, f"is asked to publish {name.decode()}")

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """A node answered."""
        if self._asked.pop(to, None):
            self._say(process.node_id, f"answers {reply}")

    def looked(self, process: Process) -> None:
        """Something happened to a node: compare what it is with what it was."""
        node, roles = process.node, self._roles.setdefault(process.node_id, _Roles())
        if node is None or roles.life != process.life:
            roles = self._roles[process.node_id] = _Roles(process.life)
        if node is None or not node.has_metadata:
            return
        office = f"controller, term {term(node)}" if node.is_controller else ""
        if office != roles.office:
            self._say(process.node_id, office or f"no controller any more, term {term(node)}")
            roles.office = office
        led = {stream: one.leader_epoch for stream, one in node.led.streams.items() if one.is_settled}
        if led != roles.led:
            for text in _differences(roles.led, led):
                self._say(process.node_id, text)
            roles.led = led
        if self._message is not None and self._message.place is not None:
            self._follow(process, roles, self._message)

    def _follow(self, process: Process, roles: _Roles, message: Message) -> None:
        """Whether the log of the message's partition has come to reach over it, or does no more."""
        assert process.node is not None
        assert message.place is not None
        for leader in process.node.led.topics.values():
            if leader.topic.topic_id != message.place[0]:
                continue
            stream = leader.topic.stream(message.place[1])
            held = process.node.led.held(stream)
            end, shown = (-1, -1) if held is None else (held.log.next_offset, held.high_watermark)
            for is_over, was_over, text in (
                (end > message.offset, roles.end > message.offset, f"has offset {message.offset} of {stream}"),
                (shown > message.offset, roles.shown > message.offset, f"shows offset {message.offset}"),
            ):
                if is_over != was_over:
                    self._say(process.node_id, text if is_over else f"no more: {text}")
            roles.end, roles.shown = end, shown

    def table(self) -> str:
        """All of it, one column a node."""
        assert self.world is not None
        names = [process.node_id for process in self.world.processes]
        lines = ["     time " + "".join(name.ljust(_COLUMN) for name in names)]
        for at, node_id, text in self.rows[-_ROWS_MAX:]:
            time = f"{at / 1e9:9.3f} "
            if not node_id:
                lines.append(f"{time}--- {text} ---")
                continue
            indent = " " * (_COLUMN * names.index(node_id))
            for number, part in enumerate(_wrapped(text)):
                lines.append((time if not number else " " * len(time)) + indent + part)
        return "\n".join(lines)


def timeline_of(case: Case, verdict: Verdict) -> str:
    """The timeline of a case that broke a promise."""
    named = _NAME.search(verdict.violation or "")
    message: Message | None = None
    if named is not None:
        first = Timeline()
        live_through(case, watch=first)
        assert first.world is not None
        message = first.world.history.messages.get(named[1].encode())
    timeline = Timeline(message)
    live_through(case, watch=timeline)
    return timeline.table()


def _differences(was: dict[str, int], now: dict[str, int]) -> Iterator[str]:
    for stream in was:
        if stream not in now:
            yield f"leads {stream[5:]} no more"
    for stream, epoch in now.items():
        if was.get(stream) != epoch:
            yield f"leads {stream[5:]}, epoch {epoch}"


def _wrapped(text: str) -> list[str]:
    width = _COLUMN - 2
    return [text[at : at + width] for at in range(0, min(len(text), 6 * width), width)] or [""]
