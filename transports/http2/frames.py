"""Bytes to frames, refusing what is too large before it has arrived.

h2 has a reader of its own; it waits for a whole frame, up to 16 MB, before it looks at the length, and puts as many
CONTINUATION frames together as fit into 64 times that. Here the nine bytes of the frame's header decide, and a header
block has a bound in bytes. Invariant: what is held is at most one frame and one header block within their bounds, and
whatever the caller has fed since it last drained. No byte that was shown in a view is written again.
"""

import struct
from collections.abc import Callable

from h2.exceptions import FrameDataMissingError, FrameTooLargeError, ProtocolError
from hyperframe.exceptions import HyperframeError, InvalidFrameError
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    ExtensionFrame,
    Frame,
    HeadersFrame,
    PushPromiseFrame,
    SettingsFrame,
)

from goqueue.core.records.varint import Readable
from goqueue.storage.buffers import BufferPool
from goqueue.transports.http2.limits import Limits

_HEAD = struct.Struct(">HBBBL")
DATA, HEADERS = 0x0, 0x1
_END_STREAM, _END_HEADERS = 0x1, 0x4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9
# What is read at once, and the buffer that several reads go into: the more a read brings, the fewer turns there are.
READ_BUFFER_BYTES = 1 << 20
LONE_BUFFER_BYTES = 128 << 10
READ_BYTES_MOST = 512 << 10
READ_BYTES_LEAST = 64 << 10
# Less than this is put aside when a connection rests; beyond, it keeps its buffer.
KEPT_BYTES = 16 << 10
CONTROL_BYTES_MAX = 16_384
SETTINGS_BYTES_MAX = 64 * 6
CONTINUATIONS_MAX = 16


