"""Figures of outages: how long a producer and a group member of the library stand still when one node fails.

Each storm hurts one node of three under load and makes it good again. The victim is in turn the leader of a partition,
the controller, and the coordinator of the member's group. A gap is the longest time in which some partition made no
progress, from the fault until the node is in sync again; a storm counts the longer gap of the two clients. A figure of
storms in which an acknowledged message was lost, stored twice, out of order, or never given to the member is a sentence
that says so.

Where the time went is in the note: of the worst storm, from when to when the gaps lasted, when a controller was known
after the fault, and when every partition had a leader.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import click
import trio
from attrs import define, field

from goqueue.cli.bench import namespaces
from goqueue.cli.bench.cluster_history import violations
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, cluster_of, loopback, running_cluster
from goqueue.cli.bench.outage_load import OutageLoad, outage_load
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench

_NODES = 3
_PARTITIONS = 3
_TOPIC = "orders"
# The topic whose leader coordinates all groups.
_COORDINATED_BY = "__groups"
_FAULT_S = 10.0
_SETTLE_S = 2.0
_PATIENCE_S = 60.0
_ROLES = ("leader", "controller", "coordinator")
_WATCHED = ("a controller", "leaders of all partitions")

# Hurts a node, and gives what makes it good again.
Fault = Callable[[LocalBroker], Awaitable[Callable[[], None]]]


Gap = tuple[float, float]


@define
class _Storm:
    """What one storm has brought, in seconds from the fault."""

    role: str
    producer: Gap = (0.0, 0.0)
    member: Gap = (0.0, 0.0)
    # When something was first so again.
    moments: dict[str, float] = field(factory=dict)

    @property
    def gap_s(self) -> float:
        """The longer gap."""
        return max(_length(self.producer), _length(self.member))

    def __str__(self) -> str:
        gaps = ", ".join(
            f"{who} {_length(gap):.2f} s from {gap[0]:.2f} to {gap[1]:.2f}"
            for who, gap in (("producer", self.producer), ("member", self.member))
        )
        known = ", ".join(f"{what} after {at:.2f} s" for what, at in self.moments.items())
        return f"{self.role}: {gaps}" + (f" ({known})" if known else "")


def _length(gap: Gap) -> float:
    return gap[1] - gap[0]


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file; without network namespaces no node can be isolated."""
    bars = [Bar("p50_ms", below=3_000), Bar("p99_ms", below=5_000)]
    kinds = {
        "stop": ("is stopped (SIGSTOP)", stop),
        "isolate": ("is cut off from everybody", isolate),
        "kill": ("is killed", kill),
        "term": ("is told to end (SIGTERM)", term),
    }
    if namespaces.why_impossible():
        del kinds["isolate"]
    made = [
        Entry(f"outage_{kind}", f"a node of three {what}: the longest gap of a client", measure, bars)
        for kind, (what, measure) in kinds.items()
    ]
    return [*made, Entry("outage_grow", "one node grows to three: the longest gap of a client", grow, bars)]


def stop(workbench: Workbench) -> Figure:
    """A node does nothing, keeps its connections, and wakes up later."""

    async def stopped(victim: LocalBroker) -> Callable[[], None]:
        victim.pause()
        return victim.resume

    with _cluster(workbench) as cluster:
        return _figure(trio.run(_storms, workbench, cluster, stopped))


def isolate(workbench: Workbench) -> Figure:
    """A node lives, and no packet comes from it or gets to it."""
    with workbench.folder() as folder, namespaces.network(_NODES) as net, ExitStack() as stack:
        cluster = cluster_of(folder, net.places)
        stack.callback(cluster.clear)

        async def isolated(victim: LocalBroker) -> Callable[[], None]:
            place = [*cluster.brokers].index(victim.node_id)
            net.isolate(place)
            return partial(net.rejoin, place)

        cluster.start()
        return _figure(trio.run(_storms, workbench, cluster, isolated))


def kill(workbench: Workbench) -> Figure:
    """A node's process ends without a word."""

    async def killed(victim: LocalBroker) -> Callable[[], None]:
        await trio.to_thread.run_sync(victim.kill)
        return victim.start

    with _cluster(workbench) as cluster:
        return _figure(trio.run(_storms, workbench, cluster, killed))


def term(workbench: Workbench) -> Figure:
    """A node is told to end, and ends in order."""

    async def ended(victim: LocalBroker) -> Callable[[], None]:
        await trio.to_thread.run_sync(victim.stop)
        return victim.start

    with _cluster(workbench) as cluster:
        return _figure(trio.run(_storms, workbench, cluster, ended))


def grow(workbench: Workbench) -> Figure:
    """A broker that is alone is started again as the founder of a cluster, and two others join it."""
    found: list[_Storm] = []
    count = workbench.sizes.storms
    for done in range(count):
        with workbench.folder() as folder, ExitStack() as stack:
            cluster = cluster_of(folder, loopback(_NODES))
            stack.callback(cluster.clear)
            found.append(trio.run(_grown, cluster))
        click.echo(f"storm {done + 1}: {found[-1]}", err=True)
        workbench.advanced((done + 1) / count)
    return _figure(found)


# --- storms


@contextmanager
def _cluster(workbench: Workbench) -> Iterator[LocalCluster]:
    with workbench.folder() as folder, running_cluster(folder, _NODES) as cluster:
        yield cluster


async def _storms(workbench: Workbench, cluster: LocalCluster, fault: Fault) -> list[_Storm]:
    count = workbench.sizes.storms
    found: list[_Storm] = []
    await trio.to_thread.run_sync(cluster.create, _TOPIC, _PARTITIONS, _NODES)
    async with outage_load(cluster.addresses, _TOPIC, _PARTITIONS) as load:
        for done in range(count):
            await trio.sleep(_SETTLE_S)
            found.append(await _storm(cluster, load, _ROLES[done % len(_ROLES)], fault))
            click.echo(f"storm {done + 1}: {found[-1]}", err=True)
            workbench.advanced((done + 1) / count)
    _judge(load)
    return found


