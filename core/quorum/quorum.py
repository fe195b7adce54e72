"""One node among those who agree: what all roles share, and which role it has.

Inputs are calls that begin with the time; output is what lies in `letters`, `votes`, `answers` and the log's `changes`
after a call, for whoever drives this to take. `agreed` says up to where entries count; they never change again.

A node promises by letters, and a promise must survive its end: while the term or the vote that it has come to is not on
the disk, no letter leaves (`take_letters`), and of its log it only ever speaks as far as `synced` has said. Letters may
be dropped at any time.

Nodes are known by their voter ids (`voter_id.py`). The founders of a new cluster know each other by name alone: as long
as a node's log is empty it can only be elected by all of them together, whose disks it then writes into the first entry
(`ballots.py`).

Alone a node has no peers, writes no votes and leads from the start; all that it has on its disk is agreed.

Invariants: agreed <= end; what is on the disk is no more than what there is; the log from its start to what is agreed
never changes.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from attrs import define

from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.candidate import Candidate
from goqueue.core.quorum.entries import Entry, Vote, voters_in
from goqueue.core.quorum.follower import Follower, Halted
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.log import EntryLog
from goqueue.core.quorum.membership import Membership
from goqueue.core.quorum.messages import Append, Ballot, Beat, Install, Outdated, QuorumMessage, Voted
from goqueue.core.quorum.sanity import TERM_MAX, demand_sane
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.row import Request

_LETTERS_HELD_MAX = 1000


@define
class Tuning:
    """How patient a node is; one that is alone needs no patience."""

    election_ns: int = 1_000_000_000
    beat_ns: int = 150_000_000
    is_alone: bool = False
    # What one message holds of a snapshot.
    piece_bytes: int = 256 << 10


class Role(Protocol):
    """What a node is to the others at the moment."""

    @property
    def leader(self) -> str:
        """Who leads as far as it knows; empty for nobody."""

    def is_loyal(self, now: int) -> bool:
        """Whether it has a leader and would vote for no other."""

    def has_voted(self, now: int) -> None:
        """It voted for somebody."""

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """A letter of this term."""

    def synced(self, now: int) -> None:
        """More of the log is on the disk."""

    def vote_saved(self, now: int) -> None:
        """The vote is on the disk."""

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer broke."""

    def flush(self, now: int) -> None:
        """A turn ends."""

    def deadline(self) -> int | None:
        """When `wake` is to be called."""

    def wake(self, now: int) -> None:
        """Do what time brings about."""

    def check(self) -> None:
        """Assert its invariants."""


