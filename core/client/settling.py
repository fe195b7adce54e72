"""What became of messages, on its way to the broker: what is said alike between two requests travels together.

A slip is one request: receipts of messages that are acknowledged, or given back with the same delay and reason, and so
on. It is filled until it is sent, answered once, and kept by whoever wants to know what became of a message of it, so
that an answer costs the same for one message as for a thousand. Receipts that follow on each other become one run.

A slip whose answer was lost is sent again, ahead of what was said since. To acknowledge twice is no mistake; to give
back or to reject twice is refused the second time, and then what was meant has happened, one way or the other: such a
refusal counts as done. It does not where all refusals before it said that nothing was done. What the broker cannot do
for the time being is tried again too, until it has been tried for long enough.

Invariants: a slip waits, is under way under one number, pauses, or is done; what is done has no runs left to be sent.
"""

from collections.abc import Sequence
from enum import Enum

from attrs import define, field

from goqueue.core.client.failure import DROPPED, PASSING, Failure
from goqueue.core.client.grants import Grant, add_receipt
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Code, Outcome, Refusal

# One request, at most; and how many may have no answer before no more messages are asked for.
RECEIPTS_MAX = 5_000
UNANSWERED_MAX = 64

_OVER = (str(Code.RECEIPT_EXPIRED), str(Code.ALREADY_SETTLED))

SettleRequest = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork


class Verb(Enum):
    """What is said of a message."""

    ACK = "ack"
    NACK = "nack"
    REJECT = "reject"
    EXTEND = "extend"
    RELEASE = "release"


@define
class Saying:
    """A verb and what goes with it; two that are equal travel together."""

    verb: Verb
    delay_ms: int | None = None
    reason: str = ""
    timeout_ms: int = 0

    @property
    def key(self) -> tuple[Verb, int | None, str, int]:
        """What makes it equal to another."""
        return self.verb, self.delay_ms, self.reason, self.timeout_ms


ACK = Saying(Verb.ACK)
RELEASE = Saying(Verb.RELEASE)


@define(eq=False)
class Slip:
    """See the module; `failures` and `failure`, which is everybody's, are final once it is done."""

    saying: Saying
    runs: list[ReceiptRun] = field(factory=list)
    count: int = 0
    sent: int = 0
    # Whether it was sent and not answered, or the answer left open what was done.
    is_doubtful: bool = False
    # By our clock, when it was first sent.
    begun: int = 0
    is_done: bool = False
    failure: Failure | None = None
    failures: dict[tuple[str, int], Failure] = field(factory=dict)
    at_ms: int = 0
    # The messages whose failure somebody has looked at.
    seen: set[tuple[str, int]] = field(factory=set)

    def add(self, stem: str, offset: int) -> None:
        """One message more."""
        self.count += 1
        add_receipt(self.runs, stem, offset)

    def note(self, failure: Failure) -> None:
        """A request, or a part of it, was refused."""
        self.is_doubtful = self.is_doubtful or failure.what_happened is Outcome.UNKNOWN

    def as_a_whole(self, failure: Failure) -> Failure:
        """The failure of the last attempt, which then says of all attempts what they have done."""
        return failure.in_doubt() if self.is_doubtful else failure.undone()

    def look(self, stem: str, offset: int) -> Failure | None:
        """What became of a message, for somebody who asks."""
        assert self.is_done
        failure = self.failure or self.failures.get((stem, offset))
        if failure is not None:
            self.seen.add((stem, offset))
        return failure

    def find(self, stem: str, offset: int) -> Failure | None:
        """The same, for somebody who does not count."""
        return self.failure or self.failures.get((stem, offset))

    @property
    def unseen(self) -> int:
        """How many failed without anybody having looked."""
        failed = self.count if self.failure is not None else len(self.failures)
        return failed - len(self.seen)

    @property
    def first_failure(self) -> Failure | None:
        """One that nobody has looked at, if there is one."""
        if self.failure is not None:
            return self.failure
        return next((why for receipt, why in self.failures.items() if receipt not in self.seen), None)

    def request(self) -> SettleRequest:
        """It as the broker is asked."""
        saying, runs = self.saying, [*self.runs]
        if saying.verb is Verb.ACK:
            return AckWork(runs)
        if saying.verb is Verb.NACK:
            return NackWork(runs, saying.delay_ms, saying.reason)
        if saying.verb is Verb.REJECT:
            return RejectWork(runs, saying.reason)
        if saying.verb is Verb.EXTEND:
            return ExtendWork(runs, saying.timeout_ms)
        return ReleaseWork(runs)


