"""A broker that talks nonsense is found out, and said to."""

from collections.abc import AsyncIterator

import pytest

from goqueue import errors
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.transports.client.connection import connect
from goqueue.transports.grpc.service import GrpcService
from tests.transports.serving import run, serving


class Garbling(StrictCodec):
    """Writes nothing that can be read in place of one kind of message."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind = kind

    def encode(self, message: object) -> bytes:
        """The bytes of a message, or others."""
        return b"\xff" if isinstance(message, self._kind) else super().encode(message)


class OneTopic(v1.TopicsBase):
    """A topic of one partition."""

    async def describe_topic(self, describe_topic_request: v1.DescribeTopicRequest) -> v1.Topic:
        """It is always there."""
        return v1.Topic(describe_topic_request.name, 1)

    async def describe_partitions(
        self, describe_partitions_request: v1.DescribePartitionsRequest
    ) -> v1.DescribePartitionsReply:
        """And empty."""
        return v1.DescribePartitionsReply([v1.Partition(0)])


class OneReply(v1.MessagesBase):
    """Says one thing to whoever subscribes."""

    def __init__(self, reply: v1.SubscribeReply) -> None:
        self._reply = reply

    async def subscribe(self, subscribe_request: v1.SubscribeRequest) -> AsyncIterator[v1.SubscribeReply]:
        """See the class."""
        yield self._reply


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        (v1.SubscribeReply, v1.SubscribeReply(), "orders: the broker sent a SubscribeReply that cannot be decoded"),
        (v1.Refusal, v1.SubscribeReply(3), "orders: .* cannot be decoded: it is for position 3 of 1"),
        (v1.Topic, v1.SubscribeReply(), "orders: the broker sent a Topic that cannot be decoded"),
    ],
)
def test_a_reply_that_makes_no_sense_is_raised_as_such(kind: type, reply: v1.SubscribeReply, said: str) -> None:
    async def test() -> None:
        service = GrpcService([OneTopic(), OneReply(reply)], codec=Garbling(kind))
        async with serving(service) as served, connect(served.target) as gq:
            with pytest.raises(errors.BadReply, match=said):
                async with gq.consumer("orders", start=0) as consumer:
                    await anext(consumer)

    run(test)
