"""What two nodes say differently that are told the same: lane by lane, counted by kind, the first of it in words.

What both said in one turn is no difference, whatever the order. What one said in a turn and the other in a later one
was said `sooner` or `later` by the changed node; of the rest, only the `old` or only the `new` one has said it. Numbers
under which a node asks the disk for a read are its own affair.

Invariant: at most `_UNMATCHED_MAX` things wait to be said by the other node as well; beyond, the oldest is given up.
"""

from collections import Counter, deque

from attrs import define, field

from goqueue.core.capture.comparison import first_difference
from goqueue.core.capture.decisions import LANES, Item, Told
from goqueue.core.capture.digest import readable

OLD, NEW, SOONER, LATER = "old", "new", "sooner", "later"
_TEXT_MAX = 400
_UNMATCHED_MAX = 10_000


@define
class Utterance:
    """One thing that only one of the two said in a turn; `words` as long as few were."""

    event: int
    now: int
    told: str
    lane: str
    kind: str
    side: str
    words: str = ""


@define
class Tally:
    """How often things of a kind were said by one node only, or by the changed one at another time."""

    old: int = 0
    new: int = 0
    sooner: int = 0
    later: int = 0


@define
class Report:
    """Where two nodes differed: in how many turns, in what, the first in words, and what the changed one died of."""

    kept_max: int = 20
    differing: int = 0
    tallies: dict[str, Tally] = field(factory=dict)
    first: list[Utterance] = field(factory=list)
    died: str = ""
    # Which of the things to be changed there were.
    met: list[str] = field(factory=list)
    _unmatched: dict[tuple[str, str, int], deque[Utterance]] = field(factory=dict)
    _waiting: int = 0

    def differ(self, event: int, now: int, told: str, old: list[Item], new: list[Item]) -> None:
        """In one turn one node said these things only, and the other those."""
        self.differing += 1
        for side, items, others in ((OLD, old, new), (NEW, new, old)):
            spare = deque(others)
            for item in items:
                # Most often one thing was said in the place of another.
                other = next((one for one in spare if (one.lane, one.kind) == (item.lane, item.kind)), None)
                if other is not None:
                    spare.remove(other)
                self._note(Utterance(event, now, told, item.lane, item.kind, side), item, other)

    def _note(self, said: Utterance, item: Item, instead_of: Item | None) -> None:
        other = NEW if said.side == OLD else OLD
        waiting = self._unmatched.get((other, said.lane, item.digest))
        if waiting:
            earlier = waiting.popleft()
            self._waiting -= 1
            if not waiting:
                del self._unmatched[other, said.lane, item.digest]
            self._settle(earlier, SOONER if earlier.side == NEW else LATER)
            return
        if len(self.first) < 4 * self.kept_max:
            said.words = _worded(item, instead_of)
            self.first.append(said)
        self._unmatched.setdefault((said.side, said.lane, item.digest), deque()).append(said)
        self._waiting += 1
        while self._waiting > _UNMATCHED_MAX:
            self._give_up_oldest()

    def _give_up_oldest(self) -> None:
        key = next(iter(self._unmatched))
        waiting = self._unmatched[key]
        self._settle(waiting[0], waiting.popleft().side)
        self._waiting -= 1
        if not waiting:
            del self._unmatched[key]

    def _settle(self, said: Utterance, side: str) -> None:
        tally = self.tallies.setdefault(f"{said.lane}: {said.kind}", Tally())
        setattr(tally, side, getattr(tally, side) + 1)
        said.side = side

    def close(self) -> None:
        """Nothing more is said: what has no match has none."""
        while self._unmatched:
            self._give_up_oldest()
        # What one said and the other would not say is worth more than what came at another time, and what clients
        # see of it more than how a node goes about it.
        self.first.sort(key=lambda said: (said.side in (SOONER, LATER), LANES.index(said.lane)))
        del self.first[self.kept_max :]
        self.first.sort(key=lambda said: said.event)


def _worded(item: Item, instead_of: Item | None) -> str:
    """A thing in words, beginning with where it differs from what the other node said in its place."""
    if isinstance(item.thing, Told):
        return item.thing.words()
    found = None if instead_of is None else first_difference(instead_of.thing, item.thing)
    said = readable(item.thing)[:_TEXT_MAX]
    if found is None:
        return said
    return f"{found.path.removeprefix('node').lstrip('.')} is {found.actual} instead of {found.expected} in {said}"


def only_in(one: list[Item], other: list[Item]) -> list[Item]:
    """The things of one that the other lacks, bags as they are."""
    spare = Counter((item.lane, item.digest) for item in other)
    only = []
    for item in one:
        key = item.lane, item.digest
        if spare[key] > 0:
            spare[key] -= 1
        else:
            only.append(item)
    return only
