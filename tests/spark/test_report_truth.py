"""Every figure of every report over a simulated world's captures, beside a count in plain Python of the same trace.

The counts know nothing of slots, cells, joins or windows: they go through facts one by one, message by message. What
clients were told is counted by an onlooker of the simulation as well.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from attrs import define
from pyspark.sql import SparkSession

from goqueue.core.requests.messages import Publish
from goqueue.fuzz.options import Options
from goqueue.spark.reports import coverage, load
from goqueue.spark.reports.catalogue import REPORTS
from goqueue.spark.reports.job import answers
from goqueue.spark.reports.section import Section
from tests.arrow.delivery_worlds import Row, ToldWorld, live
from tests.arrow.facts_made import table
from tests.arrow.painted import SVG, axes_of, painted

SEED = 5
MICRO = timedelta(microseconds=1)


def busy() -> Options:
    """Three nodes, one of which may die; readers, groups of both kinds, delays, and topics that are made again."""
    return Options(
        nodes=3, steps=0, seconds=12, replicas_max=3, calamities=("kill", "isolate"), workers=2, shared_groups=2,
        visibility_ms=1_000, attempts_max=2, producers=2, consumers=1, members=2, think_ns=50_000_000, p_delay=0.3,
        session_ms_max=3_000, patience_ns=5_000_000_000, wait_ns_max=100_000_000, undertakers=1,
    )  # fmt: skip


@define
class Told:
    """A world with all answers, by report, and what the page says of each."""

    world: ToldWorld
    rows: dict[str, list[Row]]
    sections: dict[str, Section]

    def of(self, report: str, **only: object) -> list[Row]:
        """The rows of an answer that have these values."""
        return [row for row in self.rows[report] if all(row[name] == value for name, value in only.items())]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A world, and everything that is said of it."""
    world = live(tmp_path_factory.mktemp("busy"), SEED, busy())
    facts = spark.createDataFrame(table(world.facts)).persist()
    tables = {name: answer.toArrow() for name, answer in answers(facts).items()}
    tables["coverage"] = coverage.answer(facts).toArrow()
    sections = {name: module.section(tables[name]) for name, module in {**REPORTS, "coverage": coverage}.items()}
    return Told(world, {name: found.to_pylist() for name, found in tables.items()}, sections)


def count(rows: Iterable[Row]) -> int:
    """How many messages facts are about."""
    return sum(row["end"] - row["first"] if row["count"] is None else row["count"] for row in rows)


def is_data(row: Row) -> bool:
    return row["side"] in (None, "data")


def quantile(waits: list[int], share: float) -> int:
    """The wait by which so great a share has come."""
    return sorted(waits)[math.ceil(len(waits) * share) - 1]


