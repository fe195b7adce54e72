"""What hostile clients send: requests of HTTP/1.1 and frames of HTTP/2, made once and without regard for any rule."""

import struct

from goqueue.transports.http2.header_blocks import RememberingEncoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Settings, by RFC 9113, section 6.5.2.
INITIAL_WINDOW = 4
WINDOW_MAX = (1 << 31) - 1

_HEADERS, _RST, _SETTINGS, _PING, _WINDOW = 1, 3, 4, 6, 8
_END_STREAM, _END_HEADERS = 1, 4
_CANCEL = 8


def get(path: str) -> bytes:
    """A GET of HTTP/1.1."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def hello(window: int) -> bytes:
    """The first bytes of an HTTP/2 client that grants each stream this window."""
    settings = struct.pack(">HL", INITIAL_WINDOW, window)
    opening = PREFACE + frame(_SETTINGS, 0, 0, settings)
    # The window of the connection is another one; it is opened along with those of the streams, or left as it is.
    return opening + (frame(_WINDOW, 0, 0, struct.pack(">L", window - (1 << 16))) if window > 1 << 16 else b"")


def http2_get(stream_id: int, path: str) -> bytes:
    """A whole GET of HTTP/2."""
    fields = [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "localhost")]
    return frame(_HEADERS, _END_STREAM | _END_HEADERS, stream_id, RememberingEncoder().encode(_kept_out(fields)))


def grpc_call(stream_id: int, path: str, message: bytes) -> bytes:
    """A whole call with one message."""
    fields = [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
        ("te", "trailers"), ("content-type", "application/grpc"),
    ]  # fmt: skip
    head = frame(_HEADERS, _END_HEADERS, stream_id, RememberingEncoder().encode(_kept_out(fields)))
    return head + frame(0, _END_STREAM, stream_id, struct.pack(">BL", 0, len(message)) + message)


def open_headers(stream_id: int) -> bytes:
    """A header block that goes on for ever: its end is never said."""
    return frame(_HEADERS, 0, stream_id, b"\x82\x84\x86")


def pings(count: int) -> bytes:
    """So many pings that each want an answer."""
    return frame(_PING, 0, 0, b"hostile.") * count


def settings_changes(count: int) -> bytes:
    """So many SETTINGS that each want an answer and a walk over all streams."""
    return b"".join(frame(_SETTINGS, 0, 0, struct.pack(">HL", INITIAL_WINDOW, 65535 + n % 2)) for n in range(count))


def requests_reset(count: int, path: str) -> bytes:
    """So many requests, each broken off at once."""
    ids = range(1, 2 * count, 2)
    return b"".join(http2_get(n, path) + frame(_RST, 0, n, struct.pack(">L", _CANCEL)) for n in ids)


def frame(kind: int, flags: int, stream_id: int, content: bytes) -> bytes:
    """One frame of HTTP/2."""
    return struct.pack(">HBBBL", len(content) >> 8, len(content) & 0xFF, kind, flags, stream_id) + content


def _kept_out(fields: list[tuple[str, str]]) -> list[tuple[str, str, bool]]:
    """Fields that do not go into the table of the decoder, so that a block means the same anywhere."""
    return [(name, value, True) for name, value in fields]
