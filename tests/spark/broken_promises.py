"""Facts made by hand, a case each: the fewest that break a promise, those that keep it, and those that leave it open.

Every case happens on nodes, in a topic and in a group of its own, so that all of them can be looked at in one pass.
"""

from datetime import timedelta
from typing import Final

from attrs import define, field

from tests.arrow.facts_made import RUN, Row, fact, moment

MS = 1_000_000
_GROUPED: Final = {
    "leased", "acked", "returned", "doomed", "restarted", "buried", "committed", "offset_known", "rewound", "owned",
    "disowned", "told", "group",
}  # fmt: skip
_PLACED: Final = {"file", "elected", "voted", "vote_kept", "recalled", "died", "coordinates", "closed"}


@define
class Case:
    """What happened, and what is to be found: names of checks that find something, and of those that cannot know."""

    name: str
    facts: list[Row]
    found: set[str] = field(factory=set)
    unknown: set[str] = field(factory=set)
    settings: str = "{}"


def now(kind: str, ms: int, node: str = "a", **columns: object) -> Row:
    """A fact so many milliseconds after the beginning; its event is that number."""
    return fact(kind, node=node, at=ms * MS, event=ms, **columns)


def later(ms: int) -> object:
    """A time so many milliseconds after the beginning."""
    return moment(0) + timedelta(milliseconds=ms)


def file(node: str, count: int, first: int = 0, run: int = RUN, **columns: object) -> Row:
    """A file that was read; where nothing closes its run, nobody knows what came behind it."""
    known = {"first": first, "end": first + count, "count": count, "value": 0, "bytes": 1} | columns
    return fact("file", node=node, at=0, run=run, event=first + count, part=1 << 20, **known)


def rows_of(cases: list[Case]) -> list[Row]:
    """The facts of all cases, each in a place of its own."""
    return [row for number, case in enumerate(cases, 1) for row in _rows(case, number)]


def _rows(case: Case, number: int) -> list[Row]:
    known = {"part": 1 << 21, "detail": case.settings, "cause": "created", "count": 1}
    given = [*case.facts, *(now("topic", 0, node, **known) for node in "ab")]
    found = []
    for part, row in enumerate(given):
        kind = str(row["kind"])
        own: Row = {"part": part}
        if kind not in _PLACED:
            own |= {"topic": case.name, "topic_id": number, "partition": 0}
        if kind in _GROUPED:
            own["group"] = f"group of {case.name}"
        if kind not in _GROUPED and kind not in _PLACED:
            own["side"] = "data"
        said = own | row
        said["node"] = f"{row['node']}~{case.name}"
        said["part"] = part if row["part"] == 0 else row["part"]
        found.append(said)
    return found


def _shown(end: int, ms: int = 90, node: str = "a", epoch: int = 1, **columns: object) -> Row:
    return now("visible", ms, node, first=0, end=end, epoch=epoch, **columns)


def _batch(first: int, end: int, ms: int, node: str = "a", kind: str = "appended", **columns: object) -> Row:
    known = {"first": first, "end": end, "count": end - first, "epoch": 1, "value": first + 1} | columns
    return now(kind, ms, node, **known)


def _numbered(first: int, sequence: int, ms: int) -> Row:
    return _batch(first, first + 5, ms, producer=1000, producer_epoch=0, sequence=sequence)


def _lease(kind: str, lease: int, ms: int, node: str = "a", **columns: object) -> Row:
    known = {"lease": lease, "member": f"m{lease}", "first": 0, "end": 5, "attempt": 1, "epoch": 1}
    return now(kind, ms, node, **(known | columns))


def _commit(end: int, ms: int, node: str = "a", **columns: object) -> Row:
    known = {"end": end, "since": (ms - 1) * MS, "sequence": 4, "value": 1, "epoch": 1, "member": "m"} | columns
    return now("committed", ms, node, **known)


def _takes_over(ms: int, end: int | None, node: str = "b", sequence: int = 5, **columns: object) -> list[Row]:
    known = {"sequence": sequence, "value": 2, "cause": "taken_over"}
    rows = [now("coordinates", ms, node, **known, **columns)]
    if end is not None:
        rows.append(now("offset_known", ms, node, end=end, **known, **columns))
    return rows


_DUE: Final = later(30_000)

