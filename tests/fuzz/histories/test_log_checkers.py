"""Each anomaly of a log, written down by hand, is found and named; the same history without it is not."""

from collections.abc import Callable

import pytest

from goqueue.fuzz.histories.form import lines_of, read_history
from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.operation import Verb
from goqueue.fuzz.histories.verdict import Result
from tests.fuzz.histories.story import TOPIC, Story


def plain() -> Story:
    """Three messages, read by one reader who has then read everything."""
    story = Story()
    for offset, value in enumerate(("a", "b", "c")):
        story.publish("p", offset, value)
    story.poll("r", 0, "a", "b")
    story.poll("r", 2, "c", at=2)
    story.drained("r")
    return story


def two_values_at_an_offset(story: Story) -> None:
    story.publish("q", 5, "x")
    story.poll("r", 3, "y", at=5)
    story.publish("q", 6, "y")


def acknowledged_and_read_differ(story: Story) -> None:
    story.publish("q", 3, "x")
    story.publish("q", 4, "y")
    story.poll_of("r", 3, [(3, "y"), (4, "x")], 5)


def twice_in_the_log(story: Story) -> None:
    story.poll("r", 3, "a", at=3)


def never_seen_and_passed(story: Story) -> None:
    story.publish("p", 3, "d")
    story.publish("p", 4, "e")
    story.poll("r", 3, "e", at=4)


def passed_by_one_and_seen_by_another(story: Story) -> None:
    story.publish("p", 3, "d")
    story.publish("p", 4, "e")
    story.poll("r", 3, "d", "e", at=3)
    story.poll_of("s", 0, [(0, "a"), (1, "b"), (2, "c"), (4, "e")], 5)


def never_seen_at_the_end(story: Story) -> None:
    story.publish("p", 3, "d")
    story.drained("r")


def delayed_and_never_seen(story: Story) -> None:
    story.publish_later("p", 0, "late", 10)
    story.wait(100)
    story.drained("r")


def refused_and_read(story: Story) -> None:
    story.fail(story.asks_publish("p", "x"))
    story.poll("r", 3, "x", at=3)


def published_by_nobody(story: Story) -> None:
    story.poll("r", 3, "x", at=3)


def published_elsewhere(story: Story) -> None:
    story.publish("p", 0, "x", topic="letters")
    story.poll("r", 3, "x", at=3)


def cancelled_and_read(story: Story) -> None:
    story.publish_later("p", 7, "late", 10)
    story.ok(story.begin("p", Verb.CANCEL, topic=TOPIC, partition=0, offset=7, value="late"))
    story.wait(100)
    story.poll("r", 3, "late", at=3)


def part_of_a_batch(story: Story) -> None:
    story.info(story.asks_publish("p", "x", "y"))
    story.publish("p", 5, "z")
    story.poll_of("r", 3, [(3, "x"), (5, "z")], 6)


def batch_with_a_stranger_inside(story: Story) -> None:
    story.info(story.asks_publish("p", "x", "y"))
    story.publish("q", 4, "z")
    story.poll_of("r", 3, [(3, "x"), (4, "z"), (5, "y")], 6)


def batch_upside_down(story: Story) -> None:
    story.ok(story.asks_publish("p", "x", "y"), partition=0, offsets=[4, 3])


def sent_later_and_before(story: Story) -> None:
    first, second = story.asks_publish("p", "x"), story.asks_publish("p", "y")
    story.ok(second, partition=0, offsets=[3])
    story.ok(first, partition=0, offsets=[4])


def sent_after_an_answer_and_before(story: Story) -> None:
    story.publish("p", 4, "x")
    story.publish("q", 3, "y")


def poll_upside_down(story: Story) -> None:
    story.publish("p", 3, "d")
    story.publish("p", 4, "e")
    story.poll_of("r", 3, [(4, "e"), (3, "d")], 5)


def poll_that_goes_back(story: Story) -> None:
    story.poll("r", 1, "b", "c", at=1)


