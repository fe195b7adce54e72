"""Which broker is meant, and two ways to talk to it: REST for what is asked once, the client library for messages.

One port speaks both, so one address is all that a user gives. REST goes through `http.client`, since the client library
costs a third of a second to import, which is longer than all else that `goqueue topic list` does. Certificates are
judged as everywhere on the machine; SSL_CERT_FILE names a file of others to trust.
"""

import http.client
import json
import os
import ssl
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import click
from attrs import define, evolve, field
from click.core import ParameterSource

from goqueue.cli.contexts import API_KEY_VARIABLE, CONTEXT_VARIABLE, Context, ContextFile, read_contexts
from goqueue.cli.endings import WRONG, Ending, unreachable, with_next_step
from goqueue.cli.starting import await_listener

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
API_KEY_LENGTH_MAX = 4096
_ASKED_FOR = "goqueue.cli.server.context"

T = TypeVar("T")


@define
class Server:
    """An address as a user gave it."""

    host: str
    port: int
    is_secure: bool
    # Sent along by what asks over REST; never printed.
    api_key: str = field(default="", repr=False)

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


def parse_api_key(text: str) -> str:
    """A key as it may stand in a header; ValueError with a sentence for anything else, without the key in it."""
    if len(text) > API_KEY_LENGTH_MAX or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"this is no API key; up to {API_KEY_LENGTH_MAX} printable characters without spaces are")
    return text


def complete_context(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Contexts whose names begin so, for the shell; none if their file cannot be read."""
    try:
        return [name for name in read_contexts().names if str(name).startswith(incomplete)]
    except Ending:
        return []


def _note_context(ctx: click.Context, param: click.Parameter, name: str | None) -> None:
    assert param.name is not None
    ctx.meta[_ASKED_FOR] = name, ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE


def _choose_server(ctx: click.Context, param: click.Parameter, given: Server | None) -> Server:
    """What was typed, the server or else the context, before what variables say, before the current context."""
    assert param.name is not None
    name, is_typed = ctx.meta.get(_ASKED_FOR, (None, False))
    try:
        api_key = parse_api_key(os.environ.get(API_KEY_VARIABLE, ""))
    except ValueError as error:
        raise click.UsageError(f"{API_KEY_VARIABLE}: {error}") from error
    if given is not None and (not is_typed or ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE):
        return _warned(evolve(given, api_key=api_key))
    contexts = read_contexts()
    chosen = name or contexts.current
    if not chosen:
        return _warned(evolve(parse_server(DEFAULT), api_key=api_key))
    context = contexts.context(chosen)
    server = _server_of(context, contexts)
    return _warned(evolve(server, api_key=api_key) if api_key else server)


def _warned(server: Server) -> Server:
    """The server; standard error hears of it if the way there shows the API key to everyone."""
    if server.api_key and not server.is_secure and not _is_this_machine(server.host):
        click.echo(
            f"warning: the API key goes to {server.address} over plain http, where others can read it; use https://",
            err=True,
        )
    return server


def _is_this_machine(host: str) -> bool:
    return host.lower() == "localhost" or host == "::1" or host.startswith("127.")


def _server_of(context: Context, contexts: ContextFile) -> Server:
    try:
        return evolve(parse_server(context.server), api_key=parse_api_key(context.api_key))
    except ValueError as error:
        raise Ending(f"{contexts.path}: context {context.name!r}: {error}", WRONG) from error


def server_option(command: Callable[..., T]) -> Callable[..., T]:
    """The options that say which broker is meant; the command gets it as `server`."""
    server = click.option(
        "--server",
        type=_server_given,
        metavar="ADDRESS",
        envvar=VARIABLE,
        show_envvar=True,
        callback=_choose_server,
        help=f"Where the broker is: host:port, http://host:port or https://host:port; without it the context's, or "
        f"{DEFAULT}.",
    )
    context = click.option(
        "--context",
        metavar="NAME",
        envvar=CONTEXT_VARIABLE,
        show_envvar=True,
        callback=_note_context,
        expose_value=False,
        is_eager=True,
        shell_complete=complete_context,
        help="The context that says where, as made by goqueue config set-context.",
    )
    return server(context(command))


def ask(
    server: Server,
    method: str,
    path: str,
    body: object = None,
    timeout_s: float = TIMEOUT_S,
    taken: Sequence[int] = (),
) -> dict[str, Any]:
    """What the broker answers; raises Ending if it refuses, save with a status in `taken`, or is not there."""
    if timeout_s > COMPLETION_TIMEOUT_S:
        await_listener(server.host, server.port)
    kind = http.client.HTTPSConnection if server.is_secure else http.client.HTTPConnection
    options: dict[str, Any] = {"context": server.tls()} if server.is_secure else {}
    connection = kind(server.host, server.port, timeout=timeout_s, **options)
    content = None if body is None else json.dumps(body)
    headers = {"Content-Type": "application/json"} if content else {}
    if server.api_key:
        headers["Authorization"] = f"Bearer {server.api_key}"
    try:
        connection.request(method, path, content, headers)
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
    return _read_answer(server, 200 if answer.status in taken else answer.status, said)


def _read_answer(server: Server, status: int, said: bytes) -> dict[str, Any]:
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Ending(f"what answers at {server.address} is no GoQueue broker: status {status}, and no JSON object")
    if status >= 400:
        sentence = str(found.get("error", f"the broker refused, with status {status}"))
        raise Ending(with_next_step(sentence, str(found.get("code"))))
    return found


def topic_path(topic: str, rest: str = "") -> str:
    """The path of a topic."""
    return f"/v1/topics/{quote(topic, safe='')}{rest}"


def complete_topic(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Topics whose names begin so, for the shell; none if no broker says any."""
    return complete_names(ctx, "topics", "", incomplete)


def complete_names(ctx: click.Context, listed: str, key: str, incomplete: str, within: str = "") -> list[str]:
    """Names that begin so of what the broker lists, in the field `within` or the same; none if no broker says any.

    What is listed are the names, or with a `key` objects that have them there.
    """
    given = ctx.params.get("server") or DEFAULT
    try:
        server = given if isinstance(given, Server) else parse_server(str(given))
        found = ask(server, "GET", f"/v1/{listed}", timeout_s=COMPLETION_TIMEOUT_S)[within or listed]
        names = [each[key] for each in found] if key else found
        return [name for name in names if name.startswith(incomplete)]
    except (Ending, ValueError, KeyError, TypeError, AttributeError):
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
    await_listener(server.host, server.port)
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
