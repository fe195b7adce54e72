"""The streams by which a consumer's partitions come: opened where one is missing, and again when one broke.

Each wanted cursor is on one stream. Those that come to be wanted get a stream of their own, so that the others are not
disturbed; once there are too many streams, one takes the place of all. A cursor leaves its stream by having the stream
left, since nobody can say less to a broker; what had come by then is kept for the others, and they get another.

Whatever goes wrong in passing is tried again, after a growing pause, from where the cursors stand. So nothing is lost
and nothing comes twice: a cursor moves only by what its present stream brought.
"""

from collections.abc import Callable
from contextlib import suppress

from attrs import define
from grpclib.exceptions import GRPCError

from goqueue.core.client.failure import CONNECTION_LOST, PASSING, Failure
from goqueue.core.client.fetching import Cursor, Fetching
from goqueue.core.requests.refusals import Code
from goqueue.core.timers.backoff import Backoff
from goqueue.proto import v1
from goqueue.proto.wire import WireError
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import CallStream, Channel
from goqueue.transports.client.errors import CODEC, ClientError, bad_reply, error_of, failure_of, refusal_failure
from goqueue.transports.client.messages import Message

SUBSCRIBE = "/goqueue.v1.Messages/Subscribe"
# What each may hold unread is bounded by its window.
STREAMS_MAX = 3

# Told of a cursor that the broker refuses to go on with; it says whether that is seen to.
Refused = Callable[[Cursor, Failure], bool]


@define(eq=False)
class _Subscription:
    """One stream, and its cursors by position; None for one that ended."""

    channel: Channel
    stream: CallStream
    cursors: list[Cursor | None]


