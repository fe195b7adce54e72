"""A world that broke a promise, told in order: who was what, what clients were told, what went wrong, what broke.

The world is run twice more. The first time shows which message, which offset of which partition or which group the
violation is about; the second time tells of all that befell the nodes, and of clients what is about that subject. What
other clients were told is summed up between two lines. Not here: the same as a table, node by node (`timeline.py`).
"""

import inspect
import re
import sys
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.requests.groups import CommitOffsets, JoinGroup, LeaveGroup, ResetOffsets
from goqueue.core.requests.messages import Fetched, Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.queues import AckWork, ExtendWork, NackWork, PolledWork, RejectWork, ReleaseWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.history import Message, name_of, records_in, sent_in
from goqueue.fuzz.insight import term
from goqueue.fuzz.process import Process
from goqueue.fuzz.sim import Verdict
from goqueue.fuzz.world import World

_LINES_MAX = 250
_NAME = re.compile(r"b'([a-z]\d+:\d+)'")
_SPOT = re.compile(r"\('(\w+)', (\d+), (\d+), (\d+)\)")
_PLACE = re.compile(r"\((\d+), (\d+)\)")
_STREAM = re.compile(r"logs/(\w+)/(\d+)")
_GROUP = re.compile(r"\b([gwv]\d+)\b")
_SAYING = {AckWork: "acknowledges", NackWork: "has tried again", RejectWork: "rejects", ExtendWork: "keeps for longer",
           ReleaseWork: "hands back"}  # fmt: skip


@define
class Subject:
    """What a violation is about."""

    message: Message | None = None
    # Topic id and partition, and the offset if one is named.
    place: tuple[int, int] | None = None
    offset: int | None = None
    group: str = ""

    def text(self) -> str:
        """The same for people."""
        parts = [f"group {self.group}"] if self.group else []
        parts += [f"message {self.message.name.decode()}"] if self.message is not None else []
        if self.place is not None:
            at = "" if self.offset is None else f"offset {self.offset} of "
            parts.append(f"{at}partition {self.place[1]} of the topic with id {self.place[0]}")
        return ", ".join(parts)


def subject_of(violation: str, world: World) -> Subject:
    """What the words of a violation name, in a world that has come to it."""
    subject = Subject()
    named, spot, place, stream = (one.search(violation) for one in (_NAME, _SPOT, _PLACE, _STREAM))
    if named is not None:
        subject.message = world.history.messages.get(named[1].encode())
    if spot is not None:
        subject.group, subject.place, subject.offset = spot[1], (int(spot[2]), int(spot[3])), int(spot[4])
    elif subject.message is not None and subject.message.place is not None:
        subject.place, subject.offset = subject.message.place, subject.message.offset
    elif place is not None and named is None:
        subject.place = int(place[1]), int(place[2])
    elif stream is not None:
        topic = world.sight.topics().get(stream[1])
        subject.place = None if topic is None else (topic.topic_id, int(stream[2]))
    group = _GROUP.search(violation)
    if not subject.group and group is not None and named is None:
        subject.group = group[1]
    return subject


@define
class _Seen:
    """What a node was when it was last looked at."""

    life: int = 0
    office: str = ""
    ends: dict[str, int] = field(factory=dict)


