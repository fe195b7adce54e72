"""A partition's place while it is being planned anew: who drops out, who leads, what a move comes to.

Theory: whatever was acknowledged is with every member of the ISR. So a leader is taken from the ISR alone, its last
member never drops out, and a node that may have lost something joins again only when it has caught up. The one
exception is chosen by a topic's setting, `unclean_leader_election`, and what it may lose is acknowledged messages.

Invariants: the ISR is a part of the replicas and never empty; the leader, if there is one, is in it; `leader_epoch`
rises whenever the leader changes, also to nobody, so that whoever led before is fenced.
"""

from collections.abc import Iterable

from attrs import define

from goqueue.core.cluster.apply import ClusterState, Placement, Topic
from goqueue.core.cluster.records import PartitionPlaced, Standing
from goqueue.core.cluster.topic_settings import setting

# Who may lead, the better ones first; a node that stops leads on only what nobody else can.
_ELECTABLE = (Standing.LIVE, Standing.DRAINING)


@define
class Draft:
    """One place, free to be changed; `record` says what it has become."""

    topic: str
    partition: int
    replicas: list[str]
    isr: list[str]
    leader: str
    leader_epoch: int
    version: int
    adding: list[str]
    removing: list[str]
    is_unclean_allowed: bool

    def record(self) -> PartitionPlaced:
        """The record that makes the place so."""
        self.check()
        return PartitionPlaced(
            self.topic,
            self.partition,
            self.replicas,
            self.isr,
            self.leader,
            self.leader_epoch,
            self.version + 1,
            self.adding,
            self.removing,
        )

    def differs(self, placed: Placement) -> bool:
        """Whether the place has become another."""
        return (self.replicas, self.isr, self.leader, self.leader_epoch, self.adding, self.removing) != (
            placed.replicas,
            placed.isr,
            placed.leader,
            placed.leader_epoch,
            placed.adding,
            placed.removing,
        )

    # --- who leads

    def appoint(self, node_id: str) -> None:
        """Let a node lead, or nobody; the same once more begins another epoch as well."""
        assert not node_id or node_id in self.isr
        self.leader = node_id
        self.leader_epoch += 1

    def elect(self, standings: dict[str, Standing], *, but: str = "") -> None:
        """Let somebody else than `but` lead who has everything, or nobody where there is no such node."""
        self.appoint(self.heir(standings, but))
        if not self.leader and self.is_unclean_allowed:
            self._elect_unclean(standings, but)

    def heir(self, standings: dict[str, Standing], but: str = "") -> str:
        """Who may lead instead of `but`, by the order of the replicas; nobody is empty."""
        # A replica that a move takes away leads only where no other can.
        lasting = [one for one in self.replicas if one not in self.removing]
        for standing in _ELECTABLE:
            for node_id in [*lasting, *self.removing]:
                if node_id != but and node_id in self.isr and standings.get(node_id) is standing:
                    return node_id
        return ""

    def _elect_unclean(self, standings: dict[str, Standing], but: str) -> None:
        for node_id in self.replicas:
            if node_id != but and standings.get(node_id) in _ELECTABLE:
                self.isr = [node_id]
                self.leader = node_id
                return

    # --- who is in sync

    def drop(self, node_id: str) -> None:
        """Take a node out of the ISR, where another one stays."""
        left = [one for one in self.isr if one != node_id]
        if left:
            self.isr = left

    def keep_in_sync(self, members: Iterable[str]) -> None:
        """Let the ISR be these, in the order of the replicas."""
        kept = [*members]
        self.isr = [one for one in self.replicas if one in kept]
        assert self.isr

    # --- moves

    @property
    def target(self) -> list[str]:
        """Where the partition is to be when the move under way, if there is one, is complete."""
        return [one for one in self.replicas if one not in self.removing]

    @property
    def origin(self) -> list[str]:
        """Where the partition was when the move under way, if there is one, began."""
        return [one for one in self.replicas if one not in self.adding]

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way."""
        return bool(self.adding or self.removing)

    def aim(self, target: list[str]) -> None:
        """Begin a move, or turn the one under way to another goal; the old replicas stay until the new are in sync."""
        origin = self.origin
        self.adding = [one for one in target if one not in origin]
        self.removing = [one for one in origin if one not in target]
        self.replicas = [*target, *self.removing]

    def forget(self, node_id: str) -> None:
        """Take a node out of the replicas, whatever it was among them; the last one stays."""
        assert self.replicas != [node_id]
        self.replicas = [one for one in self.replicas if one != node_id]
        self.adding = [one for one in self.adding if one != node_id]
        self.removing = [one for one in self.removing if one != node_id]
        if not self.target:
            # It was what the partition was being moved to: the move has no goal any more.
            self.removing = []

    def narrow(self, standings: dict[str, Standing]) -> bool:
        """Let go of members of the ISR that are replicas no more; False where nobody else has everything."""
        kept = [one for one in self.isr if one in self.replicas]
        if not kept:
            return False
        self.isr = kept
        if self.leader and self.leader not in kept:
            self.elect(standings)
        return True

    def finish_move(self, standings: dict[str, Standing]) -> bool:
        """End the move under way if its goal is reached: all that are to have the partition are in sync."""
        target = self.target
        if not self.is_moving or any(one not in self.isr for one in target):
            return False
        if not any(standings.get(one) in _ELECTABLE for one in target):
            return False
        self.replicas, self.adding, self.removing = target, [], []
        return self.narrow(standings)

    def check(self) -> None:
        """Assert the invariants."""
        assert self.isr
        assert self.target
        assert len(set(self.replicas)) == len(self.replicas)
        assert all(one in self.replicas for one in self.isr)
        assert not self.leader or self.leader in self.isr
        assert all(one in self.replicas for one in [*self.adding, *self.removing])


def draft(topic: Topic, partition: int) -> Draft:
    """The place of a partition as it is."""
    placed = topic.placements[partition]
    return Draft(
        topic.name,
        partition,
        [*placed.replicas],
        [*placed.isr],
        placed.leader,
        placed.leader_epoch,
        placed.version,
        [*placed.adding],
        [*placed.removing],
        bool(setting(topic.config, "unclean_leader_election")),
    )


def standings(state: ClusterState) -> dict[str, Standing]:
    """How each node is."""
    return {node_id: node.standing for node_id, node in state.nodes.items()}
