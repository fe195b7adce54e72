"""What a leader knows of its followers: who counts, and since when somebody is behind."""

from goqueue.core.partition.leadership import UNKNOWN, FollowerEnd, Leadership
from goqueue.core.requests.refusals import Code


def leadership(*isr: str, min_isr: int = 1) -> Leadership:
    """Node a leads a, b and c, of which some are in sync."""
    found = Leadership("a", 3)
    found.agree(1, ["a", "b", "c"], [*isr], min_isr)
    found.check()
    return found


def ends(**kept: int) -> dict[str, FollowerEnd]:
    """How far followers are."""
    return {name: FollowerEnd(offset) for name, offset in kept.items()}


def test_what_all_in_sync_have_is_what_the_last_of_them_has() -> None:
    assert leadership("a", "b", "c").held(ends(b=7, c=5), 9) == 5
    assert leadership("a", "b").held(ends(b=7, c=5), 9) == 7
    assert leadership("a", "b").held(ends(b=12), 9) == 9
    assert leadership("a").held({}, 9) == 9


def test_nothing_is_known_of_a_follower_that_has_not_spoken() -> None:
    assert leadership("a", "b").held({}, 9) == UNKNOWN
    assert leadership("a", "b").held(ends(b=UNKNOWN), 9) == UNKNOWN


def test_while_too_few_are_in_sync_nothing_is_held() -> None:
    short = leadership("a", min_isr=2)
    assert short.held({}, 9) == UNKNOWN
    refusal = short.shortage("orders", 4)
    assert refusal.code is Code.NOT_ENOUGH_REPLICAS
    assert refusal.message == (
        "partition 4 of orders has 1 replicas in sync, and the topic asks for 2: nothing was stored"
    )
    assert refusal.retry_after_ms > 0


def test_whoever_was_asked_for_counts_until_a_later_version() -> None:
    found = leadership("a", "b")
    found.ask(["a", "b", "c"])
    found.ask(["a"])
    assert found.counted == ["b", "c"]
    found.agree(1, ["a", "b", "c"], ["a", "b"], 1)
    assert found.counted == ["b", "c"]
    found.agree(2, ["a", "b", "c"], ["a"], 1)
    assert found.counted == []


def test_a_follower_is_behind_since_the_first_batch_that_it_lacks() -> None:
    end = FollowerEnd(10)
    end.grew(5, 11)
    end.grew(6, 12)
    assert end.behind_since == 5


def test_a_follower_that_has_everything_is_not_behind() -> None:
    end = FollowerEnd(10)
    end.grew(5, 11)
    end.told(8, 11, 11)
    assert end.behind_since is None


def test_a_follower_that_has_what_there_was_a_while_ago_is_behind_since_then() -> None:
    end = FollowerEnd()
    end.told(0, 10, 10)
    end.grew(5, 11)
    end.told(20, 11, 15)
    assert end.behind_since == 5
    end.told(30, 14, 20)
    assert end.behind_since == 5, "it has not all that there was at 20"
    end.told(40, 15, 25)
    assert end.behind_since == 20


def test_a_follower_that_forgot_something_is_behind_from_then_on() -> None:
    end = FollowerEnd()
    end.told(0, 10, 10)
    end.told(9, 4, 10)
    assert (end.kept, end.behind_since) == (4, 9)
