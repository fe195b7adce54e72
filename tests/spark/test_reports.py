"""All reports over one small cluster's facts, each answer as it was worked out on paper; and over none at all.

Two nodes. n1 leads `orders` and hands it over to n2; `mail` is a work queue of n1. One publish of ten messages is read
by a stream and by a group, one of four by a queue, and one message is kept back until it is due.
"""

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from goqueue.spark.reports import coverage
from goqueue.spark.reports.catalogue import REPORTS
from goqueue.spark.reports.job import answers, report
from goqueue.spark.reports.page import page
from tests.arrow.facts_made import BEGAN, RUN, SECOND, Row, fact, moment, table

MS = SECOND // 1000
HOSTILE = "<script>alert('key')</script>"


def at(milliseconds: float) -> datetime:
    return BEGAN + timedelta(milliseconds=milliseconds)


def orders(kind: str, milliseconds: float, **columns: object) -> Row:
    place = {"topic": "orders", "topic_id": 1, "partition": 0}
    return fact(kind, at=int(milliseconds * MS), **(place | columns))


def mail(kind: str, milliseconds: float, **columns: object) -> Row:
    return orders(kind, milliseconds, **({"topic": "mail", "topic_id": 2} | columns))


def work(kind: str, milliseconds: float, first: int, end: int, **columns: object) -> Row:
    return mail(kind, milliseconds, first=first, end=end, **({"group": "w", "member": "w1"} | columns))


def everything() -> list[Row]:
    ten = {"first": 0, "end": 10, "side": "data"}
    four = {"first": 0, "end": 4, "side": "data"}
    return [
        fact("file", first=0, count=100, bytes=4_000, value=0, at=9_000 * MS),
        fact("file", node="n2", first=0, count=90, bytes=3_000, value=0, cause="damaged", detail=HOSTILE),
        fact("clock_stepped", value=5_000, at=8_000 * MS),
        orders("placed", 0, epoch=1, peer="n1"),
        orders("placed", 0, partition=1, epoch=1, peer="n1"),
        orders("leads", 1, epoch=1, side="data", end=0, value=0),
        orders("asked", 1_000, count=10, bytes=1_000, client="c"),
        orders("appended", 1_001, **ten, count=10, bytes=1_000, epoch=1, since=1_000 * MS),
        orders("copied", 1_002, node="n2", **ten, count=10, bytes=1_000, peer="n1"),
        orders("durable", 1_003, **ten, bytes=1_000, since=1_001 * MS),
        orders("visible", 1_005, **ten, epoch=1),
        orders("answered", 1_006, **ten, count=10, since=1_000 * MS, epoch=1),
        orders("fetched", 1_010, first=0, end=10, bytes=1_000, since=500 * MS, client="c"),
        orders("looked", 1_500, partition=None, count=10, value=40),
        orders("keyed", 1_500, key_hash=5, count=7, bytes=700, detail=HOSTILE, value=2),
        orders("owned", 100, group="g", member="m1", epoch=1),
        orders("committed", 1_500, group="g", member="m1", end=4, epoch=1),
        orders("disowned", 2_000, group="g", member="m1", cause="left"),
        orders("owned", 2_250, group="g", member="m2", epoch=2),
        fact("topic", topic="mail", topic_id=2, detail='{"lane_weights": "50/25/15/7/3"}', cause="known"),
        mail("appended", 2_000, **four, count=4, bytes=400, epoch=1, lane=1),
        work("leased", 2_100, 0, 4, attempt=1, lease=1, lane=1),
        work("acked", 2_200, 1, 4, attempt=1, lease=1, lane=1),
        work("returned", 2_200, 0, 1, attempt=1, lease=1, lane=1, cause="nacked", detail=HOSTILE),
        work("leased", 3_000, 0, 1, attempt=2, lease=2, lane=1),
        work("doomed", 3_100, 0, 1, attempt=2, lease=2, lane=1, cause="rejected"),
        work("buried", 3_200, 0, 1, attempt=2, cause="rejected"),
        mail("scheduled", 2_500, side="schedule", first=0, end=1, due=moment(4_000 * MS)),
        mail("moved", 4_005, first=4, end=5, sequence=0, due=moment(4_000 * MS)),
        orders("placed", 5_000, epoch=2, peer="n2", value=2),
        orders("leads", 5_010, node="n2", epoch=2, side="data", end=10, value=10),
        # Asked of n1, which does not lead any more and so does not know the epoch.
        orders("answered", 5_506, first=10, end=11, side="data", count=1),
    ]  # fmt: skip


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(table(rows))


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> dict[str, pa.Table]:
    """Every answer."""
    facts = frame(spark, everything())
    found = {name: answer.toArrow() for name, answer in answers(facts).items()}
    return found | {"coverage": coverage.answer(facts).toArrow()}


