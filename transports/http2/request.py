"""A request as it came: what its pseudo-headers say, and its other headers in order.

Whether it is well formed is decided here, before anyone serves it. gRPC requests are looked at briefly, because their
headers go nowhere else; all others pass h2's full validation (16 us), because they may be written into logs, caches
and other protocols.
"""

from collections.abc import Mapping

from attrs import define, field
from h2.exceptions import ProtocolError as H2ProtocolError
from h2.utilities import HeaderValidationFlags, validate_headers

from goqueue.transports.request_headers import RequestHeaders

# A tuple is a constant that is worth remembering, a list is used once. Both hold pairs of bytes.
Headers = tuple[tuple[bytes, bytes], ...] | list[tuple[bytes, bytes]]

GRPC = b"application/grpc"
# Two of these would mean one thing to whoever reads the first, and another to whoever reads the last.
ONCE = frozenset((b"content-type", b"content-length", b"host", b"grpc-timeout", b"grpc-encoding"))
_OF_A_REQUEST = HeaderValidationFlags(
    is_client=False, is_trailer=False, is_response_header=False, is_push_promise=False
)


@define
class Request:
    """One request: its line, its headers, and where it came from."""

    method: bytes
    path: bytes
    scheme: bytes
    authority: bytes
    headers: list[tuple[bytes, bytes]]
    peer: str = ""
    # A request that is known by heart is asked again and again.
    _named: RequestHeaders | None = field(default=None, init=False, eq=False, repr=False)

    @property
    def named(self) -> RequestHeaders:
        """The headers by their names in lower case."""
        if self._named is None:
            self._named = RequestHeaders(self.headers)
        return self._named

    def asked(self, names: frozenset[bytes]) -> Mapping[bytes, bytes]:
        """Return those headers of the request that have one of these names, which are in lower case."""
        return self.named.asked(names)

    def header(self, name: bytes) -> bytes | None:
        """What the headers of this name (lower case) say, if there are any."""
        return self.named.get(name)

    @property
    def announces_body(self) -> bool:
        """Whether its headers promise a body."""
        return any(name == b"content-length" and value.strip(b"0") for name, value in self.headers)


def parse_request(headers: list[tuple[bytes, bytes]], peer: str) -> Request | None:
    """The request that these headers make, or None if they make none."""
    pseudo: dict[bytes, bytes] = {}
    plain: list[tuple[bytes, bytes]] = []
    grpc = False
    seen: set[bytes] = set()
    for pair in headers:
        name, value = pair
        if name[:1] == b":":
            if name in pseudo or plain:
                return None
            pseudo[name] = value
        else:
            plain.append(pair)
            if name in ONCE:
                if name in seen:
                    return None
                seen.add(name)
                grpc = grpc or (name == b"content-type" and value.startswith(GRPC))
    method, path = pseudo.get(b":method"), pseudo.get(b":path", b"")
    if method is None or (not path and method != b"CONNECT"):
        return None
    if not (grpc and path[:1] == b"/") and not _valid(headers):
        return None
    authority = pseudo.get(b":authority", b"")
    return Request(method, path, pseudo.get(b":scheme", b""), authority, plain, peer)


def _valid(headers: list[tuple[bytes, bytes]]) -> bool:
    try:
        for _ in validate_headers(headers, _OF_A_REQUEST):
            pass
    except H2ProtocolError:
        return False
    return True


def header_list_bytes(headers: list[tuple[bytes, bytes]]) -> int:
    """The size of a header list as HTTP/2 counts it: 32 bytes for each field besides its name and value."""
    return sum(len(name) + len(value) + 32 for name, value in headers)