class Narrator:
    """Watches a world and puts down what happened, one sentence a line."""

    def __init__(self, subject: Subject) -> None:
        self.world: World | None = None
        self.lines: list[tuple[int, str]] = []
        self._subject = subject
        self._seen: dict[str, _Seen] = {}
        self._placed: dict[tuple[str, int], tuple[str, int, tuple[str, ...]]] = {}
        self._ends: dict[str, int] = {}
        self._asked: dict[int, tuple[str, Request]] = {}
        self._stems: set[str] = set()
        self._sums: dict[str, int] = {}
        self._is_healed = False

    def begin(self, world: World) -> None:
        """The world that is watched."""
        self.world = world

    def report(self, line: str) -> None:
        """What a world says to whoever traces it: of that, only the failures of disks."""
        _, struck, what = line.partition("struck: ")
        if struck:
            self._say(f"A disk fails: {what}.")

    def _say(self, text: str) -> None:
        assert self.world is not None
        self.settle()
        self.lines.append((self.world.now, text))

    def settle(self) -> None:
        """Tell in one line what clients were told since the last one."""
        assert self.world is not None
        sums, self._sums = self._sums, {}
        if sums:
            told = ", ".join(f"{count} {what}" for what, count in sums.items())
            self.lines.append((self.world.now, f"(Meanwhile {told}.)"))

    # --- what befalls nodes

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Something happened that belongs to the fingerprint of the world."""
        if what[0] == "calamity":
            self._say(f"Calamity {what[1]}.")
        elif process is not None and what[0] in _BEFALLS:
            self._say(f"{process.node_id} {_BEFALLS[str(what[0])]}")

    def looked(self, process: Process) -> None:
        """Something happened to a node: compare what it is with what it was."""
        assert self.world is not None
        if self.world.is_healed and not self._is_healed:
            self._is_healed = True
            self._say("From here on nothing fails any more, and everything must come to rest.")
        node, seen = process.node, self._seen.setdefault(process.node_id, _Seen())
        if node is None or not node.has_metadata:
            return
        if self.world.sight.is_cluster:
            office = f"controller in term {term(node)}" if node.is_controller else ""
            if office != seen.office:
                self._say(f"{process.node_id} {f'is {office}' if office else 'is controller no more'}.")
                seen.office = office
            self._compare_placements()
        self._compare_logs(process, seen)

    def _compare_placements(self) -> None:
        assert self.world is not None
        for topic in self.world.sight.topics().values():
            for number, placed in topic.placements.items():
                now = placed.leader, placed.leader_epoch, tuple(placed.isr)
                if self._placed.get((topic.name, number)) != now:
                    self._say(_placement(topic, number, placed, self._placed.get((topic.name, number))))
                    self._placed[topic.name, number] = now

    def _compare_logs(self, process: Process, seen: _Seen) -> None:
        """Whether a log of a node has lost something at its end."""
        assert process.node is not None
        is_another = seen.life != process.life
        seen.life = process.life
        led = process.node.led
        logs = {stream: partition.log for stream, partition in led.streams.items()}
        logs.update({stream: replica.log for stream, replica in led.replicas.items()})
        for stream, log in logs.items():
            if log.unsound is not None:
                continue
            end, before = log.next_offset, seen.ends.get(stream, 0)
            if end < before:
                how = "comes back with" if is_another else "cuts"
                rest = f"its log of {stream[5:]} up to offset {end}: it had {before}"
                self._say(f"{process.node_id} {how} {rest}.")
            seen.ends[stream] = end

    # --- what clients ask and are told

    def asked(self, process: Process, to: int, request: Request) -> None:
        """A node was asked."""
        assert self.world is not None
        asked = self.world.history.open.get(to)
        who = "somebody" if asked is None else asked.client
        self._asked[to] = who, request
        message = self._subject.message
        if message is not None and isinstance(request, Publish | PublishBatch):
            if any(one.name == message.name for one in sent_in(request)):
                self._say(f"{who} asks {process.node_id} to publish {message.name.decode()} to {request.topic}.")

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """A node answered."""
        who, request = self._asked.pop(to, ("", None))
        if request is None:
            return
        told = [*self._told(who, request, reply)]
        for text in told:
            self._say(f"{process.node_id} {text}.")
        if not told:
            self._sum_up(reply)

    def _told(self, who: str, request: Request, reply: Reply) -> Iterator[str]:
        """What an answer says of the subject."""
        subject = self._subject
        if isinstance(request, Publish | PublishBatch):
            yield from self._published(who, request, reply)
        elif isinstance(reply, PolledWork):
            yield from self._given(who, reply)
        elif isinstance(request, AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork):
            runs = [one for one in request.receipts if one.stem in self._stems]
            if runs:
                said = reply.message if isinstance(reply, Refusal) else _outcome(reply)
                yield f"answers {who}, who {_SAYING[type(request)]} what it was given: {said}"
        elif isinstance(reply, Fetched) and subject.message is not None:
            if any(name_of(record) == subject.message.name for record in records_in(reply.batches)):
                yield f"shows {subject.message.name.decode()} to {who}"
        elif isinstance(request, JoinGroup | LeaveGroup | ResetOffsets | CommitOffsets):
            if request.group == subject.group and not isinstance(reply, Refusal):
                yield f"takes a {_worded(request)} of {who}"

    def _published(self, who: str, request: Publish | PublishBatch, reply: Reply) -> Iterator[str]:
        message = self._subject.message
        if message is None:
            return
        results = reply.results if isinstance(reply, PublishReply) else [reply]
        for at, one in enumerate(sent_in(request)):
            if one.name == message.name:
                result = results[min(at, len(results) - 1)]
                place = at if isinstance(request, PublishBatch) else 0
                if isinstance(result, Published):
                    yield f"acknowledges {one.name.decode()} to {who}, at offset {result.offset + place}"
                elif isinstance(result, Refusal):
                    yield f"refuses {one.name.decode()} of {who}: {result.message}"

    def _given(self, who: str, reply: PolledWork) -> Iterator[str]:
        subject = self._subject
        assert self.world is not None
        if subject.place is None or subject.offset is None:
            return
        for part in reply.parts:
            topic = self.world.sight.topics().get(part.topic)
            if topic is None or (topic.topic_id, part.partition) != subject.place:
                continue
            for run in part.leases:
                if run.first_offset <= subject.offset < run.first_offset + run.count:
                    self._stems.add(run.stem)
                    place = f"{part.topic}/{part.partition}"
                    yield f"leases offset {subject.offset} of {place} to {who}, attempt {run.attempt}"

    def _sum_up(self, reply: Reply) -> None:
        if isinstance(reply, PublishReply):
            taken = sum(isinstance(result, Published) for result in reply.results)
            refused = len(reply.results) - taken
            for count, what in ((taken, "publishes acknowledged"), (refused, "publishes refused")):
                if count:
                    self._sums[what] = self._sums.get(what, 0) + count
        else:
            what = "other requests refused" if isinstance(reply, Refusal) else "other requests answered"
            self._sums[what] = self._sums.get(what, 0) + 1


_BEFALLS = {
    "start": "starts.", "crash": "loses its power.", "kill": "is killed, or has stopped.",
    "wipe": "gets an empty disk.",
}  # fmt: skip


def _placement(topic: Topic, number: int, placed: Placement, before: tuple[str, int, tuple[str, ...]] | None) -> str:
    """What has changed of who has a partition."""
    name = "the journal of groups" if topic.name == JOURNAL_TOPIC else f"{topic.name}/{number}"
    parts: list[str] = []
    if before is None:
        parts.append(f"{name} is made, on {', '.join(placed.replicas)}")
    if before is None or before[:2] != (placed.leader, placed.leader_epoch):
        parts.append(f"{placed.leader or 'nobody'} leads {name} under epoch {placed.leader_epoch}")
    if before is None or before[2] != tuple(placed.isr):
        parts.append(f"in sync with {name}: {', '.join(placed.isr) or 'nobody'}")
        lost = [one for one in before[2] if one not in placed.isr] if before is not None else []
        parts += [f"{', '.join(lost)} no more"] if lost else []
    return f"{'; '.join(parts)}."


def _worded(request: JoinGroup | LeaveGroup | ResetOffsets | CommitOffsets) -> str:
    if isinstance(request, CommitOffsets):
        places = ", ".join(f"{one.offset} of {one.topic}/{one.partition}" for one in request.offsets[:4])
        return f"CommitOffsets for group {request.group}, at {places}"
    return f"{type(request).__name__} for group {request.group}"


def _outcome(reply: Reply) -> str:
    assert isinstance(reply, WorkDone)
    refused = f", {len(reply.refusals)} refused: {reply.refusals[0].refusal.message}" if reply.refusals else ""
    return f"{reply.done} done{refused}"


def narrative_of(case: Case, verdict: Verdict) -> str:
    """The narrative of a case that broke a promise."""
    first = Narrator(Subject())
    live_through(case, watch=first)
    assert first.world is not None
    subject = subject_of(verdict.violation or "", first.world)
    narrator = Narrator(subject)
    live_through(case, narrator.report, watch=narrator)
    narrator.settle()
    lines = narrator.lines
    left_out = len(lines) - _LINES_MAX
    if left_out > 0:
        # How it began, and how it ended.
        lines = [*lines[: _LINES_MAX // 5], *lines[-_LINES_MAX * 4 // 5 :]]
    told = [f"{number:4}  {at / 1e9:10.4f} s  {text}" for number, (at, text) in enumerate(lines, 1)]
    if left_out > 0:
        told.insert(_LINES_MAX // 5, f"      … {left_out} lines are left out here …")
    broken_s = max(verdict.simulated_ms / 1e3, lines[-1][0] / 1e9 if lines else 0.0)
    end = f"{len(lines) + 1:4}  {broken_s:10.4f} s  THE PROMISE BREAKS: {verdict.violation}"
    head = [f"{case.command()}: {verdict.options.text()}"]
    promise = promise_of(verdict)
    head += [f"The promise ({promise[0]}): {promise[1]}"] if promise is not None else []
    head += [f"It is about {subject.text()}."] if subject.text() else []
    return "\n".join([*head, "", *told, end, *(f"      {line}" for line in verdict.waits)])


def promise_of(verdict: Verdict) -> tuple[str, str] | None:
    """Who found that a promise is broken, and the promise in a sentence; None where no checker did."""
    classes = {place.partition(".")[0] for place in reversed(verdict.place.split(" > "))}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(("goqueue.fuzz.checkers.", "goqueue.fuzz.invariants.", "goqueue.fuzz.progress")):
            defined = {cls for cls, one in vars(module).items() if inspect.isclass(one) and one.__module__ == name}
            found = sorted(defined & classes)
            if found and module.__doc__:
                return found[0], " ".join(module.__doc__.strip().split("\n\n")[0].split())
    return None
