"""Producer ids: each handed out once, from blocks that are agreed on, and a new block in time."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import FIRST_PRODUCER_ID, ClusterState
from goqueue.core.cluster.plan import PRODUCER_IDS_A_BLOCK, plan_producer_ids
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord, ProducerIds
from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.effects import Sync
from goqueue.core.log.log import Log
from goqueue.core.metadata import METADATA_STREAM, Agreed, ExtendProducerIds, Metadata
from goqueue.core.producer_ids import ProducerIdSupply
from goqueue.core.verbs import Code, CreateTopic, InitProducer, ProducerReply, Refusal
from tests.core.driven_node import opened_empty
from tests.core.log.batches import WALL_MS, beginning

FIRST, SIZE = FIRST_PRODUCER_ID, PRODUCER_IDS_A_BLOCK


class Driven:
    """Metadata, with every record that ever became durable."""

    def __init__(self, durable: list[bytes] | None = None) -> None:
        self.durable = durable if durable is not None else []
        clock = Clock(0, WALL_MS)
        self.metadata = Metadata(
            Log(METADATA_STREAM, LogConfig(retention_ms=UNLIMITED), clock, opened_empty()), clock, 2
        )
        self.metadata.replay(self.durable)

    def ask(self, *to: int) -> list[tuple[int | None, ProducerReply | Refusal]]:
        """Ask for ids, and what is answered before the disk has done anything."""
        for one in to:
            self.metadata.ask(0, one, InitProducer())
        answers = self.metadata.plan_next(0)
        self.metadata.check()
        return answers

    def sync(self) -> list[tuple[int | None, ProducerReply | Refusal]]:
        """Let the disk do its work, and what is answered then."""
        answers = []
        for effect in self.metadata.log.take(0):
            if isinstance(effect, Sync):
                self.metadata.log.synced(0, effect.token)
                before = self.metadata.state.next_producer_id
                agreed = self.metadata.agreed(0)
                if agreed is not None and isinstance(agreed.request, ExtendProducerIds):
                    assert agreed == Agreed(None, ExtendProducerIds())
                    block: MetadataRecord = ProducerIds(before, self.metadata.state.next_producer_id)
                    self.durable.append(METADATA_CODEC.encode(block))
                answers += self.metadata.plan_next(0)
                self.metadata.check()
        return answers


def test_a_block_follows_the_one_before_it() -> None:
    state = ClusterState()
    for first in (FIRST, FIRST + SIZE):
        plan = plan_producer_ids(state)
        assert plan == [ProducerIds(first, first + SIZE)]
        assert isinstance(plan, list)
        state.apply(plan[0])
        state.check()


def test_a_snapshot_keeps_count_of_the_blocks() -> None:
    state, again = ClusterState(), ClusterState()
    state.apply(ProducerIds(FIRST, FIRST + SIZE))
    again.apply(METADATA_CODEC.decode(METADATA_CODEC.encode(state.snapshot())))
    assert again == state


def test_a_snapshot_of_the_first_version_knows_of_no_ids() -> None:
    # Kind 4, version 1, next topic id 1, no topics, nothing that is being removed.
    snapshot = METADATA_CODEC.decode(bytes((8, 2, 2, 0, 0)))
    state = ClusterState()
    state.apply(snapshot)
    assert state == ClusterState()


def test_the_first_id_waits_for_the_disk_and_the_others_do_not() -> None:
    driven = Driven()
    assert driven.ask(1, 2) == []
    assert driven.sync() == [(1, ProducerReply(FIRST, 0)), (2, ProducerReply(FIRST + 1, 0))]
    assert driven.ask(3) == [(3, ProducerReply(FIRST + 2, 0))]
    assert driven.sync() == []


def test_the_next_block_is_ordered_before_the_last_id_is_gone() -> None:
    driven = Driven()
    answers = driven.ask(0) + driven.sync()
    while not driven.metadata.log.take(0):
        answers += driven.ask(len(answers))
    assert len(answers) < SIZE, "somebody would have to wait"
    driven = Driven()
    answers = driven.ask(0) + driven.sync()
    for to in range(1, 3 * SIZE):
        answers += driven.ask(to)
        assert len(answers) == to + 1
        answers += driven.sync()
    assert answers == [(to, ProducerReply(FIRST + to, 0)) for to in range(3 * SIZE)]


def test_no_id_is_handed_out_again_after_a_restart() -> None:
    driven = Driven()
    driven.ask(1)
    assert driven.sync() == [(1, ProducerReply(FIRST, 0))]
    again = Driven(driven.durable)
    again.ask(1)
    assert again.sync() == [(1, ProducerReply(FIRST + SIZE, 0))]


def test_whoever_waits_when_the_disk_fails_is_told_and_may_ask_again() -> None:
    driven = Driven()
    driven.ask(1, 2)
    driven.metadata.log.take(0)
    refused = driven.metadata.disk_failed(0, "EIO")
    assert [(to, isinstance(answer, Refusal) and answer.code) for to, answer in refused] == [
        (1, Code.UNAVAILABLE),
        (2, Code.UNAVAILABLE),
    ]
    [(to, answer)] = driven.ask(3)
    assert isinstance(answer, Refusal)
    assert (to, answer.code) == (3, Code.UNAVAILABLE)
    # The block was written although nobody knew.
    lost = METADATA_CODEC.encode(ProducerIds(FIRST, FIRST + SIZE))
    driven.metadata.reopened(0, beginning(LogConfig(), 1), [lost])
    assert driven.ask(4) == []
    assert driven.sync() == [(4, ProducerReply(FIRST + SIZE, 0))]


def test_ids_at_hand_outlast_a_disk_that_fails() -> None:
    driven = Driven()
    driven.ask(1)
    driven.sync()
    assert driven.metadata.disk_failed(0, "EIO") == []
    assert driven.ask(2) == [(2, ProducerReply(FIRST + 1, 0))]


def test_topics_and_ids_do_not_wait_for_each_other_longer_than_a_change_takes() -> None:
    driven = Driven()
    driven.metadata.ask(0, 1, CreateTopic("orders"))
    assert driven.ask(2) == []
    assert driven.sync() == []
    assert driven.sync() == [(2, ProducerReply(FIRST, 0))]
    assert list(driven.metadata.state.topics) == ["orders"]


def test_a_thousand_may_wait_for_an_id_and_no_more() -> None:
    driven = Driven()
    refused = driven.ask(*range(1_002))
    assert [to for to, _ in refused] == [1_001, 1_000]


@given(st.lists(st.sampled_from(["ask", "receive", "refuse"]), max_size=60), st.integers(1, 150))
def test_every_id_goes_to_one_who_asked(deeds: list[str], size: int) -> None:
    supply, next_id, asked, ordered = ProducerIdSupply(), FIRST, 0, False
    ids: list[int] = []
    refused = 0
    for deed in deeds:
        if deed == "ask":
            asked += 1
            supply.ask(asked)
        elif ordered and deed == "receive":
            supply.received(ProducerIds(next_id, next_id + size))
            next_id, ordered = next_id + size, False
        elif ordered:
            refused += len(supply.refused(Refusal(Code.UNAVAILABLE, "no disk")))
            ordered = False
        ids += [answer.producer_id for _, answer in supply.hand_out() if isinstance(answer, ProducerReply)]
        supply.check()
        if supply.order():
            assert not ordered
            ordered = True
    assert len(set(ids)) == len(ids)
    assert all(FIRST <= one < next_id for one in ids)
    assert ordered or len(ids) + refused == asked