class FrameReader:
    """Reads frames from a stream of bytes; header blocks come out as one HEADERS frame.

    Bytes are put into a buffer that is lent by a pool, by `feed` or where `room` says. Of plain DATA the content comes
    out as a view of it: who keeps a view keeps the buffer. Between reads a connection has a buffer only while most of
    a frame is in it.
    """

    __slots__ = (
        "_block",
        "_block_bytes",
        "_buffer",
        "_end",
        "_is_crowded",
        "_kept",
        "_limits",
        "_next",
        "_pool",
        "_preface",
        "_view",
    )  # fmt: skip

    def __init__(self, limits: Limits, *, preface: bytes = b"", pool: BufferPool | None = None) -> None:
        self._limits = limits
        self._preface = preface
        self._pool = pool or BufferPool(LONE_BUFFER_BYTES, 1)
        self._is_crowded: Callable[[], bool] = pool.is_crowded if pool is not None else lambda: False
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        self._next = 0  # where in the buffer the next frame starts
        self._end = 0  # where what has come ends
        self._kept = b""  # the beginning of a frame, while there is no buffer
        self._block: list[HeadersFrame | ContinuationFrame] = []
        self._block_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that wait to become frames."""
        return self._end - self._next + len(self._kept) + self._block_bytes

    @property
    def opened(self) -> bool:
        """Whether the peer has sent its preface."""
        return not self._preface

    def feed(self, data: Readable) -> None:
        """Take in what came; raises ProtocolError if it does not start with the preface that was asked for."""
        size = len(data)
        self._make_room(size)
        self._view[self._end : self._end + size] = data
        self.fed(size)

    def room(self) -> memoryview:
        """Where to put what comes next; `fed` says how much it was."""
        self._make_room(READ_BYTES_LEAST)
        return self._view[self._end : self._end + READ_BYTES_MOST]

    def fed(self, size: int) -> None:
        """So many bytes were put into the room; raises as `feed` does."""
        self._end += size
        if self._preface:
            count = min(len(self._preface), self._end - self._next)
            if self._view[self._next : self._next + count] != self._preface[:count]:
                raise ProtocolError("Invalid HTTP/2 preface.")
            self._preface = self._preface[count:]
            self._next += count

    def rest(self) -> None:
        """Nothing may come for long: give the buffer back, unless much of a frame is in it and there are enough."""
        left = self._end - self._next
        if self._buffer and (left < KEPT_BYTES or self._is_crowded()):
            self._give_back(bytes(self._view[self._next : self._end]))

    def close(self) -> None:
        """Nothing is read any more."""
        self._give_back(b"")
        self._block, self._block_bytes = [], 0

    def _give_back(self, kept: bytes) -> None:
        self._kept = kept
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        self._next = self._end = 0

    def _make_room(self, size: int) -> None:
        if len(self._buffer) - self._end >= size:
            return
        kept = self._kept or self._view[self._next : self._end]
        # Not over what is there, which may still be looked at: into a buffer that nobody sees.
        buffer = self._pool.take(max(self._pool.buffer_bytes, len(kept) + size))
        view = memoryview(buffer)
        self._next, self._end = 0, len(kept)
        view[: self._end] = kept
        self._kept = b""
        self._buffer, self._view = buffer, view

    def next_plain(self) -> tuple[int, int, memoryview, bool] | None:
        """The next frame's kind, stream and content, and whether it is the stream's last.

        Only if it is whole, not empty, and either DATA that is not padded or a header block in one piece with nothing
        beside it.
        """
        start = self._next
        if self._end - start < HEAD_BYTES or self._block:
            return None
        high, low, kind, flags, stream_id = _HEAD.unpack_from(self._buffer, start)
        size = high << 8 | low
        stop = start + HEAD_BYTES + size
        bound = self._limits.frame_bytes_max if kind == DATA else self._limits.header_block_bytes_max
        if stop > self._end or size > bound or not size or kind > HEADERS:
            return None
        end = flags & _END_STREAM
        if flags - end != (_END_HEADERS if kind == HEADERS else 0):
            return None
        return kind, stream_id, self._view[start + HEAD_BYTES : stop], end > 0

    def skip_plain(self, size: int) -> None:
        """The frame that `next_plain` has shown, with content of this size, is done with."""
        self._next += HEAD_BYTES + size

    def next_frame(self) -> Frame | None:
        """The next whole frame, or None; raises h2's ProtocolError for what can be no frame."""
        while True:
            start = self._next
            view = self._view
            if self._end - start < HEAD_BYTES:
                return None
            frame, size = _parse_head(view[start : start + HEAD_BYTES])
            self._check_size(frame, size)
            stop = start + HEAD_BYTES + size
            if stop > self._end:
                return None
            _parse_body(frame, view[start + HEAD_BYTES : stop])
            self._next = stop
            whole = self._whole(frame)
            if whole is not None:
                return whole

    def _check_size(self, frame: Frame, size: int) -> None:
        if isinstance(frame, HeadersFrame | ContinuationFrame | PushPromiseFrame):
            bound = self._limits.header_block_bytes_max - self._block_bytes
        elif isinstance(frame, DataFrame | ExtensionFrame):
            bound = self._limits.frame_bytes_max
        elif isinstance(frame, SettingsFrame):
            bound = SETTINGS_BYTES_MAX
        else:
            bound = CONTROL_BYTES_MAX
        if size > bound:
            raise FrameTooLargeError(f"A {type(frame).__name__} of {size} bytes, where {bound} are the bound.")

    def _whole(self, frame: Frame) -> Frame | None:
        """The frame itself, or once its last part is here the HEADERS frame that it belongs to."""
        block = self._block
        if block:
            if not isinstance(frame, ContinuationFrame) or frame.stream_id != block[0].stream_id:
                raise ProtocolError("Another frame in the middle of a header block.")
        elif not isinstance(frame, HeadersFrame) or "END_HEADERS" in frame.flags:
            return frame
        block.append(frame)
        self._block_bytes += len(frame.data)
        if len(block) > CONTINUATIONS_MAX:
            raise ProtocolError("A header block in too many pieces.")
        if "END_HEADERS" not in frame.flags:
            return None
        first = block[0]
        first.data = b"".join(part.data for part in block)
        first.flags.add("END_HEADERS")
        self._block, self._block_bytes = [], 0
        return first


def _parse_head(head: memoryview) -> tuple[Frame, int]:
    try:
        return Frame.parse_frame_header(head)
    except HyperframeError as error:
        raise ProtocolError(f"Received a frame with an invalid header: {error}") from error


def _parse_body(frame: Frame, body: memoryview) -> None:
    try:
        frame.parse_body(body)
    except InvalidFrameError as error:
        raise FrameDataMissingError("A frame whose body is missing or invalid.") from error
    except HyperframeError as error:
        raise ProtocolError(f"A frame with an invalid body: {error}") from error
