"""Facts of work queues against what the clients of simulated worlds were told: nothing is missing, nothing made up."""

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from goqueue.core.queues.receipts import read_stem
from goqueue.core.requests.queues import AckWork, NackWork, RejectWork, ReleaseWork
from goqueue.fuzz.options import Options
from tests.arrow.delivery_worlds import Row, ToldWorld, held, live

_FAILURES = ("nacked", "expired", "lost")


def alone(**changes: object) -> Options:
    """One node, with workers that are slow, hang up, go without a word and say no."""
    settings: dict[str, object] = {
        "workers": 3, "shared_groups": 2, "visibility_ms": 1_000, "attempts_max": 3, "p_ttl": 0.1, "steps": 600,
        "think_ns": 10_000_000, "partitions_max": 2, "session_ms_max": 3_000, "undertakers": 1,
    }  # fmt: skip
    return Options(**(settings | changes))  # type: ignore[arg-type]


def together(**changes: object) -> Options:
    """Three nodes, of which some die or are cut off from the others."""
    settings: dict[str, object] = {
        "nodes": 3, "steps": 0, "seconds": 15, "replicas_max": 3, "calamities": ("kill", "isolate"), "workers": 2,
        "shared_groups": 2, "visibility_ms": 1_000, "attempts_max": 2, "producers": 1, "think_ns": 50_000_000,
        "session_ms_max": 3_000, "patience_ns": 5_000_000_000, "wait_ns_max": 100_000_000,
    }  # fmt: skip
    return Options(**(settings | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=[(5, {"p_kill": 0.003}), (8, {"p_hang_up": 0.03})])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ToldWorld:
    """A world of one node; in some it is killed, or clients hang up."""
    seed, changes = request.param
    return live(tmp_path_factory.mktemp("alone"), seed, alone(**changes))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> ToldWorld:
    """A world of three nodes."""
    return live(tmp_path_factory.mktemp("together"), 3, together())


def leased_by_told(world: ToldWorld) -> Counter[tuple[object, ...]]:
    """Each message that was given to a member, with all that the answer said of it."""
    return Counter(
        (group, topic, partition, read_stem(run.stem).lease, offset, run.attempt, run.until_ms)
        for group, topic, partition, run in world.told.leases()
        for offset in range(run.first_offset, run.first_offset + run.count)
    )


def leased_by_facts(rows: list[Row]) -> Counter[tuple[object, ...]]:
    """The same by facts."""
    return Counter(
        (
            row["group"], row["topic"], row["partition"], row["lease"], offset, row["attempt"],
            int(row["due"].timestamp() * 1000),
        )
        for row in rows
        for offset in range(row["first"], row["end"])
    )  # fmt: skip


def test_what_members_were_given_is_leased_and_nothing_else_is(world: ToldWorld) -> None:
    assert leased_by_facts(world.of("leased", cause=None)) == leased_by_told(world)
    assert sum(leased_by_told(world).values()) > 50


def settled(world: ToldWorld) -> set[tuple[object, ...]]:
    """The messages that are done with: by whichever lease, acknowledged or given up."""
    return {(*hold[:3], hold[4]) for hold in held(world.of("acked", "doomed"))}


def test_what_was_acknowledged_is_acked_once(world: ToldWorld) -> None:
    acked, told = held(world.of("acked")), world.told.done(AckWork)
    assert max(acked.values()) == 1
    assert set(held(world.of("acked", cause=None))) <= set(told)
    # To acknowledge what is settled already is answered as done.
    assert {(*hold[:3], hold[4]) for hold in set(told) - set(acked)} <= settled(world)
    assert len(told) > 30


def test_what_members_said_no_to_is_returned_or_doomed_for_that(world: ToldWorld) -> None:
    nacked = held(world.of("returned", cause="nacked"))
    for row in world.of("doomed", cause="attempts"):
        if row["detail"].startswith("nacked"):
            nacked.update(held([row]))
    unsure = set(held(world.of("acked")))
    assert set(world.told.done(NackWork)) - unsure <= set(nacked)
    assert set(world.told.done(ReleaseWork)) <= set(held(world.of("returned", cause="released")))
    assert set(world.told.done(RejectWork)) <= set(held(world.of("doomed", cause="rejected")))


def lives(world: ToldWorld) -> dict[tuple[object, ...], list[Row]]:
    """What happened to each message in each group, in order, within one process of the leader."""
    found: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in world.of("leased", "acked", "returned", "doomed"):
        for offset in range(row["first"], row["end"]):
            key = row["node"], row["run"], row["group"], row["topic_id"], row["partition"], offset
            found[key].append(row)
    return found


def test_a_lease_ends_in_one_way_and_attempts_count_failures(world: ToldWorld) -> None:
    for rows in lives(world).values():
        ends: dict[int, str] = {}
        for row in rows:
            if row["kind"] != "leased":
                assert row["lease"] not in ends
                ends[row["lease"]] = row["cause"] if row["kind"] == "returned" else row["kind"]
        for before, after in pairwise(rows):
            if before["kind"] == "returned" and after["kind"] == "leased":
                assert after["attempt"] == before["attempt"] + (before["cause"] in _FAILURES)
            assert (before["kind"], after["kind"]) != ("acked", "leased")


def test_leases_expire_late_and_are_lost_with_their_members(world: ToldWorld) -> None:
    gone = {(row["run"], row["event"], row["member"]) for row in world.of("left")}
    ends = {hold: row["due"] for row in world.of("leased", "extended") for hold in held([row])}
    ended = world.of("returned", cause="expired") + world.of("returned", cause="lost")
    for row in ended:
        is_gone = (row["run"], row["event"], row["member"]) in gone
        if row["cause"] == "lost":
            assert is_gone
        else:
            assert all(row["time"] >= ends[hold] for hold in held([row]) if hold in ends)


def test_dead_letters_are_buried_for_what_they_were_doomed_for(world: ToldWorld) -> None:
    def dead(kind: str) -> Counter[tuple[object, ...]]:
        return Counter(
            (row["topic_id"], row["partition"], row["group"], offset, row["cause"])
            for row in world.of(kind)
            for offset in range(row["first"], row["end"])
        )

    buried, doomed = dead("buried"), dead("doomed")
    assert buried
    assert set(buried) <= set(doomed)
    for row in world.of("buried"):
        topic, partition, offset = row["detail"].rsplit("/", 2)
        assert topic == f"{row['topic']}.dlq"
        appended = world.of("appended", run=row["run"], topic=topic, partition=int(partition), side="data")
        assert any(one["first"] <= int(offset) < one["end"] for one in appended)


def test_in_a_cluster_each_lease_is_noted_once_by_who_leads(cluster: ToldWorld) -> None:
    facts, told = leased_by_facts(cluster.of("leased")), leased_by_told(cluster)
    assert max(facts.values()) == 1
    assert set(told) <= set(facts)
    assert sum(told.values()) > 20
    acked = held(cluster.of("acked"))
    assert max(acked.values()) == 1
    assert {(*hold[:3], hold[4]) for hold in set(cluster.told.done(AckWork)) - set(acked)} <= settled(cluster)
    assert len({row["node"] for row in cluster.of("leased")}) > 1


def test_a_capture_without_queues_has_no_facts_of_them(tmp_path: Path) -> None:
    quiet = live(tmp_path, 1, Options(steps=60, think_ns=1_000_000))
    assert quiet.of("appended")
    assert not quiet.of("leased", "acked", "returned", "doomed", "buried", "owned", "scheduled")
