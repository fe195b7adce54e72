"""What reports compute a partition or a group at a time: small stories in, answers that were worked out on paper."""

from typing import Any

import pyarrow as pa
import pytest

from goqueue.spark.reports.backlog import COLUMNS as BACKLOG_COLUMNS
from goqueue.spark.reports.backlog import backlog
from goqueue.spark.reports.dealing import COLUMNS as DEALING_COLUMNS
from goqueue.spark.reports.dealing import DEALT, STARVED, Terms, dealt
from goqueue.spark.reports.lanes import terms_of
from goqueue.spark.reports.ownership import COLUMNS as OWNERSHIP_COLUMNS
from goqueue.spark.reports.ownership import Absences, ownership
from goqueue.spark.reports.unended import COLUMNS as UNENDED_COLUMNS
from goqueue.spark.reports.unended import unended, without
from tests.arrow.facts_made import BEGAN, SECOND, Row, fact, table

BEGIN = int(BEGAN.timestamp() * 1_000_000)
MS = SECOND // 1000


def columns(rows: list[Row], names: tuple[str, ...]) -> pa.Table:
    """Facts with the columns that a body gets."""
    facts = table(rows)
    return facts.append_column("time_us", facts["time"].cast(pa.int64())).select(list(names))


# --- lag


def behind(rows: list[Row], slots: int = 4) -> list[tuple[Any, ...]]:
    """Group, slot, visible, done, lag, highest lag and age in milliseconds."""
    found = backlog(columns(rows, BACKLOG_COLUMNS), "orders", 0, BEGIN, 1_000_000, slots)
    found.validate(full=True)
    names = ("group", "slot", "visible", "done", "lag", "lag_max")
    return [(*(row[name] for name in names), round(row["age_ns"] / MS)) for row in found.to_pylist()]


def visible(end: int, at: int) -> Row:
    return fact("visible", first=0, end=end, at=at * MS)


def test_a_group_is_behind_by_what_it_has_not_committed_and_as_old_as_the_first_of_that() -> None:
    committed = [fact("committed", group="g", end=end, at=at * MS) for end, at in ((5, 1200), (20, 3100))]
    assert behind([visible(10, 500), visible(20, 2500), *committed]) == [
        ("g", 1, 10, 5, 5, 5, 1500),
        ("g", 2, 20, 5, 15, 15, 2500),
        ("g", 3, 20, 20, 0, 15, 0),
    ]


def test_a_work_queue_is_behind_by_what_is_not_done_in_whatever_order_that_is() -> None:
    rows = [
        visible(10, 500),
        fact("leased", group="w", first=0, end=4, lease=1, at=SECOND),
        fact("acked", group="w", first=2, end=4, lease=1, at=1500 * MS),
        fact("acked", group="w", first=0, end=2, lease=1, at=2500 * MS),
        # The same again says nothing that is not known.
        fact("acked", group="w", first=1, end=3, lease=1, at=2600 * MS),
    ]
    assert behind(rows, slots=3) == [("w", 1, 10, 2, 8, 10, 1500), ("w", 2, 10, 4, 6, 8, 2500)]


def test_before_the_watermark_is_known_nobody_is_behind() -> None:
    assert behind([fact("committed", group="g", end=5, at=0)]) == []
    known = fact("known", first=0, end=9, value=7, at=2 * SECOND)
    assert behind([fact("committed", group="g", end=5, at=0), known], slots=3) == [("g", 2, 7, 5, 2, 2, 1000)]


# --- leases without an end


