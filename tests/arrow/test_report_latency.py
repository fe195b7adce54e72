"""Waits of messages, stage by stage: facts with known results in, exact figures out."""

import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from goqueue.spark.reports.cells import OPEN, Cells, cell_of
from goqueue.spark.reports.latency import section
from goqueue.spark.reports.waits import COLUMNS, group_waits, leader_waits
from tests.arrow.facts_made import BEGAN, Row, fact, table

MS = 1_000_000
BEGIN = int(BEGAN.timestamp() * 1_000_000)
SLOT = 1_000_000

# (stage, reader) -> what waited: how long, how many messages, in which slot.
Waits = dict[tuple[str, str | None], list[tuple[int | None, int, int]]]


def waited(rows: list[Row], body: Callable[[pa.Table, str, int, int], pa.Table] = leader_waits) -> Waits:
    """What the cells of some facts say, waits as the longest of each cell."""
    facts = table(rows)
    reader = pc.coalesce(facts["group"], facts["client"], pa.scalar(""))
    facts = facts.append_column("time_us", facts["time"].cast(pa.int64())).append_column("reader", reader)
    cells = body(facts.select(COLUMNS), "orders", BEGIN, SLOT)
    cells.validate(full=True)
    found: Waits = defaultdict(list)
    for cell in cells.to_pylist():
        assert cell["topic"] == "orders"
        wait = None if cell["cell"] == OPEN else cell["longest_ns"]
        found[cell["stage"], cell["reader"]].append((wait, cell["messages"], cell["slot"]))
    return dict(found)


def appended(first: int, end: int, at: int, since: int | None = None) -> Row:
    return fact("appended", side="data", first=first, end=end, count=end - first, at=at * MS, since=_ns(since))


def reached(kind: str, end: int, at: int, first: int = 0) -> Row:
    return fact(kind, side="data", first=first, end=end, at=at * MS)


