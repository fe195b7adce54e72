"""Captures of clusters are without the records of clients, and come out the same for all that."""

from random import Random

import pytest

from goqueue.core.capture.comparison import first_difference
from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.letters import Letters
from goqueue.core.capture.reading import ValueReader
from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.values import Run, ValueWriter
from goqueue.core.records.batch import HEADER_BYTES, stamp, validate
from goqueue.core.records.build import encode
from goqueue.core.replication.messages import Pulled, PulledPart, Verdict
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, Polled, PollGroup
from goqueue.core.requests.messages import (
    Due,
    Fetch,
    Fetched,
    NewRecord,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
    Side,
)
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.topics import CreateTopic
from tests.core.capture.test_captured_clusters import Notes, recorded_cluster
from tests.core.capture.traffic import VOCABULARY, fresh_node
from tests.core.driven_cluster import DrivenCluster
from tests.core.log.batches import WALL_MS

SECRET = Random(1).randbytes(400)


def batch(value: bytes = SECRET) -> bytearray:
    """A client's batch of three messages."""
    return encode([(WALL_MS, None, value, ())] * 3)


def cluster_of_three() -> tuple[DrivenCluster, list[Notes], str]:
    """A cluster with a topic, and the node that leads it."""
    cluster, notes = recorded_cluster()
    cluster.until(
        lambda: cluster.controller() != "" and all(len(cluster.node(one).peers()) == 2 for one in cluster.living())
    )
    cluster.answer("n1", CreateTopic("orders", 1, 3))
    cluster.until(lambda: cluster.leader("orders") != "")
    return cluster, notes, cluster.leader("orders")


def noted(notes: list[Notes]) -> list[bytes]:
    """What each node was told, as a capture has it."""
    for one in notes:
        one.cut()
    return [b"".join(block for _, _, block in one.files) for one in notes]


def test_batches_that_are_forwarded_copied_and_fetched_for_clients_are_kept_without_records() -> None:
    cluster, notes, leader = cluster_of_three()
    others = [name for name in cluster.living() if name != leader]
    for name in (leader, *others):
        assert isinstance(cluster.answer(name, PublishBatch("orders", 0, batch())), PublishReply)
    cluster.advance(1_000)
    for name in others:
        fetched = cluster.answer(name, Fetch("orders", 0, 0))
        assert isinstance(fetched, Fetched)
        assert SECRET in bytes(fetched.batches)
    assert not any(SECRET in block for block in noted(notes))
    assert all(one.told_again() > 100 for one in notes)


@pytest.mark.parametrize("due", [Due.AT, Due.AFTER])
def test_batches_that_are_due_later_are_kept_with_their_records(due: Due) -> None:
    """The leader builds the batch of the schedule from the records, whether a client or another node brought them."""
    cluster, notes, leader = cluster_of_three()
    others = [name for name in cluster.living() if name != leader]
    later = encode([((WALL_MS if due is Due.AT else 0) + 600_000, None, SECRET, ())] * 3)
    # The first makes the schedule, which the others find.
    for name in (leader, *others, leader):
        reply = cluster.answer(name, PublishBatch("orders", 0, bytearray(later), due=due))
        assert isinstance(reply, PublishReply)
        [published] = reply.results
        assert isinstance(published, Published)
        assert published.due_ms > WALL_MS
        cluster.advance(1_000)
    assert all(one.told_again() > 100 for one in notes)


@pytest.mark.parametrize("mode", GroupMode)
def test_what_members_read_by_way_of_other_nodes_is_kept_without_records(mode: GroupMode) -> None:
    """Each node has a member that waits for news: the leader, the coordinator, and who is neither."""
    cluster, notes, leader = cluster_of_three()
    for name in cluster.living():
        joined = cluster.answer(name, JoinGroup(f"of-{name}", ["orders"], mode=mode, session_timeout_ms=600_000))
        assert isinstance(joined, Joined), joined
        request = poll_of(mode, f"of-{name}", joined, wait_ns=5_000_000_000)
        waiting = cluster.ask(name, request)
        cluster.advance(1_000)
        assert isinstance(cluster.answer(leader, PublishBatch("orders", 0, batch())), PublishReply)
        answers = cluster.members[name].answers
        cluster.until(lambda waiting=waiting, answers=answers: waiting in answers)  # type: ignore[misc]
        polled = answers.pop(waiting)
        assert isinstance(polled, Polled | PolledWork)
        assert any(SECRET in bytes(part.batches) for part in polled.parts)
    assert not any(SECRET in block for block in noted(notes))
    assert all(one.told_again() > 100 for one in notes)


def poll_of(mode: GroupMode, group: str, joined: Joined, wait_ns: int) -> PollGroup | PollWork:
    """What a member of a group asks for."""
    if mode is GroupMode.SHARED:
        return PollWork(group, joined.member_id, wait_ns=wait_ns)
    return PollGroup(group, joined.member_id, joined.generation, wait_ns=wait_ns)