def poll_that_leaves_something_out(story: Story) -> None:
    story.publish("p", 3, "d")
    story.publish("p", 4, "e")
    story.poll("s", 0, "a", "b", "c", "d", "e")
    story.poll("r", 4, "e", at=4)


def commit_that_is_gone(story: Story) -> None:
    story.commit("m", 2)
    story.committed("n", -1)


def offset_that_goes_back(story: Story) -> None:
    story.info(story.begin("m", Verb.COMMIT, group="g", offsets=[(TOPIC, 0, 2)]))
    story.committed("n", 2)
    story.committed("n", -1)


def offset_that_nobody_committed(story: Story) -> None:
    story.commit("m", 2)
    story.committed("n", 3)


ANOMALIES: list[tuple[Callable[[Story], None], str]] = [
    (two_values_at_an_offset, "inconsistent-offset"),
    (acknowledged_and_read_differ, "inconsistent-offset"),
    (twice_in_the_log, "duplicate"),
    (never_seen_and_passed, "lost-write"),
    (passed_by_one_and_seen_by_another, "skip"),
    (never_seen_at_the_end, "unseen"),
    (delayed_and_never_seen, "unseen"),
    (refused_and_read, "aborted-read"),
    (published_by_nobody, "unexpected"),
    (published_elsewhere, "misplaced"),
    (cancelled_and_read, "cancelled"),
    (part_of_a_batch, "partial-batch"),
    (batch_with_a_stranger_inside, "partial-batch"),
    (batch_upside_down, "disordered-batch"),
    (sent_later_and_before, "disordered-sends"),
    (sent_after_an_answer_and_before, "acknowledged-later"),
    (poll_upside_down, "disordered-poll"),
    (poll_that_goes_back, "backwards-poll"),
    (poll_that_leaves_something_out, "gap-between-polls"),
    (commit_that_is_gone, "stale-commit"),
    (offset_that_goes_back, "stale-commit"),
    (offset_that_nobody_committed, "commit-out-of-nowhere"),
]


@pytest.mark.parametrize(("spoil", "anomaly"), ANOMALIES, ids=lambda one: getattr(one, "__name__", str(one)))
def test_an_anomaly_of_a_log_is_found_and_named(spoil: Callable[[Story], None], anomaly: str) -> None:
    story = plain()
    spoil(story)
    assert anomaly in story.anomalies()
    assert story.verdict().result is Result.INVALID


def test_a_correct_history_is_valid() -> None:
    story = plain()
    assert story.verdict().result is Result.VALID
    assert story.verdict().counts["publish"].ok == 3


def test_an_empty_history_is_unknown() -> None:
    assert Story().verdict().result is Result.UNKNOWN
    unread = Story()
    unread.publish("p", 0, "a")
    assert unread.verdict().doubts == ["nothing was read"]


def numbers_are_missing(story: Story) -> None:
    """Whoever sends again without numbers may find it there twice."""
    story.publish("q", 3, "x", numbered=False, ordered=False)
    story.poll("r", 3, "x", "x", at=3)


def outcome_is_unknown(story: Story) -> None:
    """What has no answer may be there, and may be there later."""
    story.info(story.asks_publish("p", "x"))
    story.poll("r", 3, at=3)
    story.poll("r", 3, "x", at=3)


def sent_again_after_a_refusal(story: Story) -> None:
    story.fail(story.asks_publish("p", "x"))
    story.publish("p", 3, "x")
    story.poll("r", 3, "x", at=3)


def begins_in_the_middle(story: Story) -> None:
    story.poll("s", None, "b", "c", at=1)


def assigned_anew(story: Story) -> None:
    story.ok(story.begin("r", Verb.ASSIGN, group="", partitions=[(TOPIC, 0)]))
    story.poll("r", None, "a", "b", "c")


