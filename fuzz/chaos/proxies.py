"""Links between brokers that can be cut where no network namespace may be made: each broker is reached by a proxy.

A broker tells the others the address of its proxy, which passes on what comes. Who calls is known by the process that
has the other end of the connection. While a direction is cut, its bytes wait; so a cut looks as it does on a network,
where senders send again what was lost: nothing comes, nothing ends, and it all comes once the cut is mended.

Clients are told the same addresses, and what they send is passed on always: they are never cut off. All of it runs in a
thread of its own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import trio
from attrs import define, field

from goqueue.cli.bench.local_cluster import (
    GRPC_PORT,
    INTERNAL_PORT,
    LocalBroker,
    LocalCluster,
    Place,
    cluster_of,
    loopback,
)

_CHUNK = 1 << 16
_LOOK_S = 0.01
_STRANGER, _CLIENT = -1, -2


@define(eq=False)
class Proxies:
    """See the module; brokers are known by number."""

    places: list[Place]
    fronts: list[Place]
    brokers: list[LocalBroker] = field(factory=list)
    # Cut directions, as sender and receiver, and brokers that are cut off altogether.
    _cut: set[tuple[int, int]] = field(factory=set)
    _isolated: set[int] = field(factory=set)
    _is_over: bool = False

    @classmethod
    @contextmanager
    def between(cls, count: int) -> Iterator["Proxies"]:
        """Proxies for so many brokers, which listen until the block ends."""
        proxies = cls(loopback(count), loopback(count))
        listening = threading.Event()
        thread = threading.Thread(target=trio.run, args=(proxies._listen, listening), daemon=True)
        thread.start()
        listening.wait()
        try:
            yield proxies
        finally:
            proxies._is_over = True
            thread.join()

    def cluster_of(self, folder: Path) -> LocalCluster:
        """Brokers that reach each other by the proxies, not started."""
        cluster = cluster_of(folder, self.places)
        self.brokers = [*cluster.brokers.values()]
        return cluster

    def front(self, place: int) -> str:
        """Where others reach a broker."""
        return f"{self.fronts[place].host}:{INTERNAL_PORT}"

    def cut(self, sender: int, receiver: int) -> None:
        """What one sends to the other waits."""
        self._cut.add((sender, receiver))

    def mend(self, sender: int, receiver: int) -> None:
        """It goes on."""
        self._cut.discard((sender, receiver))

    def isolate(self, place: int) -> None:
        """Nothing goes to other brokers or comes from them."""
        self._isolated.add(place)

    def rejoin(self, place: int) -> None:
        """Undo `isolate`."""
        self._isolated.discard(place)

    def _is_cut(self, sender: int, receiver: int) -> bool:
        ends = {sender, receiver}
        return _CLIENT not in ends and ((sender, receiver) in self._cut or bool(self._isolated & ends))

    # --- in the thread

    async def _listen(self, listening: threading.Event) -> None:
        async with trio.open_nursery() as nursery:
            for number, front in enumerate(self.fronts):
                for port in (INTERNAL_PORT, GRPC_PORT):
                    accept = partial(self._serve, number, port)
                    await nursery.start(partial(trio.serve_tcp, accept, port, host=front.host))
            listening.set()
            while not self._is_over:  # noqa: ASYNC110 - another thread sets it
                await trio.sleep(_LOOK_S)
            nursery.cancel_scope.cancel()

    async def _serve(self, callee: int, port: int, stream: trio.SocketStream) -> None:
        caller = self._caller(stream.socket.getpeername()[1]) if port == INTERNAL_PORT else _CLIENT
        try:
            onward = await trio.open_tcp_stream(self.places[callee].host, port)
        except OSError:
            return
        async with stream, onward, trio.open_nursery() as nursery:
            nursery.start_soon(self._pass_on, caller, callee, stream, onward, nursery)
            nursery.start_soon(self._pass_on, callee, caller, onward, stream, nursery)

    async def _pass_on(
        self, sender: int, receiver: int, source: trio.SocketStream, target: trio.SocketStream, nursery: trio.Nursery
    ) -> None:
        try:
            while chunk := await source.receive_some(_CHUNK):
                while self._is_cut(sender, receiver):  # noqa: ASYNC110 - another thread mends it
                    await trio.sleep(_LOOK_S)
                await target.send_all(chunk)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        nursery.cancel_scope.cancel()

    def _caller(self, port: int) -> int:
        """The broker that has the other end of a connection, by the port that it calls from."""
        inode = _inode_of(port)
        for number, broker in enumerate(self.brokers):
            if inode and broker.process is not None and _has_socket(broker.process.pid, inode):
                return number
        return _STRANGER


def _inode_of(port: int) -> str:
    """The number by which the system knows a socket of this machine with a local port and a peer of a proxy's."""
    ending, internal = f":{port:04X}", f":{INTERNAL_PORT:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(ending) and words[2].endswith(internal):
            return words[9]
    return ""


def _has_socket(pid: int, inode: str) -> bool:
    try:
        return any(str(each.readlink()) == f"socket:[{inode}]" for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
