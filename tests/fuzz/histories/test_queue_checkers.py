"""Each anomaly of a work queue, written down by hand, is found and named; what leases allow is not."""

from collections.abc import Callable

import pytest

from goqueue.fuzz.histories.operation import Verb
from goqueue.fuzz.histories.verdict import Result
from tests.fuzz.histories.story import KEYED, TOPIC, WORK, Story


def plain() -> Story:
    """Two messages that are given and acknowledged."""
    story = Story()
    for offset, value in enumerate(("a", "b")):
        story.publish("p", offset, value, key="k")
    for offset, value in enumerate(("a", "b")):
        story.settle(Verb.ACK, story.receive("w", offset, value, key="k"))
    return story


def never_given(story: Story) -> None:
    story.publish("p", 2, "c")
    story.drained("w", WORK)


def delayed_and_never_given(story: Story) -> None:
    story.publish_later("p", 0, "late", 10)
    story.wait(100)
    story.drained("w", WORK)


def given_after_the_acknowledgement(story: Story) -> None:
    story.receive("v", 0, "a", attempt=2)


def given_after_the_rejection(story: Story) -> None:
    story.publish("p", 2, "c")
    story.settle(Verb.REJECT, story.receive("w", 2, "c"))
    story.receive("v", 2, "c", attempt=2)


def two_at_one_time(story: Story) -> None:
    story.publish("p", 2, "c")
    story.receive("w", 2, "c", left_ms=1000)
    story.wait(500)
    story.receive("v", 2, "c", attempt=2)


def two_within_an_extension(story: Story) -> None:
    story.publish("p", 2, "c")
    story.settle(Verb.EXTEND, story.receive("w", 2, "c", left_ms=10), span_ms=1000)
    story.wait(500)
    story.receive("v", 2, "c", attempt=2)


def tried_too_often(story: Story) -> None:
    story.publish("p", 2, "c")
    story.receive("w", 2, "c", attempt=5)


def before_it_was_due(story: Story) -> None:
    story.publish_later("p", 0, "late", 500)
    story.receive("w", 2, "late")


def tried_again_too_soon(story: Story) -> None:
    story.publish("p", 2, "c")
    story.settle(Verb.NACK, story.receive("w", 2, "c"), delay_ms=500)
    story.receive("v", 2, "c", attempt=2)


def key_beside_its_elder(story: Story) -> None:
    story.publish("p", 2, "c", key="k")
    story.publish("p", 3, "d", key="k")
    first = story.receive("w", 2, "c", key="k", group=KEYED)
    story.receive("v", 3, "d", key="k", group=KEYED)
    story.settle(Verb.ACK, first)


def key_before_its_elder_is_tried_again(story: Story) -> None:
    story.publish("p", 2, "c", key="k")
    story.publish("p", 3, "d", key="k")
    story.settle(Verb.NACK, story.receive("w", 2, "c", key="k", group=KEYED), delay_ms=None)
    story.receive("v", 3, "d", key="k", group=KEYED)
    story.receive("w", 2, "c", key="k", attempt=2, group=KEYED)


def refused_and_given(story: Story) -> None:
    story.fail(story.asks_publish("p", "x"))
    story.receive("w", 2, "x")


def given_and_published_by_nobody(story: Story) -> None:
    story.receive("w", 2, "x")


ANOMALIES: list[tuple[Callable[[Story], None], str]] = [
    (never_given, "lost-message"),
    (delayed_and_never_given, "lost-message"),
    (given_after_the_acknowledgement, "delivered-after-settled"),
    (given_after_the_rejection, "delivered-after-settled"),
    (two_at_one_time, "double-lease"),
    (two_within_an_extension, "double-lease"),
    (tried_too_often, "attempt-beyond-maximum"),
    (before_it_was_due, "early-delivery"),
    (tried_again_too_soon, "early-retry"),
    (key_beside_its_elder, "key-out-of-order"),
    (key_before_its_elder_is_tried_again, "key-out-of-order"),
    (refused_and_given, "aborted-read"),
    (given_and_published_by_nobody, "unexpected"),
]


@pytest.mark.parametrize(("spoil", "anomaly"), ANOMALIES, ids=lambda one: getattr(one, "__name__", str(one)))
def test_an_anomaly_of_a_queue_is_found_and_named(spoil: Callable[[Story], None], anomaly: str) -> None:
    story = plain()
    spoil(story)
    assert story.anomalies() == {anomaly}


def lease_that_ran_out(story: Story) -> None:
    story.publish("p", 2, "c")
    story.receive("w", 2, "c", left_ms=100)
    story.wait(200)
    story.receive("v", 2, "c", attempt=2)


