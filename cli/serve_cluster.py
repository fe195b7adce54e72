"""What a broker among others is told: who founds the cluster, where its nodes are, and where others reach this one.

A broker is among others as soon as it is given peers, somebody to join, a way to find either, or an address of its own
for them. Otherwise it is alone: nothing listens for peers, and nothing of a cluster costs anything.
"""

import secrets
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import trio
from attrs import define

from goqueue.cli.settings.cluster_keys import (
    ADVERTISE,
    CATCH_UP,
    COMPRESSION,
    DEAD,
    DISCOVERY,
    DNS,
    DNS_NAME,
    ELECTION,
    FOUNDERS,
    GROUP,
    HEARTBEAT,
    INSECURE,
    INTERNAL,
    JOIN,
    MULTICAST,
    PEER_CA,
    PEER_CERT,
    PEER_KEY,
    PEERS,
    RACK,
    REPLICA_LAG,
    REQUEST,
    SECRET,
    SECRET_FILE,
    STATIC,
    SUSPECT,
)
from goqueue.cli.settings.keys import GRPC, HTTP, NODE
from goqueue.cli.settings.kinds import LOOPBACK, Address
from goqueue.cli.settings.sources import DEFAULT, FILE, Settings
from goqueue.cli.starting import is_loopback
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.peers.codec import decode, encode
from goqueue.transports.peers.addresses import PeerAddress, parse_peer
from goqueue.transports.peers.discovery import call_out, look_up
from goqueue.transports.peers.network import Network
from goqueue.transports.peers.secret import SECRET_BYTES_MAX, SECRETS_MAX, ClusterSecrets, parse_secrets
from goqueue.transports.peers.tls import PeerTls, peer_tls

_MS = 1_000_000
_SECRET_FILE_BYTES_MAX = SECRETS_MAX * (SECRET_BYTES_MAX + 2)
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - nothing is bound to them here


@define
class ClusterSettings:
    """All that concerns other nodes, as it will be used."""

    node_id: str
    founders: list[str]
    known: list[PeerAddress]
    internal: Address
    advertise: str
    rack: str
    # Where to look nodes up, and the group to call out in; None where that is not done.
    dns: PeerAddress | None
    group: Address | None
    compression: str
    tls_files: tuple[str, str, str] | None
    # What the secret is, or the file that it is in; "" for none.
    secret: ClusterSecrets | None
    secret_file: str
    # Whether peers may come from other machines without either.
    is_open: bool
    heartbeat_ms: int
    suspect_ms: int
    dead_ms: int
    election_ms: int
    replica_lag_ms: int
    request_ms: int
    catch_up_bytes_per_s: int

    def options(self, bound: Mapping[str, Address]) -> ClusterOptions:
        """What the node is told; `bound` says by key where its ports really are."""
        grpc = bound.get(GRPC.name, bound[HTTP.name])
        return ClusterOptions(
            founders=self.founders,
            rack=self.rack,
            internal=self._reached(bound[INTERNAL.name]),
            http=self._reached(bound[HTTP.name]),
            grpc=self._reached(grpc),
            incarnation=secrets.randbits(62) + 1,
            disk_id=secrets.token_hex(8),
            heartbeat_ns=self.heartbeat_ms * _MS,
            suspect_ns=self.suspect_ms * _MS,
            dead_ns=self.dead_ms * _MS,
            election_ns=self.election_ms * _MS,
            quorum_heartbeat_ns=self.election_ms * _MS * 3 // 20,
            replica_lag_ns=self.replica_lag_ms * _MS,
            request_ns=self.request_ms * _MS,
            catch_up_bytes_per_s=self.catch_up_bytes_per_s,
        )

    def _reached(self, bound: Address) -> str:
        """Where others reach a port of this node."""
        host, port = bound
        if self.advertise and host != LOOPBACK:
            host = self.advertise
        elif host in EVERYWHERE:
            host = socket.gethostname()
        return PeerAddress("", host, port).place

    @property
    def has_files(self) -> bool:
        """Whether there is something to be read again."""
        return self.tls_files is not None or bool(self.secret_file)

    def tls(self) -> PeerTls | None:
        """The keys as the files have them at the moment. Raises OSError, of which SSLError is one."""
        return None if self.tls_files is None else peer_tls(*self.tls_files)

    def secrets(self) -> ClusterSecrets | None:
        """The secrets as the file has them at the moment, or as they were given. Raises OSError, ValueError."""
        if not self.secret_file:
            return self.secret
        with Path(self.secret_file).open("rb") as file:
            content = file.read(_SECRET_FILE_BYTES_MAX + 1)
        if len(content) > _SECRET_FILE_BYTES_MAX:
            raise ValueError("it is larger than any secrets are")
        found = parse_secrets(content.decode("utf-8", "replace"))
        if not found:
            raise ValueError("there is no secret in it")
        return ClusterSecrets(found)

    def network(self) -> Network:
        """The node's connections to its peers. Raises as `tls` and `secrets` do."""
        return Network(
            encode, decode, known=self.known, tls=self.tls(), secrets=self.secrets(), compression=self.compression
        )

    async def discover(self, network: Network, internal: str) -> None:
        """Find peers as long as the node lives, in the ways that were asked for."""
        async with trio.open_nursery() as nursery:
            if self.dns is not None:
                nursery.start_soon(look_up, self.dns.host, self.dns.port, network.find)
            if self.group is not None:
                place = parse_peer(f"{self.node_id}@{internal}")
                nursery.start_soon(partial(call_out, place, self.group, network.find))


