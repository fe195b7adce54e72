"""Addresses at which nobody answered are tried last, and nobody is left out for good."""

from goqueue.core.client.addresses import ADDRESSES_MAX, SPARED_NS, Addresses


def test_what_failed_lately_is_tried_behind_the_others() -> None:
    addresses = Addresses(["a:1", "b:1", "c:1"])
    addresses.failed(0, "a:1")
    assert addresses.order(0) == ["b:1", "c:1", "a:1"]
    assert addresses.order(SPARED_NS - 1) == ["b:1", "c:1", "a:1"]
    assert addresses.order(SPARED_NS) == ["a:1", "b:1", "c:1"]


def test_what_answers_is_spared_no_more() -> None:
    addresses = Addresses(["a:1", "b:1"])
    addresses.failed(0, "a:1")
    assert addresses.is_spared(0, "a:1")
    addresses.answered("a:1")
    assert not addresses.is_spared(0, "a:1")


def test_all_that_failed_are_tried_in_their_order() -> None:
    addresses = Addresses(["a:1", "b:1"])
    addresses.failed(0, "b:1")
    addresses.failed(0, "a:1")
    assert addresses.order(1) == ["a:1", "b:1"]


def test_who_won_is_tried_first_and_who_was_left_last() -> None:
    addresses = Addresses(["a:1", "b:1", "c:1"])
    addresses.prefer("c:1")
    assert addresses.order(0) == ["c:1", "a:1", "b:1"]
    addresses.turn_from("c:1")
    assert addresses.order(0) == ["a:1", "b:1", "c:1"]


def test_leaders_are_learned_once_and_up_to_a_bound() -> None:
    addresses = Addresses(["a:1"])
    for number in range(2 * ADDRESSES_MAX):
        addresses.learn("a:1")
        addresses.learn(f"b:{number}")
    assert len(addresses) == ADDRESSES_MAX
    assert addresses.order(0)[:2] == ["a:1", "b:0"]
