"""One request on its way through an endpoint: the question, the names in its path, and the broker to ask."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from attrs import define
from msgspec import Struct, json

from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.rest.content_types import check_content_type
from goqueue.transports.rest.decoding import decode_body, whole_number
from goqueue.transports.rest.errors import refused
from goqueue.transports.rest.exchange import Answer, Question

T = TypeVar("T")
PARTITION_MAX = (1 << 31) - 1
_ENCODER = json.Encoder()


class Answering(Protocol):
    """What REST needs of a broker."""

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request."""
        ...


@define
class Call:
    """What an endpoint works with: names from the path, and the fields of the query as their kinds read them.

    `draining` says that the node takes no more requests soon.
    """

    broker: Answering
    question: Question
    names: dict[str, str]
    query: dict[str, Any]
    wall_ms: Callable[[], int]
    draining: Callable[[], bool]
    metrics: MetricsPage

    @property
    def topic(self) -> str:
        """The topic in the path."""
        return self.names["topic"]

    @property
    def group(self) -> str:
        """The group in the path."""
        return self.names["group"]

    @property
    def partition(self) -> int:
        """The partition in the path."""
        return whole_number(self.names["partition"], "partition", most=PARTITION_MAX)

    def body(self, kind: type[T]) -> T:
        """The body of the request as `kind`."""
        content = self.question.body
        if content:
            check_content_type(self.question.headers.get(b"content-type", b""))
        return decode_body(content, kind, is_lenient=self.question.is_lenient)

    def optional_body(self, kind: type[T]) -> T:
        """The body of the request as `kind`; none is one without fields."""
        return self.body(kind) if self.question.body else decode_body(b"{}", kind)

    async def ask(self, request: Request, kind: type[T]) -> T:
        """The node's reply, which is a `kind`; its refusal as an error."""
        reply = await self.broker.ask(self.question.caller, request)
        if isinstance(reply, kind):
            return reply
        if isinstance(reply, Refusal):
            raise refused(reply)
        raise TypeError(f"{type(request).__name__} was answered with {type(reply).__name__}")

    async def ask_reply(self, request: Request) -> Reply:
        """The node's reply as it is, refusal or not."""
        return await self.broker.ask(self.question.caller, request)


Endpoint = Callable[[Call], Awaitable[Answer]]


def answer(view: Struct, status: int = 200) -> Answer:
    """A view as JSON."""
    return Answer(status, _ENCODER.encode(view))


def encoded(view: Struct) -> bytes:
    """The JSON of a view, on one line."""
    return _ENCODER.encode(view)
