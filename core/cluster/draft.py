"""A partition's place while it is being planned anew: who drops out, who leads, what a move comes to.

Theory: whatever was acknowledged is with every member of the ISR. While the ISR has fewer members than
`min_insync_replicas`, the leader acknowledges nothing with `acks=all`, so who leaves the ISR then still has everything
that was acknowledged: it goes to the ELR, the eligible leader replicas. A leader is taken from the ISR, or else from
the ELR. Who may have lost something leaves both, and comes back to the ISR only when it has caught up.

The last member of the ISR stays in it when it dies, and is waited for. When it has lost something itself and the ELR is
empty, no replica is known to have everything: then all replicas tell the controller how far their logs reach, and the
longest log leads (`standstill.py`). A partition with one replica has nothing to compare: that replica leads.

The one exception is chosen by a topic's setting, `unclean_leader_election`, or by an operator, and what it may lose is
acknowledged messages.

Invariants: ISR and ELR are disjoint parts of the replicas; the leader, if there is one, is in the ISR, so the ISR is
empty only where nobody leads; the ELR is empty while the ISR has enough members; `leader_epoch` rises whenever the
leader changes, also to nobody, so that whoever led before is fenced.
"""

from collections.abc import Iterable

from attrs import define

from goqueue.core.cluster.apply import ClusterState, Placement, Topic
from goqueue.core.cluster.records import PartitionPlaced
from goqueue.core.cluster.topic_settings import setting
from goqueue.core.requests.standing import Standing

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
    elr: list[str]
    last: str
    is_unclean_allowed: bool
    min_isr: int
    # Whether a power cut may take from a replica what it has acknowledged.
    is_weak: bool

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
            self.elr,
            self.last,
        )

    def differs(self, placed: Placement) -> bool:
        """Whether the place has become another."""
        own = self.replicas, self.isr, self.leader, self.leader_epoch, self.adding, self.removing, self.elr, self.last
        return own != (
            placed.replicas,
            placed.isr,
            placed.leader,
            placed.leader_epoch,
            placed.adding,
            placed.removing,
            placed.elr,
            placed.last,
        )

    # --- who leads

    def appoint(self, node_id: str) -> None:
        """Let a node lead, or nobody; the same once more begins another epoch as well."""
        assert not node_id or node_id in self.isr
        self.leader = node_id
        self.leader_epoch += 1

    def elect(self, standings: dict[str, Standing], *, but: str = "") -> None:
        """Let somebody else than `but` lead who has everything, or nobody where there is no such node."""
        heir = self.heir(standings, but)
        unclean = self.unclean_heir(standings, but) if not heir and self.is_unclean_allowed else ""
        if unclean:
            self.seat(unclean)
            return
        if heir and heir not in self.isr:
            self.keep_in_sync([heir])
        self.appoint(heir)

    def heir(self, standings: dict[str, Standing], but: str = "") -> str:
        """Who may lead instead of `but`, from the ISR and else from the ELR; nobody is empty."""
        return self.successor(standings, but) or self._first_of(self.elr, standings, but)

    def successor(self, standings: dict[str, Standing], but: str = "") -> str:
        """Who of the ISR may lead instead of `but`, by the order of the replicas; nobody is empty."""
        return self._first_of(self.isr, standings, but)

    def _first_of(self, members: list[str], standings: dict[str, Standing], but: str) -> str:
        # A replica that a move takes away leads only where no other can.
        lasting = [one for one in self.replicas if one not in self.removing]
        for standing in _ELECTABLE:
            for node_id in [*lasting, *self.removing]:
                if node_id != but and node_id in members and standings.get(node_id) is standing:
                    return node_id
        return ""

    def unclean_heir(self, standings: dict[str, Standing], but: str = "") -> str:
        """Who leads where loss is accepted: who was the last to have everything, or else any replica that lives."""
        return self._first_of([self.last], standings, but) or self._first_of(self.replicas, standings, but)

    def seat(self, node_id: str) -> None:
        """Let a replica lead that may lack what was acknowledged: the others follow its log."""
        self.isr, self.elr, self.last = [node_id], [], ""
        self.appoint(node_id)

    # --- who is in sync, or has everything all the same

    @property
    def eligible(self) -> list[str]:
        """Who has everything that was acknowledged, as far as is known."""
        return [*self.isr, *self.elr]

    def drop(self, node_id: str) -> None:
        """Take a node out of the ISR, where another one stays; what it has it keeps."""
        left = [one for one in self.isr if one != node_id]
        if left and left != self.isr:
            self.keep_in_sync(left)

    def forfeit(self, node_id: str) -> None:
        """A node may have lost what was acknowledged: it may not lead, unless there is no other replica."""
        if node_id not in self.eligible or self.replicas == [node_id]:
            return
        if self.eligible == [node_id]:
            self.last = node_id
        self.isr = [one for one in self.isr if one != node_id]
        self.elr = [one for one in self.elr if one != node_id]

    def keep_in_sync(self, members: Iterable[str]) -> None:
        """Let the ISR be these, in the order of the replicas; the ELR follows from that."""
        kept, had = [*members], self.eligible
        self.isr = [one for one in self.replicas if one in kept]
        assert self.isr
        is_short = len(self.isr) < self.min_isr
        self.elr = [one for one in self.replicas if one in had and one not in self.isr] if is_short else []
        self.last = ""

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
        self.isr = [one for one in self.isr if one != node_id]
        self.elr = [one for one in self.elr if one != node_id]
        self.last = self.last if self.last != node_id else ""
        if self.leader == node_id:
            self.appoint("")
        if not self.target:
            # It was what the partition was being moved to: the move has no goal any more.
            self.removing = []

    def narrow(self, standings: dict[str, Standing]) -> bool:
        """Let go of members of the ISR that are replicas no more; False where nobody else has everything."""
        isr = [one for one in self.isr if one in self.replicas]
        elr = [one for one in self.elr if one in self.replicas]
        if self.eligible and not isr and not elr:
            return False
        self.isr, self.elr = isr, elr
        self.last = self.last if self.last in self.replicas else ""
        if self.leader and self.leader not in isr:
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
        assert self.target
        assert len(set(self.replicas)) == len(self.replicas)
        assert all(one in self.replicas for one in self.eligible)
        assert len(set(self.eligible)) == len(self.eligible)
        assert not self.elr or len(self.isr) < self.min_isr
        assert not self.last or (self.last in self.replicas and not self.eligible)
        assert not self.leader or self.leader in self.isr
        assert all(one in self.replicas for one in [*self.adding, *self.removing])


def draft(topic: Topic, partition: int) -> Draft:
    """The place of a partition as it is."""
    placed = topic.placements[partition]
    min_isr = setting(topic.config, "min_insync_replicas")
    assert isinstance(min_isr, int)
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
        [*placed.elr],
        placed.last,
        bool(setting(topic.config, "unclean_leader_election")),
        min_isr,
        topic.is_weak,
    )


def standings(state: ClusterState) -> dict[str, Standing]:
    """How each node is."""
    return {node_id: node.standing for node_id, node in state.nodes.items()}
