"""What two nodes tell each other before anything else, and what keeps them apart.

A hello is JSON behind eight bytes that never change, so that releases of any age can read who they refuse. Fields may
be added; unknown ones are ignored. Each side says the range of protocol versions that it speaks, and the highest that
both speak is used. Nothing secret is in it; whom to believe is for TLS to say, or for the cluster's secret
(`secret.py`). Until then what a hello says is anybody's claim.
"""

import json
from typing import Any

from attrs import asdict, define, field, fields

from goqueue.core.errors import ProtocolError
from goqueue.core.peers.codec import VERSION, VERSION_MIN
from goqueue.core.quorum.voter_id import node_name_problem
from goqueue.core.records.batch import Codec

MAGIC = b"GoQpeer\n"
HELLO_BYTES_MAX = 16 << 10
CODECS = {"none": Codec.NONE, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}
CLOCKS_APART_MS_MAX = 60_000

_TLS_RECORD = b"\x16\x03"
_TEXT_MAX = 400
_INT64 = range(-(1 << 63), 1 << 63)


@define
class Hello:
    """One node about itself."""

    node_id: str
    # Of the folder that it keeps everything in, drawn when that was made.
    disk_id: str
    # Drawn at each start.
    incarnation: int
    # Empty while it belongs to none.
    cluster_id: str = ""
    release: str = ""
    # Where it listens for peers; empty if nowhere.
    internal: str = ""
    wall_ms: int = 0
    version_min: int = VERSION_MIN
    version_max: int = VERSION
    # The codecs in which it reads letters.
    codecs: list[str] = field(factory=lambda: [*CODECS])
    # Drawn for one connection by a node that knows the cluster's secret; empty from one that knows none.
    nonce: str = ""

    def encode(self) -> bytes:
        """Its bytes."""
        return json.dumps(asdict(self)).encode()


def parse_hello(body: bytes) -> Hello:
    """The hello in some bytes; ProtocolError when there is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProtocolError("the hello of a peer is no JSON object")
    values: dict[str, Any] = {}
    for each in fields(Hello):
        if each.name in found:
            values[each.name] = _typed(each.name, found[each.name])
    try:
        hello = Hello(**values)
    except TypeError:
        raise ProtocolError("the hello of a peer does not say who it is") from None
    if not hello.node_id or not 0 < hello.version_min <= hello.version_max:
        raise ProtocolError("the hello of a peer has no node id, or versions that cannot be")
    problem = node_name_problem(hello.node_id)
    if problem:
        raise ProtocolError(f"the hello of a peer has another node id than it may have: {problem}")
    return hello


def _typed(name: str, value: Any) -> Any:  # noqa: ANN401 - it is whatever JSON holds
    """The value, if it is of the kind that the field holds."""
    if name == "codecs":
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
    elif name in _NUMBERS:
        if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
            return value
    elif isinstance(value, str) and len(value) <= _TEXT_MAX and value.isprintable():
        return value
    raise ProtocolError(f"the hello of a peer has another {name} than it may have")


_NUMBERS = frozenset({"incarnation", "wall_ms", "version_min", "version_max"})


def disagreement(own: Hello, other: Hello, expected: str = "", present: Hello | None = None) -> str:
    """Why two nodes cannot be peers, in a sentence that says what to do; empty when they can.

    `expected` is the id under which the other was called, `present` a node of its id that is connected now.
    """
    if max(own.version_min, other.version_min) > min(own.version_max, other.version_max):
        return f"{_spoken(other)} between nodes, {_spoken(own)}: upgrade the older one, by one release at a time"
    if other.node_id == own.node_id:
        return (
            f"two nodes are named {own.node_id}, at {own.internal or 'one place'} and at "
            f"{other.internal or 'another'}: give one of them another --node-id"
        )
    if own.cluster_id and other.cluster_id and own.cluster_id != other.cluster_id:
        return (
            f"node {other.node_id} belongs to cluster {other.cluster_id}, node {own.node_id} to cluster "
            f"{own.cluster_id}: start one of them on the data folder, or with the peers, of its own cluster"
        )
    if expected and other.node_id != expected:
        return (
            f"the node at this address is named {other.node_id} and was expected to be {expected}: "
            "correct the addresses of peers, or its --node-id"
        )
    if present is not None and present.disk_id != other.disk_id:
        return (
            f"a node named {other.node_id} with another data folder is connected, from "
            f"{present.internal or 'elsewhere'}: give one of them another --node-id, or stop the one whose data is "
            "not wanted; one that has lost its data folder is let in by goqueue cluster readmit"
        )
    return ""


def unproven(own: Hello, other: Hello) -> str:
    """Why one of two nodes cannot prove itself to the other, in a sentence; empty where both can try, or need not."""
    if bool(own.nonce) == bool(other.nonce):
        return ""
    knows, lacks = (own, other) if own.nonce else (other, own)
    return (
        f"node {knows.node_id} knows the cluster's secret and node {lacks.node_id} shows none: give node "
        f"{lacks.node_id} the same cluster.secret (or cluster.secretFile)"
    )


def another_secret(own: Hello, other: Hello) -> str:
    """What both sides are told when a proof is wrong; nothing of the secrets is in it."""
    return (
        f"the cluster's secret is another at node {other.node_id} than at node {own.node_id}, or what they said was "
        "changed on its way: give both the same cluster.secret (or cluster.secretFile)"
    )


def _spoken(hello: Hello) -> str:
    return f"node {hello.node_id} (release {hello.release}) speaks versions {hello.version_min} to {hello.version_max}"


def is_itself(own: Hello, other: Hello) -> bool:
    """Whether a node has called its own address."""
    return (own.node_id, own.disk_id, own.incarnation) == (other.node_id, other.disk_id, other.incarnation)


def agreed_version(own: Hello, other: Hello) -> int:
    """The version that both speak, the highest there is."""
    return min(own.version_max, other.version_max)


def clocks_apart(own: Hello, other: Hello) -> str:
    """A warning where clocks are apart by more than a minute; empty otherwise."""
    apart_ms = other.wall_ms - own.wall_ms
    if not own.wall_ms or not other.wall_ms or abs(apart_ms) <= CLOCKS_APART_MS_MAX:
        return ""
    way = "ahead of" if apart_ms > 0 else "behind"
    return (
        f"the clock of node {other.node_id} is {abs(apart_ms) // 1000} s {way} that of node {own.node_id}: "
        "delays, retention and times of messages will be wrong there; let both follow NTP"
    )


def stranger(beginning: bytes) -> str:
    """What to say of a peer that does not begin as one."""
    if beginning.startswith(_TLS_RECORD):
        return "it speaks TLS, and this node does not to its peers: give all nodes cluster.tls, or none"
    return "it is no node: what it says does not begin as a hello"