class Subscriptions:
    """See the module."""

    def __init__(
        self, brokers: Brokers, fetching: Fetching[Message], name: str, refused: Refused | None = None
    ) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._fetching = fetching
        self._name = name
        self._refused = refused
        self._open: list[_Subscription] = []
        self._stirred = self._loop.parking()
        self._backoff = Backoff(brokers.random)
        self._attempts = 0
        # No stream is opened before this time.
        self._pause_until = 0
        # How often a stream broke.
        self.breaks = 0
        # Whether all that is wanted is carried, as far as is known: to look costs something for each partition.
        self._is_complete = False

    def stir(self) -> None:
        """What is wanted has changed, or the reader is to look at something else."""
        self._is_complete = False
        self._stirred.wake()

    async def until_stirred(self) -> None:
        """Wait until something came that is not taken in yet, or somebody stirs."""
        await self._stirred.wait()

    async def receive(self, until: int | None = None) -> None:
        """Wait for something from the broker; or until somebody stirs, or that time has come."""
        if not self._is_complete and self._loop.now() >= self._pause_until:
            await self._open_missing()
        has_come = False
        for subscription in [*self._open]:
            has_come = self._take(subscription) or has_come
        if not has_come:
            await self._wait(until)

    async def _wait(self, until: int | None) -> None:
        if self._pause_until > self._loop.now():
            until = self._pause_until if until is None else min(until, self._pause_until)
        if until is None:
            await self._stirred.wait()
        else:
            await self._loop.within(until, self._stirred.wait)

    # --- opening and leaving

    async def _open_missing(self) -> None:
        if not self._missing():
            self._is_complete = True
            return
        try:
            channel = await self._brokers.channel()
            # Meanwhile others may have come, and some gone.
            if len(self._open) >= STREAMS_MAX:
                for each in [*self._open]:
                    self._empty(each)
                    self._part(each)
            missing = self._missing()
            self._is_complete = True
            if missing:
                await self._subscribe(channel, missing)
        except (GRPCError, lost.ConnectionLost) as error:
            self._break(failure_of(error))

    async def _subscribe(self, channel: Channel, cursors: list[Cursor]) -> None:
        stream = channel.stream(SUBSCRIBE, None, self._stirred, stays=not self._brokers.has_others)
        subscription = _Subscription(channel, stream, [*cursors])
        self._open.append(subscription)
        positions = [v1.Position(each.topic, each.partition, offset=each.fetched) for each in cursors]
        try:
            await subscription.stream.send(CODEC.encode(v1.SubscribeRequest(positions)))
            await subscription.stream.finish()
        except BaseException:
            self._part(subscription)
            raise

    def _missing(self) -> list[Cursor]:
        """What is wanted and on no stream."""
        carried = {cursor for each in self._open for cursor in each.cursors}
        return [cursor for cursor in self._fetching.wanted() if cursor not in carried]

    def leave(self, cursor: Cursor | None = None) -> None:
        """Leave the stream of this cursor, of which nothing more comes, or all; others that it carried get another."""
        for subscription in [*self._open]:
            if cursor is None:
                self._part(subscription)
            elif cursor in subscription.cursors:
                subscription.cursors[subscription.cursors.index(cursor)] = None
                self._empty(subscription)
                self._part(subscription)
        self.stir()

    def _empty(self, subscription: _Subscription) -> None:
        """Take in what has come: it is the others' as well. What is wrong with the stream, the next one says again."""
        with suppress(ClientError):
            self._take(subscription)

    def _part(self, subscription: _Subscription) -> None:
        self._is_complete = False
        if subscription in self._open:
            self._open.remove(subscription)
            subscription.stream.leave()

    # --- what comes

    def _take(self, subscription: _Subscription) -> bool:
        """Take in what a stream has at hand; whether there was anything."""
        try:
            bodies = subscription.stream.take()
        except (GRPCError, lost.ConnectionLost) as error:
            self._break(failure_of(error), subscription)
            return True
        if bodies is None:
            return False
        if not bodies:
            self._break(Failure(str(Code.UNAVAILABLE), "the broker ended the subscription"), subscription)
        for body in bodies:
            reply = self._read(subscription, body)
            cursor = subscription.cursors[reply.position]
            if reply.leaving:
                self._brokers.turn_from(subscription.channel)
                self._break(Failure(str(Code.SHUTTING_DOWN), "the broker is about to stop"), subscription)
                break
            if cursor is None:
                continue
            if reply.batches:
                self._attempts = 0
                self._fetching.received(cursor, reply.batches, reply.next_offset)
                if self._fetching.is_full(cursor):
                    self._part(subscription)
            elif reply.refusal.code:
                self._end(subscription, reply.position, cursor, refusal_failure(reply.refusal))
        return True

    def _read(self, subscription: _Subscription, body: bytes) -> v1.SubscribeReply:
        try:
            reply: v1.SubscribeReply = CODEC.decode(v1.SubscribeReply, body)
        except WireError as error:
            self.leave()
            raise bad_reply("SubscribeReply", error, self._name) from error
        if reply.position >= len(subscription.cursors):
            self.leave()
            why = f"it is for position {reply.position} of {len(subscription.cursors)}"
            raise bad_reply("SubscribeReply", why, self._name)
        return reply

    # --- what goes wrong

    def _end(self, subscription: _Subscription, position: int, cursor: Cursor, failure: Failure) -> None:
        """The broker goes on with the others only."""
        if self._refused is not None and self._refused(cursor, failure):
            subscription.cursors[position] = None
            self._is_complete = False
        else:
            self._break(failure, subscription)

    def _break(self, failure: Failure, subscription: _Subscription | None = None) -> None:
        """A stream is over, or could not be opened: pause before the next, if that can help; else raise."""
        if subscription is not None:
            self._part(subscription)
        self._is_complete = False
        self.breaks += 1
        if failure.code not in PASSING:
            raise error_of(failure, self._name)
        if subscription is not None and failure.code != CONNECTION_LOST:
            self._brokers.troubled(subscription.channel)
        self._attempts += 1
        delay_ns = self._backoff.delay_ns(self._attempts)
        if failure.code != CONNECTION_LOST:
            delay_ns = max(delay_ns, failure.retry_after_ms * 1_000_000)
        self._pause_until = self._loop.now() + delay_ns
