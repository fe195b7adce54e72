"""What checkers read inside of nodes, in one place: how far each is in what all agree on, and who it believes to be."""

from collections import deque
from collections.abc import Iterable, Iterator

from goqueue.core.broker.reads import WaitingFetch
from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.codec.codec import Codec
from goqueue.core.log.log import Log
from goqueue.core.node import Node
from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.queues.records import WORK_CODEC, Doomed, unpacked_runs
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.log import EntryLog
from goqueue.core.ready import SaveVote
from goqueue.core.records.batch import HEADER_BYTES, Header, read_header
from goqueue.core.records.entries import entries_in
from goqueue.core.requests.call import Call
from goqueue.core.routing.errands import Attempt, Errand
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


def electorates(node: Node) -> list[list[str]]:
    """The lists of voters by which what a node knows to be agreed may have been counted.

    The last one in its log, and the one before while it is not agreed that the last one votes: what was counted by the
    one before may have let the last one in, in the same turn.
    """
    membership = node._agreement._quorum.membership
    lists = [named.voters for _, named in membership._lists]
    return lists[-1:] if are_voters_agreed(node) else lists[-2:]


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


def vote(node: Node) -> tuple[int, str]:
    """The term in which a node believes to be, and for whom it believes to have voted in it."""
    return node._agreement.term, node._agreement._quorum.vote


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


def logs(node: Node) -> list[Log]:
    """All logs of messages, ledgers and schedules that a node has open, led or followed."""
    led, followed = node.led.streams.values(), node.led.replicas.values()
    return [*(partition.log for partition in led), *(replica.log for replica in followed)]


def takes_appends(log: Log) -> bool:
    """Whether a log is sound and has not been closed."""
    return log.unsound is None and not log._is_closed


def asked_to_be_synced(log: Log) -> int:
    """The end of what a log has asked the disk to sync."""
    return max(log._sync_asked_offset, log.synced_offset)


def waiting_fetches(node: Node) -> Iterable[WaitingFetch]:
    """The fetches that wait in a node for what is not there yet."""
    return node._reads._waiting.values()


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


# --- what a node waits for


def quorum_standing(node: Node) -> tuple[str, int, int, int]:
    """What a node is among the voters, the end of its entries, of those it knows to be agreed, and of those applied."""
    quorum = node._agreement._quorum
    return type(quorum.role).__name__.lower(), quorum.log.end, quorum.agreed, node._agreement.agreed_index


def call_of(node: Node, number: int) -> Call | None:
    """The request of a client under a number, while it has no answer."""
    return node._clients.get(number)


def errand(node: Node, call: Call) -> Errand | None:
    """What a node looks after for whoever asked; None where it carries that out itself."""
    return None if node._peering is None else node._peering.dispatch._errands.get(call)


def number_sent(node: Node, attempt: Attempt) -> int:
    """Under which number another node was asked."""
    assert node._peering is not None
    return node._peering.dispatch._outgoing._places[attempt.call][1]


def taken_from(node: Node, sender: Node, number: int) -> Call | None:
    """How a node calls what another has passed on to it; None where it does not work on that."""
    assert node._peering is not None
    assert sender._peering is not None
    lives = node._peering.dispatch._incoming._origins.get(sender.options.node_id, {})
    origin = lives.get(sender._peering._options.incarnation)
    return None if origin is None else origin.under_way.get(number)


def publishes_waiting(node: Node, call: Call) -> Iterator[str]:
    """Where messages of a publish wait to be acknowledged, and what for."""
    for stream, partition in node.led.streams.items():
        for one in (*partition._unacknowledged, *partition._hasty):
            if any(share.publishing.call is call for share in one.shares):
                yield f"{stream} is to be confirmed up to {one.next_offset}"
                yield from (f"  {line}" for line in replication_of(node, stream, None))
        if any(publishing.call is call for publishing in partition.done):
            yield f"{stream} has acknowledged it, and nobody has looked since"
        gathered = (share for gathering in partition._gathering.values() for share in gathering.shares)
        if any(share.publishing.call is call for share in gathered):
            yield f"{stream} has gathered it, and appended nothing"


