"""Leaders and followers: what is acknowledged when, who is in sync, and what letters that are lost cost."""

import pytest

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.log.config import Fsync
from goqueue.core.ready import Letter
from goqueue.core.replication.messages import Kept, Pull, Pulled
from goqueue.core.requests.messages import Acks, Side
from goqueue.core.requests.refusals import Code
from tests.core.calls import own_call
from tests.core.log.batches import settings_of
from tests.core.replication.replicated import Cluster, code_of, offsets


def three(**options: object) -> Cluster:
    """Three nodes of which the first leads."""
    cluster = Cluster("a", "b", "c", **options)  # type: ignore[arg-type]
    cluster.agree("a")
    cluster.settle()
    return cluster


@pytest.mark.parametrize("recent_bytes", [0, 1 << 20])
@pytest.mark.parametrize("fsync", [Fsync.EVERY, Fsync.NONE])
def test_what_is_published_stands_in_every_log_and_is_acknowledged(fsync: Fsync, recent_bytes: int) -> None:
    cluster = three(fsync=fsync, recent_bytes=recent_bytes)
    publishings = [cluster.site("a").publish(b"%d" % at, b"x") for at in range(10)]
    cluster.settle()
    assert [offsets(one) for one in publishings] == [[2 * at] for at in range(10)]
    stored = cluster.site("a").stored()
    assert [offset for offset, _ in stored] == list(range(20))
    for name in "abc":
        assert cluster.site(name).stored() == stored
        assert cluster.site(name).watermark() == 20


def test_nothing_is_acknowledged_before_all_in_sync_have_synced_it() -> None:
    cluster = three()
    cluster.site("c").syncs_at_once = False
    publishing = cluster.site("a").publish(b"v")
    cluster.pump()
    assert publishing.missing == 1
    assert cluster.site("a").watermark() == 0
    cluster.site("c").sync()
    cluster.pump()
    assert offsets(publishing) == [0]


def test_who_wants_no_more_than_the_leader_does_not_wait_for_followers() -> None:
    cluster = three()
    cluster.cut = {("a", "b"), ("a", "c")}
    hasty = cluster.site("a").publish(b"h", acks=Acks.LEADER)
    patient = cluster.site("a").publish(b"p")
    cluster.pump()
    assert offsets(hasty) == [0]
    assert (patient.missing, cluster.site("a").watermark()) == (1, 0)


def test_a_waiting_pull_is_answered_in_the_turn_of_the_append() -> None:
    cluster = three()
    leader = cluster.site("a")
    leader.publish(b"v")
    leader.syncs_at_once = False
    leader.turn()
    assert [letter.to for letter in leader.letters] == ["b", "c"]
    assert all(isinstance(letter.message, Pulled) and letter.message.parts[0].runs for letter in leader.letters)
    assert leader.syncs, "it is not on the leader's own disk yet"


def test_a_follower_that_counts_for_nothing_gets_everything_all_the_same() -> None:
    cluster = Cluster("a", "b", "watcher")
    cluster.place.replicas, cluster.place.isr = ["a", "b"], ["a", "b"]
    cluster.agree("a")
    cluster.settle()
    cluster.site("watcher").syncs_at_once = False
    publishing = cluster.site("a").publish(b"v")
    cluster.settle()
    assert offsets(publishing) == [0]
    assert cluster.site("watcher").stored() == [(0, b"v")]
    assert cluster.site("watcher").watermark() == 1


def test_all_streams_of_a_partition_go_through_one_session() -> None:
    cluster = three(sides=(Side.DATA, Side.LEDGER))
    data = cluster.site("a").publish(b"d")
    ledger = cluster.site("a").publish(b"l", side=Side.LEDGER, asked=own_call(1))
    cluster.pump()
    assert (offsets(data), offsets(ledger)) == ([0], [0])
    assert cluster.site("b").stored(Side.LEDGER) == [(0, b"l")]
    assert len(cluster.site("a").replication._sources._servings) == 2


# --- too few in sync


def test_with_too_few_in_sync_nothing_is_stored() -> None:
    cluster = three(min_isr=2)
    cluster.agree(None, ["a"])
    cluster.settle()
    refused = cluster.site("a").publish(b"v")
    assert code_of(refused) is Code.NOT_ENOUGH_REPLICAS
    assert cluster.site("a").log().next_offset == 0
    taken = cluster.site("a").publish(b"w", acks=Acks.LEADER)
    cluster.settle()
    assert offsets(taken) == [0]
    assert cluster.site("a").watermark() == 0, "shown to nobody while too few are in sync"
    cluster.agree(None, ["a", "b"])
    cluster.settle()
    assert cluster.site("a").watermark() == 1


