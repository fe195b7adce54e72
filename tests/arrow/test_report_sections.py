"""What the page says of answers: tables of a few rows in, sentences, pictures and tables out."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from goqueue.spark.reports import delays, hot, lag, lanes, load, rebalances, redeliveries
from tests.arrow.facts_made import BEGAN

MS = 1_000_000
S = 1000 * MS
Row = dict[str, Any]


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def answered(rows: Iterable[Row], **types: pa.DataType) -> pa.Table:
    """Rows as Spark would hand them over: times are times, even if all are null, and of slots of a second."""
    time = pa.timestamp("us", tz="UTC")
    whole = pa.Table.from_pylist([{"seconds": 1.0} | row if "time" in row else row for row in rows])
    for name in whole.column_names:
        kind = types.get(name, time if name in ("time", "begin", "end") else None)
        if kind is not None:
            whole = whole.set_column(whole.column_names.index(name), name, whole[name].cast(kind))
    return whole


def test_load_says_rates_by_node_and_draws_them() -> None:
    amounts = dict.fromkeys(load.AMOUNTS, 0) | {"messages_in": 1_200, "bytes_in": 60_000, "syncs": 120}
    costs = {"sync_p50_ns": 2 * MS, "sync_p99_ns": 5 * MS, "sync_max_ns": 9 * MS}
    whole = {"node": "n1", "time": None, "seconds": 60.0, **amounts, **costs}
    slots = [whole | {"time": at(second), "seconds": 1.0} for second in range(3)]
    found = load.section(answered([whole, *slots]))
    assert found.words == [
        "n1, a second: 20 messages in (1 kB), 0 out, 0 B copied, 2 syncs of 0 B in 2 ms (p99 5 ms), "
        "0 events in 0 turns."
    ]
    assert len(found.pictures) == 4
    (table,) = found.tables
    assert table.rows[0][:2] == ["n1", "20"]


def test_lag_says_how_far_behind_at_the_end_and_at_most() -> None:
    def behind(second: int, amount: int, age: int, partition: int | None = None) -> Row:
        known = {"group": "g", "topic": "orders", "partition": partition, "time": at(second), "visible": 100}
        return known | {"done": 100 - amount, "lag": amount, "lag_max": amount + 1, "age_ns": age * S}

    rows = [behind(0, 40, 4), behind(1, 5, 1), behind(0, 40, 4, partition=3), behind(1, 5, 1, partition=3)]
    found = lag.section(answered(rows, partition=pa.int32()))
    assert found.words == [
        "g: orders: 5 behind at the end, the next of which had waited 1 s; at most 40 at the end of a slot, "
        "and at most 4 s."
    ]
    assert [table.rows for table in found.tables] == [[("g: orders/3", 41, 5, "4 s", "1 s")]]


def test_rebalances_say_how_often_how_long_and_after_whom() -> None:
    slot = {"group": "g", "topic": "orders", "partition": 0}
    nothing = dict.fromkeys(("before", "member", "cause", "end", "span_ns", "told_ns", "count", "epoch"))
    hold = {"what": "hold", **slot, **nothing, "member": "m1", "begin": at(0), "end": at(5), "span_ns": 5 * S}
    gap = {"what": "gap", **slot, **nothing, "before": "m1", "member": "m2", "cause": "lost", "begin": at(5)}
    rebalance = {"what": "rebalance", "group": "g", "topic": None, "partition": None, **nothing, "begin": at(5)}
    rows = [
        hold,
        gap | {"end": at(7), "span_ns": 2 * S, "told_ns": 3 * S},
        gap | {"begin": at(9)},
        rebalance | {"cause": "session_expired", "epoch": 2, "count": 1, "end": at(8), "span_ns": 3 * S},
    ]
    found = rebalances.section(answered(rows))
    assert found.words == [
        "g: 1 rebalance, of 3 s on average and 3 s at most; 1 time a partition was read by nobody, for 2 s in all and "
        "2 s at most; 1 was read by nobody when the facts end."
    ]
    by_partition, by_member, by_generation = found.tables
    assert by_partition.rows == [("g", "orders/0", 2, "2 s", "2 s", "3 s", 1)]
    assert by_member.rows == [("g", "m1", "it was gone without a word", 2, "2 s", "2 s")]
    assert by_generation.rows == [("g", 2, "session_expired", "12:00:05.000", 1, "3 s")]


def test_redeliveries_say_shares_and_causes() -> None:
    def counted(what: str, messages: int, cause: str | None = None, attempt: int | None = 1) -> Row:
        place = {"group": "w", "topic": "mail", "words": None, "time": at(0)}
        return {"what": what, **place, "cause": cause, "attempt": attempt, "messages": messages}

    rows = [
        counted("leased", 15), counted("leased", 5, attempt=2), counted("returned", 4, "nacked"),
        counted("returned", 1, "expired"), counted("doomed", 2, "attempts", 2), counted("buried", 2, "attempts", None),
        counted("in_flight", 3), counted("returned", 4, "nacked", None) | {"words": "not today", "time": None},
    ]  # fmt: skip
    found = redeliveries.section(answered(rows, words=pa.string()))
    assert found.words == [
        "20 deliveries, 25 % of them second or later attempts.",
        "To be delivered again: 5 (a member said no 4, the lease ran out 1).",
        "Given up: 2 (tried too often 2).",
        "2 dead letters were stored.",
        "3 were in flight at the end.",
    ]
    again, given_up, said = found.tables
    assert again.rows == [("w", "mail", 20, 5, 4, 1)]
    assert given_up.rows == [("w", "mail", 20, 2, 2)]
    assert said.rows == [("w", "mail", "nacked", "not today", 4)]


def delayed(topic: str | None, time: datetime | None, moved: int, pending: int | None, least: int = MS) -> Row:
    counts = {"scheduled": moved + 1, "moved": moved, "cancelled": 0, "rescheduled": 0, "early": 0, "again": 0}
    figures = dict.fromkeys(("p50_ns", "p95_ns", "p99_ns", "p999_ns", "most_ns"), 8 * MS) | {"least_ns": least}
    return {"topic": topic, "time": time, **counts, **figures, "pending": pending}


def test_delays_say_how_late_and_keep_what_waits_on_the_picture() -> None:
    whole = [delayed(None, None, 9, None), delayed("mail", None, 9, 4)]
    slots = [delayed(None, at(second), 3, None) for second in range(3)]
    rows = [*whole, *slots, delayed("mail", at(0), 3, 6), delayed("mail", at(2), 3, 4)]
    found = delays.section(answered(rows))
    assert found.words == [
        "10 messages were kept back, 9 delivered, 0 cancelled and 0 put off or brought forward; at least 4 waited at "
        "the end.",
        "After they were due: least 1 ms, p50 8 ms, p95 8 ms, p99 8 ms, p99.9 8 ms, most 8 ms.",
        "None came before it was due.",
    ]
    late, waiting = found.pictures
    assert "duration, logarithmic" in late
    # In the second in the middle as many wait as in the first.
    assert "12:00:01.000\nmail: 6" in waiting


def test_what_came_early_is_said_and_not_drawn_on_a_logarithm() -> None:
    early = delayed(None, None, 9, None, least=-MS) | {"early": 2}
    found = delays.section(answered([early, delayed("mail", None, 9, 0), delayed(None, at(0), 9, None, least=-MS)]))
    assert found.words[2] == "2 came before they were due."
    assert "logarithmic" not in found.pictures[0]


def test_lanes_say_shares_beside_what_they_were_to_be() -> None:
    def lane(name: str, share: float, wanted: float, starved: int, **of: object) -> Row:
        waits = dict.fromkeys(("p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns"), 3 * MS)
        place = {"topic": None, "group": None, "time": None}
        return {
            "lane": name,
            **place,
            "messages": 50,
            "share": share,
            "wanted": wanted,
            **waits,
            "starved": starved,
        } | of

    whole = [lane("normal", 0.8, 0.6, 0), lane("critical", 0.2, 0.4, 7)]
    rows = [
        *whole,
        *(row | {"topic": "mail", "group": "w"} for row in whole),
        *(row | {"time": at(0)} for row in whole),
    ]
    found = lanes.section(answered(rows))
    assert found.words == [
        "critical: 50 messages, 20 % of all (to be 40 %); waited p50 3 ms, p99 3 ms, at most 3 ms; "
        "7 had waited too long.",
        "normal: 50 messages, 80 % of all (to be 60 %); waited p50 3 ms, p99 3 ms, at most 3 ms.",
    ]
    assert "critical: 20 % (meant to be 40 %)." in found.pictures[0]
    assert [row[:3] for row in found.tables[1].rows] == [("mail", "w", "critical"), ("mail", "w", "normal")]


def test_hot_says_which_partitions_and_keys_lead() -> None:
    def partition(number: int, size: int, skew: float | None, time: datetime | None = None) -> Row:
        sizes = {"messages": size // 10, "bytes": size, "share": size / 1000, "skew": skew}
        return {
            "what": "partition",
            "topic": "orders",
            "partition": number,
            "time": time,
            "key": None,
            "error": None,
        } | sizes

    key = {"what": "key", "topic": "orders", "partition": None, "time": None, "key": "k", "messages": 70, "bytes": 700}
    rows = [partition(0, 900, 1.8), partition(1, 100, 0.2), partition(0, 900, None, at(0))]
    looked = key | {"what": "looked", "key": None, "messages": 100, "bytes": None, "share": 0.25}
    rows += [
        looked,
        looked | {"topic": "plain", "share": 1.0},
        looked | {"topic": "blind", "messages": 0, "share": 0.0},
    ]
    found = hot.section(answered([*rows, key | {"share": 0.7, "skew": None, "error": 3}]))
    assert found.words == [
        "orders: partition 0 has 1.80 x the mean of 2 partitions, 90 % of the bytes.",
        "orders: key k leads with 70 messages, at most 3 of them not its own, 70 % of those that could be looked at.",
        "blind: the captures have the keys of 0 % of the messages that clients sent (0), and nothing is known of the "
        "keys of the others: records of batches are kept with --capture-records on.",
        "orders: the captures have the keys of 25 % of the messages that clients sent (100), and nothing is known of "
        "the keys of the others: records of batches are kept with --capture-records on.",
        "plain: no message that clients sent has a key.",
    ]
    assert [table.title for table in found.tables] == ["Partitions", "Keys"]
    assert found.method.endswith("of batches where it keeps their records.")
