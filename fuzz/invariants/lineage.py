"""What was written under an epoch at an offset is one batch, behind one other, in whichever logs it is.

So any two logs that have a batch in common are the same up to it: that is log matching, held batch by batch as each is
written. Within a log no offset is left out and no epoch goes back, and nothing is missing at its beginning. Logs that
are compacted are rewritten batch by batch, and have gaps.
"""

from attrs import define

from goqueue.core.log.config import UNLIMITED
from goqueue.core.requests.messages import Side
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.invariants.copies import Content, Copies, Copy, Kind, Mark
from goqueue.fuzz.invariants.invariant import OfCopies

Place = tuple[int, int]
"""An epoch and an offset."""


@define
class _Ancestor:
    """A batch as it was first seen, and the one before it, if anybody had that."""

    content: Content
    before: Place | None
    whose: str


class Lineage(OfCopies):
    """Remembers every batch that was ever written."""

    def __init__(self, sight: Sight, copies: Copies) -> None:
        super().__init__(sight, copies)
        self._known: dict[Kind, dict[Place, _Ancestor]] = {}

    def stepped(self) -> None:
        """Look at what was written."""
        for copy in self.copies.changed:
            self._see_start(copy)
            marks = copy.marks[copy.fresh :]
            before = copy.marks[copy.fresh - 1] if copy.fresh else None
            if before is None and marks and marks[0].base > copy.start and not copy.compacts:
                raise Violation(f"{_name(copy)} is to be read from {copy.start} on, and begins at {marks[0].base}")
            for mark in marks:
                self._follow(copy, before, mark)
                before = mark
            if copy.is_anew:
                self._see_epochs(copy)

    def _see_start(self, copy: Copy) -> None:
        """Nothing goes from the beginning of messages that are kept for ever."""
        config = copy.log.config
        is_kept = config.retention_ms == config.retention_bytes == UNLIMITED or not config.cleanup.deletes
        if copy.start and is_kept and copy.kind[2] is Side.DATA:
            raise Violation(f"{_name(copy)} begins at {copy.start}, and nothing lets its beginning go")

    def _see_epochs(self, copy: Copy) -> None:
        """What a log knows of leaders, from a checkpoint or from its batches, is what its batches say."""
        told = [one for one in copy.log.epochs.entries() if one[1] < copy.end]
        found: list[Place] = []
        for mark in copy.marks:
            if not found or mark.epoch > found[-1][0]:
                found.append((mark.epoch, mark.base))
        if (
            found
            and not copy.compacts
            and [one for one in told if one[1] > copy.start] != [one for one in found if one[1] > copy.start]
        ):
            raise Violation(f"{_name(copy)} was written under {found}, and knows of {told} when it is opened")

    def _follow(self, copy: Copy, before: Mark | None, mark: Mark) -> None:
        compacts = copy.compacts
        if before is not None:
            is_behind = mark.base >= before.next_offset if compacts else mark.base == before.next_offset
            if not is_behind or mark.epoch < before.epoch:
                what = f"behind {before.base} to {before.next_offset} of epoch {before.epoch}"
                raise Violation(f"{_name(copy)} has {what} the batch {mark.base} of epoch {mark.epoch}")
        if compacts:
            return
        place = None if before is None else (before.epoch, before.base)
        known = self._known.setdefault(copy.kind, {}).setdefault(
            (mark.epoch, mark.base), _Ancestor(mark.content, place, copy.broker.node_id)
        )
        if known.content != mark.content:
            raise Violation(f"at {mark.base} {_name(copy)} has {mark.content}, and {known.whose} had {known.content}")
        if known.before is None:
            known.before = place
        elif place is not None and known.before != place:
            what = f"before {mark.base} of epoch {mark.epoch} {_name(copy)} has {place}"
            raise Violation(f"{what}, and {known.whose} had {known.before}")


def _name(copy: Copy) -> str:
    return f"{copy.stream} of {copy.broker.node_id}"
