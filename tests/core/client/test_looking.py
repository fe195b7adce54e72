"""Another broker is asked who leads when the same answer came for long, and not before."""

from goqueue.core.client.looking import APART_NS, FRUITLESS_NS, Looks

STEP = FRUITLESS_NS // 8


def looked(looks: Looks, begin: int, count: int, leader: str) -> list[bool]:
    """What so many looks say, one after the other."""
    return [looks.is_fruitless(begin + at * STEP, "orders", [leader]) for at in range(count)]


def test_looks_that_say_the_same_for_long_are_fruitless_and_begin_anew() -> None:
    assert looked(Looks(), 0, 17, "a:1") == [False] * 8 + [True] + [False] * 7 + [True]


def test_another_leader_begins_a_row() -> None:
    looks = Looks()
    assert not any(looked(looks, 0, 8, "a:1"))
    assert not any(looked(looks, 8 * STEP, 8, "b:1"))


def test_looks_that_are_far_apart_are_no_row() -> None:
    looks = Looks()
    assert not any(looks.is_fruitless(at * (APART_NS + 1), "orders", ["a:1"]) for at in range(10))


def test_topics_are_looked_for_apart() -> None:
    looks = Looks()
    looked(looks, 0, 8, "a:1")
    assert not looks.is_fruitless(FRUITLESS_NS, "bills", ["a:1"])
    assert looks.is_fruitless(FRUITLESS_NS, "orders", ["a:1"])
