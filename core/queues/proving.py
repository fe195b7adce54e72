"""What receipts are answered, and which open messages of which leases they stand for. Nothing here changes anything.

Receipts come as runs. One whose messages are all open in its lease, which is nearly every one, costs a few comparisons
however long it is; only of others is each message looked at. A run that is partly open is done in part.

Runs that touch or overlap are one: what is shown twice in a call is answered twice and counts once.
"""

from collections.abc import Iterable
from enum import Enum

from attrs import define, field

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.leases import Lease
from goqueue.core.queues.ledger import Ledger
from goqueue.core.queues.receipts import Seal
from goqueue.core.queues.window import SETTLED, Window
from goqueue.core.requests.queues import ReceiptRun


class Outcome(Enum):
    """What a receipt was answered."""

    DONE = "done"
    # The message is settled already, by this receipt or another one.
    SETTLED = "settled"
    # The lease is over, and the message is on its way to somebody else.
    STALE = "stale"
    FORGED = "forged"


@define
class Answer:
    """It was done for so many receipts; `others` are those for which it was not: stem, offset and why.

    After a nack, `at` is when the last of them is tried again, and `dead` how many are dead letters instead. After an
    extension `at` is when it ends. It is 0 where nothing is to come.
    """

    done: int = 0
    others: list[tuple[str, int, Outcome]] = field(factory=list)
    at: int = 0
    dead: int = 0


@define
class _Shown:
    """What the receipts of one stem stand for: its lease, if that has anything open, and the runs that are."""

    lease: Lease | None
    attempt: int
    runs: list[Run] = field(factory=list)

    def is_open(self, start: int, end: int, window: Window) -> bool:
        """Whether a run is open as a whole, in the attempt that was said."""
        lease = self.lease
        return lease is not None and lease.has_open(start, end) and window.has_failed(start, end, self.attempt - 1)

    def outcome(self, offset: int, window: Window) -> Outcome:
        """What the receipt of one message is answered."""
        if self.lease is not None and self.lease.at(offset) >= 0:
            return Outcome.DONE if window.failed(offset) == self.attempt - 1 else Outcome.FORGED
        is_settled = offset < window.reach and window.status(offset) == SETTLED
        return Outcome.SETTLED if is_settled else Outcome.STALE


def prove(ledger: Ledger, seal: Seal, receipts: Iterable[ReceiptRun]) -> tuple[Answer, list[tuple[int, list[Run]]]]:
    """What to answer, and the open runs in order by lease."""
    answer, window = Answer(), ledger.window
    stems: dict[str, _Shown | None] = {}
    for receipt in receipts:
        stem, start = receipt.stem, receipt.first_offset
        end = start + receipt.count
        shown = stems[stem] if stem in stems else stems.setdefault(stem, _shown(ledger, seal, stem))
        if shown is None or start < 0:
            answer.others += [(stem, offset, Outcome.FORGED) for offset in range(start, end)]
        elif shown.is_open(start, end, window):
            shown.runs.append((start, end))
            answer.done += end - start
        else:
            _look_at_each(answer, shown, stem, range(start, end), window)
    live = [(shown.lease, shown.runs) for shown in stems.values() if shown is not None and shown.runs]
    return answer, [(lease.number, _united(runs)) for lease, runs in live if lease is not None]


def _shown(ledger: Ledger, seal: Seal, letters: str) -> _Shown | None:
    """What the receipts of a stem may stand for; None for one that was made up."""
    stem = seal.proved(letters)
    if stem is None:
        return None
    lease = ledger.leases.get(stem.lease)
    # A lease is one member's from beginning to end. Were it not, the receipts of another would be worth nothing.
    is_own = lease is not None and seal.mark(lease.member) == stem.member
    return _Shown(lease if is_own else None, stem.attempt)


def _look_at_each(answer: Answer, shown: _Shown, stem: str, offsets: range, window: Window) -> None:
    for offset in offsets:
        outcome = shown.outcome(offset, window)
        if outcome is Outcome.DONE:
            shown.runs.append((offset, offset + 1))
            answer.done += 1
        else:
            answer.others.append((stem, offset, outcome))


def _united(runs: list[Run]) -> list[Run]:
    """Runs in any order, some maybe overlapping, as runs in order that do not touch."""
    if len(runs) == 1:
        return runs
    runs.sort()
    united: list[Run] = []
    first, after = runs[0]
    for start, end in runs:
        if start > after:
            united.append((first, after))
            first, after = start, end
        elif end > after:
            after = end
    united.append((first, after))
    return united