def _ns(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else milliseconds * MS


def test_a_batch_waits_for_the_disk_its_copies_and_the_answer() -> None:
    found = waited(
        [
            appended(0, 10, at=3, since=1),
            appended(10, 12, at=4, since=2),
            reached("durable", 12, at=9),
            reached("visible", 12, at=12),
            fact("answered", first=0, end=10, count=10, at=13 * MS, since=1 * MS),
            fact("answered", first=10, end=12, count=2, at=14 * MS, since=2 * MS),
        ]
    )
    assert found == {
        ("persist", None): [(5 * MS, 2, 0), (6 * MS, 10, 0)],
        ("replicate", None): [(8 * MS, 2, 0), (9 * MS, 10, 0)],
        ("answer", None): [(12 * MS, 12, 0)],
    }


def test_a_batch_is_on_the_disk_with_the_first_sync_that_reaches_its_end() -> None:
    syncs = [reached("durable", end, at) for end, at in [(5, 2), (10, 4), (15, 6), (30, 8)]]
    found = waited([appended(0, 10, at=1), appended(10, 30, at=3), *syncs])
    assert found["persist", None] == [(3 * MS, 10, 0), (5 * MS, 20, 0)]


def test_what_is_not_reached_is_open_in_the_slot_in_which_it_came() -> None:
    found = waited([appended(0, 4, at=1), appended(4, 9, at=2500), reached("durable", 4, at=3)])
    assert found["persist", None] == [(2 * MS, 4, 0), (None, 5, 2)]
    assert found["replicate", None] == [(None, 4, 0), (None, 5, 2)]


def test_without_its_request_a_batch_counts_where_it_can() -> None:
    found = waited([appended(0, 4, at=1), reached("durable", 4, at=3)])
    assert found["persist", None] == [(2 * MS, 4, 0)]


def test_what_was_cut_is_forgotten_and_so_is_that_it_was_reached() -> None:
    rows = [
        appended(0, 10, at=1),
        appended(10, 20, at=2),
        reached("durable", 20, at=5),
        fact("cut", first=10, end=20, at=10 * MS),
        appended(10, 15, at=20),
        reached("durable", 15, at=27),
    ]
    assert waited(rows)["persist", None] == [(4 * MS, 10, 0), (7 * MS, 5, 0)]


def test_what_a_node_had_as_a_follower_is_not_what_its_own_batches_waited_for() -> None:
    rows = [reached("durable", 50, at=1), appended(40, 50, at=5), reached("durable", 60, at=9)]
    assert waited(rows)["persist", None] == [(4 * MS, 10, 0)]


def test_a_wait_is_counted_when_it_ends() -> None:
    rows = [appended(0, 1, at=900, since=890), reached("durable", 1, at=2100)]
    found = waited(rows)
    assert found["persist", None] == [(1200 * MS, 1, 2)]


def test_a_reader_waits_from_when_each_message_became_visible() -> None:
    rows = [
        appended(0, 10, at=10, since=9),
        reached("visible", 6, at=20),
        reached("visible", 10, at=24, first=6),
        fact("fetched", first=0, end=4, at=21 * MS, since=5 * MS, client="a"),
        fact("fetched", first=4, end=10, at=26 * MS, since=22 * MS, client="a"),
    ]
    found = waited(rows)
    # Four after 1 ms; of the next six, two after 6 ms and four after 2.
    assert found["deliver", "streams"] == [(1 * MS, 4, 0), (2 * MS, 4, 0), (6 * MS, 2, 0)]
    assert found["through", "streams"] == [(12 * MS, 4, 0), (17 * MS, 6, 0)]


def test_each_reader_counts_what_it_is_sent_first_and_not_what_it_reads_again() -> None:
    rows = [
        reached("visible", 4, at=20),
        fact("fetched", first=0, end=4, at=21 * MS, since=5 * MS, client="a"),
        fact("fetched", first=0, end=4, at=22 * MS, since=5 * MS, client="b"),
        fact("fetched", first=2, end=4, at=90 * MS, since=80 * MS, client="a"),
    ]
    assert waited(rows)["deliver", "streams"] == [(1 * MS, 4, 0), (2 * MS, 4, 0)]


def test_what_a_reader_finds_when_it_comes_did_not_wait_for_it() -> None:
    rows = [
        reached("visible", 100, at=1),
        reached("visible", 103, at=5000, first=100),
        fact("fetched", first=0, end=100, at=4000 * MS, since=3999 * MS, client="late"),
        fact("fetched", first=100, end=103, at=5002 * MS, since=4001 * MS, client="late"),
    ]
    assert waited(rows)["deliver", "streams"] == [(2 * MS, 3, 5)]


def test_a_lease_counts_once_as_sent_and_until_its_acknowledgement() -> None:
    rows = [
        reached("visible", 10, at=20),
        fact("leased", group="g", first=6, end=8, attempt=1, lease=7, at=21 * MS, since=1 * MS),
        fact("leased", group="g", first=0, end=6, attempt=1, lease=8, at=25 * MS, since=1 * MS),
        fact("returned", group="g", first=6, end=8, attempt=1, lease=7, at=30 * MS),
        fact("leased", group="g", first=6, end=8, attempt=2, lease=9, at=40 * MS),
        fact("acked", group="g", first=6, end=8, attempt=2, lease=9, at=43 * MS),
        fact("acked", group="g", first=0, end=6, attempt=1, lease=8, at=125 * MS),
    ]
    found = waited(rows)
    assert found["deliver", "g"] == [(1 * MS, 2, 0), (5 * MS, 6, 0)]
    assert found["acknowledge", "g"] == [(3 * MS, 2, 0), (100 * MS, 6, 0)]


def test_groups_have_leases_of_their_own() -> None:
    rows = [
        fact("leased", group=group, first=0, end=1, attempt=1, lease=1, at=at * MS)
        for group, at in [("g", 1), ("h", 5)]
    ] + [fact("acked", group=group, first=0, end=1, lease=1, at=10 * MS) for group in ("g", "h", "stranger")]
    found = waited(rows)
    assert found["acknowledge", "g"] == [(9 * MS, 1, 0)]
    assert found["acknowledge", "h"] == [(5 * MS, 1, 0)]
    assert ("acknowledge", "stranger") not in found


def test_an_exclusive_group_is_measured_between_nodes_by_what_any_saw_first() -> None:
    rows = [
        fact("visible", node="n1", first=0, end=10, at=20 * MS),
        fact("visible", node="n2", first=0, end=10, at=22 * MS),
        fact("polled", node="n2", group="g", first=0, end=10, at=25 * MS, since=1 * MS),
        fact("committed", node="n2", group="g", end=4, at=35 * MS),
        fact("committed", node="n2", group="g", end=10, at=65 * MS),
    ]
    # The first poll came at 25 ms as far as other nodes can tell, after these were visible: it says nothing.
    late = [
        fact("visible", node="n1", first=10, end=12, at=100 * MS),
        fact("polled", node="n2", group="g", first=10, end=12, at=103 * MS),
    ]
    found = waited(rows + late, group_waits)
    assert found["deliver", "g"] == [(3 * MS, 2, 0)]
    assert found["commit", "g"] == [(10 * MS, 4, 0), (40 * MS, 6, 0)]


def test_no_facts_are_no_cells() -> None:
    assert waited([]) == {}
    assert waited([], group_waits) == {}


@pytest.mark.parametrize("seed", range(5))
def test_stages_agree_with_a_count_message_by_message(seed: int) -> None:
    chance = np.random.default_rng(seed)
    events: list[Row] = []
    end = durable = visible = sent = at = 0
    born: dict[str, dict[int, int]] = {"persist": {}, "replicate": {}, "deliver": {}}
    wanted: dict[str, dict[int, int]] = {
        "persist": defaultdict(int),
        "replicate": defaultdict(int),
        "deliver": defaultdict(int),
    }
    for _ in range(400):
        at += int(chance.integers(1, 9))
        match chance.integers(4):
            case 0:
                count = int(chance.integers(1, 6))
                events.append(appended(end, end + count, at))
                born["persist"] |= dict.fromkeys(range(end, end + count), at)
                end += count
            case 1 if durable < end:
                events.append(reached("durable", end, at))
                durable = end
            case 2 if visible < durable:
                upto = int(chance.integers(visible + 1, durable + 1))
                events.append(reached("visible", upto, at, first=visible))
                born["deliver"] |= dict.fromkeys(range(visible, upto), at)
                visible = upto
            case 3 if sent < visible:
                upto = int(chance.integers(sent + 1, visible + 1))
                events.append(fact("fetched", first=sent, end=upto, at=at * MS, since=0, client="a"))
                for offset in range(sent, upto):
                    wanted["deliver"][at - born["deliver"][offset]] += 1
                sent = upto
    found = waited(events)
    counted: dict[int, int] = defaultdict(int)
    for wait, messages, _ in found["deliver", "streams"]:
        assert wait is not None
        counted[wait // MS] += messages
    narrow = {wait: messages for wait, messages in wanted["deliver"].items() if wait < 64}
    assert {wait: messages for wait, messages in counted.items() if wait < 64} == narrow
    assert sum(counted.values()) == sent
    assert sum(messages for wait, messages, _ in found["persist", None] if wait is not None) == _standing(
        events, durable
    )


def _standing(events: list[Row], durable: int) -> int:
    ends = [(int(str(row["first"])), int(str(row["end"]))) for row in events if row["kind"] == "appended"]
    return sum(end - first for first, end in ends if end <= durable)


def test_cells_are_narrow_and_in_order() -> None:
    waits = np.unique(np.concatenate([np.arange(0, 5000), np.geomspace(5000, 1e18, 20_000).astype(np.int64)]))
    cells = cell_of(waits)
    assert (np.diff(cells) >= 0).all()
    for cell in np.unique(cells):
        inside = waits[cells == cell]
        assert inside.max() <= max(inside.min(), 1) * (1 + 1 / 64) + 1e-9


def test_cells_of_one_place_are_summed_and_keep_the_longest_wait() -> None:
    cells = Cells("orders")
    ones = np.ones(4, np.int64)
    cells.add("persist", "", np.array([1, 0, 1, 1]), np.array([64_001, 64_000, 64_000, 9_000_000]), ones)
    rows = [(row["slot"], row["messages"], row["longest_ns"]) for row in cells.table().to_pylist()]
    assert rows == [(0, 1, 64_000), (1, 2, 64_001), (1, 1, 9_000_000)]


def stage(name: str, **columns: object) -> Row:
    figures = dict.fromkeys(["p50_ns", "p95_ns", "p99_ns", "p999_ns"], 2 * MS)
    empty = {"topic": None, "reader": None, "time": None, "seconds": 1.0, "messages": 10, "max_ns": 30 * MS, "open": 0}
    return {"stage": name, **figures, **empty, **columns}


def test_a_section_says_each_stage_in_order_and_draws_it_over_time() -> None:
    rows = [
        stage("answer"),
        stage("persist", open=3),
        stage("persist", topic="orders"),
        stage("deliver", messages=0, max_ns=None, open=4),
        *(stage("answer", time=BEGAN) for _ in range(2)),
    ]
    found = section(pa.Table.from_pylist(rows).cast(pa.Table.from_pylist(rows).schema))
    assert [words.partition(":")[0] for words in found.words] == [
        "in the log → on the leader's disk", "publish came → answered", "visible → first sent to a reader",
    ]  # fmt: skip
    assert found.words[0].endswith(
        "p50 2 ms, p95 2 ms, p99 2 ms, p99.9 2 ms, max 30 ms, of 10 messages; 3 waited still."
    )
    assert "of no message it is known" in found.words[2]
    assert len(found.pictures) == 1
    assert [table.title for table in found.tables] == ["Stages", "Stages by topic"]


def test_a_section_of_nothing_says_so() -> None:
    empty = pa.Table.from_pylist([stage("answer")]).slice(0, 0)
    assert section(empty).words == ["No message was published, sent or acknowledged in what was read."]
    assert math.isclose(len(section(empty).pictures), 0)
