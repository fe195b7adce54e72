"""Who follows: it takes what the leader of its term sends, and asks for votes when it has not heard of one for long.

A node that does not vote follows too, and never asks. So does one whose log lacks what came before its start: it must
be given that first.

Invariant: what is `matched` is the leader's log, entry for entry, and only grows within a term.
"""

from typing import TYPE_CHECKING

from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.messages import Append, Beat, Conflict, Install, Installed, Matched, QuorumMessage, StandUp
from goqueue.core.quorum.snapshot import Receiving

if TYPE_CHECKING:
    from goqueue.core.quorum.quorum import Quorum


class Follower:
    """One node in a term that another leads, or nobody yet."""

    def __init__(self, quorum: "Quorum", now: int, *, leader: str, is_quiet: bool = False) -> None:
        self._quorum = quorum
        self._leader = leader
        self._matched = 0
        # How far the leader has said that all is agreed.
        self.named = 0
        # The latest stamp of the leader's that was seen.
        self._stamp = 0
        self._receiving = Receiving()
        # Until when it votes for nobody else. Who has just begun may have promised so before it stopped.
        self._loyal_until = now + quorum.tuning.election_ns if leader or is_quiet else now
        self._due = quorum.draw_election(now)

    @property
    def leader(self) -> str:
        """Who leads as far as is known; empty for nobody."""
        return self._leader

    def is_loyal(self, now: int) -> bool:
        """Whether there is a leader, heard of so lately that there is no reason to vote for another."""
        return now < self._loyal_until

    def lose_leader(self, now: int) -> None:
        """The leader's process has ended, it seems: ask for votes as soon as loyalty has ended, not all at once.

        Loyalty lasts as long as it was promised: a leader that lives after all relies on it.
        """
        self._leader = ""
        self._due = max(now, self._loyal_until) + self._quorum.draw_beat()

    def has_voted(self, now: int) -> None:
        """Somebody asked for votes with success: leave it some time."""
        self._due = self._quorum.draw_election(now)

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """A letter of this term. Raises ProtocolError for one that contradicts what its leader has said."""
        if isinstance(message, Append | Beat | Install):
            self._demand_one_leader(sender, message)
            self._demand_consistent(message)
            self._hear(now, sender, message.stamp)
        if isinstance(message, Append | Beat):
            self.named = max(self.named, message.agreed)
        if isinstance(message, Append):
            self._append(message)
        elif isinstance(message, Beat):
            self._agree(message.agreed)
            self._answer()
        elif isinstance(message, Install):
            self._install(message)
        elif isinstance(message, StandUp) and self._leader in ("", sender):
            self._quorum.stand(now, is_transfer=True)

    def _demand_one_leader(self, sender: str, message: QuorumMessage) -> None:
        if self._leader not in ("", sender):
            raise ProtocolError(f"{sender} says that it leads term {message.term}, in which {self._leader} leads")

    def _demand_consistent(self, message: Append | Beat | Install) -> None:
        """A leader never takes back what this node has of its log."""
        log = self._quorum.log
        if isinstance(message, Append):
            taken = [entry for entry in message.entries if entry.index < self._matched]
            if any(log.term_at(entry.index) not in (None, entry.term) for entry in taken):
                raise ProtocolError("a leader sends another log than it has sent before in its term")
            before = log.term_at(message.at - 1)
            if message.at <= self._quorum.agreed and message.entries and (before or 0) > message.entries[0].term:
                raise ProtocolError(f"entries of term {message.entries[0].term} came behind agreed ones of {before}")
        elif isinstance(message, Install) and self._quorum.agreed <= message.index < self._matched:
            if log.term_at(message.index) != message.entry_term:
                raise ProtocolError("a leader sends another log than it has sent before in its term")

    def _hear(self, now: int, leader: str, stamp: int) -> None:
        assert self._leader in ("", leader), "two lead one term"
        self._leader = leader
        self._quorum.heard = now
        self._stamp = max(self._stamp, stamp)
        self._loyal_until = now + self._quorum.tuning.election_ns
        self._due = self._quorum.draw_election(now)

    def _append(self, message: Append) -> None:
        quorum, at = self._quorum, message.at
        log = quorum.log
        if log.is_hollow and at == 0 and message.entries:
            quorum.restart(message.entries[0])
        elif at > quorum.agreed and log.term_at(at - 1) != message.before_term:
            end, term = log.shared_end(at - 1, message.before_term)
            if end < quorum.agreed:
                end, term = quorum.agreed, log.term_at(quorum.agreed - 1) or 0
            self._quorum.send(self._leader, Conflict(quorum.term, message.stamp, at, end, term))
            return
        elif log.is_hollow:
            self._quorum.send(self._leader, Conflict(quorum.term, message.stamp, at, 0, 0))
            return
        for entry in message.entries:
            quorum.enter(entry)
        self._matched = max(self._matched, at + len(message.entries))
        self._agree(message.agreed)
        self._answer()

    def _install(self, message: Install) -> None:
        quorum = self._quorum
        position = message.size
        if quorum.agreed <= message.index:
            entry = self._receiving.take(message)
            position = self._receiving.position if entry is None else message.size
            if entry is not None and quorum.log.term_at(entry.index) != entry.term:
                quorum.vet(entry)
                quorum.restart(entry)
        if position == message.size:
            self._matched = max(self._matched, message.index + 1)
            self._agree(message.index + 1)
            self._answer()
        else:
            installed = Installed(quorum.term, message.stamp, message.index, position)
            quorum.send(self._leader, installed)

    def _agree(self, agreed: int) -> None:
        self._quorum.agree(min(agreed, self._matched))

    def _answer(self) -> None:
        quorum = self._quorum
        durable = min(self._matched, quorum.durable)
        quorum.send(self._leader, Matched(quorum.term, self._stamp, self._matched, durable))

    def synced(self, now: int) -> None:
        """More of the log is on the disk."""
        if self._leader:
            self._answer()

    def vote_saved(self, now: int) -> None:
        """What this node must not forget is on the disk."""

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer broke, which says nothing about its life."""

    def flush(self, now: int) -> None:
        """A turn ends."""

    def deadline(self) -> int | None:
        """When the patience ends; None where there is nothing to wait for."""
        return self._due if self._leader or self._quorum.may_stand else None

    def wake(self, now: int) -> None:
        """Do without a leader that is silent for too long, and ask for votes."""
        if now < self._due:
            return
        self._leader = ""
        self._receiving.forget()
        self._due = self._quorum.draw_election(now)
        if self._quorum.may_stand:
            self._quorum.sound_out(now)

    def check(self) -> None:
        """Assert the invariant that can be seen from here."""
        assert self._matched <= self._quorum.log.end


class Halted:
    """One node whose disk has failed: it promises nothing and hears nothing until its log is opened again."""

    leader = ""

    def is_loyal(self, now: int) -> bool:
        """It cannot keep a vote, so it gives none."""
        return True

    def has_voted(self, now: int) -> None:
        """It does not."""

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """It cannot keep what it is sent."""

    def synced(self, now: int) -> None:
        """Nothing that was under way counts."""

    def vote_saved(self, now: int) -> None:
        """It may have been."""

    def peer_lost(self, now: int, peer: str) -> None:
        """It is in touch with nobody."""

    def flush(self, now: int) -> None:
        """It says nothing."""

    def deadline(self) -> int | None:
        """It waits for the disk alone."""
        return None

    def wake(self, now: int) -> None:
        """It waits for the disk alone."""

    def check(self) -> None:
        """It has no state to be wrong."""
