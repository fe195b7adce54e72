"""What the controller does of its own accord: it hears who lives, and asks for the changes that follow.

Every node has one of these, and it acts only while its node is the controller. It changes nothing: what it wants is
asked of the metadata like any other request, planned there against what is agreed then, and may come to nothing. So a
wish that is asked twice does no harm, and one that was lost is asked again by time.

What is remembered here (who was heard when, how far moves have come) is nobody's but this controller's: the next one
begins without it, and gives every node the time that it takes to be heard. One node it knows more about: the controller
before, whose silence was why it was elected.
"""

from collections.abc import Callable
from random import Random

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.duties import DeclareDead, Duty, NameCluster, Tidy
from goqueue.core.cluster.liveness import Liveness
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.plan_tidy import plan_tidy
from goqueue.core.cluster.standstill import Standstills
from goqueue.core.cluster.voters import next_change
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.cluster import (
    UNKNOWN,
    CatchingUp,
    DescribeReassignments,
    NodeHeartbeat,
    NodeHeartbeatReply,
    Reassignment,
    ReassignmentsReply,
)
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.voters import AddVoter, MoveController, RemoveVoter

_SECOND_NS = 1_000_000_000
_ROUND_NS = 1 * _SECOND_NS
_SOON_NS = _SECOND_NS // 20
# Leaders go back to where they were in rounds of their own, and to nodes that have lived for a while.
_BALANCE_NS = 30 * _SECOND_NS
_SETTLED_NS = 15 * _SECOND_NS
# Besides, voters are looked at whenever a change of them is agreed.
_VOTERS_NS = 1 * _SECOND_NS
_VOTER_READY_NS = 2 * _SECOND_NS
_VOTER_LOST_NS = 60 * _SECOND_NS
# What was asked and did not come to be is asked again.
_AGAIN_NS = 1 * _SECOND_NS
_PROGRESS_MAX = 10_000

Ask = Duty | AddVoter | RemoveVoter | MoveController
Moving = tuple[str, int, str]


@define
class _Office:
    """What one time in office has brought."""

    term: int
    tidy_at: int
    balance_at: int
    voters_at: int
    # The voters at the last look that found them agreed.
    voters: list[str] = field(factory=list)
    is_new: bool = True
    # As which process each node is known.
    incarnations: dict[str, int] = field(factory=dict)
    # Since when each voter is known to be dead, or not to be registered.
    dead_since: dict[str, int] = field(factory=dict)
    progress: dict[Moving, CatchingUp] = field(factory=dict)
    standstills: Standstills = field(factory=Standstills)


