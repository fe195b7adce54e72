"""Facts of a cluster that never was: what an hour of three busy brokers would tell, made with numpy and by a seed.

Four topics: two that groups and streams read, two that are work queues, with lanes, failures and delays. In the middle
of the hour node n1 is killed, others lead what it led, and half a minute later it is back, as a follower. What reports
look at is there in the numbers in which a capture would have it; what no report looks at is left out.

A task makes a partition at a time, so that any number of facts takes the same memory.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field
from pyspark.sql import DataFrame, SparkSession

from goqueue.spark.facts.schema import ARROW_SCHEMA, SCHEMA_DDL

Integers: TypeAlias = npt.NDArray[np.int64]
Cell: TypeAlias = Integers | int | str | list[str | None] | None
Cells: TypeAlias = dict[str, Cell]

BEGAN_US: Final = 1_767_225_600_000_000
NODES: Final = ("n1", "n2", "n3")
# Name, partitions, whether it is a work queue.
TOPICS: Final = (("orders", 16, False), ("clicks", 16, False), ("mail", 8, True), ("jobs", 8, True))
PARTITIONS: Final = sum(count for _, count, _ in TOPICS)
# A publish makes about so many facts.
FACTS_EACH: Final = 11

_MS = 1_000_000
_SECOND = 1_000 * _MS
_SPAN = 3_600 * _SECOND
_KILLED = _SPAN // 2
_BACK = _KILLED + 30 * _SECOND
_TASKS = 8
_BATCH_ROWS = 50_000
_VALUE_BYTES = 500
_KEYS = 50


def made(spark: SparkSession, count: int, seed: int = 1) -> DataFrame:
    """About so many facts, the same for the same seed."""
    publishes = max(count // FACTS_EACH // PARTITIONS, 20)

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                facts = of_partition(number, publishes, seed) if number < PARTITIONS else of_nodes()
                yield from facts.to_batches(max_chunksize=_BATCH_ROWS)

    return spark.range(0, PARTITIONS + 1, 1, _TASKS).mapInArrow(body, SCHEMA_DDL)


@define
class _Told:
    """Facts of one partition, on their way to being a table."""

    topic: str
    partition: int
    parts: list[pa.Table] = field(factory=list)

    def add(self, kind: str, at: Integers, **columns: Cell) -> None:
        """Facts of a kind at some times of the nodes' clocks, which all began at once."""
        place: Cells = {"topic": self.topic, "topic_id": len(self.topic), "partition": self.partition}
        self.parts.append(_table(kind, at, {**place, **columns}))


