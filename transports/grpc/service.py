"""gRPC as an application of exchanges: finds the method, holds the call to its deadline, says how it ended.

Every call ends with a status: a GRPCError as it says; any other error as UNKNOWN, told to the log and not to the
client; a deadline as DEADLINE_EXCEEDED, also when it has passed on arrival; a client that went away with nothing.
"""

import logging
from collections.abc import Iterable

from attrs import define
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.exchange import Exchange
from goqueue.transports.grpc.call import RESPONSE, CallTerms, ServerCall, current_call
from goqueue.transports.grpc.codec import BetterprotoCodec, Codec
from goqueue.transports.grpc.compression import ENCODINGS
from goqueue.transports.grpc.framing import Assembly
from goqueue.transports.grpc.metadata import MetadataError, parse_timeout
from goqueue.transports.grpc.routes import Route, Service, routes_of
from goqueue.transports.grpc.status import error_trailers
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.request import Headers

MIB = 1 << 20
CONTENT_TYPES = frozenset((b"application/grpc", b"application/grpc+proto"))
WRONG_METHOD: Headers = ((b":status", b"405"), (b"allow", b"POST"), (b"content-length", b"0"))
WRONG_CONTENT: Headers = ((b":status", b"415"), (b"content-length", b"0"))

log = logging.getLogger(__name__)


@define(frozen=True)
class GrpcLimits:
    """What a message may be, and what the unfinished ones of a connection may be together."""

    message_bytes_max: int = 16 * MIB
    assembly_bytes_max: int = 64 * MIB


class GrpcService:
    """Serves the methods of betterproto's services: pass it to a server as its application."""

    def __init__(
        self,
        services: Iterable[Service],
        *,
        codec: Codec | None = None,
        limits: GrpcLimits | None = None,
        compress_replies: bool = False,
    ) -> None:
        limits = limits or GrpcLimits()
        self._routes = routes_of(services)
        self._terms = CallTerms(codec or BetterprotoCodec(), limits.message_bytes_max, compress_replies)
        self._assembly_bytes_max = limits.assembly_bytes_max
        self._assemblies: dict[str, tuple[Assembly, int]] = {}  # by peer, with how many calls use it

    @property
    def reserved_bytes(self) -> int:
        """What unfinished large messages have been promised, on all connections."""
        return sum(assembly.reserved_bytes for assembly, _ in self._assemblies.values())

    async def __call__(self, exchange: Exchange) -> None:
        """Serve one call."""
        request = exchange.request
        if request.method != b"POST":
            exchange.start(WRONG_METHOD, end=True)
            return
        content_type = (request.header(b"content-type") or b"").partition(b";")[0].strip()
        if content_type not in CONTENT_TYPES:
            exchange.start(WRONG_CONTENT, end=True)
            return
        try:
            route = self._find(request.path)
            deadline = _deadline(exchange)
            _check_encoding(request.header(b"grpc-encoding"))
        except GRPCError as error:
            exchange.start([*RESPONSE, *error_trailers(error)], end=True)
            return
        await self._serve(exchange, route, deadline)

    def _find(self, path: bytes) -> Route:
        route = self._routes.get(path)
        if route is None:
            raise GRPCError(Status.UNIMPLEMENTED, f"no method {path.decode('latin-1')}")
        return route

    async def _serve(self, exchange: Exchange, route: Route, deadline: int | None) -> None:
        peer = exchange.request.peer
        assembly, calls = self._assemblies.get(peer) or (Assembly(self._assembly_bytes_max, exchange.hold), 0)
        self._assemblies[peer] = assembly, calls + 1
        call = ServerCall(exchange, route, self._terms, assembly, deadline)
        current_call.set(call)
        try:
            call.close(await self._outcome(call))
        finally:
            call.abandon()
            assembly, calls = self._assemblies.pop(peer)
            if calls > 1:
                self._assemblies[peer] = assembly, calls - 1

    async def _outcome(self, call: ServerCall) -> GRPCError | None:
        """Run the method; how it ended."""
        try:
            if call.deadline is None:
                await call.route.serve(call)
            elif not await call.within(call.deadline):
                return GRPCError(Status.DEADLINE_EXCEEDED, "the deadline has passed")
        except StreamGone:
            raise
        except GRPCError as error:
            return None if error.status is Status.OK else error
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this call and no other
            return told(error, call.route.path)
        return None


def told(error: Exception, path: str) -> GRPCError:
    """What a client hears of an error: the GRPCError that it comes down to, or next to nothing."""
    if isinstance(error, ExceptionGroup):
        gone, others = error.split(StreamGone)
        if others is None:
            assert gone is not None
            raise gone
        inner: Exception = others
        while isinstance(inner, ExceptionGroup):
            inner = inner.exceptions[0]
        if isinstance(inner, GRPCError):
            return inner
    log.error("serving %s failed", path, exc_info=error)
    return GRPCError(Status.UNKNOWN, "the server failed to serve this call; its log has the reason")


def _deadline(exchange: Exchange) -> int | None:
    text = exchange.request.header(b"grpc-timeout")
    if text is None:
        return None
    try:
        timeout_ns = parse_timeout(text)
    except MetadataError as error:
        raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error
    if timeout_ns <= 0:
        raise GRPCError(Status.DEADLINE_EXCEEDED, "the deadline had passed on arrival")
    return exchange.now() + timeout_ns


def _check_encoding(encoding: bytes | None) -> None:
    if encoding is not None and encoding not in ENCODINGS:
        raise GRPCError(Status.UNIMPLEMENTED, f"no compression {encoding.decode('latin-1')!r}; identity and gzip are")
