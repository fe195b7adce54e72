"""`goqueue serve`: a broker in this process, until it is told to stop.

A listener without a host binds to loopback and says so, so a broker never listens to the world by accident. SIGTERM and
Ctrl-C drain: nothing new is taken, what is in flight is finished, logs are closed in order, and the exit status is 0.
"""

import logging
import signal
import sys
import time

import click
import trio

from goqueue import __version__
from goqueue.core.node import NodeOptions
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import system_wall_ms
from goqueue.transports.rest.edge import Rest
from goqueue.transports.runtime import Runtime
from goqueue.transports.trio_http1 import Http1Server

log = logging.getLogger("goqueue")

_GRACE_NS = 10_000_000_000


class Address(click.ParamType):  # type: ignore[type-arg]
    """`host:port`, or `:port` for loopback."""

    name = "host:port"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """(host, port) of a listener."""
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is no address; write it like :8080 or 0.0.0.0:8080", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


@click.command()
@click.option("--node-id", envvar="GOQUEUE_NODE_ID", default="node-1", show_default=True, show_envvar=True)
@click.option("--data-dir", envvar="GOQUEUE_DATA_DIR", default="./goqueue-data", show_default=True, show_envvar=True)
@click.option(
    "--http", envvar="GOQUEUE_HTTP_ADDR", default=":8080", type=Address(), show_default=True, show_envvar=True
)
@click.option(
    "--log-level",
    envvar="GOQUEUE_LOG_LEVEL",
    default="info",
    type=click.Choice(["debug", "info", "warning", "error"]),
    show_default=True,
    show_envvar=True,
)
def serve(node_id: str, data_dir: str, http: tuple[str, int], log_level: str) -> None:
    r"""Run a broker: REST on the HTTP port, data in the data folder.

    \b
    Try it:
      curl -X POST localhost:8080/topics -d '{"name": "orders"}'
      curl -X POST localhost:8080/topics/orders/publish -d '{"key": "1", "value": "one coffee"}'
      curl localhost:8080/topics/orders/partitions/0/messages
    """
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S"
    )
    trio.run(_serve, node_id, data_dir, http)


async def _serve(node_id: str, data_dir: str, http: tuple[str, int]) -> None:
    begun = time.monotonic()
    runtime = Runtime(FileDisk(data_dir), NodeOptions(node_id, __version__), log.warning)
    server = Http1Server(Rest(runtime, system_wall_ms))
    host, port = http
    try:
        listeners = await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    async with trio.open_nursery() as nursery:
        await nursery.start(runtime.run)
        await nursery.start(server.serve, listeners)
        bound = listeners[0].socket.getsockname()[1]
        log.info("node %s is ready after %.0f ms: http://%s:%d", node_id, (time.monotonic() - begun) * 1e3, host, bound)
        if host == "127.0.0.1":
            log.info("listening on this machine only; --http 0.0.0.0:%d listens to all", bound)
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                log.info("%s: draining", signal.Signals(number).name)
                break
        await server.drain(_GRACE_NS)
        nursery.cancel_scope.cancel()
    log.info("stopped")
