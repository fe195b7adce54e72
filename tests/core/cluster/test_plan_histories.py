"""Whatever nodes, leaders and operators do in whatever order, nobody leads who may lack what was acknowledged.

Every history runs against the simplest model of it: which nodes hold what was acknowledged last of each partition. A
publish is acknowledged when all of the ISR have it, and they are enough; a process that begins anew may have lost what
the one before it had.
"""

from collections.abc import Iterable, Iterator
from random import Random

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.draft import Draft, draft
from goqueue.core.cluster.duties import DeclareDead, EndStandstill, Tidy
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord
from goqueue.core.cluster.standstill import stands_still
from goqueue.core.requests.cluster import Drain, ElectLeaders, ForgetNode, LeaveNode, ReadmitNode, Reassign, ReplicaMove
from goqueue.core.requests.metadata import MakeOwnTopic
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import AddPartitions, AlterTopic, CreateTopic, DeleteTopic
from tests.core.cluster.gathered import Gathered, registration

TOPICS = ("a", "b", "a.dlq", "hasty", "__groups")
Slot = tuple[str, int, int]


@define
class Acknowledged:
    """What was acknowledged last of a partition, and who has that much."""

    count: int = 0
    holders: dict[str, int] = field(factory=dict)


class History:
    """A cluster, what a seed lets happen to it, and what its partitions hold."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Gathered(self.random.randint(1, 5), self.random.choice(["", "aabbc", "abcde"]))
        self.held: dict[Slot, Acknowledged] = {}
        self.unclean = 0
        self.refused = 0
        self.came_to: set[str] = set()

    @property
    def state(self) -> ClusterState:
        """What is agreed."""
        return self.cluster.state

    def node(self) -> str:
        """Some node."""
        return self.random.choice(sorted(self.state.nodes))

    def slots(self) -> Iterator[tuple[Slot, Placement]]:
        """All places."""
        for name in sorted(self.state.topics):
            topic = self.state.topics[name]
            for number, placed in topic.placements.items():
                yield (name, number, topic.topic_id), placed

    def step(self) -> None:
        """Something happens."""
        steps = [
            self.create, self.publish, self.publish, self.catch_up, self.catch_up, self.fall_behind, self.restart,
            self.restart, self.die, self.die, self.come_back, self.drain, self.leave, self.move, self.tidy, self.alter,
            self.other, self.lose_disk,
        ]  # fmt: skip
        self.random.choice(steps)()

    def attempt(self, request: object) -> None:
        """Ask for something that may be refused; what comes of it must hold."""
        before = {slot: evolve(placed) for slot, placed in self.slots()}
        plan = self.cluster.plan(request)
        if isinstance(plan, Refusal):
            assert plan.message
            self.refused += 1
            return
        self._apply(plan)
        self._compare(before, request)

    def _apply(self, plan: list[MetadataRecord]) -> None:
        for record in plan:
            self.state.apply(METADATA_CODEC.decode(METADATA_CODEC.encode(record)))
        self.state.check()

    def _compare(self, before: dict[Slot, Placement], request: object) -> None:
        for slot, placed in self.slots():
            held = self.held.setdefault(slot, Acknowledged())
            for one in placed.replicas:
                held.holders.setdefault(one, 0)
            old = before.get(slot)
            if old is not None and (old.leader, old.isr) != (placed.leader, placed.isr):
                assert placed.version > old.version
                assert placed.leader_epoch >= old.leader_epoch
                assert (placed.leader == old.leader) or placed.leader_epoch > old.leader_epoch
            if placed.leader:
                assert self.state.nodes[placed.leader].standing is not Standing.DEAD
                self._lead(slot, placed, old, request)
            if isinstance(request, ForgetNode | ReadmitNode) and request.accept_loss:
                # Whoever is to lead from here on decides what there is, whether it lives or not.
                held.count = min(held.count, *(held.holders[one] for one in placed.eligible or placed.replicas))
            assert slot[0] == "hasty" or all(held.holders[one] >= held.count for one in placed.eligible), (slot, placed)
            self.came_to |= {"elr"} if placed.elr else set()
            self.came_to |= {"standstill"} if stands_still(placed) else set()

    def _lead(self, slot: Slot, placed: Placement, old: Placement | None, request: object) -> None:
        held = self.held[slot]
        if held.holders[placed.leader] < held.count:
            is_accepted = isinstance(request, ForgetNode | ReadmitNode) and request.accept_loss
            is_alone = placed.replicas == [placed.leader]
            is_best = isinstance(request, EndStandstill) and held.holders[placed.leader] == max(
                held.holders[one] for one in placed.replicas
            )
            assert slot[0] == "hasty" or is_accepted or is_alone or is_best, (slot, placed, held)
            self.unclean += 1
            held.count = held.holders[placed.leader]
        if old is None or old.leader_epoch != placed.leader_epoch:
            # Followers cut what the leader of the epoch does not have.
            for one in held.holders:
                held.holders[one] = min(held.holders[one], held.holders[placed.leader])
        assert all(held.holders[one] >= held.count for one in placed.isr) or len(placed.isr) == 1

    # --- what happens

    def create(self) -> None:
        """Somebody makes a topic."""
        name = self.random.choice(TOPICS)
        partitions, replicas = self.random.randint(1, 3), self.random.randint(1, 4)
        if name == "__groups":
            self.attempt(MakeOwnTopic(name, 1, {}))
        else:
            config: dict[str, object] = {"unclean_leader_election": name == "hasty"}
            config["fsync"] = self.random.choice(["every", "every", "interval"])
            config["min_insync_replicas"] = self.random.choice([1, 2, 2, 3])
            self.attempt(CreateTopic(name, partitions, replicas, config))

    def publish(self) -> None:
        """Every partition that is led takes a message, and all who are in sync get it before it is acknowledged."""
        for slot, placed in self.slots():
            is_short = len(placed.isr) < draft(self.state.topics[slot[0]], slot[1]).min_isr
            if placed.leader and not is_short and self.random.random() < 0.7:
                held = self.held.setdefault(slot, Acknowledged())
                held.count += 1
                for one in placed.isr:
                    held.holders[one] = held.count

    def catch_up(self) -> None:
        """Leaders see their followers catch up, and say so; the report of some is about a process of the past."""
        for slot, _ in [*self.slots()]:
            placed = self.cluster.at(*slot[:2])
            live = [one for one in placed.replicas if self.state.nodes[one].standing is not Standing.DEAD]
            if placed.leader and self.random.random() < 0.8:
                joined = [one for one in live if one in placed.isr or self.random.random() < 0.8]
                isr = list(dict.fromkeys([placed.leader, *joined]))
                report = self.cluster.syncing(slot[0], isr, slot[1])
                held = self.held[slot]
                for one in isr:
                    held.holders[one] = max(held.holders[one], held.holders[placed.leader])
                if self.random.random() < 0.2:
                    self.restart()
                self.attempt(report)

    def fall_behind(self) -> None:
        """Leaders leave followers behind."""
        for slot, _ in [*self.slots()]:
            placed = self.cluster.at(*slot[:2])
            if placed.leader and self.random.random() < 0.3:
                isr = [one for one in placed.isr if one == placed.leader or self.random.random() < 0.5]
                self.attempt(self.cluster.syncing(slot[0], isr, slot[1], resigns=self.random.random() < 0.1))

    def restart(self) -> None:
        """A process ends, and begins anew with all that it had, or without what was not synced, or with nothing."""
        node_id, lost = self.node(), self.random.choice(["", "unsynced", "unsynced", "all"])
        for slot, held in self.held.items():
            topic = self.state.topics.get(slot[0])
            if lost == "all" or (lost == "unsynced" and topic is not None and topic.is_weak):
                held.holders[node_id] = self.random.choice([0, held.holders.get(node_id, 0) // 2])
        self.attempt(registration(node_id, self.state.nodes[node_id].incarnation + 1, lost=lost))

    def die(self) -> None:
        """A node is not heard of."""
        node_id = self.node()
        self.attempt(DeclareDead(node_id, self.state.nodes[node_id].incarnation))

    def come_back(self) -> None:
        """A node that was cut off is there again as the same process, or one comes that was not there."""
        known = self.state.nodes.get(f"n{self.random.randint(1, 6)}")
        incarnation = known.incarnation if known is not None else 1
        self.attempt(registration(known.node_id if known is not None else "n6", incarnation))

    def lose_disk(self) -> None:
        """A node dies with its disk, and an operator lets it come back without: what only it had may be gone."""
        node_id = self.node()
        if not self.state.nodes[node_id].disk_id:
            # It is still to come back from the last time.
            return
        self.attempt(DeclareDead(node_id, self.state.nodes[node_id].incarnation))
        self.attempt(ReadmitNode(node_id, accept_loss=self.random.random() < 0.5))
        if self.state.nodes[node_id].disk_id:
            return
        for held in self.held.values():
            held.holders[node_id] = 0
        for slot, placed in self.slots():
            assert placed.isr != [node_id] or placed.replicas == [node_id]
            assert placed.leader != node_id
            if placed.replicas == [node_id]:
                self.held[slot].count = 0
            assert node_id not in placed.elr or placed.replicas == [node_id]

    def drain(self) -> None:
        """An operator drains a node, or has it back."""
        self.attempt(Drain(self.node(), self.random.random() < 0.5))

    def leave(self) -> None:
        """A node stops as planned."""
        node_id = self.node()
        self.attempt(LeaveNode(node_id, self.state.nodes[node_id].incarnation))

    def move(self) -> None:
        """An operator moves a partition, or takes that back."""
        slots = [slot for slot, _ in self.slots()]
        if slots:
            name, number, _ = self.random.choice(slots)
            nodes = sorted(self.state.nodes)
            goal = self.random.sample(nodes, self.random.randint(0, min(3, len(nodes))))
            self.attempt(Reassign([ReplicaMove(name, number, goal)]))

    def tidy(self) -> None:
        """The controller brings into order what it can, also where all replicas have told how far their logs reach."""
        self.attempt(Tidy(sorted(self.state.nodes)))
        incarnations = {one: node.incarnation for one, node in self.state.nodes.items()}
        for slot, placed in [*self.slots()]:
            if stands_still(placed):
                held = self.held[slot]
                best = max(placed.replicas, key=lambda one: held.holders.get(one, 0))
                self.attempt(EndStandstill(*slot[:2], placed.leader_epoch, best, incarnations))

    def alter(self) -> None:
        """Somebody changes how many have to be in sync, or how durable messages are."""
        name = self.random.choice(TOPICS[:4])
        config: dict[str, object] = {"min_insync_replicas": self.random.randint(1, 3)}
        if self.random.random() < 0.5:
            config = {"fsync": self.random.choice(["every", "none"])}
        self.attempt(AlterTopic(name, config))

    def other(self) -> None:
        """What happens rarely."""
        name = self.random.choice(TOPICS)
        rare: list[object] = [
            ForgetNode(self.node(), accept_loss=self.random.random() < 0.3),
            AddPartitions(name, self.random.randint(1, 4)),
            ElectLeaders(),
            DeleteTopic(name),
        ]
        if len(self.state.nodes) > 1:
            self.attempt(self.random.choice(rare))


def _run(seeds: Iterable[int]) -> list[History]:
    histories = [History(seed) for seed in seeds]
    for history in histories:
        for _ in range(60):
            history.step()
    return histories


def _no_restart(*_: object, **__: object) -> None:
    """A process that begins anew stays where it was."""


def _anybody_may_join(*_: object) -> bool:
    """Nobody asks as which process a follower caught up."""
    return True


def _nothing_is_lost(*_: object, **__: object) -> bool:
    """Every process has what the one before it had."""
    return True


def _dropped_stay_eligible(draft: Draft, members: Iterable[str]) -> None:
    """Who leaves the ISR may lead, however many are left in it."""
    kept, had = [*members], draft.eligible
    draft.isr = [one for one in draft.replicas if one in kept]
    draft.elr = [one for one in draft.replicas if one in had and one not in draft.isr]
    draft.last = ""


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("plan_nodes._restart", _no_restart),
        ("plan_nodes._keeps_acknowledged", _nothing_is_lost),
        ("plan_isr._may_join", _anybody_may_join),
        ("draft.Draft.keep_in_sync", _dropped_stay_eligible),
    ],
)
def test_a_planted_bug_is_caught(name: str, planted: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"goqueue.core.cluster.{name}", planted)
    with pytest.raises(AssertionError):
        _run(range(600))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 1 << 32))
def test_nobody_leads_who_may_lack_what_was_acknowledged(seed: int) -> None:
    [history] = _run([seed])
    again = ClusterState()
    again.apply(METADATA_CODEC.decode(METADATA_CODEC.encode(history.state.snapshot())))
    assert again == history.state


def test_histories_come_to_what_they_are_to_show() -> None:
    histories = _run(range(60))
    assert any(history.unclean for history in histories)
    assert any(history.refused for history in histories)
    leaders = [placed for history in histories for _, placed in history.slots()]
    assert any(placed.leader_epoch > 5 for placed in leaders)
    assert any(not placed.leader for placed in leaders)
    assert any(placed.adding for placed in leaders)
    assert set().union(*(history.came_to for history in histories)) == {"elr", "standstill"}
