"""Producer ids: each handed out once, from blocks that are agreed on, and a new block in time."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.apply import FIRST_PRODUCER_ID, ClusterState
from goqueue.core.cluster.plan import PRODUCER_IDS_A_BLOCK, plan_producer_ids
from goqueue.core.cluster.producer_ids import ProducerIdSupply
from goqueue.core.cluster.proposals import Agreed
from goqueue.core.cluster.records import METADATA_CODEC, ProducerIds
from goqueue.core.quorum.entries import Entry
from goqueue.core.requests.messages import InitProducer, ProducerReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import CreateTopic
from tests.core.agreeing import Agreeing, Told, appended, found
from tests.core.calls import call

FIRST, SIZE = FIRST_PRODUCER_ID, PRODUCER_IDS_A_BLOCK


class Driven:
    """An agreement alone, with every entry that ever became durable."""

    def __init__(self, durable: list[Entry] | None = None) -> None:
        self.node = Agreeing("n1", None, durable)
        self.node.is_slow = True

    def ask(self, *to: int) -> list[Told]:
        """Ask for ids, and what is answered before the disk has done anything."""
        for one in to:
            self.node.ask(0, one, InitProducer())
        self.node.turn(0)
        return self.node.take_answers()

    def sync(self) -> list[Told]:
        """Let the disk do its work, and what is answered then."""
        self.node.work(0)
        self.node.turn(0)
        return self.node.take_answers()


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
    while not appended(driven.node.effects):
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
    again = Driven(driven.node.entries)
    again.ask(1)
    assert again.sync() == [(1, ProducerReply(FIRST + SIZE, 0))]


def test_whoever_waits_when_the_disk_fails_is_told_and_may_ask_again() -> None:
    driven = Driven()
    driven.ask(1, 2)
    driven.node.agreement.disk_failed(0, "EIO")
    refused = driven.node.take_answers()
    assert [(to, isinstance(answer, Refusal) and answer.code) for to, answer in refused] == [
        (1, Code.UNAVAILABLE),
        (2, Code.UNAVAILABLE),
    ]
    [(to, answer)] = driven.ask(3)
    assert isinstance(answer, Refusal)
    assert (to, answer.code) == (3, Code.UNAVAILABLE)
    # The block was written although nobody knew.
    lost = [Entry(0, 0, None, METADATA_CODEC.encode(ProducerIds(FIRST, FIRST + SIZE)))]
    driven.node.agreement.opened(0, found(0, lost), lost, None)
    assert driven.ask(4) == []
    assert driven.sync() == [(4, ProducerReply(FIRST + SIZE, 0))]


def test_ids_at_hand_outlast_a_disk_that_fails() -> None:
    driven = Driven()
    driven.ask(1)
    driven.sync()
    driven.node.agreement.disk_failed(0, "EIO")
    assert driven.node.take_answers() == []
    assert driven.ask(2) == [(2, ProducerReply(FIRST + 1, 0))]


def test_topics_and_ids_do_not_wait_for_each_other() -> None:
    driven = Driven()
    driven.node.ask(0, 1, CreateTopic("orders"))
    assert driven.ask(2) == []
    assert [(to, type(answer)) for to, answer in driven.sync()] == [(1, Agreed), (2, ProducerReply)]
    assert list(driven.node.agreement.state.topics) == ["orders"]


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
            supply.ask(call(asked))
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
