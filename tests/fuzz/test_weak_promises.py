"""A message that was not synced when it was acknowledged is promised while a node in sync keeps its memory."""

from goqueue.core.requests.cluster import DescribeCluster
from goqueue.fuzz.history import Asked, History, Message, TopicTerms

PLACE = (1, 0)


def promised(*, is_strong: bool = False, holders: str = "abc") -> History:
    """A history of one message that these nodes have."""
    history = History()
    history.terms[1] = TopicTerms(was_weak=not is_strong)
    history.acknowledged(Message(b"m", "p", 1, 0), PLACE, 7, is_strong=is_strong, holders=frozenset(holders))
    return history


def offsets(history: History) -> list[int]:
    """What is promised to be there."""
    return [*history.promised[PLACE]]


def test_a_promise_holds_until_the_last_of_those_in_sync_has_lost_its_power() -> None:
    history = promised()
    history.power_lost("a")
    history.power_lost("c")
    history.power_lost("a")
    assert offsets(history) == [7]
    history.power_lost("b")
    assert offsets(history) == []


def test_a_power_cut_takes_back_no_promise_about_what_is_on_the_disk() -> None:
    history = promised(is_strong=True, holders="")
    for node_id in "abc":
        history.power_lost(node_id)
    assert offsets(history) == [7]


def test_a_disk_that_fails_takes_back_what_nobody_else_has() -> None:
    history = promised(holders="ab")
    history.disk_failed("a", 2)
    history.disk_failed("b", 1)
    assert offsets(history) == [7]
    history.disk_failed("a", 1)
    assert offsets(history) == []


def test_who_has_the_partition_no_more_holds_nothing() -> None:
    history = promised()
    history.power_lost("a")
    history.placed(PLACE, ["a", "b", "d"], stands_still=False)
    assert offsets(history) == [7]
    history.power_lost("b")
    assert offsets(history) == []


def test_an_answer_counts_those_in_sync_that_have_kept_their_power_since_the_question() -> None:
    history = History()
    early = Asked(1, "p", DescribeCluster(), 1)
    history.asked(early)
    history.power_lost("b")
    assert history.holders(PLACE, ["a", "b"], early) == {"a"}
    late = Asked(2, "p", DescribeCluster(), 1)
    history.asked(late)
    assert history.holders(PLACE, ["a", "b"], late) == {"a", "b"}
    history.placed(PLACE, ["a", "b"], stands_still=True)
    assert history.holders(PLACE, ["a", "b"], late) == frozenset(), "others may be in sync than those who confirmed it"
