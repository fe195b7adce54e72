"""Checks over facts: broken promises are found with the facts that prove them, and kept ones are let be."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from goqueue.fuzz.plants.catalogue import plants
from goqueue.spark.checks.catalogue import CHECKS
from goqueue.spark.checks.gaps import GivenTwice
from goqueue.spark.checks.job import Examination, UnknownCheck, check, examine
from goqueue.spark.facts.schema import SCHEMA_DDL
from tests.arrow.facts_made import Row, table
from tests.spark.broken_promises import CASES, Case, file, rows_of
from tests.spark.planted_worlds import World, facts_of_worlds

Finding = dict[str, Any]

WORLDS = [
    World(0, "acknowledge-before-sync", "lost"),
    World(0, "isr-shrinks-without-epoch", "diverged"),
    World(0, "lease-not-fenced", "leasing"),
    World(1, "offset-commit-lost", "commits", goes_on=True),
    World(1, "schedule-moved-twice", "duplicated"),
    World(0, "stale-leader-serves", "lost watermark", goes_on=True),
    World(0, "truncation-skipped", "replicas", goes_on=True, seconds=18),
    World(3, "vote-not-saved", "leaders", goes_on=True),
    World(3, nodes=1),
    World(7, nodes=1),
    World(114, nodes=3, seconds=8),
]

OF_CLUSTERS = {plant.name: plant for plant in plants().values() if plant.nodes > 1}

# No check looks for what these break: what a client believes of its messages, who is eligible, which disk votes, who
# waits, bytes on their way between nodes; and what shows in the nodes long before anybody is told (`fuzz/invariants`).
BEYOND_FACTS = {
    *(plant.name for plant in OF_CLUSTERS.values() if plant.finder not in ("", "Commits")),
    "acknowledged-by-too-few",
    "all-dropped-stay-eligible",
    "asked-and-not-counted",
    "checksum-skipped",
    "claims-unchecked",
    "cut-one-too-few",
    "delayed-without-numbers",
    "ends-of-epochs-not-compared",
    "epoch-kept-by-the-same-leader",
    "epochs-survive-a-cut",
    "followers-unnoticed",
    "frame-cut-in-two",
    "longest-log-not-awaited",
    "lost-with-its-node",
    "matched-before-asked",
    "numbered-records-stored-twice",
    "outbox-forgets-the-rest",
    "refused-as-undone",
    "renumbered-at-once",
    "repetitions-answered-by-the-leader-alone",
    "unanswered-as-undone",
    "unclean-restart-stays-eligible",
    "wiped-voter-votes",
}


@pytest.fixture(scope="module")
def facts() -> list[Row]:
    """What happened in all cases and worlds."""
    return [*rows_of(CASES), *facts_of_worlds(WORLDS)]


@pytest.fixture(scope="module")
def examined(spark: SparkSession, facts: list[Row]) -> Examination:
    """All of it in one pass."""
    return examine(spark.createDataFrame(table(facts), SCHEMA_DDL).cache())


@pytest.fixture(scope="module")
def findings(examined: Examination) -> list[Finding]:
    """What was found in all cases."""
    return [row.asDict(recursive=True) for row in examined.findings.collect()]


def of_case(case: Case, rows: list[Finding]) -> list[Finding]:
    """What of it is of one case: the node is that of the last fact."""
    return [row for row in rows if row["node"] == f"a~{case.name}" or row["node"] == f"b~{case.name}"]


def test_each_broken_promise_is_found_by_its_check_and_kept_ones_by_none(findings: list[Finding]) -> None:
    found = {case.name: {row["check"] for row in of_case(case, findings)} for case in CASES}
    assert found == {case.name: case.found for case in CASES}


def test_where_something_is_missing_that_may_explain_it_nothing_is_claimed(examined: Examination) -> None:
    rows = [row.asDict() for row in examined.every.where("unknown IS NOT NULL").select("check", "node").collect()]
    unknown = {case.name: {row["check"] for row in of_case(case, rows)} for case in CASES}
    assert unknown == {case.name: case.unknown for case in CASES}
    assert examined.summary.unknown["leasing"] == 1
    [lease] = [one for one in examined.summary.unknowns if one.check == "leasing"]
    assert lease.gap == (
        "what followed event 19 of run 1772366400000 of a~leased by a node that was killed and by another "
        "(it was not closed)"
    )


def test_every_bug_of_the_simulator_is_found_in_what_it_captured_and_nothing_in_sound_worlds(
    findings: list[Finding],
) -> None:
    assert {world.plant for world in WORLDS} == {*OF_CLUSTERS, ""} - BEYOND_FACTS
    assert BEYOND_FACTS.issubset(OF_CLUSTERS)
    for number, world in enumerate(WORLDS, 1):
        found = {row["check"] for row in findings if row["node"].endswith(f"~{number}")}
        assert found == set(world.found.split()), world.name


def test_every_check_finds_something_and_says_what_was_promised(findings: list[Finding]) -> None:
    assert {row["check"] for row in findings} == set(CHECKS)
    for row in findings:
        assert row["promise"] == CHECKS[row["check"]].PROMISE


def test_a_finding_comes_with_the_facts_that_prove_it_in_order(findings: list[Finding]) -> None:
    [case] = [one for one in CASES if one.name == "leased to two"]
    [found] = of_case(case, findings)
    assert found["words"] == "m2 has it under lease 2, and lease 1 had not ended"
    assert (found["topic"], found["partition"], found["first"], found["end"]) == (case.name, 0, 4, 5)
    assert [(one["kind"], one["event"]) for one in found["evidence"]] == [("leased", 10), ("leased", 20)]
    assert found["evidence"][1]["words"] == (
        f"from 4 to 6, epoch 1, group group of {case.name}, member m2, lease 2, attempt 1"
    )
    assert all(row["evidence"] for row in findings)


def test_a_summary_counts_what_was_looked_at_and_what_is_missing(facts: list[Row], examined: Examination) -> None:
    summary = examined.summary
    kinds = [row["kind"] for row in facts]
    assert summary.checks == list(CHECKS)
    assert summary.files == kinds.count("file")
    assert summary.facts == len(kinds) - summary.files
    assert summary.faults == {"diverged": 1, "died": 1}
    assert summary.found == sum(summary.findings.values())
    [gap] = [words for words in summary.gaps if "and a gap" in words]
    assert gap.startswith("events 5 to 14 of run 1772366400000 of a~")


def test_unknown_checks_and_captures_given_twice_are_refused(spark: SparkSession) -> None:
    twice = [file("a", 10), file("a", 10, 5)]
    facts = spark.createDataFrame(table(twice), SCHEMA_DDL)
    with pytest.raises(UnknownCheck, match="there is no check 'losing'; the checks are lost, duplicated, "):
        check(facts, ["losing"])
    with pytest.raises(GivenTwice, match=r"events 5 to 9 of run \d+ of node a are in two files; give each capture"):
        check(facts, ["lost"])
