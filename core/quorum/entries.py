"""The entries that voters agree on, and how the list of voters stands among them: voter ids, of nodes and disks.

An index counts entries from 0 on and is never used twice for what was agreed; ends are exclusive. The `kind` says whose
entry it is: the quorum's own have a name, all others belong to whoever proposes.
"""

from attrs import define, field

from goqueue.core.codec.codec import Codec
from goqueue.core.errors import GoQueueError, ProtocolError

# The list of voters from here on; it counts as soon as it is in the log, agreed or not.
VOTERS = b"voters"
# Says nothing: by agreeing on it a new leader agrees on all before it.
NOOP = b"noop"
# Everything that was agreed before it, with the voters; what lies before may go once it is agreed.
SNAPSHOT = b"snapshot"

_ENTRY_OVERHEAD = 32
# More than ever vote; who founds a cluster may be more than later become voters.
VOTERS_NAMED_MAX = 100


class QuorumError(GoQueueError):
    """A log that this node must not go on with, and what to do."""


@define
class Entry:
    """One thing to be agreed on, and the term of the leader that proposed it."""

    index: int
    term: int
    kind: bytes | None
    content: bytes

    @property
    def size(self) -> int:
        """About how many bytes it takes in a letter."""
        return len(self.content) + _ENTRY_OVERHEAD


@define
class Vote:
    """What a node must never forget: the highest term it knows, and whom it voted for in it; empty for nobody."""

    term: int = 0
    vote: str = ""


@define
class Voters:
    """The content of an entry of the kind VOTERS.

    The origin is the leader and the term of the first such entry, repeated in all later ones: logs of another origin
    are another cluster's.
    """

    voters: list[str] = field(factory=list)
    origin: str = ""


@define
class Snapshot:
    """The content of an entry of the kind SNAPSHOT; no voters and no origin where a node was alone."""

    voters: list[str]
    origin: str
    content: bytes


_CODEC = Codec({1: Voters, 2: Snapshot})


def encode_voters(voters: Voters) -> bytes:
    """The content of an entry that changes the voters."""
    return _CODEC.encode(voters)


def encode_snapshot(voters: Voters, content: bytes) -> bytes:
    """The content of an entry that stands for all before it."""
    return _CODEC.encode(Snapshot(voters.voters, voters.origin, content))


def decode_snapshot(content: bytes) -> Snapshot:
    """What an entry of the kind SNAPSHOT says; raises ProtocolError."""
    said = _CODEC.decode(content)
    if not isinstance(said, Snapshot):
        raise ProtocolError("an entry that should stand for all before it does not")
    return said


def voters_in(entry: Entry) -> Voters | None:
    """The voters that an entry names; None for one that names none. Raises ProtocolError."""
    if entry.kind not in (VOTERS, SNAPSHOT):
        return None
    said = _CODEC.decode(entry.content)
    if not isinstance(said, Voters if entry.kind == VOTERS else Snapshot):
        raise ProtocolError("an entry that should name voters does not")
    if len({*said.voters}) < len(said.voters) or len(said.voters) > VOTERS_NAMED_MAX or "" in said.voters:
        raise ProtocolError(f"an entry names {len(said.voters)} voters, which cannot be those of a cluster")
    return Voters(said.voters, said.origin) if said.voters else None
