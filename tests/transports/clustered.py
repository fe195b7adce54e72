"""Brokers of one cluster inside the test process: real folders, real sockets between them, REST for whoever asks."""

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import trio
from attrs import define, field

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.peers.codec import decode, encode
from goqueue.storage.files import FileDisk
from goqueue.transports.boot_clock import boot_ns
from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.correspondence import Correspondence
from goqueue.transports.peers.network import Network
from goqueue.transports.rest.edge import Rest
from goqueue.transports.runtime import Runtime
from goqueue.transports.trio_server import Server
from tests.transports.loopback import OWN_HOST

HOST = OWN_HOST
_MS = 1_000_000


@define(eq=False)
class Member:
    """One broker, which may stop and start again on the same folder and at the same place."""

    node_id: str
    folder: Path
    founders: list[str]
    known: list[PeerAddress]
    port: int = 0
    http: int = 0
    # For how long its machine was suspended.
    suspended_ns: int = 0
    said: list[str] = field(factory=list)
    runtime: Runtime | None = None
    network: Network | None = None
    _scope: trio.CancelScope = field(factory=trio.CancelScope)
    _ended: trio.Event = field(factory=trio.Event)

    @property
    def place(self) -> PeerAddress:
        """Where it listens for others."""
        return PeerAddress(self.node_id, HOST, self.port)

    def client(self) -> httpx.AsyncClient:
        """Somebody who asks this broker."""
        return httpx.AsyncClient(base_url=f"http://{HOST}:{self.http}", timeout=30)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Be a broker until stopped."""
        self._scope, self._ended = trio.CancelScope(), trio.Event()
        listeners = await trio.open_tcp_listeners(self.port, host=HOST)
        served = await trio.open_tcp_listeners(self.http, host=HOST)
        self.port, self.http = (each[0].socket.getsockname()[1] for each in (listeners, served))
        options = ClusterOptions(
            self.founders, internal=self.place.place, http=f"{HOST}:{self.http}",
            incarnation=secrets.randbits(60), disk_id=secrets.token_hex(8), heartbeat_ns=100 * _MS,
            # A loaded machine is no reason to take anybody for dead.
            suspect_ns=3_000 * _MS, dead_ns=6_000 * _MS, election_ns=500 * _MS, quorum_heartbeat_ns=75 * _MS,
        )  # fmt: skip
        self.network = Network(encode, decode, known=self.known, report=self.said.append)
        node = NodeOptions(self.node_id, "test", seed=secrets.randbits(60), cluster=options)
        post = Correspondence(self.network, listeners)
        disk, report = FileDisk(str(self.folder)), self.said.append
        self.runtime = Runtime(disk, node, report, post=post, now=lambda: boot_ns() + self.suspended_ns)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    await nursery.start(self.runtime.run)
                    await nursery.start(Server(None, Rest(self.runtime, _wall_ms)).serve, served)
                    task_status.started()
        finally:
            for listener in (*listeners, *served):
                listener.socket.close()
            self._ended.set()

    async def stop(self) -> None:
        """End it, in order as a process that is told to."""
        assert self.runtime is not None
        await self.runtime.leave(10)
        self._scope.cancel()
        await self._ended.wait()


@define
class Cluster:
    """Brokers of one cluster."""

    members: dict[str, Member]
    nursery: trio.Nursery

    def __getitem__(self, node_id: str) -> Member:
        return self.members[node_id]

    async def start(self, member: Member) -> None:
        """Start a broker, known to this cluster from here on."""
        self.members[member.node_id] = member
        await self.nursery.start(member.run)

    async def until(self, node_id: str, path: str, condition: Any, seconds: float = 30) -> Any:  # noqa: ANN401 - JSON
        """What a broker answers, once that is as wanted."""
        found: Any = None
        async with self[node_id].client() as client:
            with trio.move_on_after(seconds):
                while True:
                    answered = await client.get(path)
                    found = answered.json()
                    if answered.status_code == 200 and condition(found):
                        return found
                    await trio.sleep(0.05)
        raise AssertionError(
            f"{path} of {node_id} stays as it is: {found}; {[each.said for each in self.members.values()]}"
        )


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


@asynccontextmanager
async def clustered(folder: Path, *names: str) -> AsyncIterator[Cluster]:
    """Brokers that found a cluster, each of which knows of the others; they end with the block."""
    ports: list[PeerAddress] = []
    for name in names:
        listeners = await trio.open_tcp_listeners(0, host=HOST)
        ports.append(PeerAddress(name, HOST, listeners[0].socket.getsockname()[1]))
        for listener in listeners:
            await listener.aclose()
    async with trio.open_nursery() as nursery:
        cluster = Cluster({}, nursery)
        try:
            for place in ports:
                others = [other for other in ports if other != place]
                cluster.members[place.node_id] = Member(
                    place.node_id, folder / place.node_id, [*names], others, place.port
                )
            async with trio.open_nursery() as starting:
                for member in cluster.members.values():
                    starting.start_soon(cluster.start, member)
            await cluster.until(
                names[0], "/admin/cluster", lambda found: sum(node["healthy"] for node in found["nodes"]) == len(names)
            )
            yield cluster
        finally:
            nursery.cancel_scope.cancel()
