"""One PublishStream: batches in, answers out, as many in flight as the client likes and as memory allows.

All messages that one read brought are posted within that read, and each is answered within the turn of the broker that
made it durable; no message has a task, a lock or a channel of its own. The answers of a turn leave together.

What is posted and unanswered is bounded for the stream, and by the broker for all. Past a bound nothing more is read,
so the client's window closes. Answers are small, but a client that takes none is not read from either.

When the client has said all, the call ends after its last answer. When the broker leaves, or when the client sends what
is no request, nothing more is taken, what was taken is answered, and then the call ends with the reason.
"""

from functools import partial

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Acks, Due, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.proto import translate, v1
from goqueue.proto.refusals import acks as awaited
from goqueue.proto.refusals import due as due_of
from goqueue.proto.refusals import missing
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.services.envelopes import Envelope, open_publish, publish_reply
from goqueue.transports.services.refusals import LEAVING, refused

UNANSWERED_BYTES_MAX = 8 << 20
# What a request holds besides its batch, so that empty ones are bounded as well.
_OVERHEAD_BYTES = 512
ACKS = {0: Acks.ALL, 1: Acks.LEADER, 2: Acks.NONE}
DUES = {0: Due.NOW, 1: Due.AT, 2: Due.AFTER}


class PublishStream:
    """The state of one call."""

    def __init__(self, call: ServerCall, broker: Broker, unanswered_bytes_max: int) -> None:
        self._call = call
        self._broker = broker
        self._caller: Caller = call.caller
        self._bytes_max = unanswered_bytes_max
        self._unanswered = 0
        self._unanswered_bytes = 0
        self._answered = call.parking()
        self._is_roomy = True
        self._flaw: GRPCError | None = None
        self._is_over = False

    async def serve(self) -> None:
        """Serve the call to its end."""
        self._call.send_headers()
        error: GRPCError | None = None
        try:
            try:
                if not await self._call.until_leaving(self._take_all):
                    error = refused(LEAVING)
            except GRPCError as flaw:
                error = flaw
            while self._unanswered:
                await self._answered.wait()
            if error is not None:
                raise error
        finally:
            self._is_over = True

    async def _take_all(self) -> None:
        call, broker = self._call, self._broker
        while not await call.divert(self._take):
            if self._flaw is not None:
                raise self._flaw
            await broker.room()
            while self._unanswered_bytes >= self._bytes_max:
                await self._answered.wait()
            if not self._is_roomy:
                self._is_roomy = True
                await call.relieved()

    def _take(self, body: Readable) -> bool:
        """Post a request; False once a bound is passed, or for what is no request."""
        opened = open_publish(memoryview(body)) or self._open_oddly(body)
        if opened is None:
            return False
        topic, partition, batch, acks, request_id, due = opened
        size = len(batch) + _OVERHEAD_BYTES
        self._unanswered += 1
        self._unanswered_bytes += size
        receive = partial(self._answer, request_id, size)
        wanted, when = ACKS.get(acks), DUES.get(due)
        if wanted is None or when is None or not topic or not batch:
            receive(_refusal(topic, acks, due))
        else:
            # The broker stamps the batch where it lies.
            writable = bytearray(batch) if batch.readonly else batch
            self._broker.post(self._caller, PublishBatch(topic, partition, writable, wanted, due=when), receive)
        return self._unanswered_bytes < self._bytes_max and self._is_roomy and self._broker.is_roomy()

    def _open_oddly(self, body: Readable) -> Envelope | None:
        try:
            request = self._call.codec.decode(v1.PublishBatchRequest, bytes(body))
        except ValueError as error:
            self._flaw = GRPCError(Status.INVALID_ARGUMENT, str(error))
            return None
        batch = memoryview(request.batch)
        return request.topic, request.partition, batch, int(request.acks), request.request_id, int(request.due)

    def _answer(self, request_id: int, size: int, reply: Reply) -> None:
        self._unanswered -= 1
        self._unanswered_bytes -= size
        if self._is_over:
            return
        self._answered.wake()
        if type(reply) is PublishReply:
            reply = reply.results[0]
        if type(reply) is Published:
            body = publish_reply(request_id, reply.offset, reply.timestamp)
        else:
            assert isinstance(reply, Refusal)
            body = self._call.codec.encode(translate.publish_batch_reply(reply, request_id))
        try:
            self._is_roomy = self._call.put(body)
        except StreamGone:
            self._is_over = True


def _refusal(topic: str, acks: int, due: int) -> Refusal:
    """What is wrong with a request that cannot be meant."""
    if not topic:
        return missing("topic")
    for wanted in (awaited(acks), due_of(due)):
        if isinstance(wanted, Refusal):
            return wanted
    return missing("batch")
