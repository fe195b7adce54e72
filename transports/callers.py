"""On whose behalf requests are made: where the callers of every protocol come from.

Requests that say nothing of themselves share one caller a connection and protocol; those of gRPC that say which client
makes them share one for as long as it is the same client. A request that belongs to a trace has a caller of its own.

A trace is what a `traceparent` says that is written as W3C's Trace Context has it, in its version 00. Anything else
counts as none: it is not the broker's, and no reason to refuse a request.
"""

import re

from goqueue.core.requests.call import Caller
from goqueue.transports.request_headers import RequestHeaders

HTTP1, HTTP2, GRPC = "http/1.1", "http/2", "grpc"
CLIENT_ID = b"goqueue-client-id"
TRACEPARENT = b"traceparent"
# These go into logs and ledgers; a header may be kilobytes.
NAME_BYTES_MAX = 256
_OF_HTTP = frozenset((TRACEPARENT,))
_OF_GRPC = frozenset((CLIENT_ID, TRACEPARENT))
_TRACE = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class Callers:
    """The callers of one connection."""

    __slots__ = ("_address", "_client_id", "_known", "_named")

    def __init__(self, address: str) -> None:
        self._address = address
        self._known: dict[str, Caller] = {}
        # The client that named itself last.
        self._client_id: bytes | None = None
        self._named: Caller

    def http1(self, headers: RequestHeaders) -> Caller:
        """Who makes a request of HTTP/1.1."""
        return self._of_http(HTTP1, headers)

    def http2(self, headers: RequestHeaders) -> Caller:
        """Who makes a request of HTTP/2."""
        return self._of_http(HTTP2, headers)

    def grpc(self, headers: RequestHeaders) -> Caller:
        """Who makes a call: by the name that the client gives itself, or else by its address."""
        said = headers.asked(_OF_GRPC)
        if not said:
            return self._at_address(GRPC)
        client_id = said.get(CLIENT_ID)
        if client_id is None:
            return _traced(self._at_address(GRPC), said.get(TRACEPARENT))
        if client_id != self._client_id:
            name = client_id[:NAME_BYTES_MAX].decode("latin-1")
            self._client_id, self._named = client_id, Caller(name, GRPC, address=self._address)
        return _traced(self._named, said.get(TRACEPARENT))

    def _of_http(self, protocol: str, headers: RequestHeaders) -> Caller:
        said, caller = headers.asked(_OF_HTTP), self._at_address(protocol)
        return _traced(caller, said[TRACEPARENT]) if said else caller

    def _at_address(self, protocol: str) -> Caller:
        known = self._known.get(protocol)
        if known is None:
            known = self._known[protocol] = Caller(self._address, protocol, address=self._address)
        return known


def _traced(caller: Caller, written: bytes | None) -> Caller:
    """The caller within the trace that a header names, or as it is where that names none."""
    if written is None or _TRACE.fullmatch(written) is None:
        return caller
    return Caller(
        caller.client_id, caller.protocol, caller.principal, caller.tenant, written.decode("ascii"), caller.address
    )
