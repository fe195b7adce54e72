"""How the machines of a world become a cluster: who founds it, who comes later, and how wrong all clocks are."""

from typing import TYPE_CHECKING

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.quorum.voter_id import voter_id

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

_S = 1_000_000_000
_RACKS = ("a", "b")


def addresses(host: str) -> tuple[str, str, str]:
    """Where a node listens for others, for HTTP and for gRPC, on a host of that name."""
    return f"{host}:7000", f"{host}:8080", f"{host}:9000"


def found_cluster(world: "World") -> None:
    """Say of every machine what it is told of its cluster, when it begins, and what its clocks show."""
    options, random = world.options, world.random("founding")
    names = [process.node_id for process in world.processes]
    founders = names[: options.founders or len(names)]
    has_racks = random.random() < 0.3
    for place, process in enumerate(world.processes):
        name = process.node_id
        process.cluster = ClusterOptions(
            founders if name in founders else [],
            _RACKS[place % 2] if has_racks else "",
            *addresses(name),
            disk_id=f"disk-of-{name}",
            replica_lag_ns=options.replica_lag_ns,
        )
        world.sight.disks[voter_id(name, process.cluster.disk_id)] = process.disk
        process.wall_skew_ms = random.randint(-options.skew_ms_max, options.skew_ms_max)
        process.drift_ppm = random.randint(-options.drift_ppm_max, options.drift_ppm_max)
        process.origin_ns = random.randint(0, 100 * _S)
        if name not in founders:
            # Whoever comes later comes while others work.
            latest_s = options.seconds // (6 if options.grows else 2)
            process.down_until = random.randint(1, max(latest_s, 2)) * _S
