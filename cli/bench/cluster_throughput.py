"""Figures of replication: what three brokers on this machine take, beside one broker that has it to itself.

Everybody may use every core, the load too. Three brokers write three times the bytes with the same cores, so the ratio
says what replication costs and not what three machines would do.
"""

from functools import partial

import trio

from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.cores import CORES, kept_to
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import codec, publish_stream
from goqueue.cli.bench.local_cluster import LocalCluster, running_cluster
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench
from goqueue.proto import v1

_NODES = 3
_RECORDS = 100
_WINDOW = 16


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.replicated_batches * _RECORDS * 1100 * (_NODES + 1)
    title = "batches of 100 x 1 KB, acks from all, on three brokers; the limit is one broker"
    return [
        Entry("replicated", f"{title}; fsync none", written, [Bar("ratio", least=0.3)], disk_bytes=room),
        Entry("replicated_synced", f"{title}; every acknowledgement after a sync", synced, disk_bytes=room),
    ]


def written(workbench: Workbench) -> Figure:
    """Acknowledged as soon as all have written it."""
    return _beside_one(workbench, "none")


def synced(workbench: Workbench) -> Figure:
    """Acknowledged when all have it on the disk."""
    return _beside_one(workbench, "every")


def _beside_one(workbench: Workbench, fsync: str) -> Figure:
    content, count = ring(), workbench.sizes.replicated_batches
    best = best_alone = float("inf")
    rounds = workbench.sizes.broker_rounds
    with kept_to(set(CORES)):
        for done in range(rounds):
            best_alone = min(best_alone, _publish(workbench, content, count, 1, fsync))
            best = min(best, _publish(workbench, content, count, _NODES, fsync))
            workbench.advanced((done + 1) / rounds)
    total = count * _RECORDS
    note = f"{_WINDOW} batches in flight; all brokers and the load share {len(CORES)} cores"
    return Figure(total / best, "msg/s", total / best_alone, best_alone / best, note=note)


def _publish(workbench: Workbench, content: list[bytes], count: int, nodes: int, fsync: str) -> float:
    """The seconds that so many batches take on a topic that all of so many brokers have."""
    with workbench.folder() as folder, running_cluster(folder, nodes) as cluster:
        cluster.create("loaded", 1, nodes, fsync=fsync, min_insync_replicas=nodes)
        publish(cluster, "loaded", content, min(count, 200))
        return publish(cluster, "loaded", content, count)


def publish(cluster: LocalCluster, topic: str, content: list[bytes], count: int) -> float:
    """Publish so many batches to the leader of the first partition; the seconds that took."""
    messages = [codec.encode(v1.PublishBatchRequest(topic=topic, batch=batch)) for batch in content]
    address = cluster.leader(topic).grpc_address
    return trio.run(partial(publish_stream, address, messages, count, _WINDOW))
