"""Figures of brokers that are killed while clients work: how long until those are served again, and what they noticed.

Three brokers, topics on all of them, clients of the library with their defaults: idempotent producers, acks from all. A
run kills one broker without a word, waits until it is made up for, starts the broker again and waits until it has
caught up, so every run begins with three. Runs in which anything that was acknowledged is lost, twice or out of order
give no figure but a sentence that says so.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import trio

import goqueue
from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.cluster_load import Load, Pace, loaded
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, running_cluster
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.group_consumer import GroupConsumer

_NODES = 3
_PARTITIONS = 6
_PACE = Pace(streams=6, interval_s=0.005)
# Longer than any bar: what takes so long is shown as a failure.
_PATIENCE_S = 60.0
_MEMBERS = 3
_GROUP = "coordinated"
# The topic whose leader coordinates all groups.
_COORDINATED_BY = "__groups"
_SETTLE_S = 1.0


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    bars = [Bar("value", below=5), Bar("p50_ms", below=3_000)]
    return [
        Entry("failover", "the leader is killed under load: the longest until it acknowledges again", failover, bars),
        Entry("controller_killed", "the controller is killed: the longest until a topic can be made", controller, bars),
        Entry("coordinator_killed", "a group's coordinator is killed: the longest until a commit", coordinator, bars),
    ]  # fmt: skip


def failover(workbench: Workbench) -> Figure:
    """From the kill to the acknowledgement of a message that was sent after it."""
    with _cluster(workbench) as cluster:
        cluster.create("orders", _PARTITIONS, _NODES)
        taken: list[float] = []

        async def killed(load: Load) -> None:
            victim = await trio.to_thread.run_sync(cluster.leader, "orders")
            before = time.monotonic_ns()
            victim.kill()
            at = await load.until_acknowledged(before, 0, within_s=_PATIENCE_S)
            taken.append((at - before) / 1e9)
            await _restart(cluster, victim, "orders")

        load = trio.run(_under_load, workbench, cluster, killed)
    history = load.history
    note = f"{len(history.acknowledged):,} messages acknowledged meanwhile, none lost, none twice, none out of order"
    return _figure(taken, f"{note}; {len(history.refused)} refused, {len(load.errors)} errors of clients")


def controller(workbench: Workbench) -> Figure:
    """From the kill to the answer that a new topic is made, asked of the others over and over."""
    taken: list[float] = []
    with _cluster(workbench) as cluster:
        for run in range(workbench.sizes.failovers):
            victim = cluster.controller()
            before = time.monotonic()
            victim.kill()
            _make(cluster, f"made-{run}", victim.node_id)
            taken.append(time.monotonic() - before)
            victim.start()
            victim.await_ready()
            time.sleep(_SETTLE_S)
            workbench.advanced((run + 1) / workbench.sizes.failovers)
    return _figure(taken, "over HTTP, at the two that are left")


def coordinator(workbench: Workbench) -> Figure:
    """From the kill to the next commit that is taken; members that lose a partition by it spoil the run."""
    with _cluster(workbench) as cluster:
        cluster.create("orders", _PARTITIONS, _NODES)
        taken, lost = trio.run(_coordinated, workbench, cluster)
    if lost:
        raise BenchError(f"members lost partitions when their coordinator was killed: {lost}")
    return _figure(taken, f"{_MEMBERS} members kept all {_PARTITIONS} partitions")


# --- the leader of a partition


async def _under_load(workbench: Workbench, cluster: LocalCluster, run: Callable[[Load], Awaitable[None]]) -> Load:
    count = workbench.sizes.failovers
    async with loaded(cluster.addresses, "orders", _PACE) as load:
        for done in range(count):
            await run(load)
            workbench.advanced((done + 1) / count)
    if found := violations(load.history):
        raise BenchError("what clients saw should not be:\n" + "\n".join(found))
    return load


async def _restart(cluster: LocalCluster, victim: LocalBroker, topic: str) -> None:
    victim.start()
    await trio.to_thread.run_sync(victim.await_ready)
    await trio.to_thread.run_sync(cluster.await_in_sync, topic, _NODES)
    await trio.sleep(_SETTLE_S)


# --- the controller


def _make(cluster: LocalCluster, name: str, without: str) -> None:
    def made() -> bool | None:
        status, _ = cluster.ask("POST", "/topics", {"name": name, "replication_factor": 2}, without=without)
        return True if status in (201, 409) else None

    cluster.until(f"topic {name} is made", made, _PATIENCE_S)


# --- the coordinator of a group


async def _coordinated(workbench: Workbench, cluster: LocalCluster) -> tuple[list[float], list[str]]:
    taken: list[float] = []
    lost: list[str] = []
    count = workbench.sizes.failovers
    async with goqueue.connect(cluster.addresses) as gq, trio.open_nursery() as nursery:
        async with gq.producer() as producer:
            for number in range(_PARTITIONS * 50):
                await producer.send("orders", b"x", partition=number % _PARTITIONS)
        members = [await nursery.start(_member, cluster.addresses, lost) for _ in range(_MEMBERS)]
        await _until_even(members)
        before = [member.assignment for member in members]
        for done in range(count):
            victim = await trio.to_thread.run_sync(cluster.leader, _COORDINATED_BY)
            killed_at = time.monotonic()
            victim.kill()
            await _commit(members[done % _MEMBERS], done)
            taken.append(time.monotonic() - killed_at)
            await _restart(cluster, victim, _COORDINATED_BY)
            workbench.advanced((done + 1) / count)
        if before != [member.assignment for member in members]:
            lost.append("the assignment is another")
        nursery.cancel_scope.cancel()
    return taken, lost


async def _member(
    address: str, lost: list[str], task_status: trio.TaskStatus[GroupConsumer] = trio.TASK_STATUS_IGNORED
) -> None:
    def note(partitions: list[tuple[str, int]]) -> None:
        lost.append(f"{partitions} were lost")

    async with (
        goqueue.connect(address) as gq,
        gq.group_consumer(
            _GROUP, "orders", commit="manual", on_lost=note, session_timeout=timedelta(seconds=10)
        ) as consumer,
    ):
        task_status.started(consumer)
        async for _ in consumer.batches():
            pass


async def _until_even(members: list[GroupConsumer]) -> None:
    with trio.fail_after(_PATIENCE_S):
        while any(len(member.assignment) != _PARTITIONS // _MEMBERS for member in members):  # noqa: ASYNC110 - nobody tells
            await trio.sleep(0.05)


async def _commit(member: GroupConsumer, offset: int) -> None:
    """Commit until that is taken."""
    topic, partition = min(member.assignment)
    with trio.fail_after(_PATIENCE_S):
        while True:
            try:
                await member.commit({(topic, partition): offset + 1})
            except ClientError:
                await trio.sleep(0.02)
            else:
                return


# --- all of them


@contextmanager
def _cluster(workbench: Workbench) -> Iterator[LocalCluster]:
    with workbench.folder() as folder, running_cluster(folder, _NODES) as cluster:
        yield cluster


def _figure(taken: list[float], note: str) -> Figure:
    ordered = sorted(taken)
    middle = ordered[len(ordered) // 2]
    return Figure(ordered[-1], "s", p50_ms=middle * 1e3, p99_ms=ordered[-1] * 1e3, note=f"{len(taken)} runs; {note}")
