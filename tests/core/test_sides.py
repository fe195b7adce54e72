"""The streams of a partition besides its data: made on first need, there at every start, gone with their topic."""

from goqueue.core.cluster.records import METADATA_CODEC, SideAdded, TopicCreated
from goqueue.core.partition.partition import Partition
from goqueue.core.records.build import encode
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import Fetch, Fetched, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.metadata import AddSide
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, DeleteTopic, DescribeTopic, TopicReply
from tests.core.calls import own_call
from tests.core.driven_node import DrivenNode, opened_empty

LEDGER = "logs/orders/0/ledger"


def with_ledger(partitions: int = 1) -> DrivenNode:
    driven = DrivenNode().with_topic(partitions=partitions)
    assert driven.answer(AddSide("orders", Side.LEDGER)) is None
    return driven


def ledger(driven: DrivenNode) -> Partition:
    return driven.node.led.streams[LEDGER]


def write(driven: DrivenNode, value: bytes) -> None:
    """What a service of the node would ask for."""
    request = PublishBatch("orders", 0, encode([(0, b"k", value, ())]), side=Side.LEDGER)
    driven.node._perform(driven.now, own_call(1), request)
    driven.settle()


def test_every_partition_has_a_stream_more_once_it_was_asked_for() -> None:
    driven = with_ledger(partitions=2)
    assert sorted(driven.node.led.streams) == ["logs/orders/0", LEDGER, "logs/orders/1", "logs/orders/1/ledger"]
    assert ledger(driven).side is Side.LEDGER
    assert driven.answer(AddSide("orders", Side.LEDGER)) is None
    assert len(driven.node.led.streams) == 4


def test_whoever_asks_for_a_stream_is_answered_when_it_is_open_everywhere() -> None:
    driven = DrivenNode().with_topic(partitions=2)
    first, second = (driven.ask(AddSide("orders", Side.SCHEDULE)) for _ in range(2))
    ready = driven.write()
    driven.sync(ready.writes)
    opens = driven.write()
    assert not opens.sends
    assert [one.stream for one in opens.opens] == ["logs/orders/0/schedule", "logs/orders/1/schedule"]
    driven.sync(opens.writes)
    for wanted in opens.opens[:1]:
        driven.node.opened(0, wanted.stream, opened_empty(wanted.config))
    assert not [send for send in driven.write().sends if send.to in (first, second)]
    driven.node.opened(0, opens.opens[1].stream, opened_empty(opens.opens[1].config))
    answers = driven.settle()
    assert answers[first] is None
    assert answers[second] is None


def test_there_is_no_stream_more_for_a_topic_that_is_not_there() -> None:
    refusal = DrivenNode().answer(AddSide("nowhere", Side.LEDGER))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.TOPIC_NOT_FOUND


def test_a_start_opens_what_there_is() -> None:
    records = [TopicCreated("orders", 1, 1, "{}", 0), SideAdded("orders", Side.LEDGER)]
    driven = DrivenNode([METADATA_CODEC.encode(record) for record in records])
    assert sorted(one.stream for one in driven.take().opens) == ["logs/orders/0", LEDGER]


def test_a_snapshot_of_the_metadata_keeps_what_streams_there_are() -> None:
    driven = with_ledger()
    state = driven.node._leading.agreement.state
    again = DrivenNode([METADATA_CODEC.encode(state.snapshot())])
    assert sorted(one.stream for one in again.take().opens) == ["logs/orders/0", LEDGER]


def test_clients_see_nothing_of_it() -> None:
    driven = with_ledger()
    before = ledger(driven).high_watermark
    write(driven, b"secret")
    assert ledger(driven).high_watermark == before + 1
    described = driven.answer(DescribeTopic("orders"))
    assert isinstance(described, TopicReply)
    assert described.offsets == {0: (0, 0)}
    fetched = driven.answer(Fetch("orders", 0, 0))
    assert isinstance(fetched, Fetched)
    assert not fetched.batches


def test_the_data_goes_on_without_the_other_streams() -> None:
    driven = with_ledger()
    driven.node.disk_failed(0, LEDGER, "no room")
    reply = driven.answer(PublishBatch("orders", 0, encode([(0, None, b"v", ())])))
    assert isinstance(reply, PublishReply)
    assert isinstance(reply.results[0], Published)
    assert ledger(driven).log.unsound is not None


def test_another_stream_is_as_durable_as_the_data_and_kept_for_ever() -> None:
    driven = with_ledger()
    driven.answer(AlterTopic("orders", {"fsync": "none", "retention_hours": 1, "cleanup": "compact"}))
    config = ledger(driven).log.config
    assert config.fsync == "none"
    assert config.retention_ms == -1
    assert not config.cleanup.compacts


def test_whole_segments_are_trimmed() -> None:
    driven = with_ledger()
    write(driven, b"old")
    driven.node._perform(driven.now, own_call(1), RollSide("orders", 0, Side.LEDGER))
    kept = ledger(driven).log.next_offset
    write(driven, b"new")
    assert [segment.base for segment in ledger(driven).log.segments] == [0, kept]
    driven.node._perform(driven.now, own_call(1), TrimSide("orders", 0, Side.LEDGER, kept))
    driven.settle()
    assert [segment.base for segment in ledger(driven).log.segments] == [kept]


def test_what_is_deleted_goes_with_all_its_streams() -> None:
    driven = with_ledger()
    to = driven.ask(DeleteTopic("orders"))
    ready = driven.write()
    driven.sync(ready.writes)
    [removal] = driven.write().removes
    assert sorted(removal.streams) == ["logs/orders/0", LEDGER]
    assert not driven.node.led.streams
    driven.node.removed(0, removal.folder)
    assert driven.settle()[to] is None
