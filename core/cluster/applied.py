"""Entries of the metadata log taken into the state, one after another, and what that changes for those who act on it.

An entry holds one record, or several that belong together. One that stands for all before it is read only where what
lies before it was not: for whoever has applied that, it says nothing new.

Invariant: every entry is applied once, in order, by `end` exclusive; the state is what they add up to.
"""

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.fits import misfit, snapshot_misfit
from goqueue.core.cluster.records import (
    METADATA_CODEC,
    ClusterNamed,
    DiskLost,
    MetadataRecord,
    MetadataSnapshot,
    NodeRegistered,
    NodeRemoved,
    NodeStanding,
    PartitionPlaced,
    PartitionsAdded,
    SideAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.codec.codec import Codec
from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.entries import NOOP, SNAPSHOT, VOTERS, Entry, decode_snapshot, voters_in

# The kind of an entry with several records.
TOGETHER = b"together"


@define
class Together:
    """The content of an entry with several records."""

    records: list[bytes]


_CODEC = Codec({1: Together})
_KIND_SHOWN_MAX = 20
_MISFITS_MAX = 10


@define
class Changed:
    """What is other than before: topics by name, nodes, or anything at all."""

    topics: dict[str, None] = field(factory=dict)
    nodes: bool = False
    everything: bool = False


def entry_of(records: list[MetadataRecord]) -> tuple[bytes | None, bytes]:
    """Kind and content of the entry that holds these records."""
    contents = [METADATA_CODEC.encode(record) for record in records]
    return (None, contents[0]) if len(contents) == 1 else (TOGETHER, _CODEC.encode(Together(contents)))


def records_in(entry: Entry) -> list[MetadataRecord]:
    """The records that an entry holds; raises ProtocolError."""
    if entry.kind in (VOTERS, NOOP):
        return []
    if entry.kind == SNAPSHOT:
        contents = [decode_snapshot(entry.content).content]
    elif entry.kind == TOGETHER:
        contents = _CODEC.decode(entry.content).records
    elif entry.kind is not None:
        raise ProtocolError(f"an entry has the kind {entry.kind[:_KIND_SHOWN_MAX]!r}, which is unknown to this release")
    else:
        contents = [entry.content]
    return [METADATA_CODEC.decode(content) for content in contents]


def vet(entry: Entry) -> None:
    """Refuse an entry that nobody could read, or that could not stand for all before it. Raises ProtocolError."""
    voters_in(entry)
    for record in records_in(entry):
        if isinstance(record, MetadataSnapshot) != (entry.kind == SNAPSHOT):
            raise ProtocolError(f"an entry holds a {type(record).__name__} where none belongs")
        if isinstance(record, MetadataSnapshot):
            why = snapshot_misfit(record)
            if why:
                raise ProtocolError(f"an entry stands for what cannot be: {why}")


@define(eq=False)
class Applied:
    """The state, up to which entry it was brought, and what changed since it was last asked."""

    state: ClusterState = field(factory=ClusterState)
    end: int = 0
    # Why entries were passed over, as long as nobody has asked.
    misfits: list[str] = field(factory=list)
    _changed: Changed = field(factory=Changed)

    def begin(self, index: int) -> None:
        """Forget everything, and begin with the entry at an index."""
        self.state = ClusterState()
        self.end = index
        self._changed.everything = True

    def apply(self, entry: Entry) -> list[MetadataRecord] | None:
        """Take the next entry into the state; answers the records that it held, None for one that is passed over."""
        assert entry.index == self.end
        self.end += 1
        if entry.kind == SNAPSHOT and not self._changed.everything:
            return []
        records = records_in(entry)
        why = misfit(self.state, records)
        if why:
            self.misfits = [*self.misfits[-_MISFITS_MAX:], f"entry {entry.index} of the metadata is passed over: {why}"]
            return None
        for record in records:
            self._note(record)
            self.state.apply(record)
        return records

    def _note(self, record: MetadataRecord) -> None:
        changed = self._changed
        if isinstance(record, TopicCreated | TopicAltered | TopicDeleted | TopicRemoved | SideAdded):
            changed.topics[record.name] = None
        elif isinstance(record, PartitionPlaced | PartitionsAdded):
            changed.topics[record.topic] = None
        elif isinstance(record, NodeRegistered | NodeStanding | ClusterNamed | DiskLost):
            changed.nodes = True
        elif isinstance(record, NodeRemoved):
            changed.nodes = True
            changed.topics.update(dict.fromkeys(self.state.holders))
        elif isinstance(record, MetadataSnapshot):
            changed.everything = True

    def take_changed(self) -> Changed:
        """What changed since the last call."""
        changed, self._changed = self._changed, Changed()
        return changed
