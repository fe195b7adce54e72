"""A changed node beside the one that was captured: told the same, and held to account for what it says otherwise.

The changed one has other settings (`alterations`) or other code. Whatever the captured node was told, it is told too,
with what its driver would have made of it:

- The disk. What both asked for is answered when the captured node was answered, under the number that the changed one
  gave. What only the changed one asked for is answered at once, as by a disk that takes no time: a read with what the
  same read brought before, or else with a failure, since nobody knows what it would have brought. An answer that only
  the captured one waits for is not passed on.
- Time. It is woken when the captured one was; and before that, at the moments that it asked for and the other did not.

Requests and letters are those of the capture: a client that would have behaved otherwise does not. So the differences
nearest to the first one mean most.

Invariant: a node that is not changed differs nowhere.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import define, field

from goqueue.core.capture.alterations import Alterations
from goqueue.core.capture.decisions import items_of
from goqueue.core.capture.differing import Report, only_in
from goqueue.core.capture.digest import digest
from goqueue.core.capture.events import Event, EventReader
from goqueue.core.capture.snapshot import restored
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.log.effects import Sync
from goqueue.core.ready import Ready

# How often in a row a node may want to be woken, or speak of answers that took no time.
_ROUNDS_MAX = 1_000
_RESULTS_MAX = 256
_UNREAD = "nobody read this while the capture was made"
_TIMELESS = ("forget", "deadline")

Key = tuple[Any, ...]


class _Died(Exception):
    """The changed node cannot go on."""


def _asks_of(ready: Ready) -> Iterator[tuple[Key, str, tuple[Any, ...]]]:
    """What an output asks the disk for: a key by which two nodes ask the same, and how the answer is told."""
    for effect in ready.writes:
        if isinstance(effect, Sync):
            yield ("synced", digest(effect)), "synced", (effect.stream, effect.token)
    for fetching in ready.reads:
        yield ("read", digest(fetching.request)), "read_done", (fetching.token,)
    for vote in ready.votes:
        yield ("vote", digest(vote)), "vote_saved", (vote,)
    for opening in ready.opens:
        yield ("open", opening.stream), "opened", ()
    for removal in ready.removes:
        yield ("remove", removal.folder), "removed", (removal.folder,)
    for _ in ready.compactions:
        yield ("compact",), "compaction_failed", ()


@define
class _Asked:
    """What one node waits for: by key the numbers it asked under, and by number the key of a read."""

    waiting: dict[Key, list[Any]] = field(factory=dict)
    reads: dict[int, Key] = field(factory=dict)

    def count(self, key: Key) -> int:
        """How often it was asked for and not answered."""
        return len(self.waiting.get(key, ()))

    def note(self, key: Key, args: tuple[Any, ...]) -> None:
        """It was asked for."""
        number = args[0] if key[0] == "read" else None
        self.waiting.setdefault(key, []).append(number)
        if number is not None:
            self.reads[number] = key

    def answered(self, key: Key, number: int | None = None) -> Any:
        """It was answered; the number that it was asked under."""
        waiting = self.waiting[key]
        found = waiting.pop(waiting.index(number) if number is not None else 0)
        if not waiting:
            del self.waiting[key]
        if found is not None:
            del self.reads[found]
        return found


class Counterpart:
    """The changed node; `report` says what has come of it."""

    def __init__(
        self, vocabulary: Vocabulary, content: bytes, first_event: int, alterations: Alterations, kept_max: int = 20
    ) -> None:
        self.report = Report(kept_max)
        self._alterations = alterations
        self._node = restored(vocabulary, content)
        self._reader = EventReader(vocabulary, first_event)
        self._then, self._asked = _Asked(), _Asked()
        self._told = "the snapshot"
        self._event = Event(first_event, 0, "")
        self._results: OrderedDict[Key, object] = OrderedDict()
        # When the captured node wants to be woken, and whether it has just been asked: a turn has ended.
        self._due_then: int | None = None
        self._is_idle = False
        self._alterations.begin(self._node)

    @property
    def is_alive(self) -> bool:
        """Whether it can be told more."""
        return not self.report.died

    def feed(self, block: bytes, said: Sequence[object]) -> None:
        """Tell it the events of the next block; `said` is what the captured node said to each. Raises CaptureError."""
        if not self.is_alive:
            return
        for event, came in zip(self._reader.events(block), said, strict=False):
            self._event = event
            if event.notes is not None:
                self._node.options.secrets.recall(event.notes)
            try:
                self._hear(event, came)
            except _Died:
                return

    def close(self) -> Report:
        """Nothing more comes: have it check itself, and say what there was."""
        if self.is_alive:
            try:
                self._call("check")
            except _Died:
                self.report.died = f"its state does not hold together at the end: {self.report.died}"
        self.report.close()
        self.report.met = sorted(self._alterations.met)
        return self.report

    # --- what it is told

    def _hear(self, event: Event, came: object) -> None:
        if self._is_idle:
            self._keep_time(event.now)
        self._is_idle = event.verb == "deadline"
        if event.verb == "take":
            assert isinstance(came, Ready)
            self._take(event.now, came)
        elif event.verb == "deadline":
            self._due_then = event.said if isinstance(event.said, int) else None
        else:
            self._tell(event)
            self._alterations.hold(self._node)

    def _keep_time(self, now: int) -> None:
        """Wake it when it wanted to be woken and the captured node did not."""
        for _ in range(_ROUNDS_MAX):
            due = self._call("deadline")
            if due is None or due >= now or (self._due_then is not None and due >= self._due_then):
                return
            self._told = "a wake of its own"
            self._call("wake", due)
            self._take(due, Ready())

    def _tell(self, event: Event) -> None:
        key, number = self._key_of(event)
        args = event.args
        if key is not None and key in self._then.waiting:
            self._then.answered(key, number)
            if key[0] == "read":
                self._remember(key, event)
            if key not in self._asked.waiting:
                return
            number = self._asked.answered(key)
            args = args if number is None else (number, *args[1:])
        elif key is not None and key in self._asked.waiting:
            self._asked.answered(key)
        self._told = " ".join([event.verb, *(type(one).__name__ for one in args[-1:] if event.verb in _SPOKEN)])
        timed = () if event.verb in _TIMELESS else (event.now,)
        self._call(event.verb, *timed, *args, **(event.named or {}))

    def _key_of(self, event: Event) -> tuple[Any, int | None]:
        """What an event is the answer to, and the number under which the captured node asked; None if to nothing."""
        match event.verb:
            case "synced":
                return ("synced", digest(Sync(*event.args))), None
            case "read_done" | "read_failed":
                return self._then.reads.get(event.args[0]), event.args[0]
            case "vote_saved":
                return ("vote", digest(event.args[0])), None
            case "opened" | "open_failed":
                return ("open", event.args[0]), None
            case "removed":
                return ("remove", event.args[0]), None
            case "compacted" | "compaction_failed":
                return ("compact",), None
        return None, None

    def _remember(self, key: Key, event: Event) -> None:
        if event.verb == "read_done":
            self._results[key] = event.args[1]
            if len(self._results) > _RESULTS_MAX:
                self._results.popitem(last=False)

    # --- what it says

    def _take(self, now: int, came: Ready) -> None:
        """Compare a turn; then let it go on, as long as it asks for what takes no time."""
        for key, _, args in _asks_of(came):
            self._then.note(key, args)
        for _ in range(_ROUNDS_MAX):
            ready = self._call("take", now)
            assert isinstance(ready, Ready)
            self._compare(now, came, ready)
            if not self._answer(now, came, ready):
                return
            came = Ready()

    def _compare(self, now: int, came: Ready, ready: Ready) -> None:
        if not came and not ready:
            return
        if digest(came) != digest(ready):
            old, new = [*items_of(came)], [*items_of(ready)]
            only_old, only_new = only_in(old, new), only_in(new, old)
            if only_old or only_new:
                self.report.differ(self._event.number, now, self._told, only_old, only_new)

    def _answer(self, now: int, came: Ready, ready: Ready) -> bool:
        """Answer what only the changed node asked for; whether there was anything."""
        answers: list[tuple[str, tuple[Any, ...]]] = []
        for key, verb, args in _asks_of(ready):
            if self._then.count(key) > self._asked.count(key) or verb == "opened":
                self._asked.note(key, args)
            elif verb == "read_done":
                answers.append(self._read(key, args[0]))
            else:
                answers.append((verb, args))
        if ready.writes and not came.writes:
            answers.insert(0, ("written", ()))
        for verb, args in answers:
            named = {"damaged": False} if verb == "read_failed" else {}
            self._call(verb, now, *args, **named)
        return bool(answers)

    def _read(self, key: Key, token: int) -> tuple[str, tuple[Any, ...]]:
        if key in self._results:
            return "read_done", (token, self._results[key])
        return "read_failed", (token, _UNREAD)

    def _call(self, verb: str, *args: Any, **named: Any) -> Any:
        try:
            return getattr(self._node, verb)(*args, **named)
        except Exception as error:
            self.report.died = f"event {self._event.number}, {self._told}: {_spelled(error)}"
            raise _Died from error


# Verbs whose last argument says what they are about.
_SPOKEN = ("ask", "receive")


def _spelled(error: Exception) -> str:
    """An error, and where in the code it happened."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" in {trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}"
    return f"{type(error).__name__}{place}" + (f": {error}" if str(error) else "")