def rows(answer: pa.Table, *names: str, **only: object) -> list[tuple[Any, ...]]:
    """Some columns of the rows that have these values, in order."""
    chosen = [row for row in answer.to_pylist() if all(row[name] == value for name, value in only.items())]
    return sorted((tuple(row[name] for name in names) for row in chosen), key=repr)


def test_load_is_summed_up_by_node(told: dict[str, pa.Table]) -> None:
    names = ("node", "messages_in", "bytes_in", "bytes_copied", "messages_out", "bytes_out", "syncs", "bytes_synced")
    assert rows(told["load"], *names, time=None) == [
        ("n1", 14, 1_400, 0, 15, 1_000, 1, 1_000),
        ("n2", 0, 0, 1_000, 0, 0, 0, 0),
    ]
    assert rows(told["load"], "sync_p50_ns", "sync_max_ns", time=None, node="n1") == [(2 * MS, 2 * MS)]


def test_latency_is_known_stage_by_stage_and_by_topic(told: dict[str, pa.Table]) -> None:
    whole = rows(told["latency"], "stage", "messages", "p50_ns", "max_ns", "open", topic="orders", time=None)
    assert whole == [
        ("answer", 10, 6 * MS, 6 * MS, 0),
        ("deliver", 10, 5 * MS, 5 * MS, 0),
        ("persist", 10, 2 * MS, 2 * MS, 0),
        ("replicate", 10, 4 * MS, 4 * MS, 0),
        ("through", 10, 10 * MS, 10 * MS, 0),
    ]
    assert rows(told["latency"], "messages", "max_ns", stage="acknowledge", topic=None, reader=None, time=None) == [
        (3, 100 * MS)
    ]


def test_failovers_are_known_with_all_their_moments(told: dict[str, pa.Table]) -> None:
    names = ("what", "topic", "partition", "epoch", "before", "leader", "cause", "down_ns", "still_ns")
    assert rows(told["failovers"], *names) == [("partition", "orders", 0, 2, "n1", "n2", "moved", 10 * MS, 4_500 * MS)]
    assert rows(told["failovers"], "last", "gone", "led", "served") == [(at(1_006), at(5_000), at(5_010), at(5_506))]


def test_lag_is_what_a_group_has_not_committed(told: dict[str, pa.Table]) -> None:
    last = max(rows(told["lag"], "time", "visible", "done", "lag", "lag_max", group="g", topic="orders", partition=0))
    assert last[1:] == (10, 4, 6, 6)


def test_rebalances_say_who_read_what_and_when_nobody_did(told: dict[str, pa.Table]) -> None:
    assert rows(told["rebalances"], "what", "before", "member", "cause", "span_ns") == [
        ("gap", "m1", "m2", "left", 250 * MS),
        ("hold", None, "m1", None, 1_900 * MS),
        ("hold", None, "m2", None, None),
    ]


