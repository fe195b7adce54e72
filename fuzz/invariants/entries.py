"""What counts as agreed is on the disks of a majority at that moment, under its term, and nobody knows less later.

This is what every answer about topics, places and voters rests on. Looked at when anybody first knows of an entry that
it is agreed: the disks are read, whatever their nodes believe. A voter whose disk was lost may have had it. A leader
finds that out by an entry of its own term only: one of an earlier term may be on the disks of a majority and still be
replaced (Raft, figure 8). Who votes alone needs no other. While it is not agreed that other voters vote, a majority of
those before them will do.
"""

from attrs import define, field

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.log.segment import parse_segment_name
from goqueue.core.node import Node
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import agreed_entries, agreed_index, electorates, leads, own_voter, voters, whole_batches
from goqueue.fuzz.insight import term as term_of
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.simulated import SimulatedDisk


@define
class _Held:
    """The entries that are durable on one disk: the term of each, and how far its files were read."""

    whose: tuple[int, int, bool] = (0, 0, True)
    terms: dict[int, int] = field(factory=dict)
    places: dict[str, int] = field(factory=dict)


class Entries(Checker):
    """Reads the disks of voters whenever more is agreed."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._agreed = 0
        # By node: in which life it knew how much.
        self._known: dict[str, tuple[int, int]] = {}
        self._held: dict[int, _Held] = {}

    def stepped(self) -> None:
        """Look at the node of which something was heard."""
        broker = self.sight.stirred
        if broker is None or broker.node is None or not broker.node.has_metadata:
            return
        node, index = broker.node, agreed_index(broker.node)
        life, known = self._known.get(broker.node_id, (0, 0))
        if life == broker.disk.life and index < known:
            raise Violation(f"{broker.node_id} knew that all below {known} is agreed, and now below {index}")
        self._known[broker.node_id] = broker.disk.life, index
        last, term = agreed_entries(node)
        is_one_of_many = self.sight.is_cluster and voters(node) != [own_voter(node)]
        if last > self._agreed and leads(node) and is_one_of_many and term != term_of(node):
            what = f"{broker.node_id} leads term {term_of(node)}, and finds entry {last - 1} of term {term} agreed"
            raise Violation(f"{what}, behind which it has none of its own")
        if last > self._agreed:
            self._agreed = last
            self._judge(broker, node, last - 1, term)

    def _judge(self, broker: Broker, node: Node, index: int, term: int) -> None:
        if not self.sight.is_cluster:
            if not self._has(broker.disk, broker, index, term):
                raise Violation(f"entry {index} of term {term} is agreed, and is not durable")
            return
        shares = [(self._holders(electors, index, term), electors) for electors in electorates(node)]
        if not any(2 * len(holders) > len(electors) for holders, electors in shares):
            holders, electors = shares[-1]
            what = f"entry {index} of term {term} is agreed, as {broker.node_id} knows"
            raise Violation(f"{what}, and is durable on {holders} among {electors}")

    def _holders(self, electors: list[str], index: int, term: int) -> list[str]:
        """Who of some voters has an entry on the disk; one whose disk was lost may have had it."""
        brokers = {id(process.disk): process for process in self.sight.processes}
        holders: list[str] = []
        for voter in electors:
            disk = self.sight.disks.get(voter)
            if disk is None or self._has(disk, brokers[id(disk)], index, term):
                holders.append(voter)
        return holders

    def _has(self, disk: SimulatedDisk, broker: Broker, index: int, term: int) -> bool:
        """Whether a disk has an entry, or what stands for it."""
        log = None if broker.node is None else broker.node._agreement.log
        held = self._held.setdefault(id(disk), _Held())
        # A log that is being cut says so before its disk does.
        whose = (disk.life, *held.whose[1:]) if log is None else (disk.life, log.incarnation, log.unsound is None)
        if held.whose != whose:
            held = self._held[id(disk)] = _Held(whose)
        if held.terms.get(index) == term:
            return True
        files = [path for path in disk.paths() if path.startswith(METADATA_STREAM) and path.endswith(LOG_ENDING)]
        bases = [_first_of(path) for path in files]
        if files and min(bases) > index:
            return True
        for base, path in zip(bases, files, strict=True):
            if base <= index:
                self._read(disk, path, held)
        return held.terms.get(index) == term

    def _read(self, disk: SimulatedDisk, path: str, held: _Held) -> None:
        position = held.places.get(path, 0)
        try:
            content = disk.durable_bytes(path, position)
        except OSError:
            return
        for at, header in whole_batches(content):
            held.terms.update(dict.fromkeys(range(header.base_offset, header.next_offset), header.leader_epoch))
            held.places[path] = position + at + header.size


def _first_of(path: str) -> int:
    parsed = parse_segment_name(path.rpartition("/")[2].removesuffix(LOG_ENDING))
    return parsed[0] if parsed is not None else 1 << 62
