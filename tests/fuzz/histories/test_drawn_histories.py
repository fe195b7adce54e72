"""Drawn histories of a correct broker are never blamed; with one anomaly put into them, it is found and named."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.fuzz.histories.operation import End, Operation, Verb
from tests.fuzz.histories.model import correct_story
from tests.fuzz.histories.story import Story

STEPS = st.integers(10, 150)
SEEDS = st.integers(0, 1 << 32)


@given(seed=SEEDS, steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_a_correct_broker_is_never_blamed(seed: int, steps: int) -> None:
    verdict = correct_story(Random(seed), steps).verdict()
    assert verdict.findings == [], verdict.text()


def done(story: Story, verb: Verb) -> list[Operation]:
    """The operations of a verb that were ok."""
    return [one for one in story.recorder.history.of(verb) if one.is_ok]


def filled_polls(story: Story) -> list[Operation]:
    """Readings that brought something."""
    return [one for one in done(story, Verb.POLL) if one.told["parts"][0]["messages"]]


Mutation = Callable[[Story, Random], set[str]]
"""Puts an anomaly into a history, and gives the names under which it may be found; none where there is no room."""


def left_out(story: Story, random: Random) -> set[str]:
    acknowledged = {one.told["offsets"][0] for one in done(story, Verb.PUBLISH)}
    polls = [one for one in filled_polls(story) if acknowledged & {at for at, _ in one.told["parts"][0]["messages"]}]
    if not polls:
        return set()
    [part] = random.choice(polls).told["parts"]
    place = random.choice([at for at, (offset, _) in enumerate(part["messages"]) if offset in acknowledged])
    del part["messages"][place]
    return {"skip", "lost-write"}


def lost(story: Story, random: Random) -> set[str]:
    """Nobody is ever given it, though all go on behind it."""
    sent = [one for one in done(story, Verb.PUBLISH) if len(one.asked["values"]) == 1]
    if not sent:
        return set()
    value = random.choice(sent).asked["values"][0]
    for poll in filled_polls(story):
        [part] = poll.told["parts"]
        part["messages"] = [(offset, name) for offset, name in part["messages"] if name != value]
    for receive in done(story, Verb.RECEIVE):
        receive.told["messages"] = [one for one in receive.told["messages"] if one["value"] != value]
    return {"lost-write"}


def twice(story: Story, random: Random) -> set[str]:
    polls = filled_polls(story)
    if not polls:
        return set()
    messages = polls[-1].told["parts"][0]["messages"]
    value = random.choice(messages)[1]
    story.poll("end", None, value, at=messages[-1][0] + 1)
    return {"duplicate"}


def invented(story: Story, random: Random) -> set[str]:
    polls = filled_polls(story)
    if not polls:
        return set()
    messages = random.choice(polls).told["parts"][0]["messages"]
    place = random.randrange(len(messages))
    messages[place] = (messages[place][0], "invented")
    return {"unexpected", "inconsistent-offset"}


def swapped(story: Story, random: Random) -> set[str]:
    polls = [one for one in filled_polls(story) if len(one.told["parts"][0]["messages"]) > 1]
    if not polls:
        return set()
    messages = random.choice(polls).told["parts"][0]["messages"]
    messages[0], messages[1] = messages[1], messages[0]
    return {"disordered-poll"}


def refused(story: Story, random: Random) -> set[str]:
    sent = done(story, Verb.PUBLISH)
    if not sent:
        return set()
    one = random.choice(sent)
    one.end, one.told = End.FAIL, {}
    return {"aborted-read"}


def went_back(story: Story, _: Random) -> set[str]:
    known = [offset for one in done(story, Verb.COMMITTED) for *_, offset in one.told["offsets"]]
    if not known or max(known) < 1:
        return set()
    story.committed("n", -1)
    return {"stale-commit"}


def given_again(story: Story, random: Random) -> set[str]:
    taken = [one for one in done(story, Verb.ACK) if not one.told["refused"]]
    if not taken:
        return set()
    [(_, _, offset, _)] = random.choice(taken).asked["messages"]
    receives = [one for one in done(story, Verb.RECEIVE) if one.told["messages"]]
    value = next(one.told["messages"][0]["value"] for one in receives if one.told["messages"][0]["offset"] == offset)
    story.receive("w", offset, value, attempt=4)
    return {"delivered-after-settled"}


def given_beside(story: Story, _: Random) -> set[str]:
    receives = [one for one in done(story, Verb.RECEIVE) if one.told["messages"]]
    if not receives:
        return set()
    value, offset = "two at a time", 10_000
    story.publish("p", offset, value)
    story.receive("v", offset, value, left_ms=100)
    story.receive("w", offset, value, attempt=2, left_ms=100)
    return {"double-lease"}


MUTATIONS = (left_out, lost, twice, invented, swapped, refused, went_back, given_again, given_beside)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_one_anomaly_in_a_correct_history_is_found_and_named(mutation: Mutation, seed: int) -> None:
    story = correct_story(Random(seed), 150)
    names = mutation(story, Random(seed))
    if names:
        assert names & story.anomalies(), story.verdict().text()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
def test_there_is_room_for_the_anomaly(mutation: Mutation) -> None:
    """Else the test before would test nothing."""
    rooms = [bool(mutation(correct_story(Random(seed), 150), Random(seed))) for seed in range(20)]
    assert sum(rooms) >= 10