class Controller:
    """One node's readiness to decide."""

    def __init__(self, node_id: str, options: ClusterOptions, random: Random) -> None:
        self.node_id = node_id
        # How often this node has come to office since it began.
        self.elections = 0
        self.liveness = Liveness(options.suspect_ns, options.dead_ns)
        self._options = options
        self._founders = options.founders
        self._random = random
        self._office: _Office | None = None
        # Whose process has certainly ended, by its incarnation: also what was noticed before coming to office counts.
        self._gone: dict[str, int] = {}

    @property
    def is_active(self) -> bool:
        """Whether this node decides."""
        return self._office is not None

    @property
    def term(self) -> int:
        """The term of the office; 0 out of it."""
        return self._office.term if self._office is not None else 0

    def became(self, now: int, term: int, state: ClusterState, before: str = "", silent_since: int = 0) -> None:
        """This node decides from here on; `state` is what is agreed.

        `before` is the controller before, if that is known; none was in touch with a majority after `silent_since`.
        """
        self.elections += 1
        self._office = _Office(term, now, now + _BALANCE_NS, now)
        self.liveness.begin(now, [])
        self.changed(now, state)
        if before != self.node_id and before in self._office.incarnations:
            # No right to lead that a controller has given lasts for longer than `dead_ns` from its last touch with a
            # majority. All others are given the time to be heard; that one's silence is why there is a new controller.
            options = self._options
            self.liveness.expect(before, max(silent_since + options.dead_ns, now + options.heartbeat_ns))
        self._expect_gone(now, state)

    def lost(self) -> None:
        """Another node decides, or none."""
        self._office = None
        self.liveness.begin(0, [])

    def changed(self, now: int, state: ClusterState) -> None:
        """What is agreed on of nodes or places is another: whoever has come is waited for, whoever is gone is not."""
        if self._office is None:
            return
        known = self._office.incarnations
        for node_id in sorted(state.nodes):
            node = state.nodes[node_id]
            if node.standing is not Standing.DEAD and known.get(node_id) != node.incarnation:
                # To register is to be heard of.
                known[node_id] = node.incarnation
                self.liveness.heard(now, node_id)
        for node_id in [*known]:
            if node_id not in state.nodes or state.nodes[node_id].standing is Standing.DEAD:
                del known[node_id]
                self.liveness.forget(node_id)
        self._office.tidy_at = min(self._office.tidy_at, now + _SOON_NS)

    def voters_agreed(self, now: int, voters: list[str]) -> None:
        """These vote, and that is agreed: if they are others than before, the next change is due."""
        if self._office is not None and voters != self._office.voters:
            self._office.voters = [*voters]
            self._office.voters_at = now

    def peer_gone(self, now: int, state: ClusterState, peer: str) -> None:
        """A node's process has certainly ended: it is dead, unless it is heard of before the next `wake`."""
        if peer in state.nodes:
            self._gone[peer] = state.nodes[peer].incarnation
            self._expect_gone(now, state)

    def peer_met(self, peer: str) -> None:
        """There is a link to a node: a process of it lives."""
        self._gone.pop(peer, None)

    def _expect_gone(self, now: int, state: ClusterState) -> None:
        """Wait no longer for those whose process, as it is registered, has ended; while in office, and once each."""
        if self._office is None:
            return
        gone, self._gone = self._gone, {}
        for node_id, incarnation in gone.items():
            node = state.nodes.get(node_id)
            if node is not None and node.incarnation == incarnation and node.standing is not Standing.DEAD:
                self.liveness.expect(node_id, now)

    # --- what nodes ask

    def heartbeat(
        self, now: int, state: ClusterState, request: NodeHeartbeat, silence_ns: int = 0
    ) -> NodeHeartbeatReply:
        """A node lives. One that is another process than is registered, or is taken for dead, is told so.

        `silence_ns` is for how long this controller has not been in touch with a majority of voters.
        """
        assert self._office is not None
        node = state.nodes.get(request.node_id)
        if node is None:
            return NodeHeartbeatReply(request.number, self._office.term, self.node_id, UNKNOWN, Standing.DEAD)
        if node.incarnation == request.incarnation and node.standing is not Standing.DEAD:
            self.liveness.heard(now, request.node_id)
            self._note(state, request)
            self._office.standstills.note(state, request.node_id, request.incarnation, request.logs)
        term, incarnation, standing = self._office.term, node.incarnation, node.standing
        return NodeHeartbeatReply(request.number, term, self.node_id, incarnation, standing, silence_ns)

    def _note(self, state: ClusterState, request: NodeHeartbeat) -> None:
        """Remember how far moves have come, in the eyes of those who lead."""
        assert self._office is not None
        progress = self._office.progress
        for one in request.catching_up:
            topic = state.topics.get(one.topic)
            placed = topic.placements.get(one.partition) if topic is not None else None
            key = (one.topic, one.partition, one.node_id)
            is_told = placed is not None and placed.leader == request.node_id and one.node_id in placed.adding
            if is_told and (len(progress) < _PROGRESS_MAX or key in progress):
                progress[key] = one

    def reassignments(self, state: ClusterState, _: DescribeReassignments) -> ReassignmentsReply:
        """The moves under way."""
        assert self._office is not None
        progress = self._office.progress
        moves: list[Reassignment] = []
        for name in sorted(state.topics):
            for number, placed in sorted(state.topics[name].placements.items()):
                if placed.adding or placed.removing:
                    known = [progress[name, number, one] for one in placed.adding if (name, number, one) in progress]
                    moves.append(
                        Reassignment(
                            name,
                            number,
                            placed.replicas,
                            placed.isr,
                            placed.leader,
                            placed.adding,
                            placed.removing,
                            known,
                        )
                    )
        under_way = {(one.topic, one.partition) for one in moves}
        for key in [key for key in progress if key[:2] not in under_way]:
            del progress[key]
        return ReassignmentsReply(moves)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        if self._office is None:
            return None
        office, dead = self._office, self.liveness.deadline()
        return min(office.tidy_at, office.voters_at, office.tidy_at if dead is None else dead)

    def wake(self, now: int, state: ClusterState, voters: list[str], has_log: Callable[[int, str], bool]) -> list[Ask]:
        """What is to be asked of the metadata; nobody waits for the answers.

        `voters` are voter ids; `has_log` says at a time of a node whether it has all that is agreed.
        """
        office = self._office
        if office is None:
            return []
        asks: list[Ask] = []
        if office.is_new and not state.cluster_id:
            asks.append(NameCluster(f"{self._random.getrandbits(128):032x}"))
        office.is_new = False
        asks += self._bury(now, state)
        if now >= office.tidy_at:
            office.tidy_at = now + _ROUND_NS
            asks += self._tidy(now, state, office)
            asks += self._move_office(state, voters)
        if now >= office.voters_at:
            office.voters_at = now + _VOTERS_NS
            asks += self._elect_voters(now, state, voters, has_log)
        return asks

    def _bury(self, now: int, state: ClusterState) -> list[Ask]:
        """Those that were not heard of, once more until it is agreed that they are dead."""
        asks: list[Ask] = []
        for node_id in self.liveness.dead(now):
            node = state.nodes.get(node_id)
            if node is not None and node.standing is not Standing.DEAD:
                asks.append(DeclareDead(node_id, node.incarnation))
                self.liveness.expect(node_id, now + _AGAIN_NS)
        return asks

    def _tidy(self, now: int, state: ClusterState, office: _Office) -> list[Ask]:
        settled: list[str] = []
        if now >= office.balance_at:
            office.balance_at = now + _BALANCE_NS
            settled = [one for one in sorted(state.nodes) if self.liveness.steady_ns(now, one) >= _SETTLED_NS]
        request = Tidy(settled)
        asks: list[Ask] = [*office.standstills.ended(state)]
        return [*asks, request] if plan_tidy(state, request) else asks

    def _move_office(self, state: ClusterState, voters: list[str]) -> list[Ask]:
        """A node that is to lead nothing decides nothing either, where another voter can."""
        own = state.nodes.get(self.node_id)
        if own is None or own.standing not in (Standing.DRAINING, Standing.STOPPING):
            return []
        able = [one for one in map(node_of, voters) if one in state.nodes and _is_able(state, one, voters)]
        return [MoveController(able[0])] if able else []

    def _elect_voters(
        self, now: int, state: ClusterState, voters: list[str], has_log: Callable[[int, str], bool]
    ) -> list[Ask]:
        assert self._office is not None
        dead_since = self._office.dead_since
        for voter in voters:
            node = state.nodes.get(node_of(voter))
            if node is None or node.standing is Standing.DEAD:
                dead_since.setdefault(voter, now)
            else:
                dead_since.pop(voter, None)
        change = next_change(
            state,
            voters,
            self._founders,
            lambda one: one in dead_since and now - dead_since[one] >= _VOTER_LOST_NS,
            lambda one: self.liveness.steady_ns(now, one) >= _VOTER_READY_NS and has_log(now, one),
        )
        return [change] if change is not None else []

    def check(self) -> None:
        """Assert the invariants."""
        self.liveness.check()
        assert self._office is not None or not self.liveness.nodes()


def _is_able(state: ClusterState, node_id: str, voters: list[str]) -> bool:
    """Whether a node votes, and is to lead."""
    return state.voter(node_id) in voters and state.nodes[node_id].standing is Standing.LIVE
