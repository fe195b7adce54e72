"""Logs that differ: what a new leader has not is cut, nothing else is, and what was acknowledged stays.

The scenarios are those of KIP-101, KIP-279 and KIP-497, and what a disk adds to them.
"""

from goqueue.core.log.config import Fsync
from goqueue.core.log.effects import Read
from goqueue.core.partition.publishing import Publishing
from goqueue.core.requests.messages import Acks, Fetch, NewRecord, Side
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.calls import call, own_call
from tests.core.log.batches import WALL_MS
from tests.core.replication.replicated import GONE, Cluster, code_of, offsets


def led(*names: str, **options: object) -> Cluster:
    """Nodes of which the first leads."""
    cluster = Cluster(*names, **options)  # type: ignore[arg-type]
    cluster.agree(names[0])
    cluster.settle()
    return cluster


def values(cluster: Cluster, name: str) -> list[bytes]:
    """What stands in a node's log."""
    return [value for _, value in cluster.site(name).stored()]


def test_a_follower_that_becomes_leader_keeps_what_was_acknowledged_but_not_yet_known_to_be() -> None:
    """KIP-101, first: cut by epochs and not by the high watermark."""
    cluster = led("a", "b")
    publishing = cluster.site("a").publish(b"v")
    for _ in range(3):
        for site in cluster.sites.values():
            site.turn()
        cluster.deliver()
    assert offsets(publishing) == [0]
    assert cluster.site("b").watermark() == 0, "it has not heard that it is acknowledged"
    cluster.site("b").crash()
    cluster.restart("b")
    cluster.tell("b")
    cluster.cut = {("a", "b"), ("b", "a")}
    cluster.agree("b", ["b"])
    cluster.settle()
    assert values(cluster, "b") == [b"v"]
    assert cluster.site("b").watermark() == 1


def test_two_histories_of_one_offset_become_one() -> None:
    """KIP-101, second: the log of a leader that was replaced differs at the same length."""
    cluster = led("a", "b")
    cluster.cut = {("a", "b"), ("b", "a")}
    lost = cluster.site("a").publish(b"lost")
    cluster.site("a").turn()
    cluster.agree("b", ["b"], "b")
    kept = cluster.site("b").publish(b"kept")
    cluster.settle()
    assert (lost.missing, offsets(kept)) == (1, [0])
    cluster.tell("a")
    assert cluster.site("a").done == [lost]
    assert code_of(lost) is Code.OUTCOME_UNKNOWN
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert values(cluster, "a") == values(cluster, "b") == [b"kept"]
    assert cluster.site("a").replication.counts.restarts == 1, "a has nothing of an epoch that b knows"


def test_logs_that_differ_in_several_epochs_are_led_back_step_by_step() -> None:
    """KIP-279: after two quick changes the follower's newest epoch is one that the leader never had."""
    cluster = led("a", "b", "c")
    cluster.site("a").publish(b"0")
    cluster.settle()
    for turn, name in enumerate("abcabc"):
        cluster.cut = {(one, other) for one in "abc" for other in "abc"}
        cluster.agree(name, [name])
        for at in range(turn % 3 + 1):
            cluster.site(name).publish(b"%s%d%d" % (name.encode(), turn, at), acks=Acks.LEADER)
        cluster.settle()
    cluster.cut = set()
    cluster.agree("b", ["b"])
    cluster.pass_time(5_000)
    assert values(cluster, "a") == values(cluster, "b") == values(cluster, "c")
    entries = {tuple(cluster.site(name).log().epochs.entries()) for name in "abc"}
    assert len(entries) == 1


def test_what_is_published_while_a_cut_is_under_way_comes_after_it() -> None:
    cluster = led("a", "b")
    cluster.cut = {("a", "b"), ("b", "a")}
    cluster.site("a").publish(b"lost")
    cluster.site("a").turn()
    cluster.agree("b", ["b"])
    cluster.site("b").publish(b"1")
    cluster.settle()
    cluster.site("a").cuts_at_once = False
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert cluster.site("a").cuts
    cluster.site("b").publish(b"2")
    cluster.settle()
    assert values(cluster, "a") == []
    cluster.site("a").reopen()
    cluster.pass_time(1_000)
    assert values(cluster, "a") == [b"1", b"2"]


