"""Replicas whose disk has lost what they confirmed: their leader says so, and a leader says it of itself."""

from goqueue.core.log.config import Fsync
from goqueue.core.requests.refusals import Code
from tests.core.replication.replicated import Cluster, code_of

STREAM = "logs/orders/0"


def three(*, min_isr: int = 1, fsync: Fsync = Fsync.NONE) -> Cluster:
    """Three nodes of which the first leads, with one message."""
    cluster = Cluster("a", "b", "c", fsync=fsync, min_isr=min_isr)
    cluster.agree("a")
    cluster.settle()
    cluster.site("a").publish(b"kept")
    cluster.settle()
    return cluster


def lose(cluster: Cluster, name: str) -> None:
    """A disk fails, and comes back without what was not synced."""
    cluster.site(name).fail_disk()
    cluster.site(name).recover(STREAM)


def test_the_leader_says_of_a_follower_that_it_lacks_what_was_acknowledged() -> None:
    cluster = three()
    cluster.cut = {("a", "c")}
    lose(cluster, "c")
    cluster.pass_time(100)
    [wish] = cluster.site("a").wishes
    assert (wish.isr, wish.lost) == (["a", "b"], ["c"])


def test_the_leader_says_it_of_one_that_is_not_in_sync_and_may_lead_all_the_same() -> None:
    cluster = three(min_isr=3)
    cluster.cut = {("a", "c")}
    cluster.agree(None, ["a", "b"])
    cluster.place.elr = ["c"]
    cluster.tell()
    lose(cluster, "c")
    cluster.pass_time(100)
    wish = cluster.site("a").wishes[0]
    assert (wish.isr, wish.lost) == (["a", "b"], ["c"])


def test_nobody_is_said_to_lack_what_is_acknowledged_who_only_fell_behind() -> None:
    cluster = three()
    cluster.cut = {("a", "c")}
    cluster.site("a").publish(b"more")
    cluster.pass_time(12_000)
    wishes = cluster.site("a").wishes
    assert wishes[-1].isr == ["a", "b"]
    assert not any(wish.lost for wish in wishes)


def test_a_leader_with_others_that_may_lead_resigns_at_once_and_one_without_waits_for_its_disk() -> None:
    cluster = three(min_isr=2)
    cluster.agree(None, ["a"])
    cluster.cut = {(one, other) for one in "abc" for other in "abc"}
    cluster.settle()
    cluster.site("a").fail_disk()
    cluster.site("a").turn()
    assert cluster.site("a").wishes == []
    cluster.site("a").recover(STREAM)
    cluster.site("a").turn()
    [wish] = cluster.site("a").wishes
    assert (wish.isr, wish.resigns, wish.lost) == (["a"], True, ["a"])
    cluster = three(min_isr=2)
    cluster.agree(None, ["a"])
    cluster.place.elr = ["b"]
    cluster.tell()
    cluster.site("a").fail_disk()
    cluster.site("a").turn()
    assert [(wish.isr, wish.resigns, wish.lost) for wish in cluster.site("a").wishes[-1:]] == [(["a"], True, [])]


def test_a_follower_that_lost_something_says_so_when_it_is_elected_before_anybody_has_seen_it() -> None:
    cluster = three()
    cluster.cut = {(one, other) for one in "abc" for other in "abc"}
    lose(cluster, "b")
    cluster.agree("b", ["b", "c"])
    cluster.site("b").turn()
    wish = cluster.site("b").wishes[-1]
    assert (wish.isr, wish.resigns, wish.lost) == (["c"], True, ["b"])
    assert code_of(cluster.site("b").publish(b"next")) is Code.UNAVAILABLE


def test_so_does_one_whose_disk_comes_back_only_after_it_was_elected() -> None:
    cluster = three()
    cluster.cut = {(one, other) for one in "abc" for other in "abc"}
    cluster.site("b").fail_disk()
    cluster.agree("b", ["b"])
    cluster.site("b").turn()
    cluster.site("b").recover(STREAM)
    cluster.site("b").turn()
    wish = cluster.site("b").wishes[-1]
    assert (wish.isr, wish.resigns, wish.lost) == (["b"], True, ["b"])


def test_a_follower_that_got_again_what_it_had_lost_leads_as_any_other() -> None:
    cluster = three()
    lose(cluster, "b")
    cluster.pass_time(2_000)
    assert cluster.site("b").stored() == [(0, b"kept")]
    cluster.site("b").wishes = []
    cluster.agree("b", ["a", "b", "c"])
    cluster.settle()
    assert cluster.site("b").wishes == []
    assert cluster.site("b").leader().is_settled


def test_what_a_disk_lost_of_messages_that_were_not_confirmed_is_no_loss() -> None:
    cluster = three(fsync=Fsync.EVERY)
    cluster.site("b").syncs_at_once = False
    cluster.site("a").publish(b"never confirmed")
    cluster.pump()
    cluster.cut = {(one, other) for one in "abc" for other in "abc"}
    lose(cluster, "b")
    cluster.agree("b", ["b"])
    cluster.site("b").turn()
    assert cluster.site("b").wishes == []
    assert cluster.site("b").stored() == [(0, b"kept")]
