"""An operator who makes a cluster larger and smaller while clients work.

One node founds the cluster, and the others join it within its first seconds (`founding.py`). The operator gives
partitions replicas on the nodes that have joined. Later some nodes leave for good, one after another: each is drained,
its partitions are moved to others, its process is stopped, and it is forgotten. Some of them come back, with the folder
that they had or with an empty one, and some stay away until the end.

What nobody can get back is spared: a node leaves only where the other voters that have not left are a majority, so that
it can be agreed on that it is forgotten. Two voters are therefore the fewest. A node that is stopped and cannot be
forgotten comes back when nothing fails any more, for only it has a partition, or a vote.
"""

from random import Random
from typing import TYPE_CHECKING

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.plan import is_own
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.cluster import Drain, ForgetNode, Reassign, ReplicaMove
from goqueue.core.requests.row import Request
from goqueue.core.requests.standing import Standing
from goqueue.fuzz.insight import agreed_state, are_voters_agreed, voters

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_S = 1_000_000_000
_LOOK_NS = _S
_LEAST_NODES = 2
# How long the operator waits for a node's partitions to be elsewhere, before it is stopped all the same.
_PATIENCE_NS = 8 * _S
_AWAY_NS = 6 * _S
_P_IMPATIENT = 0.2
_P_BACK = 0.6
_P_EMPTY = 0.4


class Growing:
    """Looks at the cluster each second, and takes the next step."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random
        names = world.options.nodes
        self._least = random.randint(_LEAST_NODES, max(names - 1, _LEAST_NODES))
        self._leave_at = int(world.options.seconds * _S * (0.3 + 0.3 * random.random()))
        self._stop_by = 0
        self._leaver: Process | None = None
        # Who has left and was forgotten.
        self._away: list[Process] = []

    def begin(self) -> None:
        """Let the operator look for the first time."""
        self._world.later(2 * _S, self._look)

    def _look(self, _: object) -> None:
        world = self._world
        if world.is_healed:
            return
        node = world.sight.node()
        if node is not None and world.living():
            state = agreed_state(node)
            if self._leaver is not None:
                self._see_off(self._leaver, state)
            elif world.now >= self._leave_at:
                self._choose(state)
            self._spread(state)
        world.later(_LOOK_NS // 2 + int(self._random.random() * _LOOK_NS), self._look)

    def _ask(self, request: Request) -> None:
        if self._world.living():
            self._world.ask(request)

    # --- larger

    def _spread(self, state: ClusterState) -> None:
        """Give partitions replicas on more nodes, and now and then on others."""
        staying = self._staying(state)
        wanted = min(self._world.options.replicas_max, len(staying))
        for name, number, placed in _places(state):
            is_moving = placed.adding or placed.removing
            is_short = len(placed.replicas) < wanted
            if is_moving or not (is_short or self._random.random() < 0.02):
                continue
            kept = [one for one in placed.replicas if one in staying] if is_short else []
            others = [one for one in staying if one not in kept]
            replicas = [*kept, *self._random.sample(others, len(others))][:wanted]
            if replicas:
                self._ask(Reassign([ReplicaMove(name, number, replicas)]))

    def _staying(self, state: ClusterState) -> list[str]:
        """The nodes that have joined, live, and are not about to leave."""
        leaver = "" if self._leaver is None else self._leaver.node_id
        return [name for name, known in state.nodes.items() if known.standing is Standing.LIVE and name != leaver]

    # --- smaller

    def _choose(self, state: ClusterState) -> None:
        """Let one more node leave, if enough stay."""
        present = [one for one in self._world.processes if one.node_id in state.nodes and not one.is_retired]
        if len(present) <= self._least:
            return
        leaver = self._random.choice(present)
        if self._can_decide_without(leaver):
            self._world.count("node that is to leave")
            self._leaver = leaver
            is_patient = self._random.random() >= _P_IMPATIENT
            self._stop_by = self._world.now + (_PATIENCE_NS if is_patient else _S)

    def _can_decide_without(self, leaver: "Process") -> bool:
        """Whether the voters that stay are a majority, as it is agreed."""
        node = self._world.sight.node()
        if node is None or not are_voters_agreed(node):
            return False
        leaving = {one.node_id for one in self._world.processes if one.is_retired or one is leaver}
        voting = [node_of(one) for one in voters(node)]
        return 2 * sum(one not in leaving for one in voting) > len(voting)

    def _see_off(self, leaver: "Process", state: ClusterState) -> None:
        """Take the next step of a node that leaves."""
        name = leaver.node_id
        if not leaver.is_retired:
            held = [(topic, number) for topic, number, placed in _places(state) if name in placed.replicas]
            if held and self._world.now < self._stop_by:
                self._empty(name, state)
            elif self._can_decide_without(leaver):
                leaver.retire()
        elif name in state.nodes:
            if state.nodes[name].standing is Standing.DEAD and not leaver.is_up:
                self._ask(ForgetNode(name))
        elif not leaver.is_up and self._is_no_voter(leaver):
            self._world.count("node that has left")
            self._leaver = None
            self._away.append(leaver)
            if self._random.random() < _P_BACK:
                self._world.later(self._random.randint(0, _AWAY_NS), self._come_back, leaver)

    def _empty(self, name: str, state: ClusterState) -> None:
        """Drain a node, and move what it has to others."""
        if name in state.nodes and state.nodes[name].standing is Standing.LIVE:
            self._ask(Drain(name))
        staying = self._staying(state)
        for topic, number, placed in _places(state):
            goal = [one for one in placed.replicas if one not in placed.removing]
            if name in goal and staying:
                kept = [one for one in goal if one in staying]
                others = [one for one in staying if one not in kept]
                replicas = [*kept, *self._random.sample(others, len(others))][: len(goal)]
                self._ask(Reassign([ReplicaMove(topic, number, replicas)]))

    def _is_no_voter(self, process: "Process") -> bool:
        """Whether it is agreed that a node votes no more."""
        node = self._world.sight.node()
        voting = [] if node is None else [node_of(one) for one in voters(node)]
        return node is not None and are_voters_agreed(node) and process.node_id not in voting

    # --- and back

    def _come_back(self, process: "Process") -> None:
        """A node that has left joins anew."""
        if self._world.is_healed or process not in self._away:
            return
        self._away.remove(process)
        self._world.count("node that has come back")
        process.is_retired = False
        if self._random.random() < _P_EMPTY:
            process.wipe()
        else:
            process.down_until = self._world.now
            self._world.later(0, process.start)

    def heal(self) -> None:
        """Nothing fails any more: those that have not been forgotten come back, and those that have stay away."""
        for process in self._world.processes:
            if process.is_retired and process not in self._away:
                process.is_retired = False


def _places(state: ClusterState) -> list[tuple[str, int, Placement]]:
    """Where the partitions of clients' topics are."""
    topics = [(name, state.topics[name]) for name in sorted(state.topics) if not is_own(name)]
    return [(name, number, topic.placements[number]) for name, topic in topics for number in sorted(topic.placements)]