def _table(kind: str, at: Integers, columns: Cells) -> pa.Table:
    count = len(at)
    always: Cells = {"run": BEGAN_US // 1000, "event": at // 1000, "part": 0, "at": at, "kind": kind}
    known = {**always, **columns}
    arrays = [_column(known.get(name), name, count) for name in ARROW_SCHEMA.names if name != "time"]
    times = pa.array(at // 1000 + BEGAN_US).cast(ARROW_SCHEMA.field("time").type)
    arrays.insert(ARROW_SCHEMA.get_field_index("time"), times)
    return pa.table(arrays, ARROW_SCHEMA)


def _column(cell: Cell, name: str, count: int) -> pa.Array:
    kind = ARROW_SCHEMA.field(name).type
    if isinstance(cell, np.ndarray):
        numbers = pa.array(cell)
        return numbers.cast(kind)
    if isinstance(cell, list):
        return pa.array(cell, kind)
    return pa.nulls(count, kind) if cell is None else pa.repeat(pa.scalar(cell, kind), count)


def of_partition(number: int, publishes: int, seed: int) -> pa.Table:
    """All that happened to a partition."""
    topic, partition, is_queue = _place(number)
    chance = np.random.default_rng((seed, number))
    told = _Told(topic, partition)
    leaders = [NODES[(number + step) % len(NODES)] for step in range(3)]
    asked = np.sort(chance.integers(10 * _SECOND, _SPAN, publishes))
    counts = chance.integers(1, 60, publishes)
    if leaders[0] == "n1":
        # Nobody takes what comes in the seconds without a leader.
        stands = (asked < _KILLED - 50 * _MS) | (asked > _KILLED + 4 * _SECOND)
        asked, counts = asked[stands], counts[stands]
    ends = np.cumsum(counts)
    is_first = asked < _KILLED if leaders[0] == "n1" else np.ones(len(asked), np.bool_)
    _led(told, leaders, int(ends[is_first][-1]) if is_first.any() else 0)
    for chosen, leader, epoch in ((is_first, leaders[0], 1), (~is_first, leaders[1], 2)):
        if chosen.any():
            _publish(told, chance, (asked[chosen], ends[chosen] - counts[chosen], ends[chosen]), leader, epoch)
    of: Callable[..., None] = _worked if is_queue else _read
    of(told, chance, (asked, ends - counts, ends), is_first, leaders)
    _keys(told, chance, leaders[0], int(ends[-1]))
    return pa.concat_tables(told.parts)


def _place(number: int) -> tuple[str, int, bool]:
    for topic, count, is_queue in TOPICS:
        if number < count:
            return topic, number, is_queue
        number -= count
    raise IndexError(number)


def _led(told: _Told, leaders: list[str], end: int) -> None:
    begin = np.array([_SECOND])
    detail = f"replicas {','.join(sorted(leaders))} isr {','.join(sorted(leaders))}"
    for node in NODES:
        told.add("placed", begin, node=node, epoch=1, peer=leaders[0], value=1, detail=detail)
    told.add("leads", begin + 5 * _MS, node=leaders[0], side="data", epoch=1, end=0, value=0)
    if leaders[0] == "n1":
        agreed = np.array([_KILLED + 3 * _SECOND])
        for node in leaders[1:]:
            told.add("placed", agreed, node=node, epoch=2, peer=leaders[1], value=2, detail=detail)
        told.add("leads", agreed + 20 * _MS, node=leaders[1], side="data", epoch=2, end=end, value=end)


def _publish(
    told: _Told, chance: np.random.Generator, published: tuple[Integers, Integers, Integers], leader: str, epoch: int
) -> None:
    asked, first, end = published
    count, ranges = end - first, {"first": first, "end": end, "count": end - first}
    size, name = count * _VALUE_BYTES, {"node": leader}
    client = "web" if told.partition % 2 else "import"
    told.add("asked", asked, **name, count=count, bytes=size, client=client, detail="all")
    lane = chance.choice(5, len(asked), p=[0.7, 0.02, 0.08, 0.15, 0.05]) if told.topic in ("mail", "jobs") else 0
    came = asked + chance.integers(20_000, 400_000, len(asked))
    told.add("appended", came, **name, **ranges, side="data", bytes=size, epoch=epoch, since=asked, client=client,
             lane=lane, value=count)  # fmt: skip
    synced = _sync(chance, came)
    told.add("durable", synced, **name, side="data", first=first, end=end, bytes=size, since=came)
    visible = np.maximum.accumulate(synced + chance.exponential(900_000, len(asked)).astype(np.int64) + 300_000)
    told.add("visible", visible, **name, side="data", first=first, end=end, epoch=epoch)
    told.add("answered", visible + 50_000, **name, **ranges, side="data", epoch=epoch, since=asked, client=client,
             detail="all")  # fmt: skip
    for follower in NODES:
        if follower == leader:
            continue
        up = (came < _KILLED) | (came > _BACK) if follower == "n1" else np.ones(len(came), np.bool_)
        at = came[up] + 200_000
        part = {"node": follower, "side": "data", "first": first[up], "end": end[up], "bytes": size[up]}
        told.add("copied", at, **part, count=count[up], epoch=epoch, peer=leader)
        told.add("durable", _sync(chance, at), **part, since=at)


def _sync(chance: np.random.Generator, came: Integers) -> Integers:
    """When each is on the disk: a sync takes a millisecond or two, now and then much longer."""
    took = chance.gamma(4.0, 350_000.0, len(came)) + (chance.random(len(came)) < 0.001) * 80e6
    return np.maximum.accumulate(came + took.astype(np.int64))


def _read(
    told: _Told, chance: np.random.Generator, published: tuple[Integers, Integers, Integers],
    is_first: npt.NDArray[np.bool_], leaders: list[str],
) -> None:  # fmt: skip
    """A stream and an exclusive group read what comes."""
    asked, first, end = published
    node = np.where(is_first, leaders[0], leaders[1]).tolist()
    sent = np.maximum.accumulate(asked + chance.integers(5 * _MS, 9 * _MS, len(asked)))
    size = (end - first) * _VALUE_BYTES
    part = {"first": first, "end": end, "bytes": size}
    told.add("fetched", sent, node=node, **part, since=sent - 20 * _MS, client="audit", cause="stream")
    polled = sent + chance.integers(_MS, 30 * _MS, len(asked))
    group, member = f"{told.topic}-readers", f"m{told.partition % 4}"
    told.add("polled", polled, node="n2", **part, count=end - first, group=group, member=member, since=polled - _MS)
    done = np.maximum.accumulate(polled + chance.integers(5 * _MS, 200 * _MS, len(asked)))[::5]
    told.add("committed", done, node="n2", group=group, member=member, end=end[::5], epoch=1)
    told.add("owned", np.array([2 * _SECOND]), node="n2", group=group, member=member, epoch=1)
    for minute in range(5, 55, 10):
        moved = np.array([minute * 60 * _SECOND])
        told.add("disowned", moved, node="n2", group=group, member=member, cause="revoked")
        told.add("owned", moved + 40 * _MS, node="n2", group=group, member=member, epoch=minute)


def _worked(
    told: _Told, chance: np.random.Generator, published: tuple[Integers, Integers, Integers],
    is_first: npt.NDArray[np.bool_], leaders: list[str],
) -> None:  # fmt: skip
    """Members of a shared group work on what comes; some fails, some was kept back before."""
    asked, first, end = published
    nodes = np.where(is_first, leaders[0], leaders[1])
    given = asked + chance.integers(5 * _MS, 400 * _MS, len(asked))
    lease = np.arange(len(asked), dtype=np.int64)
    on = {"group": "workers", "member": f"w{told.partition % 4}"}

    def add(kind: str, at: Integers, chosen: npt.NDArray[np.bool_], **columns: Cell) -> None:
        place = {"node": nodes[chosen].tolist(), "first": first[chosen], "end": end[chosen]}
        told.add(kind, at[chosen], **place, **on, **columns)

    fails, whole = chance.random(len(asked)) < 0.05, np.ones(len(asked), np.bool_)
    add("leased", given, whole, attempt=1, lease=lease, since=given - 10 * _MS, lane=0)
    ended = given + chance.integers(2 * _MS, 300 * _MS, len(asked))
    add("acked", ended, ~fails, attempt=1, lease=lease[~fails], lane=0, since=ended[~fails] - _MS)
    causes = chance.choice(["nacked", "expired", "lost"], int(fails.sum()), p=[0.6, 0.35, 0.05]).tolist()
    add("returned", ended, fails, attempt=1, lease=lease[fails], lane=0, cause=causes, detail="card declined")
    again = ended + 2 * _SECOND
    add("leased", again, fails, attempt=2, lease=lease[fails] + len(asked), lane=0)
    gives_up = fails & (chance.random(len(asked)) < 0.1)
    is_done = fails & ~gives_up
    add("acked", again + 20 * _MS, is_done, attempt=2, lease=lease[is_done] + len(asked), lane=0)
    late = again + 20 * _MS
    add("doomed", late, gives_up, attempt=2, lease=lease[gives_up] + len(asked), lane=0, cause="attempts")
    add("buried", late + 5 * _MS, gives_up, attempt=2, cause="attempts")
    kept = lease[chance.random(len(asked)) < 0.1]
    due = asked[kept] + chance.integers(_SECOND, 60 * _SECOND, len(kept))
    dues = pa.array(due // 1000 + BEGAN_US).to_numpy()
    place, spot = {"node": nodes[kept].tolist()}, np.arange(len(kept))
    told.add("scheduled", asked[kept], **place, side="schedule", first=spot, end=spot + 1, due=dues)
    moved = due + chance.exponential(3e6, len(kept)).astype(np.int64)
    told.add("moved", moved, **place, first=first[kept], end=first[kept] + 1, sequence=spot, due=dues)


def _keys(told: _Told, chance: np.random.Generator, node: str, messages: int) -> None:
    """What a sketch would say of six files: few keys have much."""
    for sixth in range(6):
        at = np.full(_KEYS, (sixth + 1) * _SPAN // 6 - 1)
        shares = (messages // 6 * (1 / np.arange(2, _KEYS + 2)) / 5).astype(np.int64) + 1
        names: list[str | None] = [f"customer-{key}" for key in chance.permutation(_KEYS)]
        told.add("keyed", at, node=node, key_hash=np.arange(_KEYS), count=shares, bytes=shares * _VALUE_BYTES,
                 detail=names, value=3)  # fmt: skip


def of_nodes() -> pa.Table:
    """What nodes tell of themselves and of each other."""
    seconds = np.arange(_SECOND, _SPAN, _SECOND)
    parts: list[pa.Table] = []
    begun = BEGAN_US // 1000
    for node in NODES:
        runs = [(begun, 0, _KILLED), (begun + _BACK // _MS, _BACK, _SPAN)] if node == "n1" else [(begun, 0, _SPAN)]
        for run, begin, end in runs:
            on: Cells = {"node": node, "run": run}
            parts.append(_table("started", np.array([begin]), {**on, "value": 0}))
            beats = seconds[(seconds > begin) & (seconds < end)]
            second: Cells = {"since": beats - _SECOND, "count": 9_000, "bytes": 2_000_000, "value": 900}
            parts.append(_table("load", beats, {**on, **second}))
            stop: Cells = {"first": 0, "end": 1_000_000, "count": 1_000_000, "bytes": 22_500_000, "value": 0}
            parts.append(_table("file", np.array([end]), {**on, **stop}))
    for node in NODES[1:]:
        parts.append(_table("lost", np.array([_KILLED + _MS]), {"node": node, "peer": "n1", "cause": "gone"}))
        parts.append(
            _table("standing", np.array([_KILLED + 3 * _SECOND]), {"node": node, "peer": "n1", "cause": "dead"})
        )
        parts.append(_table("standing", np.array([_BACK]), {"node": node, "peer": "n1", "cause": "live", "value": 2}))
    parts.append(_table("elected", np.array([_SECOND // 2]), {"node": "n1", "epoch": 1}))
    parts.append(_table("voted", np.array([_KILLED + _SECOND]), {"node": "n3", "epoch": 2, "peer": "n2"}))
    parts.append(_table("elected", np.array([_KILLED + _SECOND + 5 * _MS]), {"node": "n2", "epoch": 2}))
    return pa.concat_tables(parts)
