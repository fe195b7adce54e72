"""`goqueue serve`: a broker in this process, until it is told to stop.

SIGTERM and Ctrl-C drain: other nodes take over what this one leads, nothing new is taken, what is in flight is
finished, followers are told where to go on, logs are closed in order, and the exit status is 0. A second one cuts all
connections at once and still closes the logs. SIGHUP reads the TLS files again, SIGUSR1 begins or ends a capture.
"""

import gc
import logging
import os
import resource
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import click
import trio
from attrs import evolve

from goqueue import __version__
from goqueue.cli.background import notify_ready, notify_stopping, serve_in_background
from goqueue.cli.log_lines import begin_logging
from goqueue.cli.serve_settings import (
    ServeSettings,
    WrongSettings,
    gather_settings,
    serve_settings,
)
from goqueue.cli.settings.cluster_keys import INTERNAL
from goqueue.cli.settings.environment import INVOKED_AS_VARIABLE
from goqueue.cli.settings.flags import CONFIG_VARIABLE, flag_options, given_flags
from goqueue.cli.settings.keys import GRPC, HTTP, METRICS
from goqueue.cli.settings.kinds import LOOPBACK, Address
from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.errors import GoQueueError
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import system_wall_ms
from goqueue.transports.listening.names import bound, written
from goqueue.transports.metrics.metered import MeteredBroker
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.peers.correspondence import Correspondence
from goqueue.transports.rest.edge import Rest
from goqueue.transports.rest.operations import OperationsEdge, UncountedEdge
from goqueue.transports.runtime import Runtime
from goqueue.transports.services.application import BrokerApplication, application
from goqueue.transports.trio_patience import PatientBroker
from goqueue.transports.trio_server import Server, ServerLimits

log = logging.getLogger("goqueue")

# Of the time that a stop may take, the part that is left to close the logs in.
_CLOSING_SHARE = 5
# And the part at most in which others take over what is led here.
_LEAVING_SHARE = 2
_CONNECTIONS_MAX = 10_000
_RESERVE_BYTES = 8 << 20

DEFAULT_PORT = 8080

Listeners = Sequence[trio.SocketListener]


@click.pass_context
def _serve_command(ctx: click.Context, /, config: str, wait: bool, **_values: str) -> None:
    """Run a broker: REST and gRPC on the HTTP port, data in the data folder.

    \b
    Try it:
      curl localhost:8080/topics --json '{"name": "orders"}'
      curl localhost:8080/topics/orders/publish --json '{"key": "1", "value": "one coffee"}'
      curl localhost:8080/topics/orders/partitions/0/messages
    """  # noqa: D301 - click leaves alone what follows the character itself
    gathered = gather_settings(given_flags(ctx), config, os.environ)
    settings = serve_settings(gathered)
    if wait:
        sys.exit(serve_in_background(settings.data_dir, settings.log_file))
    try:
        begin_logging(settings.log_level, settings.log_format, settings.log_file)
    except OSError as error:
        raise GoQueueError(f"{settings.log_file}: {error.strerror or error}") from error
    for warning in gathered.warnings:
        log.warning("%s", warning)
    if config:
        log.info("settings were read from %s", config)
    try:
        trio.run(_serve, settings)
    except BaseExceptionGroup as group:
        # Tasks wrap what ended them; what was raised on purpose shall reach the user as one sentence.
        cause: BaseException = group
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        if isinstance(cause, OSError):
            raise GoQueueError(f"{settings.data_dir}: {cause.strerror or cause}") from group
        raise cause from cause.__cause__ or group


_CONFIG = click.Option(
    ["--config"], envvar=CONFIG_VARIABLE, default="", show_envvar=True, metavar="FILE", type=click.Path(),
    help="A YAML file with settings; flags and variables go before what it says.",
)  # fmt: skip
_WAIT = click.Option(
    ["--wait"], is_flag=True,
    help="Start the broker in the background and return when it takes requests; it logs into its data folder.",
)  # fmt: skip
_OPTIONS = [_CONFIG, _WAIT, *flag_options()]
serve = click.Command("serve", callback=_serve_command, params=_OPTIONS, help=_serve_command.__doc__)


