"""What the ledger of a partition keeps of the moves out of it: what is under way, what is gone, and redrives.

An intent is written before its batch is, and says everything that the batch follows from but the messages themselves.
So after a crash the same batch can be made again, with the same producer and sequences, and a target that has it
already says so.

A tally says how far a redrive has come in this partition. It changes with the records that move its letters, so the
two never disagree, whatever is lost in a crash.
"""

from attrs import define, field

from goqueue.core.codec.codec import Codec
from goqueue.core.requests.deadletters import RedriveReply, RedriveState, Sieve


@define
class Tally:
    """How far a redrive has come in a partition: where it goes on, and what it has counted before that."""

    position: int = 0
    looked: int = 0
    matched: int = 0
    moved: int = 0


@define
class Enlisted:
    """Batches that are moved from here bear this producer id; its sequences begin at 0 with every target."""

    producer_id: int


@define
class Intent:
    """One batch that is to be moved: to where, which messages, and what each died of.

    `group` is the one that gave them up, or `job` the redrive that sends them back. `offsets` and `deaths`, pairs of an
    index among the reasons and a number of attempts, are packed. A bare letter goes without its value, for which its
    target has no room. The tally is the redrive's once the batch has arrived, but for what was moved.
    """

    number: int
    group: str
    job: str
    topic: str
    partition: int
    producer_id: int
    sequence: int
    lane: int
    codec: int
    at_ms: int
    offsets: bytes
    deaths: bytes
    reasons: list[str]
    is_bare: bool = False
    position: int = 0
    looked: int = 0
    matched: int = 0


@define
class Arrived:
    """The batch of an intent is where it belongs, with so many records; its messages are settled."""

    number: int
    count: int


@define
class Abandoned:
    """The batch of an intent is nowhere, and will be nowhere; its messages are as they were before."""

    number: int


@define
class Passed:
    """A redrive has come to a position; `gone` are packed runs of letters that it dropped on its way."""

    job: str
    position: int
    looked: int
    matched: int
    moved: int
    gone: bytes


@define
class Closed:
    """A redrive has ended, and nobody asks for its tally any more."""

    job: str


@define
class Cut:
    """The letters at and above an offset are lost, and those that come there are others."""

    end: int


@define
class Job:
    """A redrive or a purge as it was asked for, and once it has ended what came of it; kept by partition 0.

    `starts` and `ends` say by partition between which offsets it looks.
    """

    redrive_id: str
    topic: str
    to: str
    is_purge: bool
    is_dry_run: bool
    rate: int
    limit: int
    reason: str
    group: str
    key: bytes | None
    headers: dict[str, bytes]
    died_from_ms: int | None
    died_until_ms: int | None
    started_ms: int
    total: int
    starts: dict[int, int]
    ends: dict[int, int]
    state: RedriveState = RedriveState.RUNNING
    looked: int = 0
    matched: int = 0
    moved: int = 0
    ended_ms: int = 0
    error: str = ""

    def sieve(self) -> Sieve:
        """Which letters are meant."""
        return Sieve(self.reason, self.group, self.key, self.headers, self.died_from_ms, self.died_until_ms)

    def reply(self, tally: Tally) -> RedriveReply:
        """The job for whoever asks; what a running one has counted is in the tally."""
        counted = tally if self.state is RedriveState.RUNNING else Tally(0, self.looked, self.matched, self.moved)
        return RedriveReply(
            self.redrive_id, self.topic, self.to, self.is_purge, self.is_dry_run, self.state,
            self.total, counted.looked, counted.matched, counted.moved,
            self.rate, self.started_ms, self.ended_ms, self.error,
        )  # fmt: skip


@define
class MovesSnapshot:
    """Everything that the records before it added up to."""

    producer_id: int
    last_number: int
    sequences: dict[str, int]
    intent: bytes
    floor: int
    numbers: list[int]
    pages: list[bytes]
    tallies: dict[str, bytes]
    jobs: list[bytes] = field(factory=list)


DeadRecord = Enlisted | Intent | Arrived | Abandoned | Passed | Closed | Cut | Job | MovesSnapshot

DEAD_CODEC = Codec(
    {
        1: Enlisted,
        2: Intent,
        3: Arrived,
        4: Abandoned,
        5: Passed,
        6: Closed,
        7: Job,
        8: MovesSnapshot,
        9: Tally,
        10: Cut,
    }
)