def test_who_waits_too_long_is_told_that_it_may_yet_come_and_the_broker_itself_goes_on_waiting() -> None:
    cluster = three(options=ClusterOptions([], request_ns=2_000_000_000))
    cluster.cut = {("b", "a")}
    client, own = cluster.site("a").publish(b"c"), cluster.site("a").publish(b"o", asked=own_call(5))
    cluster.pass_time(1_900)
    assert client.missing == 1
    cluster.pass_time(300)
    assert code_of(client) is Code.OUTCOME_UNKNOWN
    assert own.missing == 1
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert offsets(own) == [1]
    assert cluster.site("b").stored() == [(0, b"c"), (1, b"o")]


# --- who is in sync


def test_a_follower_that_stays_behind_is_left_out_and_taken_in_again() -> None:
    cluster = three(options=ClusterOptions([], replica_lag_ns=1_000_000_000))
    cluster.cut = {("a", "c")}
    publishing = cluster.site("a").publish(b"v")
    cluster.pass_time(900)
    assert (publishing.missing, cluster.site("a").wishes) == (1, [])
    cluster.pass_time(300)
    assert cluster.site("a").wishes[0].isr == ["a", "b"]
    assert publishing.missing == 1, "it is counted until the controller agrees"
    cluster.grant("a")
    cluster.pump()
    assert offsets(publishing) == [0]
    cluster.cut = set()
    cluster.pass_time(3_000)
    wish = cluster.site("a").wishes[-1]
    assert (wish.isr, wish.incarnations) == (["a", "b", "c"], {"c": 1})
    cluster.grant("a")
    assert cluster.place.isr == ["a", "b", "c"]
    cluster.settle()
    assert cluster.site("a").wishes == []
    counts = cluster.site("a").replication.measure()
    assert (counts.isr_shrinks, counts.isr_expands, counts.lag) == (1, 1, {("orders", 0): 0})


def test_whoever_was_asked_for_is_counted_until_another_version_is_known() -> None:
    cluster = three()
    cluster.agree(None, ["a", "b"])
    cluster.site("a").publish(b"1")
    cluster.pass_time(1_500)
    assert cluster.site("a").wishes[0].isr == ["a", "b", "c"]
    cluster.site("c").syncs_at_once = False
    publishing = cluster.site("a").publish(b"2")
    cluster.settle()
    assert publishing.missing == 1, "the controller may have taken c in already"
    cluster.place.version += 1
    cluster.site("a").wishes = []
    cluster.tell("a")
    cluster.pump()
    assert offsets(publishing) == [1]


def test_a_follower_that_is_silent_is_not_asked_for() -> None:
    cluster = three()
    cluster.cut = {("c", "a"), ("a", "c")}
    cluster.pass_time(2_000)
    cluster.agree(None, ["a", "b"])
    cluster.pass_time(2_000)
    assert cluster.site("a").wishes == []
    publishing = cluster.site("a").publish(b"v")
    cluster.pump()
    assert offsets(publishing) == [0]


def test_a_follower_joins_only_with_what_was_there_when_the_term_began() -> None:
    cluster = three()
    cluster.agree(None, ["a", "b"], "a", "b")
    cluster.site("a").publish(b"1")
    cluster.pump()
    cluster.cut = {("a", "c"), ("b", "c"), ("c", "b")}
    cluster.site("a").publish(b"2")
    cluster.settle()
    cluster.agree("b", ["a", "b"])
    cluster.pass_time(1_000)
    assert not any("c" in wish.isr for wish in cluster.site("b").wishes)
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert cluster.site("b").wishes[-1].isr == ["a", "b", "c"]


def test_a_follower_whose_disk_forgot_what_was_acknowledged_is_left_out_at_once() -> None:
    cluster = three(fsync=Fsync.NONE)
    cluster.site("a").publish(b"v")
    cluster.settle()
    cluster.site("c").fail_disk()
    cluster.site("c").recover("logs/orders/0")
    cluster.cut = {("a", "c")}
    cluster.pass_time(100)
    assert cluster.site("a").wishes[0].isr == ["a", "b"]


def test_what_another_process_said_does_not_count() -> None:
    cluster = three()
    cluster.site("a").turn()
    cluster.incarnations["b"] = 2
    cluster.tell("a")
    publishing = cluster.site("a").publish(b"v")
    cluster.pass_time(1_000)
    assert cluster.site("b").stored() == [], "its letters are those of the process before"
    assert publishing.missing == 1
    cluster.site("b").crash()
    cluster.site("b").start()
    cluster.tell()
    cluster.pass_time(2_000)
    assert offsets(publishing) == [0]


# --- letters


@pytest.mark.parametrize("lost", [Pull, Pulled, Kept])
def test_a_letter_that_is_lost_is_made_good(lost: type) -> None:
    cluster = three()
    publishing = cluster.site("a").publish(b"v")
    for _ in range(6):
        for site in cluster.sites.values():
            site.turn()
            site.letters = [letter for letter in site.letters if not isinstance(letter.message, lost)]
        cluster.deliver()
    cluster.pass_time(3_000)
    assert offsets(publishing) == [0]
    assert cluster.site("b").stored() == cluster.site("c").stored() == [(0, b"v")]


