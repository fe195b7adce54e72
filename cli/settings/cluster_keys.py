"""The keys of a broker among others: whom it knows, where it is reached, and how patient it is.

They mean something together (`goqueue.cli.serve_cluster`); none of them has to be given to a broker that is alone.
"""

from typing import Any

from goqueue.cli.settings import kinds
from goqueue.cli.settings.key import Key, flagged

STATIC, DNS, MULTICAST = "static", "dns", "multicast"
_HOUR_MS = 3_600_000

INTERNAL = flagged(
    "internal", "broker.listeners.internal", kinds.address(":7000", may_be_off=True), ":7000",
    "Where other nodes reach this one; given alone, they may join it.", variable="GOQUEUE_INTERNAL_ADDR",
)  # fmt: skip
PEERS = flagged(
    "peers", "cluster.peers", kinds.peers(), "",
    "The nodes that make a cluster, this one among them: id@host:port,… and the same for all.",
)  # fmt: skip
JOIN = flagged(
    "join", "cluster.join", kinds.peers(), "", "Join the cluster of whoever is there: host:port, or several of them."
)
ADVERTISE = flagged(
    "advertise", "cluster.advertise", kinds.host(), "", "The host name or address by which others reach this node."
)
RACK = flagged("rack", "cluster.rack", kinds.words(), "", "Where the node stands; copies are spread over racks.")
FOUNDERS = Key(
    "cluster.founders", kinds.names(), "", "The first voters, where peers are found otherwise than by a list."
)
DISCOVERY = flagged(
    "discovery", "cluster.discovery", kinds.one_of(STATIC, DNS, MULTICAST), STATIC,
    "How peers are found besides: static, dns or multicast.",
)  # fmt: skip
DNS_NAME = Key("cluster.dns", kinds.words(), "", "The name and port that stand for all nodes, as in goqueue:7000.")
GROUP = Key(
    "cluster.multicast", kinds.address("239.71.81.1:7001"), "239.71.81.1:7001", "The group in which nodes call out."
)
QUORUM = Key("cluster.quorum", kinds.fixed("majority", "a majority decides"), "majority", "How many have to agree.")
COMPRESSION = Key(
    "cluster.compression",
    kinds.one_of("none", "lz4", "zstd"),
    "none",
    "How letters to peers are compressed, where they read that.",
)
HEARTBEAT = Key("cluster.heartbeatInterval", kinds.span(10, 60_000), "500ms", "How often nodes tell that they live.")
SUSPECT = Key("cluster.suspectAfter", kinds.span(20, _HOUR_MS), "1500ms", "How long a node is silent to be suspected.")
DEAD = Key("cluster.deadAfter", kinds.span(30, _HOUR_MS), "2500ms", "How long a node is silent to be taken for dead.")
ELECTION = Key("cluster.electionTimeout", kinds.span(50, 60_000), "1s", "How long voters wait for their controller.")
REPLICA_LAG = Key("cluster.replicaLag", kinds.span(100, _HOUR_MS), "10s", "How long a replica in sync may be behind.")
REQUEST = Key("cluster.requestTimeout", kinds.span(100, _HOUR_MS), "30s", "How long a publish waits for its replicas.")
CATCH_UP = Key(
    "cluster.catchUpRate", kinds.size(0, None, "50MiB"), "0", "Bytes a second for replicas that catch up; 0: no bound."
)
PEER_CERT = Key("cluster.tls.cert", kinds.path(may_be_empty=True), "", "The certificate chain shown to peers.")
PEER_KEY = Key("cluster.tls.key", kinds.path(may_be_empty=True), "", "The key to it.")
PEER_CA = Key("cluster.tls.ca", kinds.path(may_be_empty=True), "", "The authority that peers' certificates are of.")

SECRET = Key(
    "cluster.secret", kinds.cluster_secrets(), "",
    "What all nodes know and nobody else does: current, or current,previous while it is replaced.",
    variable="GOQUEUE_CLUSTER_SECRET", is_secret=True,
)  # fmt: skip
SECRET_FILE = flagged(
    "cluster-secret-file", "cluster.secretFile", kinds.path(may_be_empty=True), "",
    "The file with the secret that nodes prove to know, a line each; SIGHUP reads it again.",
)  # fmt: skip
INSECURE = flagged(
    "insecure", "broker.insecure", kinds.switch(), "off",
    "Let whoever reaches the port for other nodes be one, beyond this machine, without a secret and without TLS.",
    bare="on",
)  # fmt: skip

FLAGGED_CLUSTER: tuple[Key[Any], ...] = (
    INTERNAL, PEERS, JOIN, ADVERTISE, RACK, DISCOVERY, SECRET_FILE, INSECURE,
)  # fmt: skip

# In the order of the file, within `cluster`.
CLUSTER_KEYS: tuple[Key[Any], ...] = (
    PEERS, JOIN, FOUNDERS, ADVERTISE, RACK, DISCOVERY, DNS_NAME, GROUP, QUORUM, COMPRESSION,
    HEARTBEAT, SUSPECT, DEAD, ELECTION, REPLICA_LAG, REQUEST, CATCH_UP, PEER_CERT, PEER_KEY, PEER_CA,
    SECRET, SECRET_FILE,
)  # fmt: skip
