"""What a node was told and what it said, one event after another, as bytes: the body of a capture's blocks.

    event   operation 1 | its arguments in the forms of `values`

Time stands between events, as an operation of its own, whenever it has changed. What happens in every turn is short:
`wake` and `written` are one byte, so is a `take` that brought nothing, and any other is one byte, the shape of what
came out and its digest. Any other verb is written by its name with its arguments, so one that a node learns later needs
nothing here.

A batch's records may be left out (`skeleton`). Where they are kept, all of what came out stands beside its digest, in
words. Of what a read brought from the disk there is no more than the head, since a node passes it on unseen; only what
it looks into itself, the journal of its groups, is there as a whole. `deadline` is an event too, because it is an
answer, and because asking may tidy up.

What came of secrets in a verb (`Notes` in `secrets`) stands behind its event, and is no event of its own.

Texts and classes are numbered through a whole file, so its events can only be read in order from the first.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs
from attrs import define

from goqueue.core.capture.digest import HEAD_BYTES, reader_of
from goqueue.core.capture.errors import CaptureError, OtherRelease
from goqueue.core.capture.reading import READ_ERRORS, ValueReader
from goqueue.core.capture.skeleton import can_stand_for
from goqueue.core.capture.values import NONE, ValueWriter
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.log.effects import ReadResult, SyncToken
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Due, PublishBatch
from goqueue.core.requests.row import Request
from goqueue.core.services.secret_names import SECRET_BYTES
from goqueue.core.services.secrets import TAG_BYTES, Notes, Secrets

(
    TIME, WAKE, WRITTEN, TAKEN_NOTHING, TAKEN, TAKE_DIED, DEADLINE_SAME, DEADLINE, CLOCK_MOVED, FORGET, SYNCED,
    ASK, ASK_BATCH, READ_DONE, CALL, TAKEN_IN_WORDS, NOTES,
) = range(1, 18)  # fmt: skip

_DIGEST_BYTES = 4
_HASH_BYTES = 8
_BATCH_FIELDS = tuple(one.name for one in attrs.fields(PublishBatch) if one.name != "batch")
_READ_FIELDS = tuple(one.name for one in attrs.fields(ReadResult) if one.name != "batches")
_TOKEN_FIELDS = tuple(one.name for one in attrs.fields(SyncToken))
_batch_fields = reader_of(PublishBatch, "batch")
_read_fields = reader_of(ReadResult, "batches")
_token_fields = reader_of(SyncToken)
# What is written without names: a release in which it differs cannot read these events.
FORMS = "; ".join(
    f"{name}: {', '.join(fields)}"
    for name, fields in (("PublishBatch", _BATCH_FIELDS), ("ReadResult", _READ_FIELDS), ("SyncToken", _TOKEN_FIELDS))
)
FORMS += "; letters: runs of batches; secrets: names and notes"
# How many topics' partitions are told in short.
_TARGETS_MAX = 4096
_TARGET_BYTES_MAX = 64


@define
class Taken:
    """What a `take` brought: shape and digest, empty when that was nothing, and all of it in words if that was kept."""

    shape: str = ""
    digest: int = 0
    words: str = ""


@define
class Event:
    """One verb as it was called, `said` being what came of it where that is known."""

    number: int
    now: int
    verb: str
    args: tuple[Any, ...] = ()
    named: dict[str, Any] | None = None
    said: Taken | int | None = None
    died: bool = False
    # What came of secrets.
    notes: Notes | None = None


class EventWriter:
    """Appends events to `out`, which whoever writes the file empties; one writer a file."""

    def __init__(self, vocabulary: Vocabulary, *, keeps_records: bool = False, secrets: Secrets | None = None) -> None:
        self.out = bytearray()
        self._secrets = secrets
        self.count = 0
        self._values = ValueWriter(vocabulary, self.out, shares=False)
        self._keeps_records = keeps_records
        self._now = 0
        self._to = 0
        self._skew_ms = 0
        self._deadline: int | None = None
        self._caller: Caller | None = None
        # Where batches go, spelled: most go where one went before.
        self._targets: dict[tuple[Any, ...], bytes] = {}

    def plain(self, now: int, operation: int) -> None:
        """A verb without arguments, or a `take` that brought nothing."""
        self._turn_to(now)
        self.out.append(operation)
        self.count += 1

    def _turn_to(self, now: int) -> None:
        """An event begins."""
        if self._secrets is not None:
            self.note_secrets()
        if now != self._now:
            self._pass(now)

    def note_secrets(self) -> None:
        """What came of secrets in the event before."""
        notes = None if self._secrets is None else self._secrets.take_notes()
        if notes is None:
            return
        self.out.append(NOTES)
        self._values.number(len(notes.drawn))
        self.out += b"".join(notes.drawn)
        self._values.number(len(notes.tags))
        self.out += b"".join([number.to_bytes(_HASH_BYTES, "little") + tag for number, tag in notes.tags])

    def _begin(self, now: int, operation: int) -> ValueWriter:
        self._turn_to(now)
        self.out.append(operation)
        self.count += 1
        return self._values

    def _pass(self, now: int) -> None:
        self.out.append(TIME)
        self._values.number(now - self._now)
        self._now = now

    def taken(self, now: int, shape: str, digest: int, words: str = "") -> None:
        """A `take` that brought something."""
        values = self._begin(now, TAKEN_IN_WORDS if words else TAKEN)
        values.text(shape)
        self.out += digest.to_bytes(_DIGEST_BYTES, "little")
        if words:
            values.write(words.encode("utf-8", "surrogatepass"))

    def deadline(self, due: int | None) -> None:
        """An answer to `deadline`."""
        if due == self._deadline:
            self.plain(self._now, DEADLINE_SAME)
        else:
            self._begin(self._now, DEADLINE).write(due)
            self._deadline = due

    def clock_moved(self, now: int, wall_ms: int) -> None:
        """A reading of the wall clock; one that says nothing new takes two bytes."""
        skew_ms = wall_ms - now // 1_000_000
        self._begin(now, CLOCK_MOVED).number(skew_ms - self._skew_ms)
        self._skew_ms = skew_ms

    def forget(self, to: int) -> None:
        """Nobody waits for an answer any more."""
        self._begin(self._now, FORGET).number(to)

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """The disk kept a promise."""
        values = self._begin(now, SYNCED)
        values.text(stream)
        for field in _token_fields(token):
            values.write(field)

    def ask(self, now: int, to: int, caller: Caller, request: Request, *, checks_records: bool = False) -> None:
        """A request; `checks_records` says whether the node looks at those of a batch."""
        if type(request) is PublishBatch:
            self._address(self._begin(now, ASK_BATCH), to, caller)
            self._target(_batch_fields(request))
            whole = self._keeps_records or request.due is not Due.NOW
            whole = whole or (checks_records and not can_stand_for(request.batch, checks_records=True))
            self._values.batch(request.batch, whole=whole)
        else:
            self._address(self._begin(now, ASK), to, caller).write(request)

    def ask_sound(self, now: int, to: int, caller: Caller, request: PublishBatch, header: bytes) -> None:
        """A request to publish a batch that came with this header, and for which that can stand."""
        self._address(self._begin(now, ASK_BATCH), to, caller)
        self._target(_batch_fields(request))
        self._values.header(header, len(request.batch))

    def _target(self, fields: tuple[Any, ...]) -> None:
        spelled = self._targets.get(fields)
        if spelled is not None:
            self.out += spelled
            return
        self._spell(fields)
        begun = len(self.out)
        # Only the second spelling speaks of texts and classes as known ones, and is the same from then on.
        self._spell(fields)
        again = bytes(self.out[begun:])
        del self.out[begun:]
        if len(self._targets) < _TARGETS_MAX and len(again) <= _TARGET_BYTES_MAX:
            self._targets[fields] = again

    def _spell(self, fields: tuple[Any, ...]) -> None:
        for field in fields:
            self._values.write(field)

    def _address(self, values: ValueWriter, to: int, caller: Caller) -> ValueWriter:
        values.number(to - self._to)
        self._to = to
        if caller is self._caller or caller == self._caller:
            self.out.append(NONE)
        else:
            values.write(caller)
        self._caller = caller
        return values

    def read_done(self, now: int, token: int, result: object) -> None:
        """An answer of the disk."""
        if not isinstance(result, ReadResult):
            self.call(now, "read_done", (token, result))
            return
        values = self._begin(now, READ_DONE)
        values.number(token)
        for field in _read_fields(result):
            values.write(field)
        head = memoryview(result.batches)[:HEAD_BYTES]
        values.number(len(result.batches))
        values.number(len(head))
        self.out += head

    def call(self, now: int | None, verb: str, args: tuple[Any, ...], named: dict[str, Any] | None = None) -> None:
        """Any other verb."""
        values = self._begin(self._now if now is None else now, CALL)
        values.text(verb)
        values.write(args)
        values.write(named)


class EventReader:
    """Takes events from the blocks of a file, in order."""

    def __init__(self, vocabulary: Vocabulary, first: int = 0) -> None:
        self.count = first
        self._values = ValueReader(vocabulary)
        self._now = 0
        self._to = 0
        self._skew_ms = 0
        self._deadline: int | None = None
        self._caller: Caller | None = None
        self._early: Notes | None = None

    @property
    def now(self) -> int:
        """When the last event was."""
        return self._now

    def events(self, body: bytes) -> Iterator[Event]:
        """The events of the next block. Raises CaptureError."""
        values = self._values
        values.feed(body)
        last: Event | None = None
        while not values.is_done():
            try:
                event = self._next(values, last)
            except (*READ_ERRORS, CaptureError) as error:
                if last is not None:
                    yield last
                if isinstance(error, CaptureError):
                    raise
                raise CaptureError(f"event {self.count} cannot be read: {error}") from error
            if event is not None:
                # One behind, since what belongs to an event may follow it.
                if last is not None:
                    yield last
                last = event
                self.count += 1
        if last is not None:
            yield last

    def _next(self, values: ValueReader, last: Event | None) -> Event | None:
        operation = values.byte()
        if operation == TIME:
            self._now += values.number()
            return None
        if operation == NOTES:
            # At the head of a block they are of the event that follows: what comes out is noted once it has.
            if last is None:
                self._early = _notes(values)
            else:
                last.notes = _notes(values)
            return None
        values.forget()
        read = _READS.get(operation)
        if read is None:
            raise OtherRelease(f"operation {operation} is unknown to this release")
        early, self._early = self._early, None
        return read(self, Event(self.count, self._now, "", notes=early), values)

    def _plain(self, event: Event, verb: str) -> Event:
        event.verb = verb
        return event

    def _taken(self, event: Event, values: ValueReader) -> Event:
        event.verb = "take"
        event.said = Taken(values.text(), int.from_bytes(values.exactly(_DIGEST_BYTES), "little"))
        return event

    def _taken_in_words(self, event: Event, values: ValueReader) -> Event:
        self._taken(event, values)
        assert isinstance(event.said, Taken)
        event.said.words = values.read().decode("utf-8", "surrogatepass")
        return event

    def _taken_nothing(self, event: Event, values: ValueReader) -> Event:
        event.verb = "take"
        event.said = Taken()
        return event

    def _take_died(self, event: Event, values: ValueReader) -> Event:
        event.verb, event.died = "take", True
        return event

    def _deadline_said(self, event: Event, values: ValueReader) -> Event:
        self._deadline = values.read()
        return self._deadline_same(event, values)

    def _deadline_same(self, event: Event, values: ValueReader) -> Event:
        event.verb, event.said = "deadline", self._deadline
        return event

    def _clock_moved(self, event: Event, values: ValueReader) -> Event:
        self._skew_ms += values.number()
        event.verb, event.args = "clock_moved", (event.now // 1_000_000 + self._skew_ms,)
        return event

    def _forget(self, event: Event, values: ValueReader) -> Event:
        event.verb, event.args = "forget", (values.number(),)
        return event

    def _synced(self, event: Event, values: ValueReader) -> Event:
        stream = values.text()
        token = SyncToken(**{name: values.read() for name in _TOKEN_FIELDS})
        event.verb, event.args = "synced", (stream, token)
        return event

    def _ask(self, event: Event, values: ValueReader) -> Event:
        event.verb, event.args = "ask", (*self._address(values), values.read())
        return event

    def _ask_batch(self, event: Event, values: ValueReader) -> Event:
        address = self._address(values)
        fields = {name: values.read() for name in _BATCH_FIELDS}
        event.verb, event.args = "ask", (*address, PublishBatch(batch=values.batch(), **fields))
        return event

    def _address(self, values: ValueReader) -> tuple[int, Caller]:
        self._to += values.number()
        caller = values.read()
        if caller is not None:
            self._caller = caller
        if not isinstance(self._caller, Caller):
            raise CaptureError("a request has no caller")
        return self._to, self._caller

    def _read_done(self, event: Event, values: ValueReader) -> Event:
        token = values.number()
        fields = {name: values.read() for name in _READ_FIELDS}
        size, head = values.extent()
        batches = bytearray(size)
        batches[: len(head)] = head
        event.verb, event.args = "read_done", (token, ReadResult(batches=memoryview(batches), **fields))
        return event

    def _call(self, event: Event, values: ValueReader) -> Event:
        event.verb, event.args, event.named = values.text(), values.read(), values.read()
        if not isinstance(event.args, tuple):
            raise CaptureError(f"{event.verb} has no arguments")
        return event


def _notes(values: ValueReader) -> Notes:
    drawn = [values.exactly(SECRET_BYTES) for _ in range(values.count())]
    tags = [
        (int.from_bytes(values.exactly(_HASH_BYTES), "little"), values.exactly(TAG_BYTES))
        for _ in range(values.count())
    ]
    return Notes(drawn, tags)


_READS: dict[int, Callable[[EventReader, Event, ValueReader], Event]] = {
    WAKE: lambda reader, event, _: reader._plain(event, "wake"),
    WRITTEN: lambda reader, event, _: reader._plain(event, "written"),
    TAKEN_NOTHING: EventReader._taken_nothing,
    TAKEN: EventReader._taken,
    TAKEN_IN_WORDS: EventReader._taken_in_words,
    TAKE_DIED: EventReader._take_died,
    DEADLINE_SAME: EventReader._deadline_same,
    DEADLINE: EventReader._deadline_said,
    CLOCK_MOVED: EventReader._clock_moved,
    FORGET: EventReader._forget,
    SYNCED: EventReader._synced,
    ASK: EventReader._ask,
    ASK_BATCH: EventReader._ask_batch,
    READ_DONE: EventReader._read_done,
    CALL: EventReader._call,
}