@define(eq=False)
class Settling:
    """All slips of one member; what is done is in `done` until somebody takes it from there."""

    timeout_ns: int
    done: list[Slip] = field(factory=list)
    # How many messages wait to be spoken of.
    waiting: int = 0
    _acks: Slip | None = None
    _open: dict[tuple[Verb, int | None, str, int], Slip] = field(factory=dict)
    _again: list[Slip] = field(factory=list)
    _under_way: dict[int, Slip] = field(factory=dict)
    # Slips that could not be done for now, and when to try again.
    _paused: list[tuple[int, Slip]] = field(factory=list)
    # Why nothing is taken any more.
    _closed: Failure | None = None

    # --- what is said

    def ack(self, grant: Grant, offset: int) -> Slip:
        """This message is done."""
        slip = self._acks
        if slip is None or slip.count >= RECEIPTS_MAX:
            slip = self._opened(ACK)
            if slip.is_done:
                return slip
            self._acks = slip
        slip.count += 1
        self.waiting += 1
        runs, stem = slip.runs, grant.stem
        if runs:
            last = runs[-1]
            if last.stem is stem and last.first_offset + last.count == offset:
                last.count += 1
                return slip
        runs.append(ReceiptRun(stem, offset))
        return slip

    def say(self, saying: Saying, stem: str, offset: int) -> Slip:
        """This is said of one message."""
        slip = self._open.get(saying.key)
        if slip is None or slip.count >= RECEIPTS_MAX:
            slip = self._opened(saying)
            if slip.is_done:
                return slip
        self.waiting += 1
        slip.add(stem, offset)
        return slip

    def release(self, runs: Sequence[ReceiptRun]) -> None:
        """These are handed back."""
        for run in runs:
            for offset in range(run.first_offset, run.first_offset + run.count):
                self.say(RELEASE, run.stem, offset)

    def _opened(self, saying: Saying) -> Slip:
        slip = Slip(saying)
        if self._closed is not None:
            slip.failure, slip.is_done = self._closed.undone(), True
            return slip
        full = self._open.pop(saying.key, None)
        if full is not None:
            self._again.append(full)
        self._open[saying.key] = slip
        return slip

    # --- what is sent, and answered

    @property
    def is_idle(self) -> bool:
        """Whether everything that was said is answered."""
        return not (self._open or self._again or self._under_way or self._paused)

    @property
    def is_clogged(self) -> bool:
        """Whether the broker leaves too much unanswered."""
        return len(self._under_way) + len(self._paused) >= UNANSWERED_MAX

    def take(self, now: int, number: int) -> list[tuple[int, SettleRequest]]:
        """What to send, in order, under numbers from `number` on."""
        self.wake(now)
        slips = [*self._again, *self._open.values()]
        self._again, self._open, self._acks, self.waiting = [], {}, None, 0
        requests: list[tuple[int, SettleRequest]] = []
        for slip in slips:
            slip.begun = slip.begun or now
            slip.sent += 1
            self._under_way[number] = slip
            requests.append((number, slip.request()))
            number += 1
        return requests

    def answered(self, now: int, number: int, done: WorkDone) -> None:
        """The broker's answer to a request."""
        slip = self._under_way.pop(number, None)
        if slip is None:
            return
        slip.at_ms = done.at_ms
        rest: list[ReceiptRun] = []
        pause_ms = 0
        for each in done.refusals:
            failure = _failure(each)
            slip.note(failure)
            if self._is_passing(now, slip, failure):
                add_receipt(rest, each.stem, each.offset)
                pause_ms = max(pause_ms, failure.retry_after_ms)
            elif not _has_happened(slip, failure):
                slip.failures[each.stem, each.offset] = slip.as_a_whole(failure)
        if rest:
            slip.runs = rest
            self._pause(now, slip, pause_ms)
        else:
            self._finish(slip)

    def refused(self, now: int, number: int, failure: Failure) -> None:
        """Nothing of a request was done."""
        slip = self._under_way.pop(number, None)
        if slip is None:
            return
        slip.note(failure)
        if self._is_passing(now, slip, failure):
            self._pause(now, slip, failure.retry_after_ms)
            return
        for run in slip.runs:
            for offset in range(run.first_offset, run.first_offset + run.count):
                slip.failures[run.stem, offset] = slip.as_a_whole(failure)
        self._finish(slip)

    def _is_passing(self, now: int, slip: Slip, failure: Failure) -> bool:
        return failure.code in PASSING and now - slip.begun < self.timeout_ns

    def _pause(self, now: int, slip: Slip, pause_ms: int) -> None:
        # Doubles with the attempts, from 50 ms on to a second, unless the broker says more.
        delay_ms = max(min(50 << min(slip.sent - 1, 5), 1_000), pause_ms)
        self._paused.append((now + delay_ms * 1_000_000, slip))

    def _finish(self, slip: Slip) -> None:
        slip.runs = []
        slip.is_done = True
        self.done.append(slip)

    def lost(self) -> None:
        """What is under way will not be answered: it is to be sent again, ahead of everything else."""
        for slip in self._under_way.values():
            slip.is_doubtful = True
        self._again[:0] = self._under_way.values()
        self._under_way = {}

    def wake(self, now: int) -> None:
        """Pauses may be over."""
        if self._paused:
            self._again += [slip for due, slip in self._paused if due <= now]
            self._paused = [(due, slip) for due, slip in self._paused if due > now]

    def deadline(self) -> int | None:
        """When a pause is over."""
        return min((due for due, _ in self._paused), default=None)

    @property
    def wants_out(self) -> bool:
        """Whether there is something to send."""
        return bool(self._open or self._again)

    def unanswered(self) -> list[Slip]:
        """What was said and is not done."""
        return [*self._under_way.values(), *self._again, *self._open.values(), *(slip for _, slip in self._paused)]

    def close(self, why: str) -> None:
        """Send nothing more; what has no answer fails, and so does what is said from here on."""
        self._closed = failure = Failure(DROPPED, why)
        slips = self.unanswered()
        for slip in self._under_way.values():
            slip.is_doubtful = True
        self._under_way, self._again, self._open, self._paused = {}, [], {}, []
        self._acks, self.waiting = None, 0
        for slip in slips:
            if slip.sent and slip.failures:
                for run in slip.runs:
                    for offset in range(run.first_offset, run.first_offset + run.count):
                        slip.failures[run.stem, offset] = slip.as_a_whole(failure)
            else:
                slip.failure = slip.as_a_whole(failure)
            self._finish(slip)

    def check(self) -> None:
        """Assert the invariants."""
        assert self._acks is None or self._open.get(ACK.key) is self._acks
        places = self.unanswered()
        for slip in places:
            assert not slip.is_done
            assert slip.runs
            assert sum(slip is other for other in places) == 1
        assert all(slip.is_done and not slip.runs for slip in self.done)


def _failure(refused: ReceiptRefusal) -> Failure:
    return failure_of(refused.refusal)


def failure_of(refusal: Refusal) -> Failure:
    """A refusal of the core as a failure."""
    return Failure(str(refusal.code), refusal.message, refusal.field, refusal.retry_after_ms)


def _has_happened(slip: Slip, failure: Failure) -> bool:
    """Whether a refusal says what the attempt before it did."""
    if not slip.is_doubtful:
        return False
    verb = slip.saying.verb
    if verb in (Verb.NACK, Verb.RELEASE):
        return failure.code in _OVER
    return verb is Verb.REJECT and failure.code == str(Code.ALREADY_SETTLED)
