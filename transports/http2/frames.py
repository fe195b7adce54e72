"""Bytes to frames, refusing what is too large before it has arrived.

h2 has a reader of its own; it waits for a whole frame, up to 16 MB, before it looks at the length, and puts as many
CONTINUATION frames together as fit into 64 times that. Here the nine bytes of the frame's header decide, and a header
block has a bound in bytes. Invariant: what is held is at most one frame and one header block within their bounds, and
whatever the caller has fed since it last drained.
"""

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

from goqueue.transports.http2.limits import Limits

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9
CONTROL_BYTES_MAX = 16_384
SETTINGS_BYTES_MAX = 64 * 6
CONTINUATIONS_MAX = 16


class FrameReader:
    """Reads frames from a stream of bytes; header blocks come out as one HEADERS frame."""

    __slots__ = ("_block", "_block_bytes", "_buffer", "_limits", "_next", "_preface")

    def __init__(self, limits: Limits, *, preface: bytes = b"") -> None:
        self._limits = limits
        self._preface = preface
        self._buffer = bytearray()
        self._next = 0  # where in the buffer the next frame starts
        self._block: list[HeadersFrame | ContinuationFrame] = []
        self._block_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that wait to become frames."""
        return len(self._buffer) - self._next + self._block_bytes

    @property
    def opened(self) -> bool:
        """Whether the peer has sent its preface."""
        return not self._preface

    def feed(self, data: bytes) -> None:
        """Take in what came; raises ProtocolError if it does not start with the preface that was asked for."""
        if self._preface:
            count = min(len(self._preface), len(data))
            if data[:count] != self._preface[:count]:
                raise ProtocolError("Invalid HTTP/2 preface.")
            self._preface = self._preface[count:]
            data = data[count:]
        if self._next:
            del self._buffer[: self._next]
            self._next = 0
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """The next whole frame, or None; raises h2's ProtocolError for what can be no frame."""
        while True:
            start = self._next
            buffer = self._buffer
            if len(buffer) - start < HEAD_BYTES:
                return None
            with memoryview(buffer) as view:
                frame, size = _parse_head(view[start : start + HEAD_BYTES])
                self._check_size(frame, size)
                stop = start + HEAD_BYTES + size
                if stop > len(buffer):
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
