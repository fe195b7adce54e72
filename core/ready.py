"""What a node wants done, in lanes: the only thing that comes out of it.

A driver performs `writes` in order, answers `opens`, `removes`, `compactions`, `votes` and `reads`, and delivers
`sends` to clients and `letters` to peers. What promises something about the disk is in either only after the node was
told that the promise holds (`Node.written`, `Node.synced`, `Node.vote_saved`), so the driver need not know which those
are.
"""

from attrs import define, field

from goqueue.core.log.compaction import CompactionPlan
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Effect, FindTime, Read
from goqueue.core.requests.replies import Reply


@define
class Send:
    """An answer to the request that came with `to`."""

    to: int
    reply: Reply


@define
class Letter:
    """A message for a peer; it may be lost on its way."""

    to: str
    message: object


@define
class SaveVote:
    """Keep the quorum's term, and whom this node has voted for in it; the answer is `Node.vote_saved`."""

    term: int
    vote: str


@define
class Open:
    """Recover a stream, or begin it; the answer is `Node.opened`."""

    stream: str
    config: LogConfig
    # Whose the stream is: what the folder holds of another topic's goes. 0 takes it as it is.
    topic_id: int = 0


@define
class Remove:
    """Remove the folder of a topic or a partition with all its streams; the answer is `Node.removed`."""

    folder: str
    streams: list[str]


@define
class Fetching:
    """A read of batches or of a time; the answer is `Node.read_done` or `Node.read_failed` with the token."""

    token: int
    request: Read | FindTime


@define
class Compact:
    """Compact what the plan names; the answer is `Node.compacted` or `Node.compaction_failed`. One at a time."""

    plan: CompactionPlan
    config: LogConfig


@define
class Ready:
    """The lanes of one turn."""

    writes: list[Effect] = field(factory=list)
    sends: list[Send] = field(factory=list)
    reads: list[Fetching] = field(factory=list)
    opens: list[Open] = field(factory=list)
    removes: list[Remove] = field(factory=list)
    compactions: list[Compact] = field(factory=list)
    letters: list[Letter] = field(factory=list)
    votes: list[SaveVote] = field(factory=list)
    # Sentences for the log.
    notes: list[str] = field(factory=list)
    # Whether what could be taken besides waits for something that the node is told, or is due now (`Node.deadline`).
    is_last: bool = field(default=False, eq=False)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is wanted that the node is told the end of."""
        return not (self.writes or self.reads or self.opens or self.removes or self.compactions or self.votes)

    def __bool__(self) -> bool:
        return bool(
            self.writes
            or self.sends
            or self.reads
            or self.opens
            or self.removes
            or self.compactions
            or self.letters
            or self.votes
            or self.notes
        )
