"""A machine that loses its disk: its node begins again with an empty folder, and an operator lets it in again.

What nobody can get back is spared. A voter's disk goes only while all others have theirs, so that a majority keeps
what was agreed. And it is emptied only once the metadata says that the node is dead and in sync with no partition, so
that others have what was acknowledged; until then the machine is down. Other machines may be down, too, at any time.

The operator readmits the node, or forgets it, and asks until the cluster knows the new disk. Invariant: of all nodes
that vote at most one lacks the disk that it votes with.
"""

from random import Random
from typing import TYPE_CHECKING

from goqueue.core.quorum.voter_id import voter_id
from goqueue.core.requests.cluster import ForgetNode, ReadmitNode
from goqueue.core.requests.row import Request
from goqueue.core.requests.standing import Standing
from goqueue.fuzz.insight import agreed_state, are_voters_agreed, voters

if TYPE_CHECKING:
    from goqueue.fuzz.calamities import Calamity
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_LOOK_NS = 500_000_000
# How long a machine waits at most for others to be in sync without it.
_PATIENCE_NS = 20_000_000_000
_OPERATOR_NS = 4_000_000_000
_START_NS = 300_000_000
_P_ELECTION = 0.8
# How often a calamity looks whether the cluster can do without a machine.
_MOMENTS_MAX = 20


class Wiping:
    """Empties one disk at a time."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random
        self._victim: Process | None = None
        self._is_emptied = False
        self._forgets = False

    def strike(self, calamity: "Calamity", process: "Process") -> None:
        """Take a machine down as soon as the cluster can do without it, to empty its disk when that may be."""
        self._await_moment(_MOMENTS_MAX, calamity, process)

    def _await_moment(self, moments: int, calamity: "Calamity", process: "Process") -> None:
        if self._victim is not None or self._world.is_healed or not moments:
            return
        if not self._is_whole(process):
            self._world.later(_LOOK_NS, lambda _: self._await_moment(moments - 1, calamity, process))
            return
        self._victim, self._is_emptied = process, False
        self._forgets = self._random.random() < 0.3
        process.die(crash=True, down_ns=_PATIENCE_NS)
        self._world.later(calamity.lasts_ns, self._empty)

    def _is_whole(self, process: "Process") -> bool:
        """Whether all nodes are there and agree who votes, each with the disk that it has, and can do without one."""
        present = [self._voter(one) for one in self._world.processes]
        lists: list[list[str]] = []
        for one in self._world.processes:
            if one.node is None or not one.node.has_metadata or not are_voters_agreed(one.node):
                return False
            lists.append(voters(one.node))
        voting = lists[0]
        is_odd = len(voting) % 2 == 1 and all(one == voting for one in lists)
        can_spare = len(voting) >= 3 or self._voter(process) not in voting
        return is_odd and can_spare and all(one in present for one in voting)

    def _voter(self, process: "Process") -> str:
        assert process.cluster is not None
        return voter_id(process.node_id, process.cluster.disk_id)

    # --- the disk

    def _empty(self, _: object = None) -> None:
        """Empty the disk as soon as nothing is only there."""
        process = self._victim
        assert process is not None
        if process.is_up or self._world.is_healed:
            self._victim = None
        elif self._is_needed(process.node_id):
            self._world.later(_LOOK_NS, self._empty)
        else:
            process.wipe()
            self._is_emptied = True
            self._world.later(self._random.randint(0, _OPERATOR_NS), self._let_in)
            if self._random.random() < _P_ELECTION:
                self._world.later(self._random.randint(_START_NS, _OPERATOR_NS), self._end_office)

    def _end_office(self, _: object = None) -> None:
        """Have the others elect somebody while a machine has an empty disk: its vote must not count."""
        for process in self._world.living():
            if process.node is not None and process.node.is_controller and not self._world.is_healed:
                process.die(crash=False, down_ns=self._random.randint(_START_NS, _OPERATOR_NS))
                return

    def _is_needed(self, node_id: str) -> bool:
        """Whether a node may be needed for what a partition has, or is to have, as far as anybody knows who lives."""
        node = self._world.sight.node()
        if node is None:
            return True
        state = agreed_state(node)
        known = state.nodes.get(node_id)
        is_dead = known is not None and known.standing is Standing.DEAD
        topics = state.topics.values()
        return not is_dead or any(
            node_id in one.eligible or not one.eligible for topic in topics for one in topic.placements.values()
        )

    # --- the operator

    def _let_in(self, _: object = None) -> None:
        """Ask for the node to be let in, until all know its new disk and it votes."""
        world, process = self._world, self._victim
        assert process is not None
        if not self.unrest():
            self._victim = None
            return
        if self._is_strange(process) and world.living():
            request: Request = ForgetNode(process.node_id) if self._forgets else ReadmitNode(process.node_id)
            world.ask(request)
        world.later(_LOOK_NS + self._random.randint(0, _LOOK_NS), self._let_in)

    def _is_strange(self, process: "Process") -> bool:
        """Whether the cluster knows the node by the disk that it has lost."""
        node = self._world.sight.node()
        known = None if node is None else agreed_state(node).nodes.get(process.node_id)
        assert process.cluster is not None
        return known is not None and known.disk_id not in ("", process.cluster.disk_id)

    def unrest(self) -> str:
        """Why the cluster is not whole again; empty when it is, or no disk was emptied."""
        process = self._victim
        if process is None or not self._is_emptied:
            return ""
        return "" if self._is_whole(process) else f"{process.node_id} has lost its disk and is not back"
