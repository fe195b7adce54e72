"""The file meta/vote: the quorum's term that a node knows, and whom it voted for in it.

A vote that a node forgot could be given twice, and then two would lead one term. So the file is replaced as a whole,
durably, before anybody hears of the vote; and one that cannot be read is no vote that was not given, but damage. The
vote names a voter by node and disk (`core/quorum/voter_id.py`): a node that asks again with another disk is another.
"""

from attrs import define
from crc32c import crc32c

from goqueue.core.codec.codec import Codec
from goqueue.core.errors import GoQueueError, ProtocolError
from goqueue.core.ready import SaveVote
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import read_file, replace_file

META_FOLDER = "meta"
VOTE_FILE = "vote"
_CRC_BYTES = 4
_ADVICE = (
    "this node cannot know whom it has voted for; stop it, remove everything in its data folder, start it again, "
    "and let it in with goqueue cluster readmit"
)
_CODEC = Codec({1: SaveVote})


def read_vote(disk: Disk) -> SaveVote | None:
    """The vote that was saved last; None where none ever was. Raises DamageError, OSError."""
    path = f"{META_FOLDER}/{VOTE_FILE}"
    if not disk.exists(path):
        return None
    content = read_file(disk, path)
    crc, body = content[:_CRC_BYTES], content[_CRC_BYTES:]
    try:
        vote = _CODEC.decode(body) if crc32c(body) == int.from_bytes(crc, "little") else None
    except ProtocolError as error:
        raise DamageError(path, _CRC_BYTES, str(error)) from None
    if not isinstance(vote, SaveVote):
        raise DamageError(path, 0, _ADVICE)
    return vote


def save_vote(disk: Disk, vote: SaveVote) -> None:
    """Save a vote, and return when it is durable."""
    body = _CODEC.encode(vote)
    disk.make_folder(META_FOLDER)
    replace_file(disk, META_FOLDER, VOTE_FILE, crc32c(body).to_bytes(_CRC_BYTES, "little") + body)


@define
class VoteSaving:
    """A vote to be saved."""

    disk: Disk
    vote: SaveVote
    error: GoQueueError | OSError | None = None

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`."""
        try:
            save_vote(self.disk, self.vote)
        except (GoQueueError, OSError) as error:
            self.error = error


@define(eq=False)
class VoteDesk:
    """The votes of one node: the latest is saved, one at a time, until the disk takes it."""

    _pause_first_ns: int
    _pause_most_ns: int
    _wanted: SaveVote | None = None
    _due: int = 0
    _pause_ns: int = 0
    is_busy: bool = False

    def want(self, now: int, vote: SaveVote) -> None:
        """Save this vote, and none before it."""
        self._wanted, self._due, self._pause_ns = vote, now, self._pause_first_ns

    def begin(self, now: int, disk: Disk) -> list[VoteSaving]:
        """The work that can begin."""
        if self._wanted is None or self.is_busy or now < self._due:
            return []
        self.is_busy = True
        return [VoteSaving(disk, self._wanted)]

    def finish(self, now: int, saving: VoteSaving) -> bool:
        """It has run: True when the vote is durable, and whoever waits for it is to be told."""
        self.is_busy = False
        if saving.error is not None:
            self._due = now + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, self._pause_most_ns)
            return False
        if self._wanted == saving.vote:
            self._wanted = None
        return True

    def deadline(self) -> int | None:
        """When `begin` will have something; None when no time brings that about."""
        return self._due if self._wanted is not None and not self.is_busy else None
