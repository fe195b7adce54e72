"""Batches of delayed messages: numbered by their producer, taken once, and told when their messages are due."""

from goqueue.core.records.batch import NO_EPOCH, NO_PRODUCER, NO_SEQUENCE, Codec
from goqueue.core.records.build import encode
from goqueue.core.records.headers import EXPIRES
from goqueue.core.records.record import iterate
from goqueue.core.requests.delays import DelayedMessage, GetDelayed
from goqueue.core.requests.messages import (
    Due,
    Fetch,
    Fetched,
    NewRecord,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.delays.test_delays_across_nodes import later, listed
from tests.core.driven_cluster import DrivenCluster
from tests.core.test_clustered_nodes import read, with_topic

PRODUCER = 1 << 40


def batch(
    *delays: tuple[int, bytes],
    sequence: int = NO_SEQUENCE,
    due: Due = Due.AFTER,
    codec: Codec = Codec.NONE,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> PublishBatch:
    """A batch of delayed messages, of a producer that numbers them if there is a sequence."""
    is_numbered = sequence != NO_SEQUENCE
    content = encode(
        [(time_ms, None, value, headers) for time_ms, value in delays],
        codec=codec,
        producer_id=PRODUCER if is_numbered else NO_PRODUCER,
        producer_epoch=0 if is_numbered else NO_EPOCH,
        base_sequence=sequence,
    )
    return PublishBatch("orders", 0, content, due=due)


def taken(cluster: DrivenCluster, name: str, request: PublishBatch) -> Published:
    """Where a batch went."""
    result = answered(cluster, name, request)
    assert isinstance(result, Published), result
    return result


def answered(cluster: DrivenCluster, name: str, request: PublishBatch) -> Published | Refusal:
    """What a batch was answered; it is copied, since the node stamps what it gets."""
    sent = PublishBatch(request.topic, request.partition, bytearray(request.batch), request.acks, due=request.due)
    reply = cluster.answer(name, sent)
    return reply.results[0] if isinstance(reply, PublishReply) else refusal_of(reply)


def refusal_of(reply: object) -> Refusal:
    """A reply that is a refusal."""
    assert isinstance(reply, Refusal), reply
    return reply


def code_of(cluster: DrivenCluster, name: str, request: PublishBatch) -> Code:
    """Why a batch was refused."""
    return refusal_of(answered(cluster, name, request)).code


def wall_ms(cluster: DrivenCluster) -> int:
    """The time as the leader has it."""
    return cluster.node(cluster.leader("orders")).clock.wall_ms(cluster.now)


def test_a_batch_that_comes_again_is_kept_once_and_is_due_as_it_was_at_first() -> None:
    cluster = with_topic()
    sent = batch((2_000, b"one"), (5_000, b"two"), sequence=0)
    first = taken(cluster, "n1", sent)
    due = [message.due_ms for message in listed(cluster, "n2")]
    assert due[1] - due[0] == 3_000
    assert (first.offset, first.due_ms, first.timestamp) == (0, due[1], due[1])
    cluster.advance(500)
    for name in cluster.living():
        assert taken(cluster, name, sent) == first
    assert [message.due_ms for message in listed(cluster, "n2")] == due
    cluster.advance(6_000)
    assert taken(cluster, "n1", sent) == first, "they were delivered, and are known all the same"
    cluster.advance(6_000)
    assert read(cluster, "n1") == [b"one", b"two"]


def test_what_a_dead_leader_has_acknowledged_is_known_to_the_next_and_after_a_restart() -> None:
    cluster = with_topic()
    sent = [batch((20_000, b"%d" % at), sequence=at) for at in range(3)]
    places = [taken(cluster, "n1", each) for each in sent]
    first = cluster.leader("orders")
    cluster.kill(first)
    cluster.until(lambda: cluster.leader("orders") not in ("", first))
    name = cluster.living()[0]
    assert [taken(cluster, name, each) for each in sent] == places
    cluster.start(first)
    for other in [one for one in cluster.living() if one != first]:
        cluster.kill(other)
        cluster.start(other)
    cluster.until(lambda: cluster.leader("orders") != "")
    cluster.advance(2_000)
    assert [taken(cluster, first, each) for each in sent] == places
    assert code_of(cluster, first, batch((1, b"x"), sequence=7)) is Code.OUT_OF_ORDER
    cluster.advance(30_000)
    assert read(cluster, first) == [b"0", b"1", b"2"]


def test_batches_that_wait_for_the_first_schedule_of_their_topic_are_taken_in_order() -> None:
    cluster = with_topic()
    asked = [cluster.ask("n1", batch((10_000, b"%d" % at), sequence=at)) for at in range(3)]
    cluster.advance(2_000)
    replies = [cluster.members["n1"].answers[to] for to in asked]
    assert [reply.results[0] for reply in replies if isinstance(reply, PublishReply)] == [
        Published(0, at, message.due_ms, message.due_ms) for at, message in enumerate(listed(cluster, "n2"))
    ]


def test_the_data_and_the_schedule_of_a_partition_are_numbered_apart() -> None:
    cluster = with_topic()
    content = encode([(wall_ms(cluster), None, b"now", ())], producer_id=PRODUCER, producer_epoch=0, base_sequence=0)
    assert taken(cluster, "n1", batch((1_000, b"later"), sequence=0)).offset == 0
    assert taken(cluster, "n1", PublishBatch("orders", 0, content)).due_ms == -1
    assert taken(cluster, "n1", PublishBatch("orders", 0, content)).offset == 0
    cluster.advance(3_000)
    assert read(cluster, cluster.leader("orders")) == [b"now", b"later"]


def test_times_may_be_absolute_or_past_and_expiry_counts_from_when_a_message_is_due() -> None:
    cluster = with_topic()
    now = wall_ms(cluster)
    result = taken(cluster, "n1", batch((now - 5_000, b"past"), (now + 3_000, b"coming"), due=Due.AT))
    assert result.due_ms == now + 3_000
    cluster.advance(1_000)
    fetched = cluster.answer(cluster.leader("orders"), Fetch("orders", 0, 0))
    assert isinstance(fetched, Fetched)
    [record] = iterate(fetched.batches)
    assert record.value == b"past"
    assert now <= record.timestamp < now + 1_000, "retention would take it for old"
    delayed = taken(cluster, "n1", batch((4_000, b"x"), headers=((EXPIRES, b"4500"),), codec=Codec.LZ4))
    shown = cluster.answer("n2", GetDelayed("orders", 0, delayed.offset))
    assert isinstance(shown, DelayedMessage)
    assert dict(shown.headers)[EXPIRES] == b"%d" % (delayed.due_ms + 500)


def test_what_cannot_be_meant_is_refused_and_nothing_of_it_kept() -> None:
    cluster = with_topic()
    far_ms = 253_402_300_800_000
    for request in (batch((far_ms, b"x"), due=Due.AT), batch((1, b"x"), (-1, b"y")), batch((-1, b"y"), due=Due.AT)):
        assert code_of(cluster, "n1", request) is Code.INVALID
    torn = batch((1, b"x"))
    torn.batch[-1] ^= 1
    assert code_of(cluster, "n1", torn) is Code.CORRUPT_BATCH
    many = batch(*[(60_000, bytes(900)) for _ in range(100)], sequence=0)
    assert code_of(cluster, "n1", many) is Code.TOO_LARGE
    assert taken(cluster, "n1", batch((60_000, bytes(90_000)), sequence=0)).offset == 0
    assert len(listed(cluster, "n1")) == 1


def test_single_messages_and_batches_share_a_schedule() -> None:
    cluster = with_topic()
    taken(cluster, "n1", batch((1_000, b"batch"), sequence=0))
    later(cluster, "n1", 1_000, b"single", partition=0)
    reply = cluster.answer("n2", Publish("orders", [NewRecord(None, b"more", partition=0, delay_ms=1_000)]))
    assert isinstance(reply, PublishReply)
    cluster.advance(3_000)
    assert sorted(read(cluster, cluster.leader("orders"))) == [b"batch", b"more", b"single"]


def test_a_leader_with_a_full_disk_writes_on_while_another_replica_could_take_over() -> None:
    cluster = with_topic()
    cluster.node(cluster.leader("orders")).disk_room(cluster.now, True)
    taken(cluster, "n1", batch((60_000, b"one"), sequence=0))


def test_a_full_disk_refuses_what_is_not_there_and_knows_what_is() -> None:
    cluster = with_topic(replicas=1)
    sent = batch((60_000, b"one"), sequence=0)
    cluster.until(lambda: isinstance(answered(cluster, "n1", sent), Published))
    first = taken(cluster, "n1", sent)
    cluster.node(cluster.leader("orders")).disk_room(cluster.now, True)
    assert code_of(cluster, "n1", batch((60_000, b"two"), sequence=1)) is Code.DISK_FULL
    assert taken(cluster, "n1", sent) == first
    assert len(listed(cluster, "n1")) == 1