def replication_of(node: Node, stream: str, followers: list[str] | None) -> Iterator[str]:
    """How far a stream is at its leader and its followers; None for those that count."""
    partition = node.led.streams.get(stream)
    if partition is None:
        yield f"{node.options.node_id} does not lead {stream}"
        return
    log = partition.log
    kept = "unsound" if log.unsound is not None else f"kept up to {log.acknowledged_offset}"
    shown = f"shown up to {partition.high_watermark}"
    yield f"{node.options.node_id} leads it: it ends at {log.next_offset}, is {kept}, {shown}"
    if partition.leadership is not None:
        for follower in partition.leadership.counted if followers is None else followers:
            end = partition.ends.get(follower)
            has = "has said nothing in this epoch" if end is None or end.kept < 0 else f"has it up to {end.kept}"
            yield f"{follower} {has}"


def reads_waiting(node: Node, call: Call) -> Iterator[str]:
    """Which read of a partition is not over."""
    reads = node._reads
    waiting = reads._waiting.get(call)
    if waiting is not None:
        stream, end = waiting.partition.log.stream, waiting.partition.high_watermark
        yield f"waits for news of {stream}, which is shown up to {end}"
    for pending in reads._pending.values():
        if pending.call is call:
            yield f"waits for the disk to read {pending.partition.log.stream}"


def changes_waiting(node: Node, call: Call) -> Iterator[str]:
    """Which change of the metadata is not agreed on, or not even planned."""
    agreement = node._agreement
    if any(asker is call for asker, _ in agreement._waiting):
        yield "waits to be planned as a change of the metadata, behind those that are not agreed on"
    for index, some in agreement._proposals._pending.items():
        if any(pending.call is call for pending in some):
            quorum = agreement._quorum
            far = f"{quorum.durable} are durable here, {quorum.agreed} agreed on"
            yield f"waits for entry {index} of the metadata: {far}"
    if call in agreement._asked.values():
        yield "waits for the quorum to change"


def kept_in(node: Node, call: Call) -> list[str]:
    """Where in a node something is kept for a call."""
    found: list[str] = []
    seen: set[int] = set()
    line: deque[tuple[str, object]] = deque([("", node)])
    while line and len(seen) < _OBJECTS_MAX:
        path, one = line.popleft()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for name, value in _parts(one):
            inner = f"{path}{name}"
            if value is call:
                found.append(path)
            elif isinstance(value, _HOLDERS) or type(value).__module__.startswith("goqueue.core"):
                line.append((inner, value))
    return sorted({*found})


_OBJECTS_MAX = 20_000
_HOLDERS = (dict, list, tuple, deque)


def _parts(one: object) -> Iterator[tuple[str, object]]:
    """What an object is made of, and how that is called."""
    if isinstance(one, dict):
        yield from (("[]", key) for key in one)
        yield from ((f"[{key}]", value) for key, value in one.items())
    elif isinstance(one, list | tuple | deque):
        yield from (("[]", value) for value in one)
    else:
        names = [*getattr(one, "__dict__", ()), *(name for cls in type(one).__mro__ for name in _slots(cls))]
        yield from ((f".{name}", getattr(one, name)) for name in names if hasattr(one, name))


def _slots(cls: type) -> list[str]:
    slots = getattr(cls, "__slots__", ())
    return [slots] if isinstance(slots, str) else [*slots]


def ready_lanes(node: Node, group: str, topic: str, partition: int) -> list[int]:
    """The lanes of a partition in which a group's queue has something that could be given at this moment."""
    queues = node._groups.queues
    book = queues.books.get((topic, partition)) if isinstance(queues, WorkLeader) else None
    queue = None if book is None else book.queues.get(group)
    return [] if queue is None else [lane for lane, (ready, _) in enumerate(queue.lane_counts()) if ready]
