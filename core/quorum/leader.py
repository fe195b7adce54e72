"""Who leads: it sends its log to all others, finds out what a majority has on its disks, and says so.

The first entry, which names the founders, counts when all of them have it on their disks, and not before; until then
nothing follows it. So whatever else is agreed, every founder's disk says that the cluster was founded (`ballots.py`).

Only an entry of its own term makes anything agreed, and then all before it is: an entry of an earlier term may lie on a
majority's disks and still be overwritten (Raft, figure 8). A sole voter is the exception, since its disk is the truth.

Every letter has a stamp that rises and is about the time it was sent. The stamp that a majority of voters has answered
says since when others may have stopped listening: a leader whose stamp grows too old stands down (check-quorum), and as
long as it is young nobody else can have been elected, since voters are loyal for a while to a leader they heard. One
that asked another to stand up has given that assurance away for its term.

Invariants: what is agreed only grows; a log is never sent from before where it begins.
"""

from typing import TYPE_CHECKING

from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.changing import Changing
from goqueue.core.quorum.entries import NOOP, VOTERS, Voters, encode_voters
from goqueue.core.quorum.messages import Append, Beat, Conflict, Install, Installed, Matched, QuorumMessage
from goqueue.core.quorum.progress import Pace, Progress
from goqueue.core.quorum.reads import READS_MAX, Reads
from goqueue.core.quorum.snapshot import Sending
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.row import Request
from goqueue.core.requests.voters import Confirm

if TYPE_CHECKING:
    from goqueue.core.quorum.quorum import Quorum

APPEND_BYTES_MAX = 256 << 10
# A promise of loyalty is relied on for a little less than it lasts: clocks run at slightly different speeds.
_LEASE_OF_LOYALTY = (9, 10)


