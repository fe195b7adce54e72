"""What checkers read inside of nodes, in one place: how far each is in what all agree on, and who it believes to be."""

from collections.abc import Iterator

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.codec import Codec
from goqueue.core.node import Node
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.log import EntryLog
from goqueue.core.ready import SaveVote
from goqueue.core.records.batch import HEADER_BYTES, Header, read_header
from goqueue.core.records.entries import entries_in
from goqueue.core.work.records import WORK_CODEC, Doomed, unpacked_runs
from goqueue.core.work.window import Run
from goqueue.storage.layout import LOG_ENDING, segment_of
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_inode import Inode
from goqueue.storage.vote import META_FOLDER, VOTE_FILE

_SUM_BYTES = 4
_VOTE_CODEC = Codec({1: SaveVote})


def agreed_index(node: Node) -> int:
    """The end of what a node knows to be agreed on, and has applied."""
    return node._agreement.agreed_index


def agreed_topics(node: Node) -> dict[str, Topic]:
    """The topics that a node knows to be agreed on, also one that has just begun and may not act on that yet."""
    return {**node._agreement.state.topics}


def agreed_state(node: Node) -> ClusterState:
    """What a node knows to be agreed on, also one that has just begun and may not act on that yet."""
    return node._agreement.state


def agreed_entries(node: Node) -> tuple[int, int]:
    """The end of what a node's log holds that is agreed, and the term of the last of that; (0, 0) for nothing."""
    quorum = node._agreement._quorum
    term = quorum.log.term_at(quorum.agreed - 1)
    return (quorum.agreed, term) if quorum.agreed and term is not None else (0, 0)


def entry_log(node: Node) -> EntryLog:
    """The entries that a node has in memory, agreed or not."""
    return node._agreement._quorum.log


def voters(node: Node) -> list[str]:
    """The voter ids of those who vote, as a node knows it."""
    return [*node._agreement.voters]


def are_voters_agreed(node: Node) -> bool:
    """Whether a node knows that it is agreed who votes."""
    return bool(node._agreement.voters) and node._agreement.are_voters_agreed


def leads(node: Node) -> bool:
    """Whether a node was elected in its term, and has not lost that."""
    return isinstance(node._agreement._quorum.role, Leader)


def own_voter(node: Node) -> str:
    """The voter id of a node."""
    return node._agreement._quorum.own_id


def written_index(node: Node) -> int:
    """The end of what is agreed on and in the node's log; a disk that failed may have brought back what was cut."""
    return min(agreed_index(node), node._agreement._quorum.agreed)


def is_written(node: Node) -> bool:
    """Whether what a node has of what is agreed lies in its log, and nothing waits that would change that."""
    journal = node._agreement._journal
    return not journal._changes and journal.log is not None and journal.log.unsound is None


def term(node: Node) -> int:
    """The term in which a node believes to be."""
    return node._agreement.term


def saved_vote(disk: SimulatedDisk) -> SaveVote:
    """The vote that a crash at this moment would leave."""
    try:
        content = disk.durable_bytes(f"{META_FOLDER}/{VOTE_FILE}")
    except OSError:
        return SaveVote(-1, "")
    saved = _VOTE_CODEC.decode(content[_SUM_BYTES:])
    assert isinstance(saved, SaveVote)
    return saved


def is_durable(disk: SimulatedDisk, path: str, position: int, size: int) -> bool:
    """Whether what is seen at a place of a file would be there if the power went at this moment."""
    end, kept, seen = position + size, disk._root.find_durable(path), disk._find_or_none(path)
    if kept is not seen or not isinstance(seen, Inode) or len(seen.durable) < end:
        return False
    return seen.durable[position:end] == seen.content[position:end]


def batches(disk: SimulatedDisk, stream: str, name: str, position: int) -> list[tuple[int, Header]]:
    """The whole batches in a file of a stream from a position on, durable or not, and where each is."""
    content = disk.seen_bytes(f"{stream}/{name}{LOG_ENDING}", position)
    return [(position + at, header) for at, header in whole_batches(content)]


def given_up(disk: SimulatedDisk, ledger: str, group: str) -> Iterator[tuple[int, list[Run]]]:
    """What a group gave up by a ledger on a disk, durable or not, and under which leases."""
    files = disk.names(ledger) if disk.is_folder(ledger) else []
    for name in filter(None, map(segment_of, files)):
        content = disk.seen_bytes(f"{ledger}/{name}{LOG_ENDING}")
        for position, header in whole_batches(content):
            for key, value in entries_in(content[position : position + header.size]):
                record = WORK_CODEC.decode(value) if key == group.encode() and value is not None else None
                if isinstance(record, Doomed):
                    yield record.lease, unpacked_runs(record.runs)


def whole_batches(content: bytes) -> list[tuple[int, Header]]:
    """The whole batches that lie one behind the other, and where each begins."""
    found: list[tuple[int, Header]] = []
    at = 0
    while at + HEADER_BYTES <= len(content):
        header = read_header(content, at)
        if header.length <= 0 or at + header.size > len(content):
            break
        found.append((at, header))
        at += header.size
    return found
