"""Agreements in a test's hands: alone or several, on disks that do what they are told, joined by a net that may be cut.

A disk keeps the entries that were synced and the last vote, and finds them again when a node is started anew.
"""

from collections.abc import Callable
from random import Random

from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_CONFIG, METADATA_STREAM, Agreement
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.plan import Plan, plan_alter, plan_create, plan_delete, plan_removed
from goqueue.core.cluster.proposals import Agreed, Answer
from goqueue.core.cluster.records import MetadataRecord, NodeRegistered
from goqueue.core.log.effects import Append, Commit, Cut, Effect, Sync
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.log import LogState
from goqueue.core.log.segment import Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.quorum.entries import Entry
from goqueue.core.quorum.messages import QuorumLetter
from goqueue.core.ready import SaveVote
from goqueue.core.records.batch import read_header
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import ProducerReply
from goqueue.core.requests.metadata import FinishDelete
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic
from tests.core.calls import call
from tests.core.log.batches import WALL_MS

MS = 1_000_000

# Who was answered, by number, and what.
Told = tuple[int | None, Refusal | ProducerReply | Agreed | None]


class Register:
    """A request that makes a node part of the cluster."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id


def planned_create(state: ClusterState, request: CreateTopic, wall_ms: int) -> Plan:
    """As a node with two partitions by default plans it."""
    return plan_create(state, request, 2, wall_ms)


def planned_alter(state: ClusterState, request: AlterTopic, _wall_ms: int) -> Plan:
    """As any node plans it."""
    return plan_alter(state, request)


def planned_delete(state: ClusterState, request: DeleteTopic, _wall_ms: int) -> Plan:
    """As any node plans it."""
    return plan_delete(state, request)


def planned_removed(state: ClusterState, request: FinishDelete, _wall_ms: int) -> Plan:
    """As any node plans it."""
    return plan_removed(state, request.name, request.node_id)


def planned_register(_state: ClusterState, request: Register, wall_ms: int) -> Plan:
    """One record, whatever there is."""
    records: list[MetadataRecord] = [NodeRegistered(request.node_id, 1, "disk", "", "", "", "", "1", wall_ms)]
    return records


PLANS: dict[type, Callable[..., Plan]] = {
    CreateTopic: planned_create,
    AlterTopic: planned_alter,
    DeleteTopic: planned_delete,
    FinishDelete: planned_removed,
    Register: planned_register,
}


def found(start: int, entries: list[Entry]) -> LogState:
    """A log as recovery finds it that holds these entries."""
    epochs = EpochCache()
    for entry in entries:
        epochs.assign(entry.term, entry.index)
    end = start + len(entries)
    segment = Segment(start, 0, 100 * len(entries), end, WALL_MS, WALL_MS)
    return LogState([], SegmentTail(segment, METADATA_CONFIG.index_interval_bytes), 0, start, epochs=epochs)


class Agreeing:
    """One node's agreement and its disk."""

    def __init__(self, name: str, founders: list[str] | None, entries: list[Entry] | None = None) -> None:
        self.name = name
        self._founders = founders
        self.entries = entries or []
        self.start = self.entries[0].index if self.entries else 0
        self.vote: SaveVote | None = None
        self.effects: list[Effect] = []
        self.is_at_rest = True
        self.is_slow = False
        self.answers: list[Answer] = []
        self._unsynced: list[Effect] = []
        self.begin(0)

    def begin(self, now: int) -> None:
        """Start with what the disk has."""
        options = ClusterOptions(self._founders, disk_id="disk") if self._founders is not None else None
        clock, random = Clock(now, WALL_MS + now // MS), Random(self.name)
        self.agreement = Agreement(self.name, options, clock, random, PLANS, Thresholds())
        self._unsynced = []
        self.agreement.opened(now, found(self.start, self.entries), [*self.entries], self.vote)

    def turn(self, now: int) -> list[tuple[str, object]]:
        """Let the disk do what is wanted of it; answers the letters that leave."""
        agreement = self.agreement
        self.effects = agreement.take(now)
        self._unsynced += self.effects
        letters = [(letter.to, letter.message) for letter in agreement.letters]
        agreement.letters = []
        votes = agreement.take_votes()
        self.is_at_rest = not self.effects and not votes and not letters
        if not self.is_slow:
            self.work(now)
            for vote in votes:
                self.vote = vote
                agreement.vote_saved(now, vote)
        self.answers += agreement.take_answers()
        agreement.check()
        return letters

    def work(self, now: int) -> None:
        """Carry out what was taken so far."""
        effects, self._unsynced = self._unsynced, []
        for effect in effects:
            if isinstance(effect, Append):
                for batch in effect.buffers:
                    self._keep(batch)
            elif isinstance(effect, Sync):
                self.agreement.synced(now, effect.token)
            elif isinstance(effect, Cut):
                del self.entries[max(0, effect.offset - self.start) :]
                if not self.entries:
                    self.start = effect.offset
                self.agreement.opened(now, found(self.start, self.entries), [*self.entries], self.vote)
            elif isinstance(effect, Commit) and self.agreement.log is not None:
                start = min(self.agreement.log.start_offset, self.start + len(self.entries))
                if start > self.start:
                    del self.entries[: start - self.start]
                    self.start = start

    def _keep(self, batch: bytes | bytearray | memoryview) -> None:
        term = read_header(batch).leader_epoch
        for record in iterate(batch):
            kind = bytes(record.key) if record.key is not None else None
            self.entries.append(Entry(record.offset, term, kind, bytes(record.value or b"")))

    def ask(self, now: int, to: int | None, request: object) -> None:
        """Hand over a request."""
        self.agreement.ask(now, None if to is None else call(to), request)

    def take_answers(self) -> list[Told]:
        """What was answered since the last call, by number."""
        answers, self.answers = self.answers + self.agreement.take_answers(), []
        return [(None if to is None else to.number, answer) for to, answer in answers]


class Agreeings:
    """Several of them, the net between, and the time."""

    def __init__(self, *founders: str) -> None:
        self.now = 0
        self.nodes: dict[str, Agreeing] = {name: Agreeing(name, [*founders]) for name in founders}
        self.down: dict[str, None] = {}
        self.isolated: dict[str, None] = {}

    def join(self, name: str) -> Agreeing:
        """A node that is no founder."""
        self.nodes[name] = Agreeing(name, [])
        return self.nodes[name]

    def settle(self) -> None:
        """Let letters travel and disks work until nothing happens."""
        for _ in range(200):
            letters = [
                (name, to, message)
                for name, node in self.nodes.items()
                if name not in self.down
                for to, message in node.turn(self.now)
            ]
            for sender, to, message in letters:
                if to in self.nodes and not {sender, to} & {*self.down, *self.isolated}:
                    self.deliver(sender, to, message)
            if all(node.is_at_rest for name, node in self.nodes.items() if name not in self.down):
                return
        raise AssertionError("it does not come to rest")

    def deliver(self, sender: str, to: str, message: object) -> None:
        """Hand over a letter."""
        assert isinstance(message, QuorumLetter)
        self.nodes[to].agreement.receive(self.now, sender, message)

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        end = self.now + milliseconds * MS
        while True:
            self.settle()
            up = [node.agreement for name, node in self.nodes.items() if name not in self.down]
            times = [due for one in up if (due := one.deadline()) is not None]
            if not times or min(times) > end:
                break
            self.now = max(self.now, min(times))
            for one in up:
                due = one.deadline()
                if due is not None and due <= self.now:
                    one.wake(self.now)
        self.now = end

    def restart(self, name: str) -> None:
        """A process ends and begins again."""
        self.down.pop(name, None)
        self.nodes[name].begin(self.now)

    @property
    def controller(self) -> Agreeing:
        """The one controller there is."""
        [controller] = [node for name, node in self.nodes.items() if name not in self.down and self._leads(node)]
        return controller

    def _leads(self, node: Agreeing) -> bool:
        return node.agreement.is_controller and node.name not in self.isolated


def appended(effects: list[Effect]) -> list[int]:
    """How many records each batch among some effects holds."""
    batches = [batch for effect in effects if isinstance(effect, Append) for batch in effect.buffers]
    return [read_header(batch).record_count for batch in batches]


__all__ = ["METADATA_STREAM", "MS", "Agreeing", "Agreeings", "Register", "appended", "found"]