def test_letters_that_come_twice_change_nothing() -> None:
    cluster = three()
    for at in range(5):
        cluster.site("a").publish(b"%d" % at)
        for _ in range(4):
            for site in cluster.sites.values():
                site.turn()
                site.letters = [letter for letter in site.letters for _ in range(2)]
            cluster.deliver()
    cluster.settle()
    assert cluster.site("b").stored() == [(at, b"%d" % at) for at in range(5)]


def test_a_pull_that_a_later_word_of_the_disk_overtook_takes_nothing_back() -> None:
    cluster = three()
    leader, follower = cluster.site("a"), cluster.site("b")
    late: list[Letter] = []
    follower.syncs_at_once = False
    publishings = []
    for at in range(10):
        publishings.append(leader.publish(b"%d" % at))
        for _ in range(6):
            for site in cluster.sites.values():
                site.turn()
            follower.sync()
            pulls = [letter for letter in follower.letters if isinstance(letter.message, Pull)]
            follower.letters = [*(letter for letter in follower.letters if letter not in pulls), *late]
            late = pulls
            cluster.deliver()
    cluster.settle()
    assert leader.wishes == []
    assert [offsets(publishing) for publishing in publishings] == [[at] for at in range(10)]


def test_a_link_that_broke_is_used_again_at_once() -> None:
    cluster = three()
    for site in cluster.sites.values():
        site.letters = []
    cluster.site("b").replication.peer_lost(cluster.now, "a")
    cluster.site("a").replication.peer_lost(cluster.now, "b")
    publishing = cluster.site("a").publish(b"v")
    cluster.pass_time(150)
    assert offsets(publishing) == [0]


# --- catching up


def test_a_follower_far_behind_catches_up_in_large_pieces() -> None:
    cluster = three(recent_bytes=0, config=settings_of(fsync=Fsync.EVERY, segment_bytes=300_000))
    cluster.cut = {("a", "c"), ("c", "a")}
    cluster.agree(None, ["a", "b"])
    for _ in range(80):
        cluster.site("a").publish(bytes(100_000))
        cluster.pump()
    cluster.cut = set()
    before = cluster.site("c").replication.counts.batches_in
    cluster.pass_time(3_000)
    assert cluster.site("c").stored() == cluster.site("a").stored()
    assert cluster.site("c").replication.counts.batches_in - before == 80


def test_catching_up_is_held_back_as_wished_and_those_in_sync_are_not() -> None:
    options = ClusterOptions([], catch_up_bytes_per_s=100_000)
    cluster = three(recent_bytes=0, config=settings_of(fsync=Fsync.EVERY, segment_bytes=300_000), options=options)
    cluster.cut = {("a", "c"), ("c", "a")}
    cluster.agree(None, ["a", "b"])
    for _ in range(100):
        cluster.site("a").publish(bytes(10_000))
        cluster.pump()
    cluster.pass_time(5_000)
    assert len(cluster.site("b").stored()) == 100
    cluster.cut = set()
    cluster.pass_time(3_000)
    some = len(cluster.site("c").stored())
    assert 10 <= some <= 60
    cluster.pass_time(12_000)
    assert len(cluster.site("c").stored()) == 100


def test_a_follower_below_the_start_begins_anew_there() -> None:
    cluster = three(config=settings_of(fsync=Fsync.EVERY, segment_bytes=1_000))
    cluster.site("a").publish(b"old")
    cluster.settle()
    cluster.cut = {("a", "c"), ("c", "a")}
    cluster.agree(None, ["a", "b"])
    for _ in range(40):
        cluster.site("a").publish(bytes(100), b"x", b"y")
        cluster.pump()
    start = cluster.site("a").log().segments[-2].base + 1
    cluster.site("a").log().delete_before(cluster.now, start)
    cluster.settle()
    assert cluster.site("b").log().start_offset == start
    cluster.cut = set()
    cluster.pass_time(3_000)
    assert cluster.site("c").log().start_offset == start
    assert cluster.site("c").stored()[-3:] == cluster.site("a").stored()[-3:]
    assert cluster.site("c").log().next_offset == cluster.site("a").log().next_offset
    assert cluster.site("a").wishes[-1].isr == ["a", "b", "c"]


def test_retention_removes_nothing_that_not_all_have() -> None:
    cluster = three(config=settings_of(fsync=Fsync.EVERY, segment_bytes=300, retention_ms=1_000))
    cluster.cut = {("a", "c"), ("c", "a")}
    for at in range(6):
        cluster.site("a").publish(b"%d" % at + bytes(100))
        cluster.pump()
    log = cluster.site("a").log()
    log.wake(5_000 * 1_000_000)
    cluster.site("b").log().wake(5_000 * 1_000_000)
    assert (log.start_offset, cluster.site("b").log().start_offset) == (0, 0)
    due = log.deadline()
    assert due is not None
    assert due > 5_000 * 1_000_000, "it is not looked at again at once"
    cluster.cut = set()
    cluster.pass_time(3_000)
    log.wake(due)
    assert log.start_offset == 6
