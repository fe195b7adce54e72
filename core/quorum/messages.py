"""The letters that nodes write to each other about what they agree on.

Each survives being lost, doubled, delayed and overtaken. All bear the term of their writer. What a leader sends bears a
stamp too, a number that rises with everything it sends; an answer repeats it, so a leader knows what the other had
heard when it wrote. Ends are exclusive: an `end` of 7 speaks of the entries 0 to 6.
"""

from attrs import define, field

from goqueue.core.quorum.entries import Entry


@define
class Ballot:
    """Will you vote for me in this term? On trial nobody is bound by the answer, and no term begins."""

    term: int
    end: int
    last_term: int
    is_trial: bool = False
    # The leader wants it so: having heard of it lately is no reason to refuse.
    is_transfer: bool = False


@define
class Voted:
    """The answer to a ballot; a refusal bears the writer's own term, a grant the ballot's.

    A vote also says for how long its writer has not heard of any leader.
    """

    term: int
    is_granted: bool
    is_trial: bool = False
    silence_ns: int = 0


@define
class Append:
    """Entries from the index `at` on, after one of `before_term`, and how far all is agreed."""

    term: int
    stamp: int
    at: int
    before_term: int
    agreed: int
    entries: list[Entry] = field(factory=list)


@define
class Beat:
    """I lead, and this much is agreed."""

    term: int
    stamp: int
    agreed: int


@define
class Matched:
    """My log is yours up to `matched`, and up to `durable` it is on my disk."""

    term: int
    stamp: int
    matched: int
    durable: int


@define
class Conflict:
    """My log is not yours before `at`: look for a common past no later than `end`, where I have `end_term`."""

    term: int
    stamp: int
    at: int
    end: int
    end_term: int


@define
class Install:
    """A piece of the entry that stands for all before it, for one whose log ends before mine begins."""

    term: int
    stamp: int
    index: int
    entry_term: int
    kind: bytes | None
    size: int
    position: int
    piece: bytes


@define
class Installed:
    """Of the entry at `index` I have the bytes up to `position`."""

    term: int
    stamp: int
    index: int
    position: int


@define
class StandUp:
    """Ask for votes at once: I want you to lead."""

    term: int


@define
class Outdated:
    """There is a later term than the one you wrote from."""

    term: int


QuorumMessage = Ballot | Voted | Append | Beat | Matched | Conflict | Install | Installed | StandUp | Outdated

QUORUM_MESSAGES: dict[int, type] = {
    1: Ballot,
    2: Voted,
    3: Append,
    4: Beat,
    5: Matched,
    6: Conflict,
    7: Install,
    8: Installed,
    9: StandUp,
    10: Outdated,
}


@define
class QuorumLetter:
    """One of these as it travels: with the disk of the node that wrote it, and the origin of its log.

    The node itself is known by the connection. Without the disk id an answer of an emptied node would pass for one of
    the voter that it was; without the origin, which is empty for an empty log, what one cluster writes would get into
    the log of another that a node has begun under the same name.
    """

    disk_id: str
    origin: str
    message: QuorumMessage
