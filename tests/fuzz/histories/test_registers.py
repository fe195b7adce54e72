"""Registers: orders are found where there are any, by search and by trying all, and the smallest proof is small."""

from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.fuzz.histories.operation import NEVER, Operation, Verb
from goqueue.fuzz.histories.registers.models import Event, OffsetModel, TopicModel
from goqueue.fuzz.histories.registers.search import Answer, search, smallest
from goqueue.fuzz.histories.verdict import Result
from tests.fuzz.histories.story import TOPIC, Story

NOBODY = Operation(0, "m", Verb.COMMIT, {}, 0, 0)


def event(kind: str, value: object, since: int, until: int | None) -> Event:
    """An event, of unknown outcome where it has no end."""
    return Event(kind, value, since, NEVER if until is None else until, until is not None, NOBODY)


def has_order(events: list[Event]) -> bool:
    """The same as the search, by trying everything."""
    optional = [one for one in events if not one.is_certain]
    certain = [one for one in events if one.is_certain]
    for chosen in range(1 << len(optional)):
        taken = certain + [one for at, one in enumerate(optional) if chosen >> at & 1]
        if any(_is_possible(order) for order in permutations(taken)):
            return True
    return False


def _is_possible(order: tuple[Event, ...]) -> bool:
    state, least = OffsetModel.initial, 0
    for one in order:
        least = max(least, one.since_ns)
        if least > one.until_ns:
            return False
        stepped = OffsetModel().step(state, one)  # type: ignore[arg-type]
        if stepped is None:
            return False
        state = stepped[0]
    return True


