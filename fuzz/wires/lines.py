"""A client's connection to a broker by gRPC: the client library's own channel, and one call for each request."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import trio
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.requests.messages import PublishBatch
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.history import Violation
from goqueue.fuzz.wires.fabric import Host, current_host
from goqueue.fuzz.wires.grpc_forms import CODEC, PUBLISH_STREAM, Form, batch_message, form_of, read_batch, refusal_of
from goqueue.proto import v1
from goqueue.transports.client.channel import CallStream, Channel, open_channel
from goqueue.transports.client.lost import ConnectionLost
from goqueue.transports.client.trio_loop import TrioLoop

# How calls end that something has cut off; all others are answered, or refused with words.
_LOST = (Status.UNAVAILABLE, Status.CANCELLED, Status.DEADLINE_EXCEEDED)


class Listening(Protocol):
    """Who hears of what becomes of requests; each method is called by a task, and changes nothing at once."""

    def heard(self, to: int, reply: Reply) -> None:
        """An answer has come."""

    def broken(self, why: str) -> None:
        """No more answers will come, to one request at least: the connection is of no more use."""

    def wronged(self, violation: Violation) -> None:
        """Something came that cannot be."""


class GrpcLine:
    """See the module; requests that were put before the connection is there are asked once it is."""

    def __init__(self, host: Host, address: str, listening: Listening, *, streams: bool) -> None:
        self._host = host
        self._address = address
        self._listening = listening
        self._streams = streams
        self._waiting: list[tuple[int, Request]] = []
        self._batches: dict[int, PublishBatch] = {}
        self._loop: TrioLoop | None = None
        self._channel: Channel | None = None
        self._stream: CallStream | None = None

    async def run(self) -> None:
        """Have a connection until cancelled, or until it is lost."""
        current_host.set(self._host)
        why = ""
        try:
            async with TrioLoop() as self._loop:
                channel = await open_channel(self._loop, self._address)
                self._channel = channel
                waiting, self._waiting = self._waiting, []
                for to, request in waiting:
                    self._begin(to, request)
                await trio.sleep_forever()
        except ConnectionLost as error:
            why = str(error)
        finally:
            self._loop = self._channel = None
        self._listening.broken(why)

    @staticmethod
    def carries(request: Request) -> bool:
        """Whether there is a call for a request."""
        return form_of(request) is not None

    def put(self, to: int, request: Request) -> None:
        """Ask something."""
        if self._channel is None:
            self._waiting.append((to, request))
        else:
            self._begin(to, request)

    def _begin(self, to: int, request: Request) -> None:
        form = form_of(request)
        assert form is not None
        if self._streams and isinstance(request, PublishBatch):
            self._publish(to, request)
        else:
            self._start(partial(self._call, to, request, form))

    def _start(self, work: Callable[[], Awaitable[object]]) -> None:
        assert self._loop is not None
        self._loop.start(work)

    async def _call(self, to: int, request: Request, form: Form) -> None:
        assert self._channel is not None
        try:
            said = await self._channel.call(form.path, CODEC.encode(form.write(request)))
            reply = form.read(CODEC.decode(form.reply, said), request)
        except GRPCError as error:
            refusal = refusal_of(error)
            if refusal is None and error.status not in _LOST:
                self._listening.wronged(Violation(f"a call of {form.path} ended with {error}"))
            elif refusal is None:
                self._listening.broken(str(error))
            else:
                self._listening.heard(to, refusal)
        except ConnectionLost as error:
            self._listening.broken(str(error))
        except ValueError as error:
            self._listening.wronged(Violation(f"an answer to {type(request).__name__} cannot be read: {error}"))
        else:
            self._listening.heard(to, reply)

    # --- batches, all on one stream

    def _publish(self, to: int, request: PublishBatch) -> None:
        assert self._channel is not None
        stream = self._stream
        if stream is None:
            try:
                stream = self._stream = self._channel.stream(PUBLISH_STREAM)
            except (GRPCError, ConnectionLost) as error:
                self._listening.broken(str(error))
                return
            self._start(partial(self._read_answers, stream))
        self._batches[to] = request
        stream.put(CODEC.encode(batch_message(request, to)))
        stream.flush()

    async def _read_answers(self, stream: CallStream) -> None:
        why = "the stream of batches ended"
        try:
            while messages := await stream.receive():
                for message in messages:
                    self._hear(CODEC.decode(v1.PublishBatchReply, message))
        except GRPCError as error:
            why = str(error)
            if refusal_of(error) is None and error.status not in _LOST:
                self._listening.wronged(Violation(f"a stream of batches ended with {error}"))
        except ConnectionLost as error:
            why = str(error)
        except ValueError as error:
            self._listening.wronged(Violation(f"an answer to a batch cannot be read: {error}"))
        # The broker has ended the stream: whoever waits there does not know what was taken.
        self._listening.broken(why)

    def _hear(self, reply: v1.PublishBatchReply) -> None:
        request = self._batches.pop(reply.request_id, None)
        if request is None:
            self._listening.wronged(Violation(f"batch {reply.request_id} was answered twice, or never sent"))
        else:
            self._listening.heard(reply.request_id, read_batch(reply, request))