CASES: Final = [
    # --- lost
    Case("a leader without what was shown", [_shown(10), now("leads", 100, "b", epoch=2, end=5, value=5)], {"lost"}),
    Case("a leader with all", [_shown(10), now("leads", 100, "b", epoch=2, end=10, value=10)]),
    Case(
        "a leader without what a weak topic has shown",
        [_shown(10), now("leads", 100, "b", epoch=2, end=5, value=5)],
        settings='{"fsync": "none"}',
    ),
    Case(
        "another batch in the place of one that was shown",
        [
            _batch(0, 5, 10),
            _shown(5, 20),
            _batch(0, 5, 30, "b", epoch=2, value=7),
            _shown(5, 40, "b", 2),
        ],
        {"lost"},
    ),
    Case(
        "another batch in the place of one that was cut",
        [
            _batch(0, 5, 10),
            now("cut", 15, first=0, end=5),
            _batch(0, 5, 30, "b", epoch=2, value=7),
            _shown(5, 40, "b", 2),
        ],
    ),
    Case(
        "an answer before anybody was shown it",
        [
            now("leads", 1, epoch=1, end=0, value=0),
            _batch(0, 5, 10),
            now("answered", 20, first=0, end=5, epoch=1, detail="all"),
        ],
        {"lost"},
    ),
    Case(
        "an answer before anybody was shown it, and a gap",
        [
            file("a", 5),
            file("a", 20, 15),
            now("closed", 34),
            now("leads", 1, epoch=1, end=0, value=0),
            _batch(0, 5, 15),
            now("answered", 20, first=0, end=5, epoch=1, detail="all"),
        ],
        unknown={"lost"},
    ),
    Case(
        "an answer after it was shown",
        [
            now("leads", 1, epoch=1, end=0, value=0),
            _batch(0, 5, 10),
            now("durable", 14, first=0, end=5),
            _shown(5, 15),
            now("answered", 20, first=0, end=5, epoch=1, detail="all"),
        ],
    ),
    Case("shown before it is on the disk", [now("leads", 1, epoch=1, end=0, value=0), _shown(5)], {"lost"}),
    # --- duplicated, reordered
    Case("one sequence twice", [_numbered(0, 0, 10), _numbered(5, 0, 20), _shown(10)], {"duplicated"}),
    Case("one sequence twice, not shown", [_numbered(0, 0, 10), _numbered(5, 0, 20), _shown(5)]),
    Case("sequences in order", [_numbered(0, 0, 10), _numbered(5, 5, 20), _shown(10)]),
    Case("sequences out of order", [_numbered(0, 5, 10), _numbered(5, 0, 20), _shown(10)], {"reordered"}),
    Case(
        "a delayed message twice",
        [now("moved", 50, first=0, end=1, sequence=7), now("moved", 60, first=3, end=4, sequence=7), _shown(4)],
        {"duplicated"},
    ),
    Case(
        "two delayed messages",
        [now("moved", 50, first=0, end=1, sequence=7), now("moved", 60, first=3, end=4, sequence=8), _shown(4)],
    ),
    Case(
        "a dead letter twice",
        [
            now("buried", 10, topic="of-two", first=3, end=4, attempt=2, detail="a dead letter twice/0/0"),
            now("buried", 20, topic="of-two", first=3, end=4, attempt=2, detail="a dead letter twice/0/1"),
            _shown(2),
        ],
        {"duplicated"},
    ),
    # --- early
    Case("a message before its time", [now("moved", 50, first=0, end=1, sequence=7, due=later(51))], {"early"}),
    Case("a message at its time", [now("moved", 50, first=0, end=1, sequence=7, due=later(50))]),
    Case(
        "a message before the time that was planned",
        [
            now("scheduled", 10, side="schedule", first=7, end=8, due=later(99)),
            now("moved", 50, first=0, end=1, sequence=7, due=later(49)),
        ],
        # There are gaps in other cases, in each of which it may have been put to another time.
        unknown={"early"},
    ),
    Case(
        "a message that was cancelled",
        [
            now("cancelled", 10, side="schedule", first=7, end=8),
            now("moved", 50, first=0, end=1, sequence=7, due=later(49)),
            _shown(1),
        ],
        {"early"},
    ),
    Case(
        "read before it was shown",
        [now("leads", 1, epoch=1, end=9, value=5), now("fetched", 20, first=0, end=8)],
        {"early"},
    ),
    Case("read when it was shown", [now("leads", 1, epoch=1, end=9, value=8), now("fetched", 20, first=0, end=8)]),
    # --- leasing
    Case("leased to two", [_lease("leased", 1, 10), _lease("leased", 2, 20, first=4, end=6)], {"leasing"}),
    Case(
        "leased to one and then to another",
        [_lease("leased", 1, 10), _lease("returned", 1, 15, cause="released"), _lease("leased", 2, 20)],
    ),
    Case(
        "told of late",
        [
            _lease("returned", 1, 15, cause="released"),
            _lease("leased", 1, 18, sequence=10),
            _lease("leased", 2, 25, sequence=20),
        ],
    ),
    Case(
        "leased after it was done",
        [_lease("leased", 1, 10), _lease("acked", 1, 15), _lease("leased", 2, 20)],
        {"leasing"},
    ),
    Case(
        "leased again after a reset",
        [
            _lease("leased", 1, 10),
            _lease("acked", 1, 15),
            now("restarted", 16, first=0, epoch=1, cause="reset"),
            _lease("leased", 2, 20),
        ],
    ),
    Case(
        "a failure that does not count",
        [_lease("leased", 1, 10), _lease("returned", 1, 15, cause="nacked"), _lease("leased", 2, 20)],
        {"leasing"},
    ),
    Case(
        "a failure that counts",
        [_lease("leased", 1, 10), _lease("returned", 1, 15, cause="nacked"), _lease("leased", 2, 20, attempt=2)],
    ),
    Case(
        "leased by a node that was killed and by another",
        [file("a", 20), _lease("leased", 1, 10), _lease("leased", 2, 20, "b", epoch=2)],
        unknown={"leasing"},
    ),
    Case(
        "leased by a node that was deposed and by another",
        [
            file("a", 20),
            _lease("leased", 1, 10),
            now("follows", 15, side="ledger", epoch=2),
            _lease("leased", 2, 20, "b", epoch=2),
        ],
        {"leasing"},
    ),
    Case(
        "taken back early",
        [_lease("leased", 1, 10, due=_DUE), _lease("returned", 1, 9_000, cause="expired")],
        {"leasing"},
    ),
    Case("taken back", [_lease("leased", 1, 10, due=_DUE), _lease("returned", 1, 30_001, cause="expired")]),
    Case("over before its record says", [_lease("returned", 1, 50, cause="expired", value=40)], {"leasing"}),
    Case("done and not written", [_lease("acked", 1, 50, cause="unwritten")], {"leasing"}),
    Case("rejected and done", [_lease("acked", 1, 50, cause="rejected")], {"leasing"}),
    Case("one attempt too many", [_lease("leased", 1, 10, attempt=4, value=3)], {"leasing"}),
    Case("the last attempt", [_lease("leased", 1, 10, attempt=3, value=3)]),
    Case("done and given up", [_lease("acked", 1, 10), _lease("doomed", 1, 20, cause="rejected")], {"leasing"}),
    # --- leaders
    Case(
        "two leaders in an epoch",
        [now("leads", 1, epoch=3, end=0, value=0), now("leads", 2, "b", epoch=3, end=0, value=0)],
        {"leaders"},
    ),
    Case(
        "two leaders in two epochs",
        [now("leads", 1, epoch=3, end=0, value=0), now("leads", 2, "b", epoch=4, end=0, value=0)],
    ),
    Case("two controllers in a term", [now("elected", 1, epoch=71), now("elected", 2, "b", epoch=71)], {"leaders"}),
    Case("two controllers in two terms", [now("elected", 1, epoch=72), now("elected", 2, "b", epoch=73)]),
    Case("two votes in a term", [now("voted", 1, epoch=7, peer="x"), now("voted", 2, epoch=7, peer="y")], {"leaders"}),
    Case("two votes in two terms", [now("voted", 1, epoch=7, peer="x"), now("voted", 2, epoch=8, peer="y")]),
    Case(
        "a vote that is forgotten",
        [now("vote_kept", 1, epoch=7, peer="x"), now("recalled", 2, run=RUN + 1, epoch=6)],
        {"leaders"},
    ),
    Case(
        "a vote that is found again",
        [now("vote_kept", 1, epoch=7, peer="x"), now("recalled", 2, run=RUN + 1, epoch=7, peer="x")],
    ),
    Case(
        "a vote that another disk does not know",
        [now("vote_kept", 1, epoch=7, peer="x", detail="old"), now("recalled", 2, run=RUN + 1, detail="new")],
    ),
    Case(
        "a vote that its own disk does not know",
        [now("vote_kept", 1, epoch=7, peer="x", detail="old"), now("recalled", 2, run=RUN + 1, detail="old")],
        {"leaders"},
    ),
    # --- placements, replicas
    Case(
        "one version, two placements",
        [
            now("placed", 1, value=3, epoch=1, peer="x", detail="replicas x,y isr x"),
            now("placed", 2, "b", value=3, epoch=1, peer="x", detail="replicas x,y isr x,y"),
        ],
        {"placements"},
    ),
    Case(
        "led by one that is not in sync",
        [now("placed", 1, value=3, epoch=1, peer="x", detail="replicas x,y isr y")],
        {"placements"},
    ),
    Case(
        "an epoch that falls",
        [
            now("placed", 1, value=3, epoch=5, peer="x", detail="replicas x isr x"),
            now("placed", 2, value=4, epoch=4, peer="x", detail="replicas x isr x"),
        ],
        {"placements"},
    ),
    Case(
        "placements that all agree on",
        [
            now("placed", 1, value=3, epoch=1, peer="x", detail="replicas x,y isr x"),
            now("placed", 2, "b", value=3, epoch=1, peer="x", detail="replicas x,y isr x"),
            now("placed", 3, value=4, epoch=2, peer="y", detail="replicas x,y isr y"),
        ],
    ),
    Case(
        "a follower that keeps what its leader never had",
        [
            now("leads", 1, "b", epoch=2, end=5, value=5),
            _batch(5, 9, 10),
            _batch(9, 12, 20, kind="copied", epoch=2),
        ],
        {"replicas"},
    ),
    Case(
        "a follower that cuts what its leader never had",
        [
            now("leads", 1, "b", epoch=2, end=5, value=5),
            _batch(5, 9, 10),
            now("cut", 15, first=5, end=9),
            _batch(5, 8, 20, kind="copied", epoch=2),
        ],
    ),
    Case(
        "a follower that does not listen",
        [now("diverges", ms, first=0, end=9, epoch=2, cause="diverged") for ms in (10, 20, 30, 40)],
        {"replicas"},
    ),
    Case(
        "a follower that listens",
        [now("diverges", ms, first=0, end=9 if ms < 30 else 4, epoch=2, cause="diverged") for ms in (10, 20, 30, 40)],
    ),
    # --- watermark
    Case("a watermark that goes back", [_shown(9, 10), now("visible", 20, first=8, end=8, epoch=1)], {"watermark"}),
    Case("a watermark from leader to leader", [_shown(9, 10), _shown(7, 20, "b", 2)], {"watermark"}),
    Case("a watermark that goes on", [_shown(9, 10), _shown(12, 20, "b", 2)]),
    # --- assignments
    Case(
        "one generation, two owners",
        [now("told", 1, member="x", epoch=4), now("told", 2, "b", member="y", epoch=4)],
        {"assignments"},
    ),
    Case(
        "two generations, two owners",
        [now("told", 1, member="x", epoch=4), now("told", 2, "b", member="y", epoch=5)],
    ),
    Case(
        "given while another has it",
        [now("owned", 1, member="x", epoch=1), now("told", 2, member="y", epoch=2)],
        {"assignments"},
    ),
    Case(
        "given when another has let go",
        [
            now("owned", 1, member="x", epoch=1),
            now("disowned", 2, member="x", epoch=2),
            now("owned", 3, member="y", epoch=2),
            now("told", 4, member="y", epoch=2),
        ],
    ),
    Case(
        "what a coordinator did not make durable",
        [
            now("owned", 1, member="x", epoch=1),
            now("coordinates", 2, cause="taken_over"),
            now("owned", 3, member="y", epoch=1),
            now("told", 4, member="y", epoch=1),
        ],
    ),
    Case(
        "a commit of somebody else",
        [now("owned", 10, member="x", epoch=1), _commit(5, 20, member="y")],
        {"assignments"},
    ),
    Case(
        "a commit that was asked for in time",
        [now("owned", 10, member="x", epoch=1), _commit(5, 20, member="y", since=9 * MS)],
    ),
    # --- commits
    Case("an offset that went back", [_commit(10, 10), *_takes_over(20, 7)], {"commits"}),
    Case("an offset that is gone", [_commit(10, 10), *_takes_over(20, None)], {"commits"}),
    Case("an offset that is still there", [_commit(10, 10), *_takes_over(20, 10)]),
    Case(
        "an offset that was taken back",
        [_commit(10, 10), now("rewound", 15, "b", end=7, sequence=4, value=1), *_takes_over(20, 7)],
    ),
    Case(
        "an offset that may have been taken back where nobody looked",
        [
            _commit(10, 10),
            file("b", 50),
            file("b", 50, run=RUN + 1),
            now("follows", 12, "b", topic="__groups", end=5, run=RUN + 1),
            *_takes_over(20, 7, run=RUN + 1),
        ],
        unknown={"commits"},
    ),
    Case("an offset that was taken back unasked", [now("rewound", 15, end=7, cause="unasked")], {"commits"}),
    Case("a smaller commit, which changes nothing", [_commit(10, 10), _commit(7, 20), *_takes_over(30, 10)]),
    # --- diverged
    Case("a replay that comes out otherwise", [file("a", 5, cause="diverged", detail="wanted, got")], {"diverged"}),
    Case("a node that dies", [now("died", 5, detail="AssertionError")], {"diverged"}),
]
