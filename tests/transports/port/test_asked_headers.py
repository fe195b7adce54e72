"""An application gets the headers that it asks for, and callers say what they should, by whichever protocol."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import grpc
import httpx
import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.requests.call import Caller
from goqueue.transports.callers import Callers
from goqueue.transports.exchange import Exchange
from goqueue.transports.grpc.call import current_call
from goqueue.transports.grpc.service import GrpcService
from goqueue.transports.request_headers import NONE_SENT, RequestHeaders
from goqueue.transports.rest.exchange import Answer, Question
from tests.transports.grpc.echo_messages import Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import Served, in_thread, run, serving

WANTED = frozenset(
    (b"authorization", b"traceparent", b"tracestate", b"x-api-key", b"x-request-id", b"x-tenant-id")
)  # fmt: skip
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SENT = {"authorization": "Bearer abc", "x-tenant-id": "acme", "traceparent": TRACE, "x-other": "1"}
PROTOCOLS = ("http/1.1", "http/2", "grpc")


@define
class Heard:
    """An edge and an application that note what they get."""

    asked: list[Mapping[bytes, bytes]] = field(factory=list)
    callers: list[Caller] = field(factory=list)
    calls: GrpcService = field(factory=lambda: GrpcService([Echo()]))

    async def answer(self, question: Question) -> Answer:
        """See Edge."""
        self.asked.append(question.asked(WANTED))
        self.callers.append(question.caller)
        return Answer(200)

    def leave(self) -> None:
        """See Edge."""

    async def __call__(self, exchange: Exchange) -> None:
        """See Application."""
        self.asked.append(exchange.request.asked(WANTED))
        self.callers.append(exchange.callers.grpc(exchange.request.named))
        await self.calls(exchange)


def say(served: Served, protocol: str, requests: list[list[tuple[str, str]]]) -> None:
    """Make requests with these headers on one connection."""
    if protocol == "grpc":
        with grpc.insecure_channel(served.target) as channel:
            for headers in requests:
                with pytest.raises(grpc.RpcError):
                    channel.unary_unary("/nobody/asks")(b"", metadata=headers)
        return
    is_new = protocol == "http/2"
    with httpx.Client(base_url=f"http://{served.target}", http2=is_new, http1=not is_new) as client:
        for headers in requests:
            assert client.post("/topics", headers=headers, content=b"{}").status_code == 200


@asynccontextmanager
async def heard(protocol: str, *requests: list[tuple[str, str]]) -> AsyncIterator[Heard]:
    """What comes of requests on one connection."""
    noted = Heard()
    async with serving(noted, edge=noted) as served:
        await in_thread(lambda: say(served, protocol, [*requests]))
        yield noted


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_application_gets_the_headers_that_it_asks_for_and_no_others(protocol: str) -> None:
    async def scenario() -> None:
        several = [("tracestate", "a=1"), ("x-request-id", "7"), ("tracestate", "b=2")]
        async with heard(protocol, [*SENT.items()], [], several, []) as noted:
            assert noted.asked[0] == {
                b"authorization": b"Bearer abc", b"x-tenant-id": b"acme", b"traceparent": TRACE.encode(),
            }  # fmt: skip
            assert noted.asked[2] == {b"tracestate": b"a=1, b=2", b"x-request-id": b"7"}
            assert all(each is NONE_SENT for each in (noted.asked[1], noted.asked[3]))

    run(scenario)


def test_a_method_gets_the_headers_of_its_call_that_it_asks_for() -> None:
    noted: list[Mapping[bytes, bytes]] = []

    class Asking(Echo):
        async def unary(self, parcel: Parcel) -> Parcel:
            noted.append(current_call.get().asked(WANTED))
            return parcel

    async def scenario() -> None:
        async with serving(GrpcService([Asking()])) as served:

            def call() -> None:
                with grpc.insecure_channel(served.target) as channel:
                    channel.unary_unary("/goqueue.testing.v1.Echo/Unary")(b"", metadata=[*SENT.items()])

            await in_thread(call)
        assert [set(each) for each in noted] == [{b"authorization", b"x-tenant-id", b"traceparent"}]

    run(scenario)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requests_that_say_nothing_of_themselves_share_one_caller(protocol: str) -> None:
    async def scenario() -> None:
        async with heard(protocol, [], [("x-other", "1")], [("traceparent", TRACE)], []) as noted:
            first, second, traced, last = noted.callers
            assert first is second
            assert first is last
            address = first.address
            assert address.startswith("127.0.0.1:")
            assert first == Caller(address, protocol, address=address)
            assert traced == Caller(address, protocol, trace=TRACE, address=address)

    run(scenario)


def test_calls_of_one_client_share_the_caller_that_it_names() -> None:
    async def scenario() -> None:
        named = [("goqueue-client-id", "orders-1")]
        other = [("goqueue-client-id", "x" * 1000)]
        async with heard("grpc", named, named, [*named, ("traceparent", TRACE)], other, []) as noted:
            first, again, traced, long, nameless = noted.callers
            assert first is again
            assert (first.client_id, first.trace) == ("orders-1", "")
            assert (traced.client_id, traced.trace) == ("orders-1", TRACE)
            assert long.client_id == "x" * 256
            assert nameless.client_id == nameless.address == first.address

    run(scenario)


@pytest.mark.parametrize(
    "written",
    [
        "", "x", TRACE[:-1], TRACE + "0", TRACE + "\n", TRACE.upper(), "01" + TRACE[2:], "ff" + TRACE[2:],
        "00-" + "0" * 32 + TRACE[35:], TRACE[:36] + "0" * 16 + "-01", TRACE.replace("-", "_"), f"{TRACE}, {TRACE}",
    ],
)  # fmt: skip
def test_what_is_no_traceparent_is_no_trace(written: str) -> None:
    headers = RequestHeaders([(b"traceparent", written.encode())])
    callers = Callers("10.0.0.1:9")
    for caller in (callers.http1(headers), callers.http2(headers), callers.grpc(headers)):
        assert caller.trace == ""


@given(st.from_regex(rb"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", fullmatch=True))
def test_a_traceparent_is_the_trace_as_it_was_written(written: bytes) -> None:
    _, trace, span, _ = written.split(b"-")
    expected = written.decode() if trace.strip(b"0") and span.strip(b"0") else ""
    assert Callers("").http2(RequestHeaders([(b"traceparent", written)])).trace == expected


@given(st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.binary(max_size=3))))
def test_headers_of_one_name_are_joined_in_their_order(pairs: list[tuple[bytes, bytes]]) -> None:
    headers = RequestHeaders(pairs)
    joined = {name: b", ".join(text for key, text in pairs if key == name) for name, _ in pairs}
    assert headers == joined
    wanted = frozenset((b"a", b"c", b"d"))
    assert headers.asked(wanted) == {name: text for name, text in joined.items() if name in wanted}
    assert headers.asked(wanted) is headers.asked(frozenset(wanted))