def cluster_settings(settings: Settings) -> ClusterSettings | None:
    """What was given of others, with what is wrong noted in `settings`; None for a broker alone."""
    if not _is_among_others(settings):
        return None
    _check(settings)
    own = next((place for place in settings[PEERS] if place.node_id == settings[NODE]), None)
    discovery, files = settings[DISCOVERY], (settings[PEER_CERT], settings[PEER_KEY], settings[PEER_CA])
    found = ClusterSettings(
        node_id=settings[NODE],
        founders=_founders(settings),
        known=[place for place in [*settings[PEERS], *settings[JOIN]] if place != own],
        internal=_internal(settings, own),
        advertise=settings[ADVERTISE] or (own.host if own is not None else ""),
        rack=settings[RACK],
        dns=_name(settings) if discovery == DNS else None,
        group=settings[GROUP] if discovery == MULTICAST else None,
        compression=settings[COMPRESSION],
        tls_files=files if all(files) else None,
        secret=settings[SECRET],
        secret_file=settings[SECRET_FILE],
        is_open=settings[INSECURE],
        heartbeat_ms=settings[HEARTBEAT],
        suspect_ms=settings[SUSPECT],
        dead_ms=settings[DEAD],
        election_ms=settings[ELECTION],
        replica_lag_ms=settings[REPLICA_LAG],
        request_ms=settings[REQUEST],
        catch_up_bytes_per_s=settings[CATCH_UP],
    )
    _check_secrets(settings, found)
    return found


def _is_among_others(settings: Settings) -> bool:
    internal = settings.of(INTERNAL)
    # A file that holds all keys with their defaults asks for nothing.
    is_typed = internal.source not in (DEFAULT, FILE) or internal.text != INTERNAL.default
    has_address = is_typed and internal.value is not None
    return bool(settings[PEERS] or settings[JOIN] or settings[DISCOVERY] != STATIC or has_address)


def _founders(settings: Settings) -> list[str]:
    """The first voters; none for a node that joins what is there."""
    founders = settings[FOUNDERS]
    if founders:
        return [*sorted(founders)]
    if settings[JOIN]:
        return []
    if settings[PEERS]:
        return sorted({settings[NODE], *(place.node_id for place in settings[PEERS])})
    return [settings[NODE]] if settings[DISCOVERY] == STATIC else []


def _internal(settings: Settings, own: PeerAddress | None) -> Address:
    """Where to listen: as told, else where the list of peers says that this node is."""
    if own is not None and settings.of(INTERNAL).source == DEFAULT:
        return own.host, own.port
    return settings[INTERNAL] or (LOOPBACK, 0)


def _name(settings: Settings) -> PeerAddress | None:
    try:
        return parse_peer(settings[DNS_NAME])
    except ValueError:
        settings.problem(DNS_NAME, "it is needed for the discovery by dns, as in goqueue.internal:7000")
        return None


def _check(settings: Settings) -> None:
    """What is right by itself and wrong beside something else."""
    if settings[INTERNAL] is None:
        settings.problem(INTERNAL, "a node among others has to listen for them")
    if settings[PEERS] and settings[JOIN]:
        settings.problem(JOIN, "the peers found a cluster, or there is one to join: leave out --peers or --join")
    if not settings[JOIN] and not settings[FOUNDERS]:
        named = [place.node_id for place in settings[PEERS] if place.node_id]
        if named and settings[NODE] not in named:
            others = ", ".join(named)
            settings.problem(PEERS, f"this node, {settings[NODE]}, is not among them: --node-id says which of {others}")
        for place in settings[PEERS]:
            if not place.node_id:
                settings.problem(PEERS, f"{place} has no name; who founds a cluster is written like node-2@{place}")
    if not settings[HEARTBEAT] < settings[SUSPECT] < settings[DEAD]:
        settings.problem(SUSPECT, "it has to be longer than the heartbeat interval and shorter than deadAfter")
    files = (PEER_CERT, PEER_KEY, PEER_CA)
    missing = [key for key in files if not settings[key]]
    if len(missing) < len(files):
        for key in missing:
            settings.problem(key, "TLS between nodes needs cluster.tls.cert, key and ca")


def _check_secrets(settings: Settings, found: ClusterSettings) -> None:
    """Who reaches the port of peers has to be kept from being one, or this must be what is wanted."""
    if found.secret is not None and found.secret_file:
        settings.problem(SECRET_FILE, "cluster.secret is given as well: leave out one of them")
        return
    try:
        has_secret = found.secrets() is not None
    except OSError as error:
        settings.problem(SECRET_FILE, f"{found.secret_file} cannot be read: {error.strerror or error}")
        return
    except ValueError as error:
        settings.problem(SECRET_FILE, f"{found.secret_file}: {error}")
        return
    host = found.internal[0]
    if is_loopback(host):
        return
    if not (has_secret or found.tls_files or found.is_open):
        settings.problem(
            INTERNAL,
            f"whoever reaches {host} from another machine could pose as a node: give all nodes the same secret "
            "(--cluster-secret-file), or TLS (cluster.tls), or say --insecure where the network keeps others away",
        )
    elif found.is_open and not (has_secret or found.tls_files):
        settings.warnings.append(
            f"whoever reaches {host} can pose as a node: there is neither a secret nor TLS between nodes"
        )
