"""Nodes that agree, in a net and on disks that do what a test tells them: lose, hold, double, fail, forget.

Time stands still while letters travel, and moves when a test says so. A disk keeps what was synced; a node that is
killed begins again with that. Each node applies what is agreed: the contents of ordinary entries, one after another.
"""

from collections import deque
from random import Random

from attrs import define, field

from goqueue.core.quorum.entries import SNAPSHOT, Entry, Vote, decode_snapshot, encode_snapshot
from goqueue.core.quorum.log import Cut, Write
from goqueue.core.quorum.messages import QuorumMessage
from goqueue.core.quorum.quorum import Quorum, Tuning
from goqueue.core.quorum.voter_id import node_of, voter_id


@define(eq=False)
class Member:
    """One node, its disk, and what it has applied."""

    name: str
    founders: list[str]
    tuning: Tuning
    random: Random
    quorum: Quorum = field(init=False)
    # What a start finds: entries that were synced, and the last vote.
    entries: list[Entry] = field(factory=list)
    start: int = 0
    vote: Vote = field(factory=Vote)
    # Written and not synced.
    written: list[Entry] = field(factory=list)
    votes: deque[Vote] = field(factory=deque)
    is_up: bool = False
    is_paused: bool = False
    is_disk_slow: bool = False
    learners: list[str] = field(factory=list)
    applied: list[str] = field(factory=list)
    applied_end: int = 0
    answers: list[tuple[int, str, bool]] = field(factory=list)
    _written_start: int = 0
    # Which disk it has: the first one bears no number.
    disk: int = 1

    @property
    def voter(self) -> str:
        """Its voter id."""
        return voter_id(self.name, "" if self.disk == 1 else str(self.disk))

    def wipe(self) -> None:
        """The process is gone, and all that was on the disk."""
        self.is_up = False
        self.disk += 1
        self.entries, self.start, self.vote = [], 0, Vote()

    def begin(self, now: int) -> None:
        """Start with what the disk has."""
        self.quorum = Quorum(self.voter, self.tuning, self.random)
        self.applied, self.applied_end = [], self.start
        self.written, self._written_start = [*self.entries], self.start
        self.votes.clear()
        self.is_up, self.is_paused = True, False
        self.quorum.observe(now, self.learners)
        self.reopen(now)

    def reopen(self, now: int) -> None:
        """Open the log, at a start or after the disk failed."""
        self.written, self._written_start = [*self.entries], self.start
        self.quorum.open(now, self.start, [*self.entries], self.vote, self.founders)

    def turn(self, now: int) -> list[tuple[str, QuorumMessage]]:
        """Let the disk work and answer the letters that may leave."""
        self.quorum.flush(now)
        self._take_changes()
        if not self.is_disk_slow:
            self.sync(now)
        self.apply()
        self.quorum.flush(now)
        self._take_changes()
        self.votes.extend(self.quorum.votes)
        self.quorum.votes.clear()
        self.answers += self.quorum.answers
        self.quorum.answers.clear()
        return self.quorum.take_letters()

    def _take_changes(self) -> None:
        for change in self.quorum.log.changes:
            if isinstance(change, Write):
                self.written += change.entries
            elif isinstance(change, Cut):
                del self.written[change.end - self._written_start :]
                # A cut is on the disk before anything is written over it.
                del self.entries[max(0, change.end - self.start) :]
            else:
                self.written, self._written_start = [change.entry], change.entry.index
                self.entries, self.start = [], change.entry.index
        self.quorum.log.changes.clear()

    def sync(self, now: int) -> None:
        """Have everything on the disk."""
        while self.votes or self.quorum.votes or self.entries != self.written or self.start != self._written_start:
            self.votes.extend(self.quorum.votes)
            self.quorum.votes.clear()
            votes = [*self.votes]
            self.votes.clear()
            self.entries, self.start = [*self.written], self._written_start
            for vote in votes:
                self.vote = vote
                self.quorum.vote_saved(now, vote)
            self.quorum.synced(now, self.start + len(self.entries))
            self._take_changes()

    def apply(self) -> None:
        """Take in what is agreed."""
        quorum = self.quorum
        if self.applied_end < quorum.log.start:
            self.applied, self.applied_end = [], quorum.log.start
        while self.applied_end < quorum.agreed:
            entry = quorum.log.entries[self.applied_end - quorum.log.start]
            if entry.kind == SNAPSHOT:
                self.applied = decode_snapshot(entry.content).content.decode().split()
                if entry.index > quorum.log.start:
                    quorum.forget_before(entry.index)
                    del self.written[: max(0, entry.index - self._written_start)]
                    self._written_start = max(self._written_start, entry.index)
                    if self.start + len(self.entries) > entry.index > self.start:
                        del self.entries[: entry.index - self.start]
                        self.start = entry.index
            elif entry.kind is None:
                self.applied.append(entry.content.decode())
            self.applied_end += 1

    def summarize(self) -> None:
        """Propose an entry that stands for all before it."""
        content = " ".join(self.applied).encode()
        self.quorum.propose(SNAPSHOT, encode_snapshot(self.quorum.membership.current, content))


