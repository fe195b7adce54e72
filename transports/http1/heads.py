"""Heads of requests, read by h11 once the gate has passed them, and heads of answers, written by hand.

Clients that send one request after another send the same head again and again, but for the length of the body. `Heads`
remembers the last one without its digits, which turns the dearest step of a request into a comparison.
"""

import re
from functools import lru_cache
from http import HTTPStatus

import h11
from attrs import define

from goqueue.transports.http1.gate import bad, check_head
from goqueue.transports.http1.limits import Http1Limits
from goqueue.transports.request_headers import RequestHeaders

REMEMBERED_BYTES_MAX = 4 << 10
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*\r\n", re.IGNORECASE)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@define
class Head:
    """What the head of a request says."""

    method: str
    path: str
    query: str
    headers: RequestHeaders
    length: int
    is_chunked: bool
    keeps_alive: bool
    is_old: bool
    expects: bytes


class Heads:
    """Reads heads; one for each connection."""

    __slots__ = ("_around", "_head", "_limits")

    def __init__(self, limits: Http1Limits) -> None:
        self._limits = limits
        self._around = (b"", b"")
        self._head: Head | None = None

    def read(self, head: bytes) -> Head:
        """The meaning of a whole head."""
        around, length = _cut_length(head)
        known = self._head
        if known is not None and around == self._around:
            # The rest was checked, and digits in the place of digits change nothing but the length.
            return known if length == known.length else _with_length(known, length)
        check_head(head, self._limits)
        read = _read(head)
        assert read.length == length
        if len(head) <= REMEMBERED_BYTES_MAX:
            self._around, self._head = around, read
        return read


def _cut_length(head: bytes) -> tuple[tuple[bytes, bytes], int]:
    """What stands before and behind the digits of the length, and the length."""
    found = LENGTH.search(head)
    if found is None:
        return (head, b""), 0
    start, end = found.span(1)
    return (head[:start], head[end:]), int(found[1])


def _with_length(head: Head, length: int) -> Head:
    return Head(
        head.method, head.path, head.query, head.headers,
        length, head.is_chunked, head.keeps_alive, head.is_old, head.expects,
    )  # fmt: skip


def _read(head: bytes) -> Head:
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=len(head) + 1)
    try:
        reader.receive_data(head)
        request = reader.next_event()
    except h11.RemoteProtocolError as error:
        raise bad(f"the request cannot be read: {error}", "headers") from None
    if not isinstance(request, h11.Request):
        raise bad("the request cannot be read", "headers")
    headers = RequestHeaders([*request.headers])
    path, query = _cut_target(request.target)
    is_old = request.http_version < b"1.1"
    return Head(
        request.method.decode("ascii"), path, query, headers,
        int(headers.get(b"content-length", b"0")), b"transfer-encoding" in headers,
        _keeps_alive(headers.get(b"connection", b""), is_old=is_old), is_old,
        b"" if is_old else headers.get(b"expect", b"").lower(),
    )  # fmt: skip


def _cut_target(target: bytes) -> tuple[str, str]:
    text = target.decode("ascii").partition("#")[0]
    path, _, query = text.partition("?")
    if path[:1] not in ("/", "*"):
        path = "/" + path.partition("//")[2].partition("/")[2]
    return path, query


def _keeps_alive(connection: bytes, *, is_old: bool) -> bool:
    options = [option.strip() for option in connection.lower().split(b",")]
    return b"close" not in options and (not is_old or b"keep-alive" in options)


@lru_cache(256)
def opening(status: int, content_type: str, date: bytes, closes: str) -> bytes:
    """The head of an answer up to what differs between answers of one kind; `closes` is the header Connection."""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"Date: {date.decode()}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines.append("X-Content-Type-Options: nosniff")
    if closes:
        lines.append(f"Connection: {closes}")
    return "\r\n".join((*lines, "")).encode("latin-1")


def written_head(start: bytes, headers: tuple[tuple[str, str], ...], framing: bytes) -> bytes:
    """The whole head of an answer: `framing` is the line that says how long the body is."""
    if not headers:
        return start + framing + b"\r\n"
    extra = "".join(f"{name}: {text}\r\n" for name, text in headers).encode("latin-1")
    return start + extra + framing + b"\r\n"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