def test_single_messages_are_kept_whole_by_whoever_makes_batches_of_them_and_not_by_those_who_copy() -> None:
    cluster, notes, leader = cluster_of_three()
    cluster.answer(leader, Publish("orders", [NewRecord(None, SECRET)]))
    cluster.advance(1_000)
    blocks = noted(notes)
    names = list(cluster.members)
    assert [SECRET in block for block in blocks] == [name == leader for name in names]
    assert all(one.told_again() > 100 for one in notes)


@pytest.mark.parametrize(("config", "is_whole"), [({}, False), ({"key_ordered": True}, True)])
def test_what_a_queue_reads_of_the_disk_is_whole_only_where_it_looks_at_records(
    config: dict[str, object], *, is_whole: bool
) -> None:
    cluster, notes, leader = cluster_of_three()
    cluster.answer(leader, PublishBatch("orders", 0, batch()))
    cluster.advance(1_000)
    cluster.node(leader).forget_recent(cluster.now)
    joined = cluster.answer(leader, JoinGroup("mail", ["orders"], mode=GroupMode.SHARED, config=config))
    assert isinstance(joined, Joined)
    polled = cluster.answer(leader, PollWork("mail", joined.member_id, wait_ns=5_000_000_000))
    assert isinstance(polled, PolledWork)
    assert [SECRET in bytes(part.batches) for part in polled.parts] == [True]
    assert any(SECRET in block for block in noted(notes)) == is_whole
    assert all(one.told_again() > 100 for one in notes)


def pulled(run: bytearray, topic_id: int = 1, side: Side = Side.DATA) -> Pulled:
    """A letter with batches in it."""
    return Pulled(1, 1, True, [PulledPart(topic_id, 0, side, 1, 1, Verdict.GOES_ON, runs=[run])])


def test_what_a_node_writes_for_itself_and_what_is_damaged_is_kept_whole() -> None:
    letters = Letters(fresh_node())
    damaged = batch()
    damaged[-1] ^= 1
    cut_short = batch()[:-1]
    for letter in (pulled(batch(), side=Side.LEDGER), pulled(damaged), pulled(cut_short)):
        assert SECRET[:-8] in _spelled(letters.shortened("n2", letter))
    assert SECRET[:8] not in _spelled(letters.shortened("n2", pulled(batch() + batch(b"x" * 500))))


def _spelled(value: object) -> bytes:
    out = bytearray()
    ValueWriter(VOCABULARY, out, shares=False).write(value)
    return bytes(out)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_run_comes_back_as_long_with_the_same_heads_and_sound(kind: type) -> None:
    first, second, small = batch(), batch(b"y" * 2_000), batch(b"")
    content = kind(first + second + small)
    out = _spelled(Run(content, [(first, False), (second, True), (small, False)]))
    assert len(out) < len(second) + len(small) + 2 * HEADER_BYTES
    read = ValueReader(VOCABULARY, out).read()
    assert type(read) is kind
    assert isinstance(read, bytes | bytearray | memoryview)
    assert len(read) == len(content)
    assert bytes(read[: len(first)]) != first
    assert bytes(read[len(first) :]) == bytes(second + small)
    assert bytes(read[:HEADER_BYTES]) == first[:HEADER_BYTES]
    assert validate(read).record_count == 3


@pytest.mark.parametrize(("size", "kept"), [(100, 61), (1 << 40, 61), (50, 60), (500, 62)])
def test_a_batch_that_nothing_can_stand_for_is_an_error(size: int, kept: int) -> None:
    out = bytearray()
    writer = ValueWriter(VOCABULARY, out)
    writer.write(Run(b"", []))
    out[-1:] = b""
    writer.number(1)
    writer.number(size)
    writer.number(kept)
    with pytest.raises(CaptureError):
        ValueReader(VOCABULARY, bytes(out) + bytes(200)).read()


def test_letters_are_kept_whole_where_records_are_to_be_kept() -> None:
    recorder = Recorder(fresh_node(), VOCABULARY, keeps_records=True)
    recorder.receive(0, "n2", pulled(batch()))
    assert SECRET in recorder.take_block()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_batches_in_a_state_are_told_apart_by_the_heads_of_all_of_them(kind: type) -> None:
    first, second = batch(), batch(b"y" * 500)
    known = kind(first + second)
    stand_in = ValueReader(VOCABULARY, _spelled(Run(known, [(first, False), (second, False)]))).read()
    other = stamped_at(7, second)
    assert bytes(known) != bytes(stand_in)
    assert first_difference([known], [stand_in]) is None
    found = first_difference([known], [kind(first + other)])
    assert found is not None
    assert found.path == "node[0]"


def stamped_at(offset: int, content: bytearray) -> bytearray:
    """A batch as it would be at another offset."""
    stamped = bytearray(content)
    stamp(stamped, offset, 0)
    return stamped


def test_bytes_that_are_no_batches_are_compared_whole() -> None:
    long = bytes(200)
    assert first_difference([long], [bytes(200)]) is None
    assert first_difference([long], [long[:-1] + b"x"]) is not None
