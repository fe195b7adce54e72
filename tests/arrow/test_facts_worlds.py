"""Facts of simulated worlds are what an onlooker saw: no more, no less, and at the right places."""

from collections import Counter
from collections.abc import Iterable

import pytest

from tests.arrow.told_worlds import Fact, ToldWorld, told_world

CALM = ("isolate", "stop", "clock", "loss", "partition", "double")
WILD = ("kill", "crash", "disk", "full", "isolate", "pause", "loss", "clock")
WORLDS = ((4, 3, 6, CALM), (5, 3, 5, WILD), (7, 1, 0, WILD), (11, 1, 0, CALM))


@pytest.fixture(scope="module", params=WORLDS, ids=lambda world: f"{world[1]}-nodes-{world[0]}")
def world(request: pytest.FixtureRequest) -> ToldWorld:
    """A world of one node or three."""
    seed, nodes, seconds, faults = request.param
    return told_world(seed, nodes, seconds, faults)


def stream_of(fact: Fact) -> str:
    """The name of the stream that a fact is of."""
    ending = "" if fact["side"] == "data" else f"/{fact['side']}"
    return f"logs/{fact['topic']}/{fact['partition']}{ending}"


def lives(facts: Iterable[Fact]) -> dict[tuple[str, int], int]:
    """Which process of its node each run is, counted from 0."""
    runs = sorted({(fact["node"], fact["run"]) for fact in facts})
    seen: Counter[str] = Counter()
    found = {}
    for node, run in runs:
        found[node, run] = seen[node]
        seen[node] += 1
    return found


def ranges(facts: Iterable[Fact]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """The ranges of offsets that facts are of, by stream and topic id."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for fact in facts:
        found.setdefault((stream_of(fact), fact.get("topic_id", -1)), []).append((fact["first"], fact["end"]))
    return found


def test_every_file_was_read_to_its_end(world: ToldWorld) -> None:
    for file in world.of("file"):
        assert "cause" not in file, file
        assert file["end"] - file["first"] == file["count"] > 0


def test_every_publish_that_came_is_a_fact(world: ToldWorld) -> None:
    asked = Counter((fact["node"], fact["topic"], fact["count"]) for fact in world.of("asked"))
    assert asked == world.onlooker.asks
    assert asked.total() > 10


def test_every_answer_is_a_fact_with_the_range_that_it_told(world: ToldWorld) -> None:
    answered: Counter[tuple[str, str, int, int, bool]] = Counter()
    for fact in world.of("answered"):
        if "first" in fact:
            assert fact["end"] - fact["first"] == fact["count"]
            for offset in range(fact["first"], fact["end"]):
                answered[fact["node"], fact["topic"], fact["partition"], offset, fact["side"] == "schedule"] += 1
    # What a process said in the turn in which it died was heard by nobody.
    assert not world.onlooker.answers - answered
    assert answered.total() - world.onlooker.answers.total() <= len(lives(world.facts))


def test_what_was_answered_was_asked_before_and_stored(world: ToldWorld) -> None:
    appended, seen = ranges(world.of("appended")), ranges(world.of("visible"))
    stored = 0
    for fact in world.of("answered"):
        assert fact["since"] <= fact["at"]
        if "first" not in fact or "topic_id" not in fact:
            continue
        place = stream_of(fact), fact["topic_id"]
        assert {*range(fact["first"], fact["end"])} <= {one for run in appended[place] for one in range(*run)}
        if fact["detail"] == "all":
            assert max(end for _, end in seen[place]) >= fact["end"]
        stored += 1
    assert stored > 5


def test_readers_see_what_facts_say_they_see(world: ToldWorld) -> None:
    told: dict[tuple[str, int, str], list[int]] = {}
    begun: set[tuple[str, int, str, int]] = set()
    life = lives(world.facts)
    for fact in world.of("visible", "leads"):
        place = fact["node"], life[fact["node"], fact["run"]], stream_of(fact)
        if fact["kind"] == "leads":
            begun.add((*place, fact["value"]))
        else:
            assert fact["first"] <= fact["end"]
            told.setdefault(place, []).append(fact["end"])
    first_life = min(life for _, life, _ in world.onlooker.visible)
    for (node, number, stream), seen in world.onlooker.visible.items():
        place = node, number - first_life, stream
        ends = told.get(place, [])
        assert all(end in ends or (*place, end) in begun or end == 0 for end in seen), (place, seen, ends)
    assert sum(map(len, told.values())) > 5


def test_who_leads_and_who_decides_is_a_fact(world: ToldWorld) -> None:
    led = {(fact["node"], stream_of(fact), fact["epoch"]) for fact in world.of("leads")}
    assert not world.onlooker.leaders - led
    elected = {(fact["node"], fact["epoch"]) for fact in world.of("elected")}
    assert elected == world.onlooker.controllers
    for fact in world.of("deposed"):
        assert (fact["node"], fact["epoch"]) in elected


def is_cluster(world: ToldWorld) -> bool:
    """Whether several nodes have written files: a node that is alone writes one for each of its processes."""
    return len({fact["node"] for fact in world.of("file")}) > 1


def test_batches_of_one_epoch_are_one_behind_the_other(world: ToldWorld) -> None:
    """As its leader wrote them; what a follower copies is what a leader wrote."""
    written: dict[tuple[str, int, int], int] = {}
    batches: dict[tuple[str, int, int, int, int], int] = {}
    for fact in world.of("appended"):
        place = stream_of(fact), fact.get("topic_id", -1), fact["epoch"]
        if is_cluster(world) and place in written:
            assert fact["first"] == written[place]
        written[place] = fact["end"]
        batches[*place, fact["first"], fact["end"]] = fact["value"]
    for fact in world.of("copied"):
        place = stream_of(fact), fact.get("topic_id", -1), fact["epoch"]
        assert batches[*place, fact["first"], fact["end"]] == fact["value"]


def test_a_process_finds_the_vote_that_the_one_before_it_kept(world: ToldWorld) -> None:
    kept: dict[tuple[str, str | None], tuple[int, str]] = {}
    votes = sorted(world.of("vote_kept", "recalled"), key=lambda fact: (fact["node"], fact["run"], fact["event"]))
    for fact in votes:
        vote = fact.get("epoch", -1), fact.get("peer", "")
        voter = fact["node"], fact.get("detail")
        if fact["kind"] == "vote_kept":
            kept[voter] = vote
        elif voter in kept:
            assert vote == kept[voter]
    assert kept or not is_cluster(world) or not world.of("elected")


def test_leases_and_commits_say_under_which_leader_they_are(world: ToldWorld) -> None:
    for fact in world.of("leased"):
        assert fact["value"] >= fact["attempt"]
        assert fact["sequence"] <= fact["event"]
        assert "epoch" in fact
    for fact in world.of("committed", "offset_known", "rewound", "coordinates"):
        assert {"sequence", "value"} <= fact.keys(), fact