class Net:
    """Members and the letters between them."""

    def __init__(self, seed: int = 1) -> None:
        self.now = 0
        self.members: dict[str, Member] = {}
        self.under_way: deque[tuple[str, str, QuorumMessage]] = deque()
        # Links whose letters are lost, or kept until they are released.
        self.severed: dict[tuple[str, str], None] = {}
        self.held: dict[tuple[str, str], list[tuple[str, QuorumMessage]]] = {}
        self.doubled: dict[tuple[str, str], None] = {}
        self.losing: dict[tuple[str, str], int] = {}
        self._random = Random(seed)

    def add(self, name: str, founders: list[str], *, is_alone: bool = False) -> Member:
        """A new node, with an empty disk."""
        tuning = Tuning(is_alone=is_alone)
        self.members[name] = Member(name, founders, tuning, Random(self._random.random()))
        return self.members[name]

    def collect(self) -> None:
        """Let every node have its turn, and take its letters on their way."""
        for member in self.members.values():
            if member.is_up and not member.is_paused:
                for to, message in member.turn(self.now):
                    self._post(member.voter, to, message)

    def _post(self, sender: str, to: str, message: QuorumMessage) -> None:
        to = node_of(to)
        link = node_of(sender), to
        if link in self.severed or to not in self.members:
            return
        if self.losing.get(link, 0) > 0:
            self.losing[link] -= 1
        elif link in self.held:
            self.held[link].append((sender, message))
        else:
            self.under_way.extend([(sender, to, message)] * (2 if link in self.doubled else 1))

    def deliver(self) -> tuple[str, str, QuorumMessage] | None:
        """Hand over the next letter that can be handed over; None when there is none. Senders are voters."""
        for _ in range(len(self.under_way)):
            sender, to, message = self.under_way.popleft()
            member = self.members[to]
            if member.is_paused:
                self.under_way.append((sender, to, message))
            elif member.is_up:
                member.quorum.receive(self.now, sender, message)
                return sender, to, message
        return None

    def deadline(self) -> int | None:
        """The first time at which some node wants to be woken."""
        ready = [one for one in self.members.values() if one.is_up and not one.is_paused]
        times = [due for one in ready if (due := one.quorum.deadline()) is not None]
        return min(times, default=None)

    def wake(self) -> None:
        """Wake those whose time has come."""
        for member in self.members.values():
            if member.is_up and not member.is_paused:
                due = member.quorum.deadline()
                if due is not None and due <= self.now:
                    member.quorum.wake(self.now)

    def check(self) -> None:
        """Assert what must always hold: of each node, and between them."""
        for member in self.members.values():
            if member.is_up:
                member.quorum.check()