def check_percentiles(row: Row, waits: list[int]) -> None:
    """Percentiles are those of the waits, or longer by less than a cell."""
    assert row["messages"] == len(waits)
    if waits:
        assert row["max_ns"] == max(waits)
        for name, share in (("p50_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999)):
            least = quantile(waits, share)
            assert least <= row[name] <= least * (1 + 1 / 64) + 1, name


# --- load


AMOUNTS: dict[str, Callable[[Row], int | None]] = {
    "messages_in": lambda row: count([row]) if row["kind"] == "appended" and is_data(row) else None,
    "bytes_in": lambda row: row["bytes"] if row["kind"] == "appended" and is_data(row) else None,
    "bytes_copied": lambda row: row["bytes"] if row["kind"] == "copied" else None,
    "messages_out": lambda row: count([row]) if row["kind"] in ("fetched", "polled", "leased") else None,
    "bytes_out": lambda row: row["bytes"] if row["kind"] in ("fetched", "polled", "leased") else None,
    "syncs": lambda row: 1 if row["kind"] == "durable" else None,
    "bytes_synced": lambda row: row["bytes"] if row["kind"] == "durable" else None,
    "events": lambda row: row["count"] if row["kind"] == "load" else None,
    "turns": lambda row: row["value"] if row["kind"] == "load" else None,
    "refused": lambda row: 1 if row["kind"] == "refused" else None,
}


def test_load_is_what_was_done_and_every_rate_comes_to_its_total(told: Told) -> None:
    assert AMOUNTS.keys() == load.AMOUNTS.keys()
    nodes = {row["node"] for row in told.world.facts}
    for name, amount in AMOUNTS.items():
        by_node: Counter[str] = Counter()
        for row in told.world.facts:
            by_node[row["node"]] += amount(row) or 0
        for node in nodes:
            (whole,) = told.of("load", node=node, time=None)
            assert whole[name] == by_node[node], (node, name)
            slots = [row for row in told.of("load", node=node) if row["time"] is not None]
            assert math.isclose(sum(row[name] / row["seconds"] * row["seconds"] for row in slots), whole[name])
            assert whole["seconds"] >= sum(row["seconds"] for row in slots) - 1e-6


def test_events_are_in_the_slots_in_which_they_were(told: Told) -> None:
    """Spread over its second in plain arithmetic; what is shared out in whole numbers differs by less than one each."""
    slots = [row for row in told.rows["load"] if row["time"] is not None]
    width = timedelta(seconds=slots[0]["seconds"])
    assert width < timedelta(seconds=1)
    begin = min(row["time"] for row in slots)
    wanted: defaultdict[tuple[str, datetime], list[float]] = defaultdict(list)
    for row in told.world.of("load"):
        since = max(row["time"] - (row["at"] - row["since"]) // 1000 * MICRO, begin)
        until = max(min(since + timedelta(seconds=1), row["time"]), since + MICRO)
        number = (since - begin) // width
        while begin + number * width < until:
            start = begin + number * width
            covered = min(start + width, until) - max(start, since)
            wanted[row["node"], start].append(row["count"] * (covered / (until - since)))
            number += 1
    found = {(row["node"], row["time"]): row["events"] for row in slots}
    for place, parts in wanted.items():
        assert abs(found[place] - sum(parts)) <= len(parts), place
    assert sum(found.values()) == sum(row["count"] for row in told.world.of("load"))


def test_syncs_cost_what_they_cost(told: Told) -> None:
    for node in {row["node"] for row in told.world.facts}:
        (whole,) = told.of("load", node=node, time=None)
        costs = [row["at"] - row["since"] for row in told.world.of("durable", node=node) if row["since"] is not None]
        least = {name: quantile(costs, share) for name, share in (("p50", 0.5), ("p99", 0.99))}
        for name, cost in least.items():
            assert cost <= whole[f"sync_{name}_ns"] <= cost * (1 + 1 / 64) + 1
        assert whole["sync_max_ns"] == max(costs)


@pytest.mark.parametrize(
    "title", ["Messages in, by node", "Messages out, by node", "Syncs, by node", "Events, by node"]
)
def test_what_a_picture_of_load_paints_comes_to_the_total(told: Told, title: str) -> None:
    column = {title: name for name, title in load._DRAWN.items()}[title]
    pictures = [ET.fromstring(svg) for svg in told.sections["load"].pictures]
    (root,) = [one for one in pictures if one.get("aria-label") == title]
    slots = [row for row in told.rows["load"] if row["time"] is not None]
    width = slots[0]["seconds"]
    begin, end = (edge(round(row["time"].timestamp() * 1e6) for row in slots) for edge in (min, max))
    axes = axes_of(root, begin, end + round(width * 1e6))
    paths = {one.get("class"): one.get("d", "") for one in root.iter(f"{SVG}path")}
    per_second = (axes.right - axes.left) / ((axes.end - axes.begin) / 1e6)
    wholes = sorted(told.of("load", time=None), key=lambda row: str(row["node"]))
    for tone, whole in enumerate(wholes):
        area = sum(across * (low - high) for across, low, high in painted(paths[f"f{tone}"], axes.left, axes.right))
        # A tenth of a pixel of height, everywhere.
        error = 0.11 * (axes.right - axes.left) / axes.pixels_each / per_second
        assert abs(area / axes.pixels_each / per_second - whole[column]) <= error
    words = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert any("per second; slots of " in one for one in words)


# --- latency


def by_leader(told: Told) -> dict[tuple[object, ...], list[Row]]:
    """The facts of topics by partition and process, in order."""
    found: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in sorted(told.world.facts, key=lambda row: (row["node"], row["run"], row["event"], row["part"])):
        topic = row["topic"]
        if topic and not topic.startswith("__") and (is_data(row) or row["kind"] == "answered"):
            found[topic, row["topic_id"], row["partition"], row["node"], row["run"]].append(row)
    return dict(found)


def reached(rows: list[Row], kind: str) -> tuple[list[int], int]:
    """How long each message waited from its append until a fact of a kind reached its batch's end, and how many do."""
    waits, waiting = [], 0
    for place, batch in enumerate(rows):
        if batch["kind"] != "appended":
            continue
        later = [row for row in rows if row["event"] >= batch["event"]]
        cuts = [row for row in rows[place:] if row["kind"] == "cut" and row["first"] < batch["end"]]
        if cuts:
            continue
        end = next((row for row in later if row["kind"] == kind and row["end"] >= batch["end"]), None)
        if end is None:
            waiting += batch["count"]
        else:
            waits += [max(end["at"] - batch["at"], 0)] * batch["count"]
    return waits, waiting


@pytest.mark.parametrize(("stage", "kind"), [("persist", "durable"), ("replicate", "visible")])
def test_each_message_waits_for_the_disk_and_for_its_copies(told: Told, stage: str, kind: str) -> None:
    waits: list[int] = []
    waiting = 0
    for rows in by_leader(told).values():
        some, more = reached(rows, kind)
        waits, waiting = waits + some, waiting + more
    (row,) = told.of("latency", stage=stage, topic=None, reader=None, time=None)
    check_percentiles(row, waits)
    assert row["open"] == waiting


def test_each_message_waits_for_its_answer(told: Told) -> None:
    waits = [
        wait
        for row in told.world.of("answered", cause=None)
        if row["since"] is not None and row["first"] is not None and not row["topic"].startswith("__")
        for wait in [row["at"] - row["since"]] * row["count"]
    ]
    (row,) = told.of("latency", stage="answer", topic=None, reader=None, time=None)
    assert row["messages"] >= len(waits)
    assert row["max_ns"] == max(waits)


def test_stages_by_topic_and_over_time_come_to_the_whole(told: Told) -> None:
    for stage in {row["stage"] for row in told.rows["latency"]}:
        (whole,) = told.of("latency", stage=stage, topic=None, reader=None, time=None)
        by_topic = [row for row in told.of("latency", stage=stage, time=None, reader=None) if row["topic"]]
        over = [row for row in told.of("latency", stage=stage, topic=None, reader=None) if row["time"]]
        for some in (by_topic, over):
            assert sum(row["messages"] for row in some) == whole["messages"]
            assert sum(row["open"] for row in some) == whole["open"]
            assert max((row["max_ns"] or 0 for row in some), default=0) == (whole["max_ns"] or 0)


def test_each_acknowledgement_is_as_late_as_it_came(told: Told) -> None:
    given: dict[tuple[object, ...], int] = {}
    for row in told.world.of("leased"):
        key = row["node"], row["run"], row["group"], row["topic"], row["topic_id"], row["partition"], row["lease"]
        given[key] = min(given.get(key, row["at"]), row["at"])
    waits = []
    for row in told.world.of("acked"):
        key = row["node"], row["run"], row["group"], row["topic"], row["topic_id"], row["partition"], row["lease"]
        if key in given:
            waits += [row["at"] - given[key]] * (row["end"] - row["first"])
    (row,) = told.of("latency", stage="acknowledge", topic=None, reader=None, time=None)
    check_percentiles(row, waits)


# --- work queues


def test_redeliveries_are_counted_by_cause_and_nobody_reset_anything(told: Told) -> None:
    for kind in ("leased", "returned", "doomed", "buried"):
        wanted: Counter[tuple[str, str | None]] = Counter()
        for row in told.world.of(kind):
            wanted[row["group"], None if kind == "leased" else row["cause"]] += row["end"] - row["first"]
        found: Counter[tuple[str, str | None]] = Counter()
        for row in told.of("redeliveries", what=kind):
            if row["time"] is not None and row["cause"] != "unaccounted":
                found[row["group"], row["cause"]] += row["messages"]
        assert found == wanted, kind
    assert not [row for row in told.world.facts if row["cause"] == "reset"]
    assert {row["cause"] for row in told.world.of("restarted")} == {"began"}


def test_what_is_in_flight_is_leased_and_has_no_end(told: Told) -> None:
    given: Counter[tuple[object, ...]] = Counter()
    for row in told.world.of("leased", "acked", "returned", "doomed"):
        if row["lease"] is None:
            continue
        sign = 1 if row["kind"] == "leased" else -1
        for offset in range(row["first"], row["end"]):
            key = row["group"], row["topic"], row["topic_id"], row["partition"], row["lease"], offset
            given[key] += sign
    left = sum(1 for count in given.values() if count > 0)
    found = [row for row in told.rows["redeliveries"] if row["what"] == "in_flight" or row["cause"] == "unaccounted"]
    assert sum(row["messages"] for row in found) == left


def test_lanes_have_what_was_leased_first(told: Told) -> None:
    appended: dict[tuple[object, ...], Row] = {}
    for row in told.world.of("appended", side="data"):
        for offset in range(row["first"], row["end"]):
            appended[row["node"], row["run"], row["topic"], row["topic_id"], row["partition"], offset] = row
    first: dict[tuple[object, ...], tuple[int, Row]] = {}
    for row in sorted(told.world.of("leased", cause=None, attempt=1), key=lambda row: row["at"]):
        if row["lane"] is None:
            continue
        for offset in range(row["first"], row["end"]):
            place = row["node"], row["run"], row["topic"], row["topic_id"], row["partition"], offset
            if place in appended and row["at"] >= appended[place]["at"]:
                first.setdefault((row["group"], *place), (row["at"] - appended[place]["at"], appended[place]))
    whole = {row["lane"]: row for row in told.of("lanes", topic=None, group=None, time=None)}
    waits: defaultdict[int, list[int]] = defaultdict(list)
    for wait, batch in first.values():
        waits[batch["lane"]].append(wait)
    names = ("normal", "critical", "high", "low", "background")
    assert {name: row["messages"] for name, row in whole.items() if row["messages"]} == {
        names[lane]: len(some) for lane, some in waits.items()
    }
    for lane, some in waits.items():
        check_percentiles(whole[names[lane]], some)
    assert math.isclose(sum(row["share"] for row in whole.values()), 1)
    assert math.isclose(sum(row["wanted"] for row in whole.values()), 1)


# --- delays


def test_delayed_messages_are_counted_and_as_late_as_they_came(told: Told) -> None:
    (whole,) = told.of("delays", topic=None, time=None)
    for kind in ("scheduled", "moved", "cancelled", "rescheduled"):
        assert whole[kind] == sum(row["end"] - row["first"] for row in told.world.of(kind)), kind
    late = [(row["time"] - row["due"]) // MICRO * 1000 for row in told.world.of("moved")]
    assert (whole["least_ns"], whole["most_ns"]) == (min(late), max(late))
    assert whole["early"] == sum(
        row["end"] - row["first"] for row in told.world.of("moved") if row["time"] < row["due"]
    )
    for row in told.of("delays", time=None):
        if row["topic"] is None:
            continue
        balance = {"scheduled": 1, "moved": -1, "cancelled": -1}
        waiting = sum(
            balance[one["kind"]] * (one["end"] - one["first"]) for one in told.world.of(*balance, topic=row["topic"])
        )
        assert row["pending"] >= max(waiting, 0)


# --- groups


def test_lag_is_what_was_visible_and_is_not_committed(told: Told) -> None:
    commits: dict[tuple[object, ...], Row] = {}
    for row in sorted(told.world.of("committed", cause=None), key=lambda row: row["time"]):
        if row["end"] is not None:
            commits[row["group"], row["topic"], row["partition"], row["topic_id"]] = row
    last_ids = {
        row["topic"]: row["topic_id"] for row in sorted(told.world.of("topic"), key=lambda row: row["topic_id"])
    }
    gone = {(row["topic"], row["topic_id"]) for row in told.world.of("topic", cause="deleted")}
    found = defaultdict(list)
    for row in told.rows["lag"]:
        if row["partition"] is not None:
            found[row["group"], row["topic"], row["partition"]].append(row)
    checked = 0
    for (group, topic, partition, topic_id), row in commits.items():
        seen = [
            one["end"] if one["kind"] == "visible" else one["value"]
            for one in told.world.of("visible", "known", "leads", topic=topic, partition=partition, topic_id=topic_id)
            if is_data(one)
        ]
        if (
            topic_id != last_ids[str(topic)]
            or (topic, topic_id) in gone
            or not seen
            or (group, topic, partition) not in found
        ):
            continue
        last = max(found[group, topic, partition], key=lambda one: one["time"])
        assert (last["visible"], last["done"]) == (max(seen), row["end"])
        assert last["lag"] == max(max(seen) - row["end"], 0)
        checked += 1
    assert checked


def test_a_rebalance_divides_what_somebody_had(told: Told) -> None:
    wanted = Counter(row["group"] for row in told.world.of("rebalanced") if row["cause"] != "began")
    (began,) = {row["cause"] for row in told.rows["rebalances"] if row["what"] == "rebalance"} & {"began"}
    shown = [row for row in told.of("rebalances", what="rebalance") if row["cause"] != began]
    assert Counter(row["group"] for row in shown) == wanted
    for group, some in wanted.items():
        assert any(words.startswith(f"{group}: {some} rebalance") for words in told.sections["rebalances"].words)
    held: dict[tuple[object, ...], Row] = {}
    for row in sorted(told.world.of("owned", "disowned"), key=lambda row: (row["time"], row["event"], row["part"])):
        held[row["group"], row["topic"], row["partition"]] = row
    going = {
        (row["group"], row["topic"], row["partition"]): row["member"]
        for row in told.of("rebalances", what="hold", end=None)
    }
    assert {place: row["member"] for place, row in held.items() if row["kind"] == "owned"} == going


# --- who led


def test_every_change_of_a_leader_is_one_that_nodes_tell_of(told: Told) -> None:
    led: defaultdict[tuple[object, ...], dict[tuple[int, int], str]] = defaultdict(dict)
    for row in told.world.of("leads"):
        if is_data(row):
            led[row["topic"], row["partition"]][row["epoch"], row["topic_id"]] = row["node"]
    for row in told.of("failovers", what="partition"):
        nodes = {node for (epoch, _), node in led[row["topic"], row["partition"]].items() if epoch == row["epoch"]}
        assert row["leader"] is None or row["leader"] in nodes
        if row["gone"] and row["led"]:
            assert row["down_ns"] == max((row["led"] - row["gone"]) // MICRO * 1000, 0)
    terms = {row["epoch"]: row["node"] for row in told.world.of("elected")}
    changes = told.of("failovers", what="controller")
    assert [(row["epoch"], row["leader"]) for row in changes] == sorted(terms.items())[1:]


# --- hot


def test_partitions_and_keys_have_what_came(told: Told) -> None:
    came: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in told.world.of("appended", side="data"):
        if not row["topic"].startswith("__"):
            came[row["topic"], row["partition"]][0] += row["count"]
            came[row["topic"], row["partition"]][1] += row["bytes"]
    found = {
        (row["topic"], row["partition"]): [row["messages"], row["bytes"]]
        for row in told.of("hot", what="partition", time=None)
        if row["messages"]
    }
    assert found == dict(came)
    over: Counter[tuple[str, int]] = Counter()
    for row in told.of("hot", what="partition"):
        if row["time"] is not None:
            over[row["topic"], row["partition"]] += row["messages"]
    assert over == {place: amounts[0] for place, amounts in came.items()}
    asked: Counter[tuple[str, str]] = Counter()
    for _, request, _ in told.world.told.answers:
        if isinstance(request, Publish):
            for record in request.records:
                if record.key is not None:
                    asked[request.topic, bytes(record.key).decode()] += 1
    for row in told.of("hot", what="key"):
        # Those whose answer nobody heard were asked for as well; batches have keys where the capture has their bytes.
        assert row["messages"] - row["error"] >= 0
        assert row["messages"] >= asked[row["topic"], row["key"]]
    for row in told.of("hot", what="looked"):
        some = told.world.of("looked", topic=row["topic"])
        assert row["messages"] == sum(one["count"] for one in some)
        assert math.isclose(row["share"], row["messages"] / sum(one["value"] for one in some))


# --- what was read


def test_what_was_read_is_what_there_is(told: Told, tmp_path: Path) -> None:
    runs = {(row["node"], row["run"]): row for row in told.of("coverage", what="run")}
    for place in {(row["node"], row["run"]) for row in told.world.facts}:
        some = [row for row in told.world.facts if (row["node"], row["run"]) == place]
        files = [row for row in some if row["kind"] == "file"]
        row = runs.pop(place)
        assert (row["files"], row["events"]) == (len(files), sum(one["count"] for one in files))
        assert row["facts"] == len(some) - len(files)
        assert (row["begin"], row["end"]) == (min(one["time"] for one in some), max(one["time"] for one in some))
    assert not runs


def test_every_picture_over_time_says_its_unit_and_how_long_a_slot_is(told: Told) -> None:
    slotted = 0
    for name, section in told.sections.items():
        for svg in section.pictures:
            words = [one.text or "" for one in ET.fromstring(svg).iter(f"{SVG}text")]
            marks = [word for word in words if "slots of " in word or word.startswith("darkest: ")]
            slotted += bool(marks)
            is_over_time = any(word.endswith(" UTC") for word in words)
            assert not is_over_time or marks or name in ("failovers", "rebalances"), (name, words)
    assert slotted >= 10