async def _storm(cluster: LocalCluster, load: OutageLoad, role: str, fault: Fault) -> _Storm:
    victim = await trio.to_thread.run_sync(_holder, cluster, role)
    storm = _Storm(role)
    begun = time.monotonic_ns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, cluster, victim.node_id, begun, storm)
        mend = await fault(victim)
        await trio.sleep_until(trio.current_time() + _FAULT_S - (time.monotonic_ns() - begun) / 1e9)
        nursery.cancel_scope.cancel()
    mend()
    mended = time.monotonic_ns()
    await trio.to_thread.run_sync(victim.await_ready)
    await trio.to_thread.run_sync(cluster.await_in_sync, _TOPIC, _NODES)
    await load.until_flowing(mended)
    _measure(load, storm, begun)
    return storm


def _measure(load: OutageLoad, storm: _Storm, begun: int) -> None:
    ended = time.monotonic_ns()
    storm.producer = _seconds(load.producer_gap(begun, ended), begun)
    storm.member = _seconds(load.member_gap(begun, ended), begun)


def _seconds(gap: tuple[int, int], begun: int) -> Gap:
    return (gap[0] - begun) / 1e9, (gap[1] - begun) / 1e9


def _holder(cluster: LocalCluster, role: str) -> LocalBroker:
    if role == "controller":
        return cluster.controller()
    return cluster.leader(_TOPIC if role == "leader" else _COORDINATED_BY)


async def _watch(cluster: LocalCluster, victim: str, begun: int, storm: _Storm) -> None:
    """Note when the others have a controller and leaders that are not the victim."""

    def look() -> tuple[bool, bool]:
        status, answer = cluster.ask("GET", "/cluster", without=victim)
        placed = [
            each["leader"] for topic in (_TOPIC, _COORDINATED_BY) for each in cluster.partitions(topic, without=victim)
        ]
        return status == 200 and answer["controller"] not in ("", victim), bool(placed) and not {"", None, victim} & {
            *placed
        }

    moments = storm.moments
    while len(moments) < len(_WATCHED):
        is_so = await trio.to_thread.run_sync(look, abandon_on_cancel=True)
        at = (time.monotonic_ns() - begun) / 1e9
        for what, so in zip(_WATCHED, is_so, strict=True):
            if so:
                moments.setdefault(what, at)
        await trio.sleep(0.05)


# --- from one node to three


async def _grown(cluster: LocalCluster) -> _Storm:
    first, *others = cluster.brokers.values()
    first.flags = []
    first.start()
    await trio.to_thread.run_sync(first.await_ready)
    await trio.to_thread.run_sync(cluster.create, _TOPIC, _PARTITIONS)
    storm = _Storm("grown")
    async with outage_load(cluster.addresses, _TOPIC, _PARTITIONS) as load:
        await trio.sleep(_SETTLE_S)
        begun = time.monotonic_ns()

        def reached(what: str) -> None:
            storm.moments[what] = (time.monotonic_ns() - begun) / 1e9

        await trio.to_thread.run_sync(first.stop)
        reached("ended")
        first.flags = ["--internal", first.internal_address]
        first.start()
        await trio.to_thread.run_sync(first.await_ready)
        reached("started again")
        for broker in others:
            broker.flags = ["--internal", broker.internal_address, "--join", first.internal_address]
            broker.start()
        for broker in others:
            await trio.to_thread.run_sync(broker.await_ready)
        reached("all have joined")
        await trio.to_thread.run_sync(_spread, cluster)
        reached("all is in sync and votes")
        await load.until_flowing(time.monotonic_ns())
        _measure(load, storm, begun)
    _judge(load)
    return storm


def _spread(cluster: LocalCluster) -> None:
    """Give every partition a replica on each node, and wait until all are in sync and all nodes vote."""
    nodes = [*cluster.brokers]
    body = {"partitions": [{"topic": _TOPIC, "partition": at, "new_replicas": nodes} for at in range(_PARTITIONS)]}

    def moved() -> bool | None:
        return True if cluster.ask("POST", "/admin/reassignment", body)[0] == 202 else None

    def voting() -> bool | None:
        status, answer = cluster.ask("GET", "/cluster")
        return True if status == 200 and len(answer["voters"]) == _NODES else None

    cluster.until("the partitions move", moved)
    cluster.await_in_sync(_TOPIC, _NODES)
    cluster.until("all nodes vote", voting)


# --- figures


def _judge(load: OutageLoad) -> None:
    """Raise for what clients must never see."""
    found = [*violations(load.history), *load.undelivered()[:10], *load.errors, *[*load.history.refused.values()][:10]]
    if found:
        raise BenchError("what clients saw should not be:\n" + "\n".join(found))


def _figure(storms: list[_Storm]) -> Figure:
    gaps = sorted(storm.gap_s for storm in storms)
    producer = sorted(_length(storm.producer) for storm in storms)
    member = sorted(_length(storm.member) for storm in storms)
    worst = max(storms, key=lambda storm: storm.gap_s)
    middle = len(gaps) // 2
    note = (
        f"{len(storms)} storms, nothing lost; producer p50 {producer[middle]:.2f} s, longest {producer[-1]:.2f} s; "
        f"member p50 {member[middle]:.2f} s, longest {member[-1]:.2f} s; the worst storm: {worst}"
    )
    return Figure(gaps[-1], "s", p50_ms=gaps[middle] * 1e3, p99_ms=gaps[-1] * 1e3, note=note)
