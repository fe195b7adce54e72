"""Where the broker is, and two ways to talk to it: REST for what is asked once, the client library for messages.

One port speaks both, so one address is all that a user gives. REST goes through `http.client`, since the client library
costs a third of a second to import, which is longer than all else that `goqueue topic list` does. Certificates are
judged as everywhere on the machine; SSL_CERT_FILE names a file of others to trust.
"""

import http.client
import json
import ssl
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import click
from attrs import define

from goqueue.cli.endings import Ending, unreachable

if TYPE_CHECKING:
    from goqueue.transports.client.blocking_loop import BlockingLoop
    from goqueue.transports.client.connection import Connection

DEFAULT = "localhost:8080"
VARIABLE = "GOQUEUE_SERVER"
HTTP_PORT, HTTPS_PORT = 80, 443
TIMEOUT_S = 30.0
# A shell that completes a name waits for no broker.
COMPLETION_TIMEOUT_S = 0.5
ANSWER_BYTES_MAX = 256 << 20

T = TypeVar("T")


@define
class Server:
    """An address as a user gave it."""

    host: str
    port: int
    is_secure: bool

    @property
    def address(self) -> str:
        """`host:port`, with brackets where the host needs them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def tls(self) -> ssl.SSLContext | None:
        """Whom to trust, where it is https."""
        return ssl.create_default_context() if self.is_secure else None


def parse_server(text: str) -> Server:
    """`host:port`, `http://host:port` or `https://host:port`; ValueError with a sentence for anything else."""
    scheme, separator, rest = text.strip().rpartition("://")
    wrong = ValueError(f"{text!r} is no address; write it like {DEFAULT} or https://host:port")
    if separator and scheme.lower() not in {"http", "https"}:
        raise wrong
    is_secure = scheme.lower() == "https"
    rest = rest.rstrip("/")
    host, colon, port = rest.rpartition(":")
    if not colon or rest.endswith("]"):
        if not separator:
            raise wrong
        host, port = rest, str(HTTPS_PORT if is_secure else HTTP_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise wrong
    if not host or any(letter in " /@?#,[]" or not letter.isprintable() for letter in host):
        raise wrong
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or not 0 < int(port) < 65536:
        raise wrong
    return Server(host, int(port), is_secure)


def _server_given(text: str) -> Server:
    try:
        return parse_server(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


server_option = click.option(
    "--server",
    type=_server_given,
    metavar="ADDRESS",
    default=DEFAULT,
    envvar=VARIABLE,
    show_default=True,
    show_envvar=True,
    help="Where the broker is: host:port, http://host:port or https://host:port.",
)


def ask(server: Server, method: str, path: str, body: object = None, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """What the broker answers; raises Ending if it refuses, or is not there."""
    kind = http.client.HTTPSConnection if server.is_secure else http.client.HTTPConnection
    options: dict[str, Any] = {"context": server.tls()} if server.is_secure else {}
    connection = kind(server.host, server.port, timeout=timeout_s, **options)
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        answer = connection.getresponse()
        said = answer.read(ANSWER_BYTES_MAX)
    except TimeoutError as error:
        raise unreachable(server.address, f"nothing came within {timeout_s:g} s") from error
    except http.client.HTTPException as error:
        raise unreachable(server.address, f"what answers is no HTTP: {str(error) or type(error).__name__}") from error
    except (OSError, UnicodeError) as error:
        raise unreachable(server.address, getattr(error, "strerror", None) or str(error)) from error
    finally:
        connection.close()
    return _read_answer(server, answer.status, said)


def _read_answer(server: Server, status: int, said: bytes) -> dict[str, Any]:
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Ending(f"what answers at {server.address} is no GoQueue broker: status {status}, and no JSON object")
    if status >= 400:
        raise Ending(str(found.get("error", f"the broker refused, with status {status}")))
    return found


def topic_path(topic: str, rest: str = "") -> str:
    """The path of a topic."""
    return f"/v1/topics/{quote(topic, safe='')}{rest}"


def complete_topic(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Topics whose names begin so, for the shell; none if no broker says any."""
    given = ctx.params.get("server") or DEFAULT
    try:
        server = given if isinstance(given, Server) else parse_server(str(given))
        topics = ask(server, "GET", "/v1/topics", timeout_s=COMPLETION_TIMEOUT_S)["topics"]
        return [topic["name"] for topic in topics if topic["name"].startswith(incomplete)]
    except (Ending, ValueError, KeyError, TypeError):
        return []


topic_argument = click.argument("topic", shell_complete=complete_topic)


def run_client(server: Server, work: Callable[["BlockingLoop", "Connection"], Coroutine[Any, Any, T]]) -> T:
    """Run something with a connection of the client library, on a loop of its own; raises Ending if there is nobody."""
    from goqueue.transports.client.blocking_loop import BlockingLoop
    from goqueue.transports.client.connection import connect
    from goqueue.transports.client.errors import ConnectionLost

    tls = server.tls()
    if tls is not None:
        tls.set_alpn_protocols(["h2"])
    loop = BlockingLoop()
    connection = connect(server.address, tls=tls).connection(loop)

    async def opened() -> T:
        await connection.open()
        return await work(loop, connection)

    async def end(error: BaseException | None) -> None:
        try:
            if error is None:
                await connection.close()
        finally:
            await loop.__aexit__(type(error) if error else None, error, None)

    try:
        result = loop.run(opened())
    except BaseException as error:
        loop.run(end(error))
        if isinstance(error, ConnectionLost):
            raise unreachable(server.address, str(error)) from error
        raise
    loop.run(end(None))
    return result
