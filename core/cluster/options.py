"""What a node is told of the cluster that it belongs to; a node that is told nothing is alone."""

from attrs import define, field

_MS = 1_000_000


@define
class ClusterOptions:
    """One node's place among others, and how patient they are with each other."""

    # The first voters of a cluster that is new, this node maybe among them; empty for one that joins what exists.
    founders: list[str]
    rack: str = ""
    # Where others reach this node: peers, clients over HTTP, clients over gRPC.
    internal: str = ""
    http: str = ""
    grpc: str = ""
    # Another number at each start of the process.
    incarnation: int = 0
    # Drawn when the data folder was made: two folders under one node's name are told apart by it.
    disk_id: str = ""
    # Earlier processes on the same disk, by their incarnations: of which all is there that they wrote, and of which at
    # least what they synced.
    whole: list[int] = field(factory=list)
    synced: list[int] = field(factory=list)
    heartbeat_ns: int = 500 * _MS
    suspect_ns: int = 1_500 * _MS
    dead_ns: int = 2_500 * _MS
    # Drawn anew from once to twice this each time.
    election_ns: int = 1_000 * _MS
    quorum_heartbeat_ns: int = 150 * _MS
    # A follower that is behind for so long is in sync no more.
    replica_lag_ns: int = 10_000 * _MS
    # What a publisher waits for all replicas at most.
    request_ns: int = 30_000 * _MS
    # How fast replicas catch up that are no part of those in sync; 0 for as fast as they can.
    catch_up_bytes_per_s: int = 0
