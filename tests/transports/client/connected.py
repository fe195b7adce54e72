"""A broker in this process and a connection to it, on every kind of loop."""

from collections.abc import Awaitable, Callable

from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.loops import Loop
from tests.transports.client_loops.on_loops import drive, on_every_loop

Test = Callable[[Connection, Loop], Awaitable[None]]


def connected(kind: str, test: Test) -> None:
    """Run a test that is given a connection."""
    with Broker() as broker:

        async def run(loop: Loop) -> None:
            connection = connect(broker.address).connection(loop)
            await connection.open()
            await test(connection, loop)
            await connection.close()

        drive(kind, run)


__all__ = ["Test", "connected", "on_every_loop"]