class Quorum:
    """The state machine of one node among those who agree."""

    def __init__(self, own_id: str, tuning: Tuning, random: Random, vet: Callable[[Entry], object] = voters_in) -> None:
        self.own_id = own_id
        # Raises ProtocolError for an entry that this node could make nothing of.
        self.vet = vet
        self.tuning = tuning
        self._random = random
        self.log = EntryLog()
        self.membership = Membership()
        # The nodes that found the cluster, by name.
        self.founders: list[str] = []
        self.role: Role = Halted()
        self.term = 0
        self.vote = ""
        self._saved = Vote()
        self.agreed = 0
        self.durable = 0
        # Nodes that do not vote and get the log nevertheless.
        self.learners: list[str] = []
        self.votes: list[Vote] = []
        # By request, why it was not done; empty where it was.
        self.answers: list[tuple[int, str, bool]] = []
        # When this node last heard of a leader, or led itself.
        self.heard = 0
        # Of the last election of this node: up to when any of those who voted for it had heard of a leader.
        self.silent_since = 0
        self._letters: list[tuple[str, QuorumMessage]] = []

    def open(self, now: int, start: int, entries: list[Entry], vote: Vote, founders: list[str]) -> None:
        """Begin, or begin again, with what the disk holds; `founders`, by name, elect a leader for an empty log."""
        self.log = EntryLog(start, entries)
        self.founders = founders
        self.membership.begin([], entries)
        if self._was_alone(entries):
            self.membership.begin([self.own_id], [])
        self.agreed = start + 1 if start and entries else 0
        self.durable = self.log.end
        if vote.term > self.term:
            self.term, self.vote = vote.term, vote.vote
            self._saved = Vote(vote.term, vote.vote)
        if self.log.last_term > self.term:
            # It took entries of a term that it did not live to remember, and voted for nobody in it.
            self.term, self.vote = self.log.last_term, ""
            self._save()
        if self.tuning.is_alone:
            if [node_of(one) for one in self.membership.voters] == [self.own_id]:
                # It was among others for a while, as the only voter: the log knows its disk.
                self.own_id = self.membership.voters[0]
            self.term = max(self.term, self.log.last_term) + 1 if entries or vote.term else self.term
            self.role = Leader(self, now, [])
            return
        self.heard = now
        self.role = Follower(self, now, leader="", is_quiet=self.term > 0)
        if self.membership.voters == [self.own_id] or (self.is_founding and len(founders) == 1):
            self.sound_out(now)

    def _was_alone(self, entries: list[Entry]) -> bool:
        """Whether a log is of this node when it was alone: it names no voters, or the node without a disk."""
        voters = self.membership.voters
        if not voters:
            return bool(entries) or self.tuning.is_alone
        return voters == [node_of(self.own_id)] and voters != [self.own_id]

    def halt(self, now: int) -> None:
        """The disk has failed: promise nothing until `open`."""
        self._change_role(Halted())

    @property
    def is_open(self) -> bool:
        """Whether it takes part."""
        return not isinstance(self.role, Halted)

    # --- what is known of all

    @property
    def leader(self) -> str:
        """Who leads as far as is known; empty for nobody."""
        return self.role.leader

    @property
    def is_leader(self) -> bool:
        """Whether this node leads, and knows of everything that was ever agreed."""
        return isinstance(self.role, Leader) and self.role.is_settled

    def contact(self, now: int) -> int:
        """Up to when no other node can have been elected, as far as this one knows; `now` where it does not lead."""
        return self.role.contact(now) if isinstance(self.role, Leader) else now

    @property
    def is_level(self) -> bool:
        """Whether all is known here that was agreed when its leader wrote last, and so all that ever was before."""
        if not isinstance(self.role, Follower):
            return self.is_leader
        is_of_term = self.log.term_at(self.agreed - 1) == self.term
        return bool(self.role.leader) and self.agreed >= self.role.named and is_of_term

    @property
    def may_stand(self) -> bool:
        """Whether this node could lead: it votes, as far as it is certain, and has a log to lead with."""
        if self.log.is_hollow or self.term >= TERM_MAX:
            return False
        return self.is_founding or self.membership.may_need(self.own_id, self.agreed)

    @property
    def is_founding(self) -> bool:
        """Whether this node is a founder of a cluster that has no entry yet, as far as it knows."""
        return self.log.end == 0 and node_of(self.own_id) in self.founders and not self.tuning.is_alone

    @property
    def is_saving(self) -> bool:
        """Whether its term or vote is not on the disk yet, so that it must not speak."""
        return not self.tuning.is_alone and self._saved != Vote(self.term, self.vote)

    # --- requests

    def propose(self, kind: bytes | None, content: bytes) -> int:
        """Add an entry to the log this node leads, and answer its index."""
        assert isinstance(self.role, Leader) or kind is not None
        index = self.log.end
        self.enter(Entry(index, self.term, kind, content))
        return index

    @property
    def may_propose(self) -> bool:
        """Whether an entry may be added: this node leads, and is not handing that over."""
        return self.is_leader and not (isinstance(self.role, Leader) and self.role.is_handing_over)

    def has_caught_up(self, now: int, voter: str) -> bool:
        """Whether a node that is sent the log has all that is agreed on its disk, in the eyes of this one as leader."""
        return isinstance(self.role, Leader) and self.role.has_caught_up(now, voter)

    def ask(self, now: int, number: int, request: Request) -> None:
        """Take a request that only a leader can answer; see `answers`."""
        if isinstance(self.role, Leader):
            self.role.ask(now, number, request)
        else:
            self.answer(number, "this node is not the controller")

    def observe(self, now: int, learners: list[str]) -> None:
        """These nodes get the log though they may not vote."""
        if learners != self.learners:
            self.learners = [*learners]
            if isinstance(self.role, Leader):
                self.role.watch(now)

    def forget_before(self, index: int) -> None:
        """Keep nothing before an agreed entry that stands for all before it."""
        assert index < self.agreed
        self.log.forget_before(index)
        self.membership.forget_before(index)

    # --- letters

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """Take a letter, of whatever term. Raises ProtocolError for one that cannot be true."""
        if isinstance(self.role, Halted):
            return
        demand_sane(message)
        if isinstance(message, Append | Install) and message.term >= self.term:
            self._demand_agreeable(message)
        if isinstance(message, Ballot):
            self._consider(now, sender, message)
            return
        if message.term > self.term and not self._is_promise(message):
            leads = isinstance(message, Append | Beat | Install)
            self.follow(now, message.term, sender if leads else "")
        elif message.term < self.term:
            if isinstance(message, Append | Beat | Install):
                self.send(sender, Outdated(self.term))
            return
        self.role.receive(now, sender, message)

    def _demand_agreeable(self, message: Append | Install) -> None:
        """Refuse what would change what is agreed, and what this node could not apply. Raises ProtocolError."""
        log = self.log
        if isinstance(message, Install):
            return
        for entry in message.entries:
            held = log.term_at(entry.index)
            if entry.index < self.agreed and held is not None and held != entry.term:
                why = f"entry {entry.index} of term {held} is agreed, and would become one of {entry.term}"
                raise ProtocolError(why)
            if held != entry.term:
                self.vet(entry)

    def _is_promise(self, message: QuorumMessage) -> bool:
        """Whether this speaks of a term that has not begun."""
        return isinstance(message, Voted) and message.is_trial and message.is_granted

    def _consider(self, now: int, sender: str, ballot: Ballot) -> None:
        """Vote, or not."""
        if self.role.is_loyal(now) and not ballot.is_transfer:
            return
        is_enough = (ballot.last_term, ballot.end) >= (self.log.last_term, self._claimed_end())
        if ballot.is_trial:
            is_granted = ballot.term > self.term and is_enough
            self.send(sender, Voted(ballot.term if is_granted else self.term, is_granted, is_trial=True))
            return
        if ballot.term > self.term:
            self.follow(now, ballot.term, "")
        is_free = self.vote == sender or (self.vote == "" and self.leader == "")
        is_granted = ballot.term == self.term and is_free and is_enough
        if is_granted and self.vote != sender:
            self.vote = sender
            self._save()
            self.role.has_voted(now)
        self.send(sender, Voted(self.term, is_granted, silence_ns=self.silence_ns(now) if is_granted else 0))

    def silence_ns(self, now: int) -> int:
        """For how long this node has not heard of any leader."""
        return max(now - self.heard, 0)

    def _claimed_end(self) -> int:
        return 0 if self.log.is_hollow else self.log.end

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer, by its name, broke: what was under way may be lost."""
        self.role.peer_lost(now, peer)

    def peer_gone(self, now: int, peer: str) -> None:
        """The process of a peer has ended, it seems: if it led, votes are asked for as early as they may be given."""
        self.role.peer_lost(now, peer)
        if isinstance(self.role, Follower) and node_of(self.role.leader) == peer:
            self.role.lose_leader(now)

    def send(self, to: str, message: QuorumMessage) -> None:
        """Write a letter to a voter or a node; it leaves when what it may promise is safe."""
        self._letters.append((to, message))

    def take_letters(self) -> list[tuple[str, QuorumMessage]]:
        """The letters that may leave."""
        if self.is_saving:
            del self._letters[:-_LETTERS_HELD_MAX]
            return []
        letters, self._letters = self._letters, []
        return letters

    def answer(self, number: int, why_not: str, *, is_begun: bool = False) -> None:
        """A request is done, or refused; one that was begun may yet be done."""
        self.answers.append((number, why_not, is_begun))

    # --- the disk

    def _save(self) -> None:
        if not self.tuning.is_alone:
            self.votes.append(Vote(self.term, self.vote))

    def vote_saved(self, now: int, vote: Vote) -> None:
        """The disk keeps this vote."""
        if (vote.term, bool(vote.vote)) >= (self._saved.term, bool(self._saved.vote)):
            self._saved = vote
        if not self.is_saving:
            self.role.vote_saved(now)

    def synced(self, now: int, end: int) -> None:
        """The disk keeps the log up to `end`."""
        if end > self.durable and not isinstance(self.role, Halted):
            self.durable = min(end, self.log.end)
            self.role.synced(now)

    # --- the log

    def enter(self, entry: Entry) -> None:
        """Have an entry in the log, in the place of whatever differs there."""
        log = self.log
        if entry.index < log.start or log.term_at(entry.index) == entry.term:
            return
        if entry.index < log.end:
            assert entry.index >= self.agreed, "what was agreed would change"
            log.cut(entry.index)
            self.membership.cut(entry.index)
            self.durable = min(self.durable, entry.index)
        log.append(entry)
        self.membership.entered(entry)

    def restart(self, entry: Entry) -> None:
        """Begin the log anew with an entry that stands for all before it."""
        assert entry.index >= self.agreed
        self.log.restart(entry)
        self.membership.restarted(entry)
        self.durable = 0

    def agree(self, agreed: int) -> None:
        """Everything up to there is agreed."""
        assert agreed <= self.log.end
        self.agreed = max(self.agreed, agreed)

    # --- roles

    def draw_election(self, now: int) -> int:
        """Until when to wait for a leader, or for votes: not the same for all, so that two seldom ask at once."""
        patience_ns = self.tuning.election_ns
        return now + patience_ns + self._random.randrange(patience_ns)

    def draw_beat(self) -> int:
        """A part of a beat."""
        return self._random.randrange(self.tuning.beat_ns)

    def follow(self, now: int, term: int, leader: str) -> None:
        """Follow in a term, this or a later one."""
        assert term >= self.term
        if isinstance(self.role, Leader):
            self.heard = now
        if term > self.term:
            self.term, self.vote = term, ""
            self._save()
        self._change_role(Follower(self, now, leader=leader))

    def sound_out(self, now: int) -> None:
        """Ask on trial whether a majority would vote for this node."""
        candidate = Candidate(self, now, is_trial=True)
        self._change_role(candidate)
        candidate.begin(now)

    def stand(self, now: int, *, is_transfer: bool = False) -> None:
        """Ask for votes in a term of its own."""
        if not self.may_stand or (is_transfer and self.is_founding):
            # A leader hands over to a voter that has its whole log: one whose log is empty has lost its disk since.
            return
        self.term, self.vote = self.term + 1, self.own_id
        self._save()
        self._change_role(Candidate(self, now, is_trial=False, is_transfer=is_transfer))

    def lead(self, now: int, founding: list[str], silence_ns: int) -> None:
        """A majority has voted for this node, or all founders have, whose voter ids are `founding`.

        Each of them has heard of no leader for `silence_ns`.
        """
        self.silent_since = now - silence_ns
        self.role = Leader(self, now, founding)

    def _change_role(self, role: Role) -> None:
        if isinstance(self.role, Leader):
            self.role.resign()
        self.role = role

    # --- time

    def flush(self, now: int) -> None:
        """A turn ends: write what there is to be written to others."""
        self.role.flush(now)

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        return self.role.deadline()

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self.role.wake(now)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.membership.check()
        self.role.check()
        assert self.agreed <= self.log.end or self.log.is_hollow
        assert self.durable <= self.log.end
