"""Frames that go past h2, because there is nothing about them to decide.

Most of what comes is DATA, and header blocks just like those of the calls before. Of each h2 makes an object, some
events, and a walk through two state machines that ends where it is known to end. Here windows and states are looked at
in the same way, and changed in the same way. A block is known when it is one that the decoder remembers, which means
that the dynamic table is as it was then; what its headers make is remembered beside it.

Whatever is not plain is left to h2, and all that is wrong with it: a frame with padding or a priority, a block in
parts, a request without a body, a body that was announced with its length, a stream in any state but the usual ones.

Invariant: with and without this a connection says and tells the same.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from goqueue.transports.http2.engine import Engine
from goqueue.transports.http2.floods import HEAVY, FloodGuard
from goqueue.transports.http2.frames import DATA, FrameReader
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.request import Request, header_list_bytes, parse_request

if TYPE_CHECKING:
    from goqueue.transports.http2.connection import Connection

_Pairs = list[tuple[bytes, bytes]]


class Shortcuts:
    """The short way into one connection."""

    __slots__ = ("_connection", "_engine", "_floods", "_known_at", "_limits", "_reader", "_requests", "_responses")

    def __init__(
        self, connection: "Connection", limits: Limits, reader: FrameReader, engine: Engine, floods: FloodGuard
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._reader = reader
        self._engine = engine
        self._floods = floods
        # By block, as long as the decoder's table stays as it is; None for what is not plain.
        self._requests: dict[bytes, Request | None] = {}
        self._responses: dict[bytes, _Pairs | None] = {}
        self._known_at = -1

    def take(self) -> int:
        """Take the next frame, if it is a plain one; its weight, or 0 for a frame that is h2's."""
        plain = self._reader.next_plain() if self._limits.plain_data else None
        if plain is None:
            return 0
        kind, stream_id, content, end = plain
        if kind == DATA:
            return 1 if self._take_part(stream_id, content, end=end) else 0
        if self._connection.client:
            return HEAVY if self._take_response(stream_id, bytes(content), end=end) else 0
        return HEAVY if not end and self._take_request(stream_id, bytes(content)) else 0

    def _take_part(self, stream_id: int, content: memoryview, *, end: bool) -> bool:
        connection, size = self._connection, len(content)
        stream = connection.streams.get(stream_id)
        if stream is None or stream.discarding or not self._engine.admit_part(stream_id, size, end=end):
            return False
        self._reader.skip_plain(size)
        if size >= 1024:
            self._floods.earn(2)
        connection.part_came(stream, content)
        if end:
            connection.all_came(stream)
        return True

    def _take_request(self, stream_id: int, block: bytes) -> bool:
        request = self._request(block)
        if request is None or not self._connection.admits(stream_id) or not self._engine.admit_request(stream_id):
            return False
        self._reader.skip_plain(len(block))
        self._connection.arrive(stream_id, request)
        return True

    def _take_response(self, stream_id: int, block: bytes, *, end: bool) -> bool:
        """The headers of a response, or its trailers."""
        stream, headers = self._connection.streams.get(stream_id), self._response(block)
        if stream is None or headers is None or not self._engine.admit_response(stream_id, end=end):
            return False
        self._reader.skip_plain(len(block))
        if end:
            stream.trailers = headers
            self._connection.all_came(stream)
        else:
            stream.headers = headers
            self._connection.tell(stream)
        return True

    def _request(self, block: bytes) -> Request | None:
        """The request that a block makes that is known by heart."""
        headers = self._known(block)
        if headers is None:
            return None
        if block not in self._requests:
            fits = _is_plain(headers) and header_list_bytes(headers) <= self._limits.header_list_bytes_max
            self._requests[block] = parse_request(headers, self._connection.peer) if fits else None
        return self._requests[block]

    def _response(self, block: bytes) -> _Pairs | None:
        """The headers of a block that is known by heart."""
        headers = self._known(block)
        if headers is None:
            return None
        if block not in self._responses:
            self._responses[block] = headers if _is_plain(headers) else None
        return self._responses[block]

    def _known(self, block: bytes) -> _Pairs | None:
        decoder = self._engine.remembering
        if self._known_at != decoder.forgotten:
            self._known_at = decoder.forgotten
            self._requests.clear()
            self._responses.clear()
        return decoder.known(block)


def _is_plain(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether headers say nothing of a body's length, and are not those of an interim response."""
    return not any(name == b"content-length" or (name == b":status" and value[:1] == b"1") for name, value in headers)
