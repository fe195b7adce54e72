"""What stands before the parser: it lets through only what no two parsers can read differently.

A request that a proxy and a server cut at different places lets one client's bytes pass for another's. Where the
standard allows tolerance (a bare line feed, white space around a chunk's size, a folded line, two equal lengths) this
gate allows none. All checks of a head are a few searches over its bytes; h11 then reads its fields.

Invariant: `check_start`, `check_head` and `Chunks` raise nothing but HttpError, whatever the bytes.
"""

import re

from goqueue.core.errors import ProtocolError
from goqueue.transports.http1.limits import Http1Limits

END = b"\r\n\r\n"
TARGET_LINE = re.compile(rb"(?P<method>[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) (?P<target>[!-~]+) HTTP/1\.[01]\Z")
TARGET = re.compile(rb"/[!-~]*\Z|\*\Z|https?://[!-.0-~]+(/[!-~]*)?\Z", re.IGNORECASE)
FRAMING = re.compile(rb"\r\n(content-length|transfer-encoding|host|content-type)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
HOST = re.compile(rb"([A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{0,5})?\Z")
LENGTH = re.compile(rb"[0-9]{1,15}\Z")
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?)*\Z")
TRAILER_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*\Z")
CHUNK_LINE_MAX = 256
TRAILERS_MAX = 8 << 10
# What chunks may cost beyond their content before they are taken for an attack: tiny ones cost far more to read.
OVERHEAD_MAX = 16 << 10


class HttpError(ProtocolError):
    """A request that cannot be read, with the status and the code that say so; the connection ends with it."""

    def __init__(self, status: int, code: str, message: str, field: str = "") -> None:
        super().__init__(message, status_hint=status)
        self.code = code
        self.field = field


def bad(message: str, field: str = "") -> HttpError:
    """The error for a request that breaks the grammar of HTTP."""
    return HttpError(400, "bad_request", message, field)


def check_start(partial: bytes | bytearray, limits: Http1Limits) -> None:
    """Refuse what can no longer become a head, before the rest of it is waited for."""
    first = partial[0]
    if not (0x41 <= first <= 0x5A or 0x61 <= first <= 0x7A or first in b"!#$%&'*+-.^_`|~0123456789"):
        raise bad("the connection does not begin like a request of HTTP/1.1")
    if len(partial) > limits.head_bytes_max:
        raise HttpError(431, "headers_too_large", f"the head is longer than {limits.head_bytes_max} bytes", "headers")
    _check_lines(partial[:-1] if partial[-1] == 0x0D else partial)
    last = len(partial) - partial.rfind(b"\n") - 1
    if last > limits.line_bytes_max:
        raise _long_line(limits)


def check_head(head: bytes, limits: Http1Limits) -> None:
    """Check a whole head, its empty line included."""
    if len(head) > limits.head_bytes_max:
        raise HttpError(431, "headers_too_large", f"the head is longer than {limits.head_bytes_max} bytes", "headers")
    _check_lines(head)
    lines = head[: -len(END)].split(b"\r\n")
    if len(lines) - 1 > limits.header_count_max:
        raise HttpError(431, "headers_too_large", f"there are more than {limits.header_count_max} headers", "headers")
    if max(map(len, lines)) > limits.line_bytes_max:
        raise _long_line(limits)
    line = TARGET_LINE.match(lines[0])
    if line is None:
        raise _bad_request_line(lines[0])
    if not TARGET.match(line["target"]) or (line["target"] == b"*" and line["method"] != b"OPTIONS"):
        raise bad("the target must begin with a slash, or with http://", "path")
    for header in lines[1:]:
        if header[:1] in (b" ", b"\t"):
            raise bad("a header is folded over two lines", "headers")
    _check_framing(head, is_old=lines[0].endswith(b"0"))


def _check_lines(head: bytes | bytearray) -> None:
    feeds = head.count(b"\n")
    if head.count(b"\r\n") != feeds or head.count(b"\r") != feeds:
        raise bad("a line ends with something else than CR LF", "headers")
    if b"\0" in head:
        raise bad("the head holds a zero byte", "headers")