def test_redeliveries_and_dead_letters_have_their_causes(told: dict[str, pa.Table]) -> None:
    names = ("what", "group", "topic", "cause", "attempt", "words", "messages")
    assert rows(told["redeliveries"], *names) == [
        ("buried", "w", "mail", "rejected", None, None, 1),
        ("doomed", "w", "mail", "rejected", 2, None, 1),
        ("leased", "w", "mail", None, 1, None, 4),
        ("leased", "w", "mail", None, 2, None, 1),
        ("returned", "w", "mail", "nacked", 1, None, 1),
        ("returned", "w", "mail", "nacked", None, HOSTILE, 1),
    ]


def test_delays_are_as_late_as_their_messages_came(told: dict[str, pa.Table]) -> None:
    names = ("scheduled", "moved", "cancelled", "early", "p50_ns", "most_ns", "pending")
    assert rows(told["delays"], *names, topic="mail", time=None) == [(1, 1, 0, 0, 5 * MS, 5 * MS, 0)]


def test_lanes_have_shares_and_waits(told: dict[str, pa.Table]) -> None:
    names = ("lane", "messages", "share", "wanted", "p50_ns", "starved")
    assert rows(told["lanes"], *names, topic=None, time=None) == [("critical", 4, 1.0, 1.0, 100 * MS, 0)]


def test_hot_partitions_are_against_the_mean_and_keys_have_an_error(told: dict[str, pa.Table]) -> None:
    names = ("topic", "partition", "messages", "bytes", "share", "skew")
    assert rows(told["hot"], *names, what="partition", time=None) == [
        ("mail", 0, 4, 400, 1.0, 1.0),
        ("orders", 0, 10, 1_000, 1.0, 2.0),
        ("orders", 1, 0, 0, 0.0, 0.0),
    ]
    assert rows(told["hot"], "key", "messages", "share", "error", what="key") == [(HOSTILE, 7, 0.7, 2)]
    assert rows(told["hot"], "topic", "messages", "share", what="looked") == [("orders", 10, 0.25)]


def test_coverage_says_what_was_read_and_what_not(told: dict[str, pa.Table]) -> None:
    assert rows(told["coverage"], "node", "run", "files", "events", "bytes", what="run") == [
        ("n1", RUN, 1, 100, 4_000), ("n2", RUN, 1, 90, 3_000),
    ]  # fmt: skip
    assert rows(told["coverage"], "node", "cause", "words", what="fault") == [("n2", "damaged", HOSTILE)]
    assert rows(told["coverage"], "node", "value", what="step") == [("n1", 5_000)]
    assert len(rows(told["coverage"], "node", what="gap")) == 2


def test_the_page_has_every_report_and_runs_nothing(told: dict[str, pa.Table]) -> None:
    sections = [module.section(told[name]) for name, module in REPORTS.items()]
    html = page("t", coverage.section(told["coverage"]), sections, coverage.warnings(told["coverage"]))
    for name in ("coverage", *REPORTS):
        assert html.count(f'<section id="{name}">') == 1
    assert "<script" not in html
    assert "&lt;script&gt;alert(&#x27;key&#x27;)&lt;/script&gt;" in html
    assert "1 file could not be read to the end" in html


NOTHING = {
    "load": "No node did anything in what was read.",
    "latency": "No message was published, sent or acknowledged in what was read.",
    "failovers": "No other node came to lead anything in what was read.",
    "lag": "No group has committed or been sent anything in what was read.",
    "rebalances": "No exclusive group had members in what was read.",
    "redeliveries": "No message of a work queue was delivered in what was read.",
    "delays": "No message was kept back or delivered late in what was read.",
    "lanes": "No message of a work queue with lanes was delivered whose append is in what was read.",
    "hot": "No message came to a partition in what was read.",
}


def test_of_nothing_every_report_says_that_there_is_nothing(spark: SparkSession) -> None:
    html = report(frame(spark, []))
    assert set(NOTHING) == set(REPORTS)
    for name, words in NOTHING.items():
        assert f"<p>{words}</p>" in html, name
    assert "Nothing was read, so nothing on this page says anything." in html
