"""The way of one message through a cluster, as the captures of its nodes tell it."""

import pytest

from goqueue.core.capture.following import Witness
from goqueue.core.capture.replay import Replayer
from goqueue.core.capture.timeline import Kind, Place, Step, merged
from goqueue.core.requests.groups import CommitOffsets, CommittedOffsets, GroupMode, Joined, JoinGroup, PartitionOffset
from goqueue.core.requests.messages import (
    Acks,
    Fetch,
    Fetched,
    NewRecord,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.queues import AckWork, NackWork, PolledWork, PollWork, ReceiptRun, RejectWork, WorkDone
from goqueue.core.requests.topics import CreateTopic
from tests.core.capture.test_captured_clusters import Notes, recorded_cluster
from tests.core.capture.traffic import VOCABULARY
from tests.core.driven_cluster import DrivenCluster
from tests.core.driven_node import stored
from tests.core.log.batches import WALL_MS


def started() -> tuple[DrivenCluster, list[Notes]]:
    """Three nodes that know each other, and a topic with a message in it."""
    cluster, notes = recorded_cluster()
    cluster.until(
        lambda: cluster.controller() != "" and all(len(cluster.node(one).peers()) == 2 for one in cluster.living())
    )
    cluster.answer("n1", CreateTopic("orders", 1, 3))
    cluster.until(lambda: cluster.leader("orders") != "")
    published(cluster, "n1", b"first")
    return cluster, notes


def published(cluster: DrivenCluster, node: str, value: bytes) -> int:
    """Publish a message through a node; its offset."""
    reply = cluster.answer(node, Publish("orders", [NewRecord(b"k", value)]))
    assert isinstance(reply, PublishReply)
    [result] = reply.results
    assert isinstance(result, Published)
    return result.offset


def followed(notes: list[Notes], place: Place) -> list[Step]:
    """What the nodes' captures say of a message."""
    witnesses = [told_again(one, place) for one in notes]
    assert not any(witness.is_full for witness in witnesses)
    return merged([witness.steps for witness in witnesses])


def told_again(notes: Notes, place: Place) -> Witness:
    """Who was there while a node was told its notes again."""
    notes.cut()
    witness = Witness(place)
    replayer = Replayer(VOCABULARY, witness.heard)
    for first, content, block in notes.files:
        assert (replayer.begin(content, first) or (replayer.feed(block) if block else None)) is None
    return witness


def on(steps: list[Step], node: str) -> list[str]:
    """What happened on one node, and with whom."""
    return [f"{step.kind} {step.peer}".rstrip() for step in steps if step.node == node]


def roles(cluster: DrivenCluster) -> tuple[str, str, str]:
    """The leader of the topic, the node that a client asks, and the third."""
    leader = cluster.leader("orders")
    origin, other = [one for one in cluster.living() if one != leader]
    return leader, origin, other


def test_a_publish_through_a_follower_is_followed_from_the_client_to_a_reader() -> None:
    cluster, notes = started()
    leader, origin, other = roles(cluster)
    offset = published(cluster, origin, b"followed")
    cluster.advance(1_000)
    reply = cluster.answer(origin, Fetch("orders", 0, offset))
    assert isinstance(reply, Fetched)
    steps = followed(notes, Place("orders", 0, offset))
    assert on(steps, origin) == [
        "asked", f"forwarded {leader}", f"received {leader}", "copied", "durable", f"confirmed {leader}",
        f"learned {leader}", "answered", f"learned {leader}", "delivered",
    ]  # fmt: skip
    assert on(steps, other) == [f"received {leader}", "copied", "durable", f"confirmed {leader}"]
    assert sorted(on(steps, leader)) == sorted([
        f"accepted {origin}", "appended", f"sent {origin}", f"sent {other}", "durable", f"heard {origin}",
        f"heard {other}", "visible", f"returned {origin}", f"returned {origin}",
    ])  # fmt: skip
    epoch = cluster.node(leader).led.streams["logs/orders/0"].leader_epoch
    [appended] = [step for step in steps if step.kind is Kind.APPENDED]
    assert appended.detail.startswith(f"offset {offset}, epoch {epoch}, ")


def test_nothing_comes_before_what_it_follows_from() -> None:
    cluster, notes = started()
    leader, origin, other = roles(cluster)
    offset = published(cluster, origin, b"followed")
    steps = followed(notes, Place("orders", 0, offset))
    told = [(step.node, step.kind, step.peer) for step in steps]
    way = [
        (origin, Kind.ASKED, ""), (origin, Kind.FORWARDED, leader), (leader, Kind.ACCEPTED, origin),
        (leader, Kind.APPENDED, ""), (leader, Kind.SENT, other), (other, Kind.RECEIVED, leader),
        (other, Kind.COPIED, ""), (other, Kind.DURABLE, ""), (other, Kind.CONFIRMED, leader),
        (leader, Kind.HEARD, other), (leader, Kind.VISIBLE, ""), (leader, Kind.RETURNED, origin),
        (origin, Kind.LEARNED, leader), (origin, Kind.ANSWERED, ""),
    ]  # fmt: skip
    assert [one for one in told if one in way] == way
    assert [step.wall_ns for step in steps] == sorted(step.wall_ns for step in steps)


def test_clocks_that_differ_do_not_turn_cause_and_effect_around() -> None:
    cluster, notes = started()
    leader, origin, other = roles(cluster)
    offset = published(cluster, origin, b"followed")
    steps = followed(notes, Place("orders", 0, offset))
    for step in steps:
        step.wall_ns += {leader: 3_000_000, origin: -2_000_000, other: 0}[step.node]
    again = merged([[step for step in steps if step.node == one] for one in (leader, origin, other)])
    for effect, cause in ((Kind.ACCEPTED, Kind.FORWARDED), (Kind.RECEIVED, Kind.SENT), (Kind.HEARD, Kind.CONFIRMED)):
        for at, step in enumerate(again):
            before = [(one.kind, one.node, one.peer) for one in again[:at]]
            assert step.kind is not effect or (cause, step.peer, step.node) in before
    kinds = [step.kind for step in again]
    assert kinds.index(Kind.VISIBLE) < kinds.index(Kind.LEARNED) < kinds.index(Kind.ANSWERED)
    for node in (leader, origin, other):
        assert on(again, node) == on(steps, node)


def test_what_was_sent_where_nobody_took_notes_is_waited_for_by_nobody() -> None:
    heard = Step(2, "a", Kind.HEARD, "", "b", 1)
    received = Step(1, "c", Kind.RECEIVED, "", "a", 7)
    lost = [Step(5, "a", Kind.SENT, "", "c", 2), Step(6, "a", Kind.SENT, "", "c", 3)]
    assert merged([[heard, *lost], [received]]) == [heard, lost[0], received, lost[1]]
    assert merged([[heard], [received]]) == [received, heard]
    assert merged([]) == []


def test_a_message_is_followed_from_one_file_into_the_next() -> None:
    cluster, notes = started()
    leader, _, other = roles(cluster)
    cluster.cut(leader, other)
    to = cluster.ask(leader, Publish("orders", [NewRecord(None, b"late")]))
    for one in notes:
        one.cut()
    cluster.heal()
    cluster.until(lambda: to in cluster.members[leader].answers)
    steps = followed(notes, Place("orders", 0, 1))
    assert on(steps, leader)[:2] == ["asked", "appended"]
    assert {"visible", "answered"} < {*on(steps, leader)}
    assert "copied" in on(steps, other)


def test_a_message_in_the_midst_of_a_batch_is_found_though_its_records_are_left_out() -> None:
    cluster, notes = started()
    leader, _, other = roles(cluster)
    batch = stored(0, *[(WALL_MS, b"key", b"v" * 100, ()) for _ in range(5)])
    assert isinstance(cluster.answer(leader, PublishBatch("orders", 0, batch)), PublishReply)
    steps = followed(notes, Place("orders", 0, 3))
    assert on(steps, leader)[:2] == ["asked", "appended"]
    assert on(steps, other)[:2] == [f"received {leader}", "copied"]
    assert {step.detail.partition(", ")[0] for step in steps if step.kind is Kind.COPIED} == {"offset 1 to 5"}
    assert [step.detail for step in steps if step.kind is Kind.ANSWERED] == ["offset 1"]


def test_of_other_messages_nothing_is_said() -> None:
    cluster, notes = started()
    published(cluster, "n2", b"other")
    assert followed(notes, Place("orders", 0, 2)) == []
    assert followed(notes, Place("orders", 1, 0)) == []
    assert followed(notes, Place("bills", 0, 0)) == []


def test_more_steps_than_are_kept_are_left_out_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goqueue.core.capture.following.STEPS_MAX", 5)
    cluster, notes = started()
    leader, _, _ = roles(cluster)
    for _ in range(8):
        assert isinstance(cluster.answer(leader, Fetch("orders", 0, 0)), Fetched)
    [one] = [one for one in notes if one.recorder.node.options.node_id == leader]
    witness = told_again(one, Place("orders", 0, 0))
    assert (len(witness.steps), witness.is_full) == (5, True)


def test_what_a_former_leader_takes_back_is_told() -> None:
    cluster, notes = started()
    leader, origin, other = roles(cluster)
    cluster.isolate(leader)
    cluster.ask(leader, Publish("orders", [NewRecord(None, b"lost")], Acks.LEADER))
    cluster.until(lambda: "logs/orders/0" in {**cluster.node(origin).led.streams, **cluster.node(other).led.streams})
    assert published(cluster, origin, b"kept") == 1
    cluster.heal()
    cluster.advance(5_000)
    steps = followed(notes, Place("orders", 0, 1))
    told = on(steps, leader)
    assert [one for one in told if one in ("appended", "cut", "copied")] == ["appended", "cut", "copied"]
    first, second = [step for step in steps if step.kind is Kind.APPENDED]
    assert (first.node, second.node in (origin, other)) == (leader, True)
    assert first.detail.split(", ")[1] < second.detail.split(", ")[1]


# --- those who are given it


def joined(cluster: DrivenCluster, name: str, mode: GroupMode) -> str:
    """A member of a group on the topic."""
    reply = cluster.answer(name, JoinGroup("billing", ["orders"], mode=mode, session_timeout_ms=600_000))
    assert isinstance(reply, Joined)
    return reply.member_id


def leased(cluster: DrivenCluster, name: str, member: str) -> list[ReceiptRun]:
    """Receipts of what a member is given."""
    reply = cluster.answer(name, PollWork("billing", member, wait_ns=1_000_000_000), 30_000)
    assert isinstance(reply, PolledWork)
    leases = [lease for part in reply.parts for lease in part.leases]
    return [ReceiptRun(lease.stem, lease.first_offset, lease.count) for lease in leases]


def test_leases_and_what_became_of_them_are_told_with_their_attempts() -> None:
    cluster, notes = started()
    _, origin, _ = roles(cluster)
    member = joined(cluster, origin, GroupMode.SHARED)
    offset = published(cluster, origin, b"work")
    runs = [run for run in leased(cluster, origin, member) if run.first_offset <= offset < run.first_offset + run.count]
    mine = [ReceiptRun(run.stem, offset) for run in runs]
    assert isinstance(cluster.answer(origin, NackWork(mine, 0)), WorkDone)
    again = [ReceiptRun(run.stem, offset) for run in leased(cluster, origin, member)]
    assert isinstance(cluster.answer(origin, AckWork(again)), WorkDone)
    steps = [step for step in followed(notes, Place("orders", 0, offset)) if step.node == origin]
    told = [(step.kind, step.detail.rpartition(", ")[2]) for step in steps]
    assert [one for one in told if one[0] in (Kind.LEASED, Kind.NACKED, Kind.ACKED)] == [
        (Kind.LEASED, "attempt 1"),
        (Kind.NACKED, "attempt 1"),
        (Kind.LEASED, "attempt 2"),
        (Kind.ACKED, "attempt 2"),
    ]


def test_a_rejected_message_is_followed_to_its_dead_letter() -> None:
    cluster, notes = started()
    _, origin, _ = roles(cluster)
    member = joined(cluster, origin, GroupMode.SHARED)
    offset = published(cluster, origin, b"poison")
    runs = leased(cluster, origin, member)
    assert isinstance(cluster.answer(origin, RejectWork(runs, "bad")), WorkDone)
    cluster.until(lambda: cluster.leader("orders.dlq") != "")
    cluster.advance(3_000)
    steps = followed(notes, Place("orders", 0, offset))
    assert [step.kind for step in steps if step.kind in (Kind.REJECTED, Kind.BURIED)] == [Kind.REJECTED, Kind.BURIED]
    [buried] = [step for step in steps if step.kind is Kind.BURIED]
    assert (buried.node, buried.detail.endswith(", rejected")) == (cluster.leader("orders.dlq"), True)
    assert buried.detail.startswith("orders.dlq/0/")


def test_the_first_commit_beyond_a_message_is_told() -> None:
    cluster, notes = started()
    _, origin, _ = roles(cluster)
    offset = published(cluster, origin, b"read")
    for end in (offset, offset + 1, offset + 1):
        reply = cluster.answer(origin, CommitOffsets("audit", "", 0, [PartitionOffset("orders", 0, end)]))
        assert isinstance(reply, CommittedOffsets)
        assert reply.refusals == []
    steps = followed(notes, Place("orders", 0, offset))
    commits = [step.detail for step in steps if step.kind is Kind.COMMITTED]
    assert commits == [f"group audit, up to {offset + 1}"]
