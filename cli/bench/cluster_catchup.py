"""The figure of a follower that was away: how fast it catches up, beside copying and summing the same bytes."""

import time
from pathlib import Path

from crc32c import crc32c

from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.cluster_throughput import publish
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.local_cluster import LocalBroker, LocalCluster, running_cluster
from goqueue.cli.bench.sizes import MB, Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench

_NODES = 3
_CHUNK = 1 << 20


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry(
            "catch_up", "a follower was away meanwhile: until it is in sync; the limit copies and sums the bytes",
            catch_up, [Bar("ratio", least=0.4)], disk_bytes=(_NODES + 1) * sizes.behind_bytes,
        ),
    ]  # fmt: skip


def catch_up(workbench: Workbench) -> Figure:
    """From when the follower wakes up until its leader counts it as in sync."""
    content = ring()
    count = max(workbench.sizes.behind_bytes // len(content[0]), 1)
    with workbench.folder() as folder, running_cluster(folder, _NODES) as cluster:
        cluster.create("behind", 1, _NODES, fsync="none")
        follower = cluster.others(cluster.leader("behind").node_id)[0]
        follower.pause()
        _await_missing(cluster, follower)
        publish(cluster, "behind", content, count)
        workbench.advanced(0.5)
        limit = _copy(_segments(cluster.leader("behind")), folder / "copy")
        begun = time.perf_counter()
        follower.resume()
        cluster.await_in_sync("behind", _NODES)
        taken = time.perf_counter() - begun
    speed = count * len(content[0]) / taken
    note = f"{count * len(content[0]) / MB:,.0f} MB in {taken:.1f} s; the follower was paused, and taken for dead"
    return Figure(speed / MB, "MB/s", limit / MB, speed / limit, note=note)


def _await_missing(cluster: LocalCluster, follower: LocalBroker) -> None:
    def missed() -> bool | None:
        found = cluster.partitions("behind", without=follower.node_id)
        return True if found and follower.node_id not in found[0]["isr"] else None

    cluster.until(f"{follower.node_id} is missed", missed)


def _segments(leader: LocalBroker) -> list[Path]:
    found = sorted((leader.folder / "data" / "logs" / "behind" / "0").glob("*.log"))
    if not found:
        raise BenchError(f"{leader.node_id} keeps nothing of the topic where it should")
    return found


def _copy(paths: list[Path], target: Path) -> float:
    """Read the files, sum them, write them elsewhere; the bytes a second that gives."""
    begun = time.perf_counter()
    value = size = 0
    with target.open("wb", buffering=0) as output:
        for path in paths:
            with path.open("rb", buffering=0) as source:
                while chunk := source.read(_CHUNK):
                    value = crc32c(chunk, value)
                    output.write(chunk)
                    size += len(chunk)
    speed = size / (time.perf_counter() - begun)
    target.unlink()
    return speed
