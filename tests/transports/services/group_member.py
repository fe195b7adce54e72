"""A member of a group on one Consume stream, as a program that uses grpcio writes it."""

import queue
from collections.abc import Iterator
from typing import Any

import betterproto
import grpc
from google.rpc import status_pb2

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.proto import v1
from tests.transports.services.served_broker import Client, batch


class StreamMember:
    """One stream: what it says, and what it hears, in order."""

    def __init__(self, client: Client, **options: Any) -> None:  # noqa: ANN401 - of grpcio
        self._said: queue.SimpleQueue[v1.ConsumeRequest | bytes | None] = queue.SimpleQueue()
        self._count = 0
        self.replies = client.consume(self._requests(), **options)
        self.joined = v1.JoinReply()

    def _requests(self) -> Iterator[v1.ConsumeRequest | bytes]:
        while (request := self._said.get()) is not None:
            yield request

    def say(self, **request: Any) -> int:  # noqa: ANN401 - a message
        """Send a request; its number."""
        self._count += 1
        self._said.put(v1.ConsumeRequest(request_id=self._count, **request))
        return self._count

    def say_bytes(self, body: bytes) -> None:
        """Send what may be no request."""
        self._said.put(body)

    def close(self) -> None:
        """Say no more."""
        self._said.put(None)

    def hear(self) -> tuple[int, str, Any]:
        """The next reply: which request it answers, what it is, and what it says."""
        reply = next(self.replies)
        return reply.request_id, *betterproto.which_one_of(reply, "reply")

    def answer(self, **request: Any) -> Any:  # noqa: ANN401 - a message
        """The answer to a request; what comes before it is passed over, as long as it is no answer."""
        number = self.say(**request)
        while True:
            answers, _, said = self.hear()
            if answers == number:
                return said
            assert not answers

    def await_(self, which: str) -> Any:  # noqa: ANN401 - a message
        """The next reply of a kind; others are passed over."""
        while True:
            _, kind, said = self.hear()
            if kind == which:
                return said

    def assigned(self, *wanted: v1.TopicPartition) -> v1.HeartbeatReply:
        """The next assignment of exactly these partitions; others, and batches, are passed over."""
        while True:
            news: v1.HeartbeatReply = self.await_("assignment")
            if news.assigned == [*wanted]:
                return news

    def asked(self) -> v1.HeartbeatReply:
        """The next assignment that asks for partitions."""
        while True:
            news: v1.HeartbeatReply = self.await_("assignment")
            if news.to_revoke:
                return news

    def join(self, group: str = "billing", *topics: str, **more: Any) -> v1.JoinReply:  # noqa: ANN401 - fields
        """Become a member."""
        request = v1.JoinRequest(group=group, topics=[*topics] or ["orders"], **more)
        self.joined = self.answer(join=request)
        return self.joined

    def read(self, count: int) -> list[tuple[int, int, bytes]]:
        """So many messages, as partition, offset and value."""
        found: list[tuple[int, int, bytes]] = []
        while len(found) < count:
            found += messages(self.await_("batches"))
        assert len(found) == count
        return found

    def status(self) -> tuple[grpc.StatusCode, str]:
        """How the stream ends; what comes until then is passed over."""
        try:
            for _ in self.replies:
                pass
        except grpc.RpcError as error:
            return error.code(), refusal_code(error)
        return grpc.StatusCode.OK, ""


def messages(reply: v1.GroupBatches) -> list[tuple[int, int, bytes]]:
    """The messages of a reply, as partition, offset and value."""
    assert not reply.refusal.code, reply.refusal
    return [
        (reply.partition, record.offset, bytes(record.value or b""))
        for run in split(reply.batches)
        for record in iterate(run)
        if record.offset >= reply.first_offset
    ]


def refusal_code(error: grpc.RpcError) -> str:
    """The code of the Refusal in an error's details; empty without any."""
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    if packed is None:
        return ""
    return str(v1.Refusal().parse(status_pb2.Status.FromString(packed).details[0].value).code)


def publish(client: Client, partition: int, *contents: bytes, topic: str = "orders") -> None:
    """Publish these as one batch."""
    client.publish_batch(v1.PublishBatchRequest(topic, partition, batch(*contents)))