def still_out(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Attempt, second of the lease, whether it was leased again, messages."""
    found = unended(columns(rows, UNENDED_COLUMNS), "w", "orders")
    found.validate(full=True)
    return [
        (row["attempt"], (row["time_us"] - BEGIN) // 1_000_000, row["again"], row["messages"])
        for row in found.to_pylist()
    ]


def leased(lease: int, first: int, end: int, at: int, attempt: int = 1) -> Row:
    return fact("leased", group="w", first=first, end=end, lease=lease, attempt=attempt, at=at * SECOND)


def test_what_is_leased_again_without_an_end_is_told_from_what_is_in_flight() -> None:
    rows = [
        leased(1, 0, 4, at=1),
        fact("acked", group="w", first=0, end=2, lease=1, at=2 * SECOND),
        leased(2, 3, 4, at=5, attempt=2),
    ]
    assert still_out(rows) == [(1, 1, True, 1), (1, 1, False, 1), (2, 5, False, 1)]


def test_a_lease_that_ended_in_parts_has_ended() -> None:
    ends = [
        fact("acked", group="w", first=0, end=1, lease=1, at=2 * SECOND),
        fact("returned", group="w", first=1, end=3, lease=1, cause="nacked", at=2 * SECOND),
        fact("doomed", group="w", first=3, end=4, lease=1, cause="rejected", at=2 * SECOND),
    ]
    assert still_out([leased(1, 0, 4, at=1), *ends]) == []
    assert still_out(ends) == []


def test_a_range_without_others_is_what_lies_between_them() -> None:
    assert without((0, 10), [(2, 4), (3, 5), (9, 12)]) == [(0, 2), (5, 9)]
    assert without((0, 10), [(0, 10)]) == []
    assert without((4, 6), [(0, 2), (8, 9)]) == [(4, 6)]


# --- who owned what


def story(rows: list[Row], absences: Absences | None = None) -> list[Row]:
    """Rows without what is null, times in milliseconds from the beginning."""
    found = ownership(columns(rows, OWNERSHIP_COLUMNS), "g", absences)
    found.validate(full=True)
    told = []
    for row in found.to_pylist():
        kept = {name: value for name, value in row.items() if value is not None and name != "group"}
        for name in ("begin_us", "end_us"):
            if name in kept:
                kept[name] = (kept[name] - BEGIN) // 1000
        told.append(kept)
    return told


def owned(kind: str, member: str, at: int, **more: object) -> Row:
    return fact(kind, group="g", member=member, topic="orders", partition=0, at=at * MS, **more)


def test_a_partition_is_not_down_while_its_topic_is_not_there() -> None:
    def since(*spans: tuple[int, int]) -> Absences:
        return {"orders": [(BEGIN + begin * 1000, BEGIN + end * 1000) for begin, end in spans]}

    rows = [
        owned("owned", "m1", 1_000, epoch=1),
        owned("disowned", "m1", 2_000, cause="left"),
        owned("owned", "m2", 9_000, epoch=2),
        owned("disowned", "m2", 10_000, cause="revoked"),
    ]

    def gaps(absences: Absences) -> list[tuple[object, object]]:
        told = [row for row in story(rows, absences) if row["what"] == "gap"]
        return [(row["begin_us"], row.get("end_us")) for row in told]

    assert gaps({}) == [(2_000, 9_000), (10_000, None)]
    # It was deleted before the first let go, and is there again before the second does.
    assert gaps(since((1_900, 8_000))) == [(10_000, None)]
    # It was deleted while nobody read it, and for good once the second had let go.
    assert gaps(since((5_000, 8_000), (11_000, 1 << 40))) == [(2_000, 5_000), (10_000, 11_000)]


def test_a_partition_is_down_from_when_one_lets_go_until_the_next_may_read_it() -> None:
    rows = [
        owned("owned", "m1", 1_000, epoch=1),
        fact("rebalanced", group="g", epoch=2, cause="member_joined", count=1, at=10_000 * MS, since=9_900 * MS),
        owned("disowned", "m1", 10_001, cause="revoked"),
        owned("owned", "m2", 10_500, epoch=2),
        owned("told", "m2", 10_700, epoch=2),
        fact("group", group="g", epoch=2, cause="stable", at=10_800 * MS),
    ]
    slot = {"topic": "orders", "partition": 0}
    assert story(rows) == [
        {"what": "hold", **slot, "member": "m1", "begin_us": 1_000, "end_us": 10_001, "span_ns": 9_001 * MS},
        {
            "what": "gap", **slot, "epoch": 2, "before": "m1", "member": "m2", "cause": "revoked", "begin_us": 10_001,
            "end_us": 10_500, "span_ns": 499 * MS, "told_ns": 699 * MS,
        },
        {
            "what": "rebalance", "epoch": 2, "cause": "member_joined", "begin_us": 9_900, "end_us": 10_800,
            "span_ns": 900 * MS, "count": 1,
        },
        {"what": "hold", **slot, "member": "m2", "begin_us": 10_500},
    ]  # fmt: skip


def test_a_coordinator_that_takes_over_says_who_owns_what_and_opens_no_gap() -> None:
    rows = [
        owned("owned", "m1", 1_000, epoch=1),
        owned("known", "m1", 4_000, epoch=1, node="n2", cause="taken_over"),
        owned("known", "m2", 6_000, epoch=2, node="n3", cause="taken_over"),
    ]
    assert [(row["what"], row["member"], row.get("span_ns")) for row in story(rows)] == [
        ("hold", "m1", 5 * SECOND),
        ("hold", "m2", None),
    ]


# --- lanes


def lanes(rows: list[Row], terms: Terms) -> list[tuple[Any, ...]]:
    """What was dealt and what starved: kind, lane, messages, what it was to be."""
    found = dealt(columns(rows, DEALING_COLUMNS), "orders", terms, BEGIN, 1_000_000)
    found.validate(full=True)
    names = {DEALT: "dealt", STARVED: "starved"}
    return [
        (names.get(row["cell"], "wait"), row["lane"], row["messages"], round(row["wanted"], 3))
        for row in found.sort_by([("cell", "descending"), ("lane", "ascending")]).to_pylist()
    ]


def batch(first: int, end: int, lane: int, at: int = 1_000) -> Row:
    return fact("appended", side="data", first=first, end=end, lane=lane, at=at * MS)


def given(first: int, end: int, at: int, **columns: object) -> Row:
    return fact("leased", first=first, end=end, attempt=1, at=at * MS, **({"group": "w", "lane": 0} | columns))


# By lane as batches number them: normal, critical, high, low, background.
TERMS = Terms([15, 50, 25, 7, 3], 30 * SECOND)


def test_a_delivery_is_to_be_divided_by_weight_among_the_lanes_that_wait() -> None:
    rows = [batch(0, 10, 0), batch(10, 20, 1), given(0, 5, 2_000), given(10, 15, 2_000)]
    assert lanes(rows, TERMS) == [
        ("wait", 0, 5, 0), ("wait", 1, 5, 0), ("dealt", 0, 5, 2.308), ("dealt", 1, 5, 7.692),
    ]  # fmt: skip


def test_a_lane_is_to_have_no_more_than_it_has_and_what_is_left_goes_to_the_others() -> None:
    rows = [batch(0, 10, 0), batch(10, 12, 1), given(0, 6, 2_000), given(10, 12, 2_000)]
    assert lanes(rows, TERMS)[2:] == [("dealt", 0, 6, 6), ("dealt", 1, 2, 2)]


def test_what_waited_longer_than_the_topic_allows_starved() -> None:
    rows = [batch(0, 4, 3), given(0, 1, 1_400), given(1, 4, 1_600)]
    assert lanes(rows, Terms(TERMS.weights, SECOND // 2))[-1] == ("starved", 3, 3, 0)


def test_what_was_given_up_before_anybody_had_it_waits_no_longer() -> None:
    never = fact("doomed", group="w", first=10, end=12, cause="expired", at=1_500 * MS)
    had = fact("doomed", group="w", first=1, end=2, cause="attempts", at=1_600 * MS)
    rows = [batch(0, 10, 0), batch(10, 12, 1), never, given(1, 2, 1_400), had, given(2, 8, 2_000)]
    # The first delivery was to be divided 15 to 50; by the second critical has nothing, or else its two messages.
    first = [("dealt", 0, 1, 0.231), ("dealt", 1, 0, 0.769)]
    assert sorted(lanes(rows, TERMS)[-3:]) == sorted([*first, ("dealt", 0, 6, 6)])
    waits = [row for row in rows if row is not never]
    assert sorted(lanes(waits, TERMS)[-4:]) == sorted([*first, ("dealt", 0, 6, 4), ("dealt", 1, 0, 2)])


def test_a_group_that_goes_by_keys_has_no_lanes() -> None:
    rows = [batch(0, 10, 0), given(0, 5, 2_000, group="keys", lane=None), given(0, 5, 2_000)]
    found = dealt(columns(rows, DEALING_COLUMNS), "orders", TERMS, BEGIN, 1_000_000)
    assert set(found["reader"].to_pylist()) == {"w"}


def test_what_came_before_the_facts_begin_is_left_out() -> None:
    assert lanes([given(0, 5, 2_000)], TERMS) == []
    assert lanes([batch(3, 5, 0), given(0, 5, 2_000)], TERMS)[-1] == ("dealt", 0, 2, 2)


@pytest.mark.parametrize(("config", "seconds"), [({}, 30), ({"starvation_after": "2s"}, 2)])
def test_terms_are_those_of_the_topic_or_as_they_are_by_default(config: dict[str, object], seconds: int) -> None:
    terms = terms_of(config)
    assert terms.starvation_ns == seconds * SECOND
    assert list(terms.weights) == [15, 50, 25, 7, 3]