def read_anew_at_the_moment_of_another_reading(story: Story) -> None:
    """A reader has two readings under way, both end at one moment, and between them it goes elsewhere."""
    story.publish("p", 3, "d")
    readings = [story.begin("r", Verb.POLL, group="") for _ in range(2)]
    part = {"topic": TOPIC, "partition": 0, "begin": 3, "position": 4, "messages": [(3, "d")]}
    story.recorder.ok(readings[0], parts=[part])
    story.recorder.note("r", Verb.ASSIGN, group="", partitions=[(TOPIC, 0)])
    story.recorder.ok(readings[1], parts=[part])


def there_is_nothing_in_a_gap(story: Story) -> None:
    story.publish("p", 9, "z")
    story.poll("r", 3, "z", at=9)


def batch_whose_other_half_nobody_came_to(story: Story) -> None:
    story.info(story.asks_publish("p", "x", "y"))
    story.poll("r", 3, "x", at=3)


def one_of_a_batch_is_a_dead_letter(story: Story) -> None:
    story.publish("p", 3, "x", "y")
    story.poll("r", 3, "x", "y", at=3)
    part = {"topic": "orders.dlq", "partition": 0, "begin": 0, "position": 1, "messages": [(0, "y")]}
    story.ok(story.begin("r", Verb.POLL, group=""), parts=[part])


def commit_under_way_is_seen_or_not(story: Story) -> None:
    commit = story.begin("m", Verb.COMMIT, group="g", offsets=[(TOPIC, 0, 2)])
    story.committed("n", 2)
    story.committed("n", 2)
    story.ok(commit, refused=[])


def commit_below_changes_nothing(story: Story) -> None:
    story.commit("m", 3)
    story.commit("m", 1)
    story.committed("n", 3)


def commit_that_was_refused(story: Story) -> None:
    commit = story.begin("m", Verb.COMMIT, group="g", offsets=[(TOPIC, 0, 2)])
    story.ok(commit, refused=[(TOPIC, 0, "fenced_generation")])
    story.committed("n", -1)


def topic_that_forgets(story: Story) -> None:
    story.ok(story.begin("x", Verb.ALTER, topic=TOPIC, config={"retention_bytes": 100}))
    never_seen_and_passed(story)


def topic_that_was_deleted(story: Story) -> None:
    story.info(story.begin("x", Verb.DELETE, topic=TOPIC))
    two_values_at_an_offset(story)


def acknowledged_by_one_node(story: Story) -> None:
    story.publish("p", 3, "d", acks="leader")
    story.poll("r", 3, "x", at=4)
    story.publish("q", 4, "x")


@pytest.mark.parametrize(
    "add",
    [
        numbers_are_missing, outcome_is_unknown, sent_again_after_a_refusal, begins_in_the_middle, assigned_anew,
        read_anew_at_the_moment_of_another_reading, there_is_nothing_in_a_gap,
        batch_whose_other_half_nobody_came_to, one_of_a_batch_is_a_dead_letter, commit_under_way_is_seen_or_not,
        commit_below_changes_nothing, commit_that_was_refused, topic_that_forgets, topic_that_was_deleted,
        acknowledged_by_one_node,
    ],
)  # fmt: skip
def test_what_is_allowed_is_no_anomaly(add: Callable[[Story], None]) -> None:
    story = plain()
    add(story)
    assert story.verdict().text().splitlines()[0] == "verdict: valid", story.verdict().text()
    assert judge(read_history(lines_of(story.recorder.history))) == story.verdict()


def test_a_finding_names_the_operations_in_order() -> None:
    story = plain()
    never_seen_and_passed(story)
    text = story.verdict().text()
    assert "lost-write: d was acknowledged at orders/0@3, r read past it, and nobody ever saw it" in text
    publish, poll = text.index("publish d to orders -> partition 0, offsets 3"), text.index("orders/0: 4 e up to 5")
    assert publish < poll


def test_what_is_not_promised_is_said() -> None:
    story = plain()
    topic_that_was_deleted(story)
    assert story.verdict().exempt == ["topic orders: it was deleted, so its name may stand for several topics"]
