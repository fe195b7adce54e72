"""Exchanges of several tasks whose client hangs up: they end, and the log says nothing."""

import logging
import socket

import pytest
import trio
import trio.testing

from goqueue.transports.exchange import Exchange
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.trio_beside import beside
from tests.transports.http2.wire import POST, Peer, rst, settings
from tests.transports.serving import run, serving, until

OK = ((b":status", b"200"),)


async def chatty(exchange: Exchange) -> None:
    """Three tasks, of which one has something to say however it ends."""
    exchange.start(OK)

    async def last_word() -> None:
        try:
            await trio.sleep_forever()
        finally:
            exchange.put(b"and this")

    async def work() -> None:
        await exchange.receive()
        await trio.sleep_forever()

    await beside(work, last_word, trio.sleep_forever)


def hung_up(connection: socket.socket) -> None:
    connection.close()


def reset(connection: socket.socket) -> None:
    connection.sendall(rst(1))


@pytest.mark.parametrize("end", [hung_up, reset])
def test_tasks_that_find_their_client_gone_all_at_once_are_no_failure(
    caplog: pytest.LogCaptureFixture, end: object
) -> None:
    async def test() -> None:
        async with serving(chatty) as served:
            connection = served.connect()
            connection.sendall(PREFACE + settings({}) + Peer().headers(1, POST, end=False))
            await trio.to_thread.run_sync(connection.recv, 65536)
            await until(lambda: served.server.connection_count == 1)
            await trio.testing.wait_all_tasks_blocked(0.05)
            end(connection)  # type: ignore[operator]
            await trio.testing.wait_all_tasks_blocked(0.05)
            connection.close()
            await until(lambda: served.server.connection_count == 0)

    run(test)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