def lease_that_was_given_back(story: Story) -> None:
    story.publish("p", 2, "c")
    story.settle(Verb.RELEASE, story.receive("w", 2, "c"))
    story.receive("v", 2, "c", lease="other")


def lease_that_may_have_been_given_back(story: Story) -> None:
    story.publish("p", 2, "c")
    given = story.receive("w", 2, "c")
    [one] = given.told["messages"]
    story.info(story.begin("w", Verb.ACK, group=WORK, messages=[(TOPIC, 0, 2, one["lease"])]))
    story.receive("v", 2, "c", attempt=2)


def lease_of_a_member_that_left(story: Story) -> None:
    story.publish("p", 2, "c")
    story.receive("w", 2, "c")
    story.ok(story.begin("w", Verb.LEAVE, group=WORK))
    story.receive("v", 2, "c", lease="other")


def lease_of_a_member_whose_session_ended(story: Story) -> None:
    story.publish("p", 2, "c")
    story.receive("w", 2, "c", left_ms=10_000)
    story.wait(5_000)
    story.receive("v", 2, "c", lease="other")
    story.ok(story.begin("w", Verb.ASSIGN, group=WORK, partitions=[]))


def acknowledgement_that_was_refused(story: Story) -> None:
    story.publish("p", 2, "c")
    given = story.receive("w", 2, "c", left_ms=10)
    [one] = given.told["messages"]
    story.wait(20)
    row = (TOPIC, 0, 2, one["lease"])
    story.ok(story.begin("w", Verb.ACK, group=WORK, messages=[row]), refused=[(*row, "receipt_expired")])
    story.receive("v", 2, "c", attempt=2)


def extension_that_was_shorter(story: Story) -> None:
    story.publish("p", 2, "c")
    story.settle(Verb.EXTEND, story.receive("w", 2, "c"), span_ms=5)
    story.wait(20)
    story.receive("v", 2, "c", attempt=2)


def dead_letter(story: Story) -> None:
    story.publish("p", 2, "c")
    story.ok(story.begin("w", Verb.LETTERS, topic="orders.dlq"), messages=[("c", WORK)])
    story.drained("w", WORK)


def cancelled(story: Story) -> None:
    story.publish_later("p", 7, "late", 10)
    story.info(story.begin("p", Verb.CANCEL, topic=TOPIC, partition=0, offset=7, value="late"))
    story.wait(100)
    story.drained("w", WORK)


def key_after_its_elder(story: Story) -> None:
    story.publish("p", 2, "c", key="k")
    story.publish("p", 3, "d", key="k")
    story.settle(Verb.ACK, story.receive("w", 2, "c", key="k", group=KEYED))
    story.receive("v", 3, "d", key="k", group=KEYED)


def key_whose_elder_nobody_knows_of(story: Story) -> None:
    """It may be a dead letter: its lease ran out, and nobody was ever given it again."""
    story.publish("p", 2, "c", key="k")
    story.publish("p", 3, "d", key="k")
    story.receive("w", 2, "c", key="k", attempt=4, left_ms=5, group=KEYED)
    story.wait(10)
    story.receive("v", 3, "d", key="k", group=KEYED)


def key_whose_elder_is_acknowledged_once_more(story: Story) -> None:
    """It expired meanwhile, and who acknowledges what is settled is told that it is."""
    story.publish("p", 2, "c", key="k", ttl=True)
    story.publish("p", 3, "d", key="k")
    first = story.receive("w", 2, "c", key="k", left_ms=5, group=KEYED)
    story.wait(10)
    story.receive("v", 3, "d", key="k", group=KEYED)
    story.settle(Verb.ACK, first)


def later_and_in_time(story: Story) -> None:
    story.publish_later("p", 0, "late", 500)
    story.wait(500)
    story.receive("w", 2, "late")


@pytest.mark.parametrize(
    "add",
    [
        lease_that_ran_out, lease_that_was_given_back, lease_that_may_have_been_given_back,
        lease_of_a_member_that_left,
    lease_of_a_member_whose_session_ended, acknowledgement_that_was_refused, extension_that_was_shorter, dead_letter,
        cancelled, key_after_its_elder, key_whose_elder_nobody_knows_of,
        key_whose_elder_is_acknowledged_once_more, later_and_in_time,
    ],
)  # fmt: skip
def test_what_leases_allow_is_no_anomaly(add: Callable[[Story], None]) -> None:
    story = plain()
    add(story)
    assert story.verdict().result is Result.VALID, story.verdict().text()


def test_nothing_is_early_where_nobody_knows_the_clocks() -> None:
    story = plain()
    story.recorder.terms.clock_error_ms = None
    before_it_was_due(story)
    assert story.verdict().result is Result.VALID
