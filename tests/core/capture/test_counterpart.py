"""A changed node beside the captured one: it differs where it was changed, and nowhere if it was not."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from goqueue.core.broker.publishes import Publishes
from goqueue.core.capture.decisions import Item
from goqueue.core.capture.differing import Report, Tally, only_in
from goqueue.core.node import Node
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.messages import NewRecord, Publish
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.topics import CreateTopic
from tests.core.capture.beside import File, Notes, told_beside
from tests.core.capture.test_recorder import Recorded
from tests.core.driven_cluster import DrivenCluster

S = 1_000_000_000


def work(wait_ns: int = 0, pause_ms: int = 5_000, publish: int = 1) -> File:
    """One message leased and forgotten; after a pause the next poll of the same member."""
    notes: list[Notes] = []

    def recorded(node: Node) -> Node:
        notes.append(Notes(node))
        return notes[-1].recorder

    cluster = DrivenCluster(1, recorded=recorded)
    cluster.until(lambda: bool(cluster.controller()))
    cluster.answer("n1", CreateTopic("orders", 1, 1))
    joined = cluster.answer("n1", JoinGroup("workers", ["orders"], mode=GroupMode.SHARED, session_timeout_ms=60_000))
    assert isinstance(joined, Joined)
    for number in range(publish):
        cluster.answer("n1", Publish("orders", [NewRecord(None, b"%d" % number, partition=0)]))
    polled = cluster.answer("n1", PollWork("workers", joined.member_id, wait_ns=S))
    assert isinstance(polled, PolledWork)
    assert polled.parts
    cluster.advance(pause_ms)
    cluster.ask("n1", PollWork("workers", joined.member_id, wait_ns=wait_ns))
    cluster.advance(10_000)
    return notes[0].file()


@pytest.mark.parametrize("seed", range(6))
def test_a_node_that_is_not_changed_differs_nowhere(seed: int) -> None:
    for first, content, blocks in Recorded(seed, 120).files:
        report = told_beside((first, content, blocks))
        assert (report.differing, report.first, report.tallies, report.died) == (0, [], {}, "")


def test_a_member_of_a_cluster_that_is_not_changed_differs_nowhere() -> None:
    assert told_beside(work(wait_ns=8 * S)) == Report()


def test_with_a_shorter_time_out_a_message_comes_again() -> None:
    report = told_beside(work(), {"topic.orders.visibility_timeout": "2s"})
    again = [one for one in report.first if one.kind == "PolledWork" and one.side == "new"]
    assert again
    assert "attempt" in again[-1].words
    assert not report.died


def test_the_changed_node_is_woken_when_it_wants_to_be() -> None:
    report = told_beside(work(pause_ms=1_000, wait_ns=9 * S), {"topic.orders.visibility_timeout": "2s"})
    polled = [one for one in report.first if one.kind == "PolledWork" and one.side == "new" and "attempt" in one.words]
    assert [one.told for one in polled if "attempt=2" in one.words] == ["a wake of its own"]


def test_the_setting_of_a_group_goes_before_that_of_a_topic() -> None:
    settings = {"topic.orders.visibility_timeout": "2s", "group.workers.visibility_timeout": "30s"}
    report = told_beside(work(), settings)
    assert not [one for one in report.first if one.kind == "PolledWork"]


def test_all_of_a_kind_can_be_meant_and_a_name_says_more() -> None:
    few = told_beside(work(publish=3), {"group.*.max_in_flight": "1"})
    assert [one.kind for one in few.first if one.side == "new"].count("PolledWork") >= 1
    settings = {"group.*.max_in_flight": "1", "group.workers.max_in_flight": "1000"}
    assert not [one for one in told_beside(work(publish=3), settings).first if one.kind == "PolledWork"]


def test_records_say_what_was_agreed_and_not_what_is_tried() -> None:
    report = told_beside(work(), {"group.workers.retry_backoff": "9s"})
    assert [kind for kind in report.tallies if kind.startswith("writes")] == []


def test_what_the_changed_node_dies_of_is_named() -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        def publish(*_: object) -> None:
            raise AssertionError("planted")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Publishes, "publish", publish)
            yield

    report = told_beside(work(), change=broken)
    assert report.died.startswith("event ")
    assert "ask Publish: AssertionError in " in report.died
    assert report.died.endswith(": planted")


def test_a_state_that_does_not_hold_together_at_the_end_is_told() -> None:
    @contextmanager
    def doubting() -> Iterator[None]:
        def check(_: Node) -> None:
            raise AssertionError("planted")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Node, "check", check)
            yield

    assert told_beside(work(), change=doubting).died.startswith("its state does not hold together at the end: ")


def test_what_only_the_changed_node_reads_fails_and_what_was_read_before_is_known() -> None:
    report = told_beside(work(), {"node.recent_bytes": "0"})
    assert report.tallies["reads: Fetching"].new > 0
    assert not report.died


# --- what is a difference


def test_what_would_have_become_of_messages_is_told_message_by_message() -> None:
    report = told_beside(work(publish=3), {"group.workers.max_in_flight": "1"})
    assert report.tallies["messages: leased"] == Tally(old=2)
    words = [one.words for one in report.first if one.kind == "leased"]
    assert [one.partition(" for ")[0] for one in words] == ["orders/0/1", "orders/0/2"]
    assert " for workers, " in words[0]
    assert words[0].endswith(" ms")
    assert report.first[0].lane == "messages"


def test_what_was_there_to_be_changed_is_in_the_report() -> None:
    settings = {"topic.orders.max_attempts": "9", "topic.others.max_attempts": "9", "group.*.max_attempts": "9"}
    assert told_beside(work(), settings).met == ["group.*", "topic.orders"]


def item(number: int, lane: str = "sends", kind: str = "Reply") -> Item:
    """A thing that somebody said."""
    return Item(lane, kind, number, f"thing {number}")


def test_the_order_of_things_in_a_turn_is_no_difference() -> None:
    assert only_in([item(1), item(2), item(2)], [item(2), item(1), item(2)]) == []
    assert only_in([item(1), item(1)], [item(1)]) == [item(1)]
    assert only_in([item(1)], [item(1, lane="letters")]) == [item(1)]


def test_what_both_say_at_different_times_is_sooner_or_later() -> None:
    report = Report()
    report.differ(1, 10, "wake", [item(1)], [item(2)])
    report.differ(2, 20, "wake", [item(2)], [item(3)])
    report.differ(3, 30, "wake", [], [item(1)])
    report.close()
    assert report.differing == 3
    assert report.tallies == {"sends: Reply": Tally(old=0, new=1, sooner=1, later=1)}
    assert [(one.event, one.side) for one in report.first] == [(1, "later"), (1, "sooner"), (2, "new")]


def test_the_first_differences_are_kept_in_words_and_all_are_counted() -> None:
    report = Report(kept_max=3)
    for number in range(50):
        report.differ(number, number, "wake", [item(number)], [])
    report.close()
    assert [one.words for one in report.first] == ["'thing 0'", "'thing 1'", "'thing 2'"]
    assert report.tallies["sends: Reply"].old == 50


def test_what_waits_to_be_said_by_the_other_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goqueue.core.capture.differing._UNMATCHED_MAX", 10)
    report = Report()
    for number in range(30):
        report.differ(number, number, "wake", [item(number)], [])
    report.differ(30, 30, "wake", [], [item(0), item(29)])
    report.close()
    assert report.tallies["sends: Reply"] == Tally(old=29, new=1, later=1)