async def _serve(settings: ServeSettings) -> None:
    begun = time.monotonic()
    open_files = _raise_open_files()
    ports = await _listen(settings)
    capture = settings.capture.begun(settings.data_dir, log.warning) if settings.capture.folder else None
    options = _node_options(settings, {name: bound(listeners[0]) for name, listeners in ports.items()})
    post = None
    if settings.cluster is not None:
        post = Correspondence(settings.cluster.network(), ports[INTERNAL.name])
    runtime = Runtime(
        FileDisk(settings.data_dir),
        options,
        log.warning,
        reserve_bytes=settings.reserve_bytes,
        capture=capture,
        post=post,
    )
    meters = BrokerMeters()
    broker = MeteredBroker(runtime, meters)
    limits = ServerLimits(
        connections_max=min(_CONNECTIONS_MAX, open_files // 2),
        buffer_bytes_max=settings.buffer_bytes,
        connection_buffer_bytes_max=settings.connection_buffer_bytes,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(runtime.run)
        if settings.cluster is not None and post is not None and options.cluster is not None:
            nursery.start_soon(settings.cluster.discover, post.network, options.cluster.internal)
        await nursery.start(_toggle_captures, runtime, settings)
        patient = PatientBroker(broker)
        services = application(patient)
        peers = None if post is None else post.network.meters
        page = MetricsPage(
            meters, runtime.store_meters, lambda: server.connection_count, peers, lambda: server.buffer_budget
        )
        rest = Rest(patient, system_wall_ms, page, patient.leave)
        edge = rest if settings.has_metrics else UncountedEdge(rest)
        access = settings.access()
        server = Server(services, edge, limits=limits, tls=settings.tls(), access=access)
        await nursery.start(server.serve, [*ports[HTTP.name], *ports.get(GRPC.name, ())])
        if METRICS.name in ports:
            # Whoever watches the node has memory of its own, however much the others hold.
            reserve = evolve(limits, buffer_bytes_max=_RESERVE_BYTES, connection_buffer_bytes_max=_RESERVE_BYTES)
            operations = Server(None, OperationsEdge(rest), limits=reserve, access=access)
            await nursery.start(operations.serve, ports[METRICS.name])
        # What is there by now stays, and need not be looked at by every collection of garbage.
        gc.freeze()
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            _announce(settings, ports, (time.monotonic() - begun) * 1e3, is_empty=runtime.has_no_topics)
            notify_ready()
            await _until_told(signals, server, settings, post)
            notify_stopping()
            await runtime.leave(settings.grace_ns / _LEAVING_SHARE / 1e9)
            await _drain(signals, server, services, settings.grace_ns)
        nursery.cancel_scope.cancel()
    log.info("stopped")


def _node_options(settings: ServeSettings, addresses: dict[str, Address]) -> NodeOptions:
    return NodeOptions(
        settings.node_id,
        __version__,
        settings.partitions_default,
        seed=secrets.randbits(64),
        topic_config=settings.topic_config,
        session_timeout_ms=settings.session_timeout_ms,
        groups=settings.groups,
        replication_default=settings.replication_default,
        cluster=settings.cluster.options(addresses) if settings.cluster is not None else None,
    )


def _raise_open_files() -> int:
    """As many open files as the system lets this process have, and how many that is."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most if most != resource.RLIM_INFINITY else 1 << 20


async def _listen(settings: ServeSettings) -> dict[str, Listeners]:
    """Listeners of all ports. Raises WrongSettings with every port that cannot be had."""
    ports: dict[str, Listeners] = {}
    problems: list[str] = []
    internal = settings.cluster.internal if settings.cluster is not None else None
    wanted = ((HTTP, settings.http), (GRPC, settings.grpc), (METRICS, settings.metrics), (INTERNAL, internal))
    for key, address in wanted:
        if address is None:
            continue
        host, port = address
        try:
            ports[key.name] = await trio.open_tcp_listeners(port, host=host)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            problems.append(f"{settings.labels[key.name]}: cannot listen on {host}:{port}: {why}")
    if problems:
        for listeners in ports.values():
            for listener in listeners:
                await listener.aclose()
        raise WrongSettings(problems)
    return ports


def _suggest(port: int) -> None:
    """Tell a first user what to type next, as they typed what began this process."""
    goqueue = os.environ.get(INVOKED_AS_VARIABLE, "goqueue")
    server = "" if port == DEFAULT_PORT else f" --server localhost:{port}"
    log.info("there are no topics yet; in another shell, try")
    for line in ("topic create orders", "produce orders -m 'one coffee'", "consume orders"):
        log.info("    %s %s%s", goqueue, line, server)


def _announce(settings: ServeSettings, ports: dict[str, Listeners], milliseconds: float, *, is_empty: bool) -> None:
    scheme = "https" if settings.tls_files else "http"
    schemes = {HTTP.name: f"{scheme}://", GRPC.name: "grpc ", METRICS.name: "metrics http://", INTERNAL.name: "peers "}
    places = [f"{schemes[name]}{written(listeners[0])}" for name, listeners in ports.items()]
    log.info("node %s is ready after %.0f ms: %s", settings.node_id, milliseconds, ", ".join(places))
    port = bound(ports[HTTP.name][0])[1]
    if settings.http[0] == LOOPBACK:
        log.info("listening on this machine only; --http 0.0.0.0:%d listens to all", port)
    log.info("data is in %s", Path(settings.data_dir).absolute())
    if settings.cluster is None:
        log.info("this node is alone: it keeps the only copy of each message; docs/cluster.md adds nodes")
    if is_empty:
        _suggest(port)


async def _until_told(
    signals: AsyncIterator[int], server: Server, settings: ServeSettings, post: Correspondence | None
) -> None:
    """Wait for the signal to stop."""
    async for number in signals:
        if number != signal.SIGHUP:
            log.info("%s: draining", signal.Signals(number).name)
            return
        _renew_tls(server, settings, post)


def _renew_tls(server: Server, settings: ServeSettings, post: Correspondence | None) -> None:
    try:
        tls = settings.tls()
        if post is not None and settings.cluster is not None:
            peers, known = settings.cluster.tls(), settings.cluster.secrets()
            post.network.renew_tls(peers)
            post.network.renew_secrets(known)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        log.error("SIGHUP: the files of TLS and of the secret cannot be used, the old ones stay: %s", why)  # noqa: TRY400
        return
    if tls is not None:
        server.renew_tls(tls)
    if tls is not None or (settings.cluster is not None and settings.cluster.has_files):
        log.info("SIGHUP: the files of TLS and of the secret were read again")
    else:
        log.info("SIGHUP: without TLS or a file with a secret there is nothing to read again")


async def _toggle_captures(
    runtime: Runtime, settings: ServeSettings, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.open_signal_receiver(signal.SIGUSR1) as signals:
        task_status.started()
        async for _ in signals:
            if runtime.is_captured:
                runtime.end_capture()
                log.info("SIGUSR1: the capture has ended")
            else:
                capture = settings.capture.begun(settings.data_dir, log.warning)
                if runtime.begin_capture(capture):
                    log.info("SIGUSR1: a capture has begun in %s", capture.folder)


async def _drain(signals: AsyncIterator[int], server: Server, services: BrokerApplication, grace_ns: int) -> None:
    """Let go of all connections within the time there is; another signal cuts them."""

    async def lose_patience() -> None:
        async for number in signals:
            if number != signal.SIGHUP:
                log.info("%s: cutting %d connections", signal.Signals(number).name, server.connection_count)
                server.cut()

    services.leave()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lose_patience)
        await server.drain(grace_ns - grace_ns // _CLOSING_SHARE)
        nursery.cancel_scope.cancel()
