"""What a leader does about voters and about who leads: one such request at a time.

A node that is to vote gets the log first and is put among the voters when it has caught up, so that a majority is
never short of somebody who cannot yet answer (Ongaro's thesis, 4.2.1). For the same reason nobody comes or goes while
too few of those who would vote then are heard of. A leader that hands over adds nothing more, waits until the other has
all of its log, and asks it to stand up; if nothing comes of that it goes on itself. A leader that votes no more leads
until that is agreed.
"""

from typing import TYPE_CHECKING

from attrs import define

from goqueue.core.quorum.entries import VOTERS, encode_voters
from goqueue.core.quorum.messages import StandUp
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.row import Request
from goqueue.core.requests.voters import AddVoter, MoveController, RemoveVoter

if TYPE_CHECKING:
    from goqueue.core.quorum.leader import Leader
    from goqueue.core.quorum.quorum import Quorum

VOTERS_MAX = 7
_CATCH_UP_NS = 30_000_000_000
_NEVER = 1 << 63


@define
class _Wanted:
    """A request under way; `index` is that of the entry which makes it so, once that is in the log."""

    number: int
    request: Request
    due: int
    index: int | None = None


class Changing:
    """The changes of voters and of the leader's office in one term."""

    def __init__(self, quorum: "Quorum", leader: "Leader") -> None:
        self._quorum = quorum
        self._leader = leader
        self._wanted: _Wanted | None = None
        self._target = ""

    @property
    def is_handing_over(self) -> bool:
        """Whether another has been chosen to lead."""
        return bool(self._target)

    @property
    def due(self) -> int:
        """When the patience with the request under way ends."""
        wanted = self._wanted
        return wanted.due if wanted is not None and (self._target or wanted.index is None) else _NEVER

    def ask(self, now: int, number: int, request: Request) -> None:
        """Begin with a request, or say why not."""
        problem = self._problem(request)
        if problem or self._is_so_already(request):
            self._quorum.answer(number, problem)
            return
        election_ns = self._quorum.tuning.election_ns
        if isinstance(request, MoveController):
            self._target = self._voter_of(request.node_id) or self._furthest()
        patience_ns = election_ns if isinstance(request, MoveController) else _CATCH_UP_NS
        self._wanted = _Wanted(number, request, now + patience_ns)
        self._go_on(now)

    def _problem(self, request: Request) -> str:
        quorum, membership = self._quorum, self._quorum.membership
        if quorum.tuning.is_alone:
            return "this node runs alone: start it with peers to let others vote"
        if self._wanted is not None:
            return "another change of voters or of the controller is under way"
        if isinstance(request, AddVoter):
            if request.voter in membership.voters:
                return ""
            if request.voter not in self._leader.progress:
                return f"node {node_of(request.voter)} is not part of the cluster"
            return "" if len(membership.voters) < VOTERS_MAX else f"{VOTERS_MAX} nodes vote, and no more may"
        if isinstance(request, RemoveVoter):
            return "the only voter cannot be removed" if membership.voters == [request.voter] else ""
        if isinstance(request, MoveController) and request.node_id and not self._voter_of(request.node_id):
            return f"node {request.node_id} does not vote, so it cannot be the controller"
        return "" if len(membership.voters) > 1 else "there is no other voter to be the controller"

    def _is_so_already(self, request: Request) -> bool:
        voters = self._quorum.membership.voters
        if isinstance(request, AddVoter):
            return request.voter in voters
        if isinstance(request, RemoveVoter):
            return request.voter not in voters
        return isinstance(request, MoveController) and request.node_id == node_of(self._quorum.own_id)

    def _voter_of(self, node_id: str) -> str:
        """The voter that a node is; empty for none."""
        return next((one for one in self._quorum.membership.voters if node_of(one) == node_id), "")

    def _furthest(self) -> str:
        """The other voter whose log is longest; of several the first."""
        voters = [one for one in self._quorum.membership.voters if one in self._leader.progress]
        return max(voters, key=lambda one: self._leader.progress[one].matched)

    def _go_on(self, now: int) -> None:
        """Take the next step of the request under way, if its time has come."""
        wanted, quorum = self._wanted, self._quorum
        if wanted is None or wanted.index is not None:
            return
        if self._target:
            self._hand_over()
        else:
            assert isinstance(wanted.request, AddVoter | RemoveVoter)
            membership, voter = quorum.membership, wanted.request.voter
            is_new = isinstance(wanted.request, AddVoter)
            voters = membership.with_voter(voter) if is_new else membership.without_voter(voter)
            if self._may_change(now, voters.voters) and (not is_new or self._leader.has_caught_up(now, voter)):
                wanted.index = quorum.propose(VOTERS, encode_voters(voters))
                self._leader.voters_changed(now)

    def _may_change(self, now: int, voters: list[str]) -> bool:
        """Whether these may be the voters next: the change before is agreed, and this one will not be the last."""
        if not self._leader.is_settled or self._quorum.membership.changed_at >= self._quorum.agreed:
            return False
        answering = sum(one == self._quorum.own_id or self._leader.hears(now, one) for one in voters)
        return answering > len(voters) // 2

    def _hand_over(self) -> None:
        progress, quorum = self._leader.progress.get(self._target), self._quorum
        wanted = self._wanted
        assert wanted is not None
        if progress is not None and progress.matched == quorum.log.end:
            self._leader.give_lease_away()
            quorum.send(self._target, StandUp(quorum.term))
            wanted.index = quorum.log.end

    def matched(self, now: int, peer: str) -> None:
        """A node has more of the log."""
        self._go_on(now)

    def agreed(self, now: int) -> None:
        """More is agreed."""
        wanted, quorum = self._wanted, self._quorum
        if wanted is not None and not self._target and wanted.index is not None and wanted.index < quorum.agreed:
            self._finish("")
        if quorum.own_id not in quorum.membership.voters and quorum.membership.changed_at < quorum.agreed:
            self._leave(now)
        else:
            self._go_on(now)

    def _leave(self, now: int) -> None:
        """It is agreed that this node votes no more: somebody else leads from here on."""
        quorum = self._quorum
        self._leader.flush(now)
        quorum.send(self._furthest(), StandUp(quorum.term))
        quorum.follow(now, quorum.term, "")

    def wake(self, now: int) -> None:
        """Give up what takes too long."""
        if self._wanted is None or now < self._wanted.due:
            return
        if self._target:
            self._finish(f"node {node_of(self._target)} has not taken over in time")
        elif self._wanted.index is None:
            self._finish("the node has not caught up in time, or too few voters answer")

    def _finish(self, outcome: str) -> None:
        assert self._wanted is not None
        self._quorum.answer(self._wanted.number, outcome, is_begun=self._wanted.index is not None)
        self._wanted, self._target = None, ""

    def abandon(self, why: str) -> None:
        """The office is lost; a hand-over has come to its end so."""
        if self._wanted is not None:
            self._finish("" if self._target else why)