class Leader:
    """One node that leads its term."""

    def __init__(self, quorum: "Quorum", now: int, founding: list[str]) -> None:
        self._quorum = quorum
        self.leader = quorum.own_id
        self._began = now
        self._stamp = now
        self._beat_due = now
        self._gave_lease_away = False
        self._reads = Reads()
        self._changing = Changing(quorum, self)
        self.progress: dict[str, Progress] = {}
        self.first_index = quorum.log.end
        if not quorum.tuning.is_alone:
            self._speak_first(founding)
        self.watch(now)
        self._advance(now)

    def _speak_first(self, founding: list[str]) -> None:
        """Something of this term has to be agreed, and be it nothing; the first leader names the voters with it."""
        membership = self._quorum.membership
        if membership.changed_at < 0:
            origin = f"{self.leader} in term {self._quorum.term}"
            self._quorum.propose(VOTERS, encode_voters(Voters(founding or membership.voters, origin)))
        elif not self._is_founding:
            self._quorum.propose(NOOP, b"")

    @property
    def _is_founding(self) -> bool:
        """Whether there is nothing but the entry that names the founders."""
        return self._quorum.log.end == 1 and self._quorum.membership.changed_at == 0

    def _has_everybody(self, durable: dict[str, int]) -> bool:
        """Whether all founders have that entry; one that another leader proposed is then to be followed by a first."""
        quorum = self._quorum
        if not all(durable.get(one, 0) for one in quorum.membership.voters):
            return False
        if quorum.log.last_term != quorum.term:
            quorum.propose(NOOP, b"")
        return True

    def watch(self, now: int) -> None:
        """Send the log to voters and to all others who should have it, and to nobody else."""
        quorum = self._quorum
        wanted = dict.fromkeys([*quorum.membership.voters, *quorum.learners])
        wanted.pop(quorum.own_id, None)
        for gone in [peer for peer in self.progress if peer not in wanted]:
            del self.progress[gone]
        for peer in wanted:
            if peer not in self.progress:
                self.progress[peer] = Progress(max(self.first_index, quorum.log.start))
                self._beat_due = now

    @property
    def is_settled(self) -> bool:
        """Whether something of this term is agreed, so that all that ever was agreed is known to be."""
        return self._quorum.agreed > self.first_index or self._quorum.tuning.is_alone

    @property
    def is_handing_over(self) -> bool:
        """Whether another has been chosen to lead, and nothing is to be added to what it must have."""
        return self._changing.is_handing_over

    def has_caught_up(self, now: int, voter: str) -> bool:
        """Whether a node has all that is agreed on its disk, and answers."""
        progress = self.progress.get(voter)
        return progress is not None and progress.durable >= self._quorum.agreed and self.hears(now, voter)

    def is_loyal(self, now: int) -> bool:
        """Whether a majority still listens; it stands down by itself when not."""
        return now < self.contact(now) + self._quorum.tuning.election_ns

    def has_voted(self, now: int) -> None:
        """It votes for nobody in its own term."""

    # --- requests

    def ask(self, now: int, number: int, request: Request) -> None:
        """A request about voters, leaders or reads."""
        if not isinstance(request, Confirm):
            self._changing.ask(now, number, request)
        elif len(self._reads) >= READS_MAX:
            self._quorum.answer(number, "too many reads wait to be confirmed")
        elif self.is_settled and self._has_lease(now):
            self._quorum.answer(number, "")
        else:
            self._reads.ask(number)

    def _has_lease(self, now: int) -> bool:
        if self._gave_lease_away:
            return False
        part, whole = _LEASE_OF_LOYALTY
        lease = self._quorum.tuning.election_ns * part // whole
        return now < self._heard(now, absent=-lease) + lease

    # --- time

    def _heard(self, now: int, absent: int) -> int:
        """The latest stamp that a majority of the voters has answered; the own is always answered."""
        numbers = {peer: one.heard_stamp for peer, one in self.progress.items() if one.heard_stamp}
        numbers[self._quorum.own_id] = max(now, self._stamp)
        return self._quorum.membership.median(numbers, absent)

    def contact(self, now: int) -> int:
        """The latest moment of which a majority of the voters has said that it heard this leader then or later."""
        return max(self._heard(now, self._began), self._began)

    def hears(self, now: int, peer: str) -> bool:
        """Whether a node has answered lately."""
        progress = self.progress.get(peer)
        return progress is not None and progress.heard_stamp > now - self._quorum.tuning.election_ns // 2

    def deadline(self) -> int | None:
        """When to send a beat, or to stand down; None while nobody listens anyway."""
        if not self.progress:
            return None
        due = min(self._beat_due, self._changing.due)
        # Time only makes the own stamp larger, and with a majority of others that is not the one that counts.
        return min(due, self.contact(self._beat_due) + self._quorum.tuning.election_ns)

    def wake(self, now: int) -> None:
        """Stand down when no majority has answered for long; else tell all that this still leads."""
        if not self.progress:
            return
        if not self.is_loyal(now):
            self._quorum.follow(now, self._quorum.term, "")
            return
        self._changing.wake(now)
        if now >= self._beat_due:
            self._beat(now)

    def _beat(self, now: int) -> None:
        quorum, stamp = self._quorum, self._next_stamp(now)
        patience_ns = 2 * quorum.tuning.beat_ns
        for peer, progress in self.progress.items():
            progress.told_agreed = min(quorum.agreed, progress.matched)
            quorum.send(peer, Beat(quorum.term, stamp, quorum.agreed))
            if progress.sending is not None:
                progress.sending.again(now, patience_ns)
        self._reads.sent(stamp)
        self._beat_due = now + quorum.tuning.beat_ns

    def _next_stamp(self, now: int) -> int:
        self._stamp = max(now, self._stamp + 1)
        return self._stamp

    # --- sending

    def flush(self, now: int) -> None:
        """A turn ends: send what there is, as far as each may be sent more."""
        for peer, progress in self.progress.items():
            self._send_entries(now, peer, progress)
            agreed = min(self._quorum.agreed, progress.matched)
            if agreed > progress.told_agreed:
                progress.told_agreed = agreed
                self._quorum.send(peer, Beat(self._quorum.term, self._next_stamp(now), self._quorum.agreed))
        if self._reads.wants_beat and self.progress:
            self._beat(now)
        self._confirm(now)

    def _send_entries(self, now: int, peer: str, progress: Progress) -> None:
        quorum, log = self._quorum, self._quorum.log
        while progress.may_send() and (progress.following < log.end or progress.pace is Pace.PROBING):
            at = progress.following
            if log.start and at <= log.start:
                progress.install(Sending(log.entries[0]))
                break
            before_term = log.term_at(at - 1)
            assert before_term is not None
            entries = log.since(at, APPEND_BYTES_MAX)
            stamp = self._next_stamp(now)
            progress.told_agreed = min(quorum.agreed, at + len(entries))
            quorum.send(peer, Append(quorum.term, stamp, at, before_term, quorum.agreed, entries))
            progress.sent(stamp, at + len(entries), sum(entry.size for entry in entries))
        if progress.sending is not None and progress.sending.is_due:
            quorum.send(
                peer, progress.sending.piece(now, quorum.term, self._next_stamp(now), quorum.tuning.piece_bytes)
            )

    # --- answers

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """A letter of this term. Raises ProtocolError for one of somebody who says that it leads as well."""
        if isinstance(message, Append | Beat | Install):
            raise ProtocolError(f"{sender} says that it leads term {message.term}, in which this node leads")
        progress = self.progress.get(sender)
        if progress is None or not isinstance(message, Matched | Conflict | Installed):
            return
        if message.stamp > self._stamp:
            return
        is_news = progress.hear(message.stamp)
        if isinstance(message, Matched):
            matched = min(message.matched, self._quorum.log.end)
            if is_news:
                progress.forgot(matched)
            progress.has_matched(message.stamp, matched, min(message.durable, matched))
            self._advance(now)
            self._changing.matched(now, sender)
        elif isinstance(message, Conflict):
            is_open = progress.conflicts(message.at)
            if is_news:
                progress.forgot(message.end)
            if is_open:
                end, _ = self._quorum.log.shared_end(min(message.end, message.at - 1), message.end_term)
                progress.probe(end)
        elif progress.sending is not None:
            progress.sending.arrived(message)
        self._confirm(now)

    def _confirm(self, now: int) -> None:
        if len(self._reads) and self.is_settled:
            for number in self._reads.heard(self._heard(now, 0)):
                self._quorum.answer(number, "")

    def synced(self, now: int) -> None:
        """More of the log is on this node's disk."""
        self._advance(now)

    def _advance(self, now: int) -> None:
        """Find out what is agreed."""
        quorum = self._quorum
        durable = {peer: one.durable for peer, one in self.progress.items()}
        durable[quorum.own_id] = quorum.durable
        if self._is_founding and not self._has_everybody(durable):
            return
        agreed = quorum.membership.median(durable, 0)
        is_sole = quorum.membership.voters == [quorum.own_id]
        if agreed > quorum.agreed and (is_sole or quorum.log.term_at(agreed - 1) == quorum.term):
            quorum.agree(agreed)
            self._changing.agreed(now)

    def voters_changed(self, now: int) -> None:
        """The log names other voters."""
        self.watch(now)

    def give_lease_away(self) -> None:
        """Another was asked to stand up, and need not wait for anybody's loyalty to end."""
        self._gave_lease_away = True

    def vote_saved(self, now: int) -> None:
        """What this node must not forget is on the disk."""

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer broke: what was under way to it is gone."""
        for voter, progress in self.progress.items():
            if node_of(voter) == peer:
                progress.lost()
                if progress.sending is not None:
                    progress.sending.sent_at = None

    def resign(self) -> None:
        """It leads no more; whoever waits for what only a leader can say is told."""
        for number in self._reads.take_all():
            self._quorum.answer(number, "the controller has changed")
        self._changing.abandon("the controller has changed")

    def check(self) -> None:
        """Assert the invariants of what it knows of the others."""
        for progress in self.progress.values():
            progress.check()
            assert progress.following <= self._quorum.log.end