def test_a_sync_that_was_under_way_when_a_log_was_cut_promises_nothing() -> None:
    cluster = led("a", "b")
    cluster.cut = {("a", "b"), ("b", "a")}
    cluster.site("a").syncs_at_once = False
    cluster.site("a").publish(b"1")
    cluster.site("a").publish(b"2")
    cluster.site("a").turn()
    cluster.agree("b", ["b"])
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert values(cluster, "a") == []
    cluster.site("a").sync()
    assert cluster.site("a").log().synced_offset == 0
    publishing = cluster.site("b").publish(b"3")
    cluster.pass_time(1_000)
    assert publishing.missing == 1, "a counts, and has not synced it"
    cluster.site("a").sync()
    cluster.pass_time(1_000)
    assert offsets(publishing) == [0]


def test_a_leader_that_is_elected_while_its_log_is_being_cut_goes_on_from_there() -> None:
    cluster = led("a", "b", "c")
    cluster.site("a").publish(b"agreed")
    cluster.settle()
    cluster.cut = {("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")}
    cluster.site("a").publish(b"lost")
    cluster.site("a").turn()
    cluster.site("a").cuts_at_once = False
    cluster.agree("b", ["a", "b", "c"])
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert cluster.site("a").cuts
    cluster.agree("a")
    refused = cluster.site("a").publish(b"early")
    assert code_of(refused) is Code.UNAVAILABLE
    cluster.pass_time(500)
    assert not cluster.site("a").leader().is_settled
    cluster.site("a").reopen()
    cluster.pass_time(3_000)
    assert cluster.site("a").leader().is_settled
    publishing = cluster.site("a").publish(b"next")
    cluster.settle()
    assert offsets(publishing) == [1]
    assert values(cluster, "c") == [b"agreed", b"next"]


# --- what readers are shown


def test_readers_of_a_new_leader_wait_until_it_is_sure_of_what_the_old_one_acknowledged() -> None:
    cluster = led("a", "b", "c")
    cluster.site("a").publish(b"v")
    for _ in range(2):
        for site in cluster.sites.values():
            site.turn()
        cluster.deliver()
    cluster.cut = {("c", "b"), ("b", "c")}
    cluster.agree("b")
    cluster.settle()
    partition = cluster.site("b").leader()
    assert (partition.is_settled, partition.high_watermark) == (False, 0)
    assert partition.read(Fetch("orders", 0, 0)) is None
    refused = partition.nothing(0)
    assert isinstance(refused, Refusal)
    assert refused.code is Code.UNAVAILABLE
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert (partition.is_settled, partition.high_watermark) == (True, 1)
    assert isinstance(partition.read(Fetch("orders", 0, 0)), Read)


def test_a_leader_that_was_replaced_and_does_not_know_it_acknowledges_nothing() -> None:
    cluster = led("a", "b", "c")
    cluster.agree("b", ["b", "c"], "b", "c")
    cluster.settle()
    publishing = cluster.site("a").publish(b"v")
    cluster.pass_time(20_000)
    assert publishing.missing == 1
    assert cluster.site("a").watermark() == 0
    assert values(cluster, "b") == []


# --- disks


def test_a_leader_whose_disk_failed_asks_for_another_and_takes_nothing_more_in_its_epoch() -> None:
    cluster = led("a", "b", "c", fsync=Fsync.NONE)
    cluster.site("a").publish(b"1")
    cluster.settle()
    cluster.site("a").fail_disk()
    cluster.site("a").turn()
    wish = cluster.site("a").wishes[-1]
    assert (wish.isr, wish.resigns) == (["b", "c"], True)
    cluster.site("a").recover("logs/orders/0")
    assert code_of(cluster.site("a").publish(b"2")) is Code.UNAVAILABLE
    assert not cluster.site("a").leader().is_settled
    cluster.agree("b", ["b", "c"])
    cluster.pass_time(3_000)
    assert values(cluster, "a") == values(cluster, "b") == [b"1"]