def _check_framing(head: bytes, *, is_old: bool) -> None:
    """The headers that decide where a request ends, whom it is for and what it holds: each once, never both lengths."""
    found: dict[bytes, bytes] = {}
    for name, text in FRAMING.findall(head):
        lowered = name.lower()
        if lowered in found:
            raise bad(f"there are two headers {lowered.decode()}", lowered.decode())
        found[lowered] = text.rstrip(b" \t")
    length, encoding, host = found.get(b"content-length"), found.get(b"transfer-encoding"), found.get(b"host")
    if length is not None and encoding is not None:
        raise bad("Content-Length and Transfer-Encoding exclude each other", "content-length")
    if length is not None and not LENGTH.match(length):
        raise bad("Content-Length is no number", "content-length")
    if encoding is not None and (is_old or encoding.lower() != b"chunked"):
        raise bad("Transfer-Encoding may only be chunked, and only in HTTP/1.1", "transfer-encoding")
    if host is None and not is_old:
        raise bad("the header Host is missing", "host")
    if host is not None and not HOST.match(host):
        raise bad("the header Host names no host", "host")


def _bad_request_line(line: bytes) -> HttpError:
    version = line.rpartition(b" ")[2]
    if version.startswith(b"HTTP/") and not version.startswith(b"HTTP/1"):
        return HttpError(505, "version_not_supported", "only HTTP/1.0 and HTTP/1.1 are spoken here")
    return bad("the first line is not like `GET /topics HTTP/1.1`")


def _long_line(limits: Http1Limits) -> HttpError:
    said = f"a line of the head is longer than {limits.line_bytes_max} bytes"
    return HttpError(431, "headers_too_large", said, "headers")


class Chunks:
    """Reads a chunked body: bytes are taken from the front of a buffer, `body` grows, `complete` at the end."""

    __slots__ = ("_bytes_max", "_left", "_overhead", "_trailers", "body", "complete")

    def __init__(self, bytes_max: int) -> None:
        self.body = bytearray()
        self.complete = False
        self._bytes_max = bytes_max
        # Bytes of a chunk still to come with the CR LF behind it; zero before a size.
        self._left = 0
        self._overhead = 0
        self._trailers: int | None = None

    def feed(self, buffer: bytearray) -> None:
        """Take what can be read from the front of `buffer`."""
        at = 0
        while not self.complete:
            step = self._content(buffer, at) if self._left else self._line(buffer, at)
            if not step:
                break
            at += step
        del buffer[:at]

    def _content(self, buffer: bytearray, at: int) -> int:
        left = self._left
        here = min(left - 2, len(buffer) - at)
        if here > 0:
            self.body += memoryview(buffer)[at : at + here]
            self._left = left - here
            return here
        if left > 2 or len(buffer) - at < 2:
            return 0
        if buffer[at : at + 2] != b"\r\n":
            raise bad("a chunk is longer than its size says", "body")
        self._left = 0
        return 2

    def _line(self, buffer: bytearray, at: int) -> int:
        most = CHUNK_LINE_MAX if self._trailers is None else TRAILERS_MAX
        end = buffer.find(b"\n", at, at + most)
        if end < 0:
            if len(buffer) - at >= most:
                raise bad("a line between chunks is too long", "body")
            return 0
        if buffer[end - 1 : end] != b"\r" or end == at:
            raise bad("a line between chunks ends with something else than CR LF", "body")
        line = bytes(buffer[at : end - 1])
        size = end + 1 - at
        if self._trailers is None:
            self._open(line, size)
        else:
            self._trail(line, size)
        return size

    def _open(self, line: bytes, size: int) -> None:
        match = CHUNK_LINE.match(line)
        if match is None:
            raise bad("a chunk begins with its size in hexadecimal and maybe extensions like ;name=value", "body")
        length = int(match[1], 16)
        if len(self.body) + length > self._bytes_max:
            raise too_large(self._bytes_max)
        self._overhead += size + 2
        if self._overhead > OVERHEAD_MAX + len(self.body):
            raise bad("the body comes in too many chunks that are too small", "body")
        if length:
            self._left = length + 2
        else:
            self._trailers = 0

    def _trail(self, line: bytes, size: int) -> None:
        assert self._trailers is not None
        if not line:
            self.complete = True
            return
        self._trailers += size
        if self._trailers > TRAILERS_MAX:
            raise HttpError(431, "headers_too_large", "the trailers are too long", "trailers")
        if not TRAILER_LINE.match(line):
            raise bad("a trailer is no header", "trailers")


def overloaded() -> HttpError:
    """The error for a request that there is no room for at the moment."""
    return HttpError(503, "overloaded", "the broker holds as much as it can; try again in a moment")


def too_slow() -> HttpError:
    """The error for a request that keeps the broker waiting for its rest."""
    return HttpError(408, "request_timeout", "the request took too long to arrive")


def too_large(bytes_max: int) -> HttpError:
    """The error for a body past the bound."""
    return HttpError(413, "too_large", f"the body may have at most {bytes_max} bytes", "body")