@st.composite
def few_events(draw: st.DrawFn) -> list[Event]:
    """Up to six events on one offset."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        since = draw(st.integers(0, 12))
        kind = draw(st.sampled_from(("commit", "read", "read", "reset")))
        until = since + draw(st.integers(0, 6))
        is_unknown = kind != "read" and draw(st.integers(0, 3)) == 0
        found.append(
            event(kind, draw(st.integers(-1 if kind == "read" else 0, 3)), since, None if is_unknown else until)
        )
    return found


@given(few_events())
@settings(max_examples=300, deadline=None)
def test_the_search_finds_what_trying_everything_finds(events: list[Event]) -> None:
    assert (search(OffsetModel(), events) is Answer.YES) == has_order(events)


@given(few_events())
@settings(max_examples=100, deadline=None)
def test_the_smallest_proof_has_no_order_either(events: list[Event]) -> None:
    if search(OffsetModel(), events) is Answer.NO:
        assert not has_order(smallest(OffsetModel(), events))


def test_a_write_of_unknown_outcome_takes_effect_later_or_never() -> None:
    early = [event("commit", 3, 0, None), event("read", -1, 10, 11), event("read", 3, 20, 21)]
    assert search(OffsetModel(), early) is Answer.YES
    assert search(OffsetModel(), early[:2]) is Answer.YES
    assert search(OffsetModel(), [*early, event("read", -1, 30, 31)]) is Answer.NO


def test_two_readers_may_not_see_two_orders() -> None:
    events = [
        event("reset", 1, 0, 100), event("reset", 2, 0, 100), event("read", 1, 10, 11), event("read", 2, 20, 21),
        event("read", 1, 30, 31),
    ]  # fmt: skip
    assert search(OffsetModel(), events[:4]) is Answer.YES
    assert search(OffsetModel(), events) is Answer.NO


def test_a_search_that_is_too_long_says_so() -> None:
    random = Random(1)
    events = [event("reset", number, 0, 1000) for number in range(14)]
    events += [event("read", random.randrange(14), 0, 1000) for _ in range(14)]
    events.append(event("read", 99, 0, 1000))
    assert search(OffsetModel(), events, 500) is Answer.TIRED


def test_long_histories_in_order_take_a_step_each() -> None:
    events = []
    for number in range(2_000):
        events.append(event("commit", number, 4 * number, 4 * number + 1))
        events.append(event("read", number, 4 * number + 2, 4 * number + 3))
    assert search(OffsetModel(), events, 4_100) is Answer.YES


def test_the_smallest_proof_leaves_out_what_has_nothing_to_do_with_it() -> None:
    story = Story()
    for offset in range(20):
        story.commit("m", offset)
        story.committed("n", offset)
    story.committed("o", 4)
    for offset in range(20, 30):
        story.commit("m", offset)
    found = [one for one in story.verdict().findings if one.anomaly == "not-linearizable"]
    told = [one.asked.get("offsets") or one.told["offsets"] for one in found[0].operations]
    assert told == [[(TOPIC, 0, 4)], [(TOPIC, 0, 19)], [(TOPIC, 0, 4)]]


# --- topics


def created(story: Story, fsync: str = "every", code: str = "") -> None:
    operation = story.begin("x", Verb.CREATE, topic="t", config={"fsync": fsync})
    if code:
        story.fail(operation, code)
    else:
        story.ok(operation)


def deleted(story: Story) -> None:
    story.ok(story.begin("x", Verb.DELETE, topic="t"))


def described(story: Story, fsync: str | None) -> None:
    operation = story.begin("y", Verb.DESCRIBE, topic="t")
    if fsync is None:
        story.fail(operation, "topic_not_found")
    else:
        story.ok(operation, config={"fsync": fsync, "retention_hours": 168})


def topic_story() -> Story:
    """A history that has something else in it, so that it can be valid."""
    story = Story()
    story.publish("p", 0, "a")
    story.poll("r", 0, "a")
    created(story)
    return story


def test_a_topic_that_is_made_twice_is_found() -> None:
    story = topic_story()
    created(story)
    assert story.anomalies() == {"not-linearizable"}


def test_a_topic_that_is_there_without_being_made_is_found() -> None:
    story = topic_story()
    deleted(story)
    created(story, code="topic_exists")
    assert story.anomalies() == {"not-linearizable"}


def test_settings_that_nobody_gave_are_found() -> None:
    story = topic_story()
    described(story, "none")
    assert story.anomalies() == {"not-linearizable"}


def test_an_alteration_that_is_lost_is_found() -> None:
    story = topic_story()
    story.ok(story.begin("x", Verb.ALTER, topic="t", config={"fsync": "none"}))
    deleted(story)
    created(story, fsync="interval")
    described(story, "interval")
    assert story.verdict().result is Result.VALID
    story.fail(story.begin("x", Verb.ALTER, topic="t", config={"fsync": "none"}), "topic_not_found")
    assert story.anomalies() == {"not-linearizable"}


def test_a_description_may_be_old() -> None:
    story = topic_story()
    deleted(story)
    described(story, "every")
    described(story, None)
    created(story, code="")
    created(story, code="topic_exists")
    described(story, "every")
    assert story.verdict().result is Result.VALID, story.verdict().text()


def test_a_change_of_unknown_outcome_may_come_later() -> None:
    story = topic_story()
    story.info(story.begin("x", Verb.DELETE, topic="t"))
    created(story, code="topic_exists")
    created(story, fsync="none")
    described(story, "none")
    assert story.verdict().result is Result.VALID, story.verdict().text()


def test_a_topic_that_is_gone_before_its_maker_is_answered_was_there() -> None:
    story = topic_story()
    deleted(story)
    making = story.begin("x", Verb.CREATE, topic="t", config={"fsync": "none"})
    deleted(story)
    story.fail(making, "topic_not_found")
    assert story.verdict().result is Result.VALID, story.verdict().text()
    deleted(story)
    assert story.anomalies() == {"not-linearizable"}


def test_settings_are_compared_by_the_model() -> None:
    model = TopicModel()
    state = model.step(None, event("create", frozenset({("fsync", "every")}), 0, 1))
    assert state is not None
    assert model.step(state[0], event("alter", {"fsync": None}, 0, 1)) == (frozenset(),)