def test_a_leader_whose_disk_fails_once_more_has_still_lost_what_it_lost() -> None:
    """1. a sends a batch, and its disk loses it; 2. its disk fails again, and has nothing more to lose."""
    cluster = led("a", "b", "c", fsync=Fsync.NONE)
    cluster.site("a").publish(b"1")
    cluster.settle()
    for _ in range(2):
        cluster.site("a").fail_disk()
        cluster.site("a").recover("logs/orders/0")
        assert cluster.site("a").leader().has_failed
        assert code_of(cluster.site("a").publish(b"2")) is Code.UNAVAILABLE
        assert not cluster.site("a").leader().is_settled
    cluster.agree("b", ["b", "c"])
    cluster.pass_time(3_000)
    assert values(cluster, "a") == values(cluster, "b") == [b"1"]


def test_a_leader_that_was_alone_in_sync_goes_on_in_another_epoch_after_its_disk_lost_something() -> None:
    cluster = led("a", "b", fsync=Fsync.NONE)
    cluster.agree(None, ["a"])
    cluster.site("a").publish(b"1")
    cluster.settle()
    cluster.site("a").fail_disk()
    cluster.site("a").recover("logs/orders/0")
    cluster.pass_time(1_500)
    wish = cluster.site("a").wishes[-1]
    assert (wish.isr, wish.resigns) == (["a"], True)
    cluster.agree("a", ["a"])
    cluster.site("a").wishes = []
    publishing = cluster.site("a").publish(b"2")
    cluster.pass_time(3_000)
    assert offsets(publishing) == [0]
    assert values(cluster, "b") == [b"2"]
    assert not any(wish.resigns for wish in cluster.site("a").wishes)


def test_a_leader_whose_disk_comes_back_whole_goes_on() -> None:
    cluster = led("a", "b")
    cluster.agree(None, ["a"])
    cluster.site("a").publish(b"1")
    cluster.settle()
    cluster.site("a").fail_disk()
    cluster.site("a").recover("logs/orders/0")
    publishing = cluster.site("a").publish(b"2")
    cluster.settle()
    assert offsets(publishing) == [1]


def test_a_follower_whose_disk_failed_goes_on_from_what_is_left() -> None:
    cluster = led("a", "b")
    cluster.site("b").syncs_at_once = False
    publishing = cluster.site("a").publish(b"1")
    cluster.pump()
    cluster.site("b").fail_disk()
    more = cluster.site("a").publish(b"2")
    cluster.pass_time(1_000)
    assert (publishing.missing, more.missing, values(cluster, "b")) == (1, 1, [])
    cluster.site("b").syncs_at_once = True
    cluster.site("b").recover("logs/orders/0")
    cluster.pass_time(1_000)
    assert (offsets(publishing), offsets(more)) == ([0], [1])


def test_batches_that_come_damaged_are_not_taken_and_come_again() -> None:
    cluster = led("a", "b")
    cluster.site("a").publish(b"first")
    cluster.site("a").publish(b"second")
    cluster.site("a").turn()
    [letter] = cluster.site("a").letters
    run = letter.message.parts[0].runs[1]  # type: ignore[attr-defined]
    letter.message.parts[0].runs[1] = bytes(run[:-1]) + bytes([run[-1] ^ 1])  # type: ignore[attr-defined]
    cluster.deliver()
    assert cluster.site("b").replication.counts.refused_batches == 1
    cluster.pump()
    cluster.pass_time(500)
    assert values(cluster, "b") == [b"first", b"second"]


def test_sides_that_differ_are_cut_each_for_itself() -> None:
    cluster = led("a", "b", sides=(Side.DATA, Side.LEDGER))
    cluster.cut = {("a", "b"), ("b", "a")}
    cluster.site("a").publish(b"lost", side=Side.LEDGER, asked=own_call(1))
    cluster.site("a").turn()
    cluster.agree("b", ["b"])
    cluster.site("b").publish(b"kept")
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert cluster.site("a").stored(Side.LEDGER) == []
    assert values(cluster, "a") == [b"kept"]


def test_a_leader_that_is_replaced_says_of_each_publish_whether_it_was_appended() -> None:
    cluster = led("a", "b")
    cluster.cut = {("a", "b"), ("b", "a")}
    appended = cluster.site("a").publish(b"appended")
    cluster.site("a").turn()
    gathered = Publishing(call(2), [None], 1)
    cluster.site("a").leader().gather(0, WALL_MS, gathered, [NewRecord(None, b"gathered")], [0])
    cluster.agree("b", ["b"], "b")
    cluster.tell("a")
    assert (code_of(appended), code_of(gathered)) == (Code.OUTCOME_UNKNOWN, GONE.code)
