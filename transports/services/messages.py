"""The service Messages: in and out, by partition and offset.

Publish and its like are one request to the broker each. PublishStream, Subscribe and Fetch take the call itself,
because their batches are many or large: the generated way would make a message of each, and copies.
"""

from grpclib.const import Handler

from goqueue.core.requests.messages import Fetched, FoundOffset, ProducerReply, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import translate, v1
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.services.calls import ask
from goqueue.transports.services.envelopes import bytes_field, number_field
from goqueue.transports.services.feed import REPLY_BYTES_MAX
from goqueue.transports.services.publishing import UNANSWERED_BYTES_MAX, PublishStream
from goqueue.transports.services.reading import ask_for_messages
from goqueue.transports.services.refusals import refused
from goqueue.transports.services.subscription import Subscription

_PATH = "/goqueue.v1.Messages/"


class Messages(v1.MessagesBase):
    """Messages over gRPC."""

    def __init__(self, broker: Broker, *, unanswered_bytes_max: int = UNANSWERED_BYTES_MAX) -> None:
        self._broker = broker
        self._unanswered_bytes_max = unanswered_bytes_max

    def __mapping__(self) -> dict[str, Handler]:
        """The generated methods, but for those that take the call itself."""
        own = {"PublishStream": self._publish_stream, "Fetch": self._fetch, "Subscribe": self._subscribe}
        methods: dict[str, Handler] = super().__mapping__()
        for name, serve in own.items():
            methods[_PATH + name] = methods[_PATH + name]._replace(func=serve)
        return methods

    async def publish(self, publish_request: v1.PublishRequest) -> v1.PublishReply:
        """See goqueue.proto."""
        wanted = translate.publish_request(publish_request)
        return translate.publish_reply(await ask(self._broker, wanted, PublishReply))

    async def publish_batch(self, publish_batch_request: v1.PublishBatchRequest) -> v1.PublishBatchReply:
        """See goqueue.proto."""
        wanted = translate.publish_batch_request(publish_batch_request)
        reply = await ask(self._broker, wanted, PublishReply)
        published = reply.results[0]
        if isinstance(published, Refusal):
            raise refused(published)
        return translate.publish_batch_reply(reply, publish_batch_request.request_id)

    async def find_offset(self, find_offset_request: v1.FindOffsetRequest) -> v1.FindOffsetReply:
        """See goqueue.proto."""
        wanted = translate.find_offset_request(find_offset_request)
        return translate.find_offset_reply(await ask(self._broker, wanted, FoundOffset))

    async def init_producer(self, init_producer_request: v1.InitProducerRequest) -> v1.InitProducerReply:
        """See goqueue.proto."""
        wanted = translate.init_producer_request(init_producer_request)
        return translate.init_producer_reply(await ask(self._broker, wanted, ProducerReply))

    async def _publish_stream(self, call: ServerCall) -> None:
        await PublishStream(call, self._broker, self._unanswered_bytes_max).serve()

    async def _subscribe(self, call: ServerCall) -> None:
        wanted = translate.subscribe_request(await call.recv_message())
        if isinstance(wanted, Refusal):
            raise refused(wanted)
        await Subscription(call, self._broker, wanted).serve()

    async def _fetch(self, call: ServerCall) -> None:
        wanted = translate.fetch_request(await call.recv_message())
        if not isinstance(wanted, Refusal):
            wanted.max_bytes = min(wanted.max_bytes, REPLY_BYTES_MAX)
        fetched = await ask_for_messages(call, self._broker, wanted, Fetched)
        call.send_headers()
        size = len(fetched.batches)
        head = (
            number_field(2, fetched.next_offset)
            + number_field(3, fetched.high_watermark)
            + number_field(4, fetched.start_offset)
            + bytes_field(1, size)
        )
        call.put(head, fetched.batches)
