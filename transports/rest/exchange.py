"""What an HTTP transport brings to the REST edge, and what it takes back."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import parse_qsl

from attrs import define, field

from goqueue.core.requests.call import Caller
from goqueue.transports.request_headers import RequestHeaders
from goqueue.transports.rest.errors import RestError

JSON = "application/json"
QUERY_FIELDS_MAX = 100
NO_HEADERS = RequestHeaders()


@define
class Question:
    """One request: the target still as it was sent, the body whole, the names of headers in lower case.

    `host` is what the client calls the broker, by HTTP/1.1's header Host or HTTP/2's `:authority`, with a port or
    without. `local_host` is the address that the connection arrived at.
    """

    method: str
    path: str
    query: str = ""
    body: bytes | bytearray = b""
    headers: RequestHeaders = NO_HEADERS
    host: bytes = b""
    local_host: str = ""
    caller: Caller = field(factory=Caller)

    def asked(self, names: frozenset[bytes]) -> Mapping[bytes, bytes]:
        """Return those headers of the request that have one of these names, which are in lower case."""
        return self.headers.asked(names)

    def header(self, name: bytes) -> str:
        """The text of a header; empty when there is none."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def is_lenient(self) -> bool:
        """Whether the client asks to have unknown fields ignored."""
        return self.headers.get(b"x-lenient") in (b"1", b"true")

    def fields(self) -> list[tuple[str, str]]:
        """The names and values of the query, decoded, in their order."""
        try:
            return parse_qsl(self.query, keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX, errors="strict")
        except UnicodeDecodeError:
            raise RestError(400, "invalid_request", "the query is not UTF-8", "query") from None
        except ValueError:
            sentence = f"the query has more than {QUERY_FIELDS_MAX} fields"
            raise RestError(400, "invalid_request", sentence, "query") from None


class Parts(Protocol):
    """The body of an answer that comes as time passes."""

    async def next(self) -> bytes:
        """The next part, once there is one; empty at the end. A call that is cancelled loses nothing."""
        ...

    def farewell(self) -> bytes:
        """The last part when the server goes before the end: where the client can go on, elsewhere."""
        ...


@define
class Answer:
    """One response: a body, or `parts` of one that come as time passes."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    parts: Parts | None = None
