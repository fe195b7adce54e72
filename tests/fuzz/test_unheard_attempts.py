"""What checkers of work queues make of several nodes: attempts that nobody heard of, members heard of elsewhere."""

from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.queues import PolledWork, PollWork, ReceiptRun
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.deliveries import Deliveries, Given, Terms
from goqueue.fuzz.history import History, records_in
from tests.core.grouped_cluster import MS, GroupedCluster

CONFIG: dict[str, object] = {"max_attempts": 1}


def test_a_message_that_was_given_up_under_a_lease_that_nobody_was_told_of_may_be_gone() -> None:
    cluster = GroupedCluster(1)
    cluster.publish(b"a", b"b", partition=0)
    joined = cluster.answer("n1", JoinGroup("workers", ["orders"], mode=GroupMode.SHARED, config=CONFIG))
    assert isinstance(joined, Joined)
    polled = cluster.answer("n1", PollWork("workers", joined.member_id))
    assert isinstance(polled, PolledWork)
    [part] = polled.parts
    [run] = part.leases
    assert cluster.nack("n1", ReceiptRun(run.stem, run.first_offset, run.count)).dead == 2

    history = History()
    history.deliveries.terms["workers"] = Terms(30_000 * MS, 1, key_ordered=False)
    sight = Sight(history)
    sight.processes = [*cluster.members.values()]
    topic_id = sight.topic_ids()["orders"]
    first, second = ("workers", topic_id, 0, 0), ("workers", topic_id, 0, 1)
    assert sight.is_given_up_unheard(first)
    assert sight.is_given_up_unheard(second)
    history.deliveries.give(0, joined.member_id, Given(first, run, records_in(part.batches)[0]))
    assert not sight.is_given_up_unheard(first)
    assert sight.is_given_up_unheard(second)
    assert not sight.is_given_up_unheard(("workers", topic_id, 0, 2))
    assert not sight.is_given_up_unheard(("others", topic_id, 0, 0))


def test_a_poll_keeps_a_member_once_the_coordinator_has_heard_of_it() -> None:
    for coordinates, is_told, lives in ((True, False, True), (False, False, False), (False, True, True)):
        deliveries = Deliveries(terms={"workers": Terms(1_000 * MS, 1, key_ordered=False)})
        request = JoinGroup("workers", ["orders"], session_timeout_ms=1_000)
        deliveries.answered(0, 0, request, Joined("m", 1, GroupMode.SHARED, {}, {}, 300, False, ["m"], 0))
        deliveries.asked(800 * MS, PollWork("workers", "m"), coordinates=coordinates)
        if is_told:
            deliveries.heard("m", 900 * MS)
        assert deliveries._members["m"].lives(1_500 * MS) == lives
