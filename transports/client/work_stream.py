"""Carries what a member of a shared group says to a broker, and brings what it is given: one stream at a time.

What is decided is decided in `core.client.work_session`. A turn takes in all that has come and sends all that is to be
said, at once and without waiting; whoever needs one takes it, and beside them all a task does, whenever something came,
time has come, or something is to be said that nobody sends. When a stream breaks, the task opens the next one.

Invariant: the stream that is here is the one that the session knows to be open.
"""

from collections.abc import Callable

from grpclib.exceptions import GRPCError

from goqueue.core.client.failure import Failure
from goqueue.core.client.membership import Standing
from goqueue.core.client.work_session import WorkSession
from goqueue.core.requests.refusals import Code
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import CallStream, Channel
from goqueue.transports.client.errors import failure_of
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.loops import Task
from goqueue.transports.client.work_envelopes import Leased, StreamBroken, consume_body, read_consume_reply

CONSUME = "/goqueue.v1.Groups/Consume"
ENDED = Failure(str(Code.UNAVAILABLE), "the broker ended the stream")


class WorkStream:
    """See the module; `heard` is told whenever something may have changed, and says when it wants a turn by itself."""

    def __init__(
        self, brokers: Brokers, session: WorkSession[LeasedMessage], heard: Callable[[], None],
        next_turn: Callable[[], int | None],
    ) -> None:  # fmt: skip
        self._brokers = brokers
        self._loop = brokers.loop
        self._clock = brokers.clock
        self._session = session
        self._heard = heard
        self._next_turn = next_turn
        self._stirred = self._loop.parking()
        self._channel: Channel | None = None
        self._stream: CallStream | None = None
        # How many tasks of the application wait for messages.
        self.hungry = 0
        # When nothing is waited for any more; 0 while there is no such time.
        self._end_at = 0
        self._task: Task = self._loop.start(self._run)

    def stir(self) -> None:
        """There is something to be said, or another time to wait for."""
        self._stirred.wake()

    async def until_over(self) -> None:
        """Wait until the member has left."""
        await self._task.wait()

    def stop(self) -> None:
        """Carry nothing more."""
        self._task.cancel()
        self._drop()

    def end_by(self, deadline: int) -> None:
        """Say at once what is to be said, and wait for answers beside, until a time by our clock at the latest."""
        self._end_at = deadline
        self.turn()
        self.stir()

    # --- turns

    def turn(self) -> None:
        """Take in what has come, and send what is to be said."""
        stream, session = self._stream, self._session
        now = self._clock()
        if stream is None:
            # Leases and retries fall due without a connection too. A deadline that nobody handles is due for ever.
            session.wake(now)
            return
        try:
            while (bodies := stream.take()) is not None:
                if not bodies:
                    session.lost(now, ENDED)
                    break
                for body in bodies:
                    self._take_in(now, body)
            if not stream.crowded:
                requests = session.take(now, is_idle=self.hungry > 0)
                for number, request in requests:
                    stream.put(consume_body(number, request))
                if requests:
                    stream.flush()
        except (GRPCError, lost.ConnectionLost) as error:
            session.lost(now, failure_of(error))
        except StreamBroken as broken:
            if self._channel is not None:
                self._brokers.turn_from(self._channel)
            session.lost(now, broken.failure)
        if session.opens_at() is not None or session.standing is Standing.OVER:
            self._drop()

    def _take_in(self, now: int, body: bytes) -> None:
        reply = read_consume_reply(body)
        if reply is None:
            return
        number, answer = reply
        if isinstance(answer, Leased):
            self._session.leased(now, answer.part, answer.now_ms)
        else:
            self._session.answered(now, number, answer)

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.leave()
            self._stirred.wake()

    # --- beside

    async def _run(self) -> None:
        try:
            await self._carry()
        finally:
            # Whoever is cut off hands back what it holds by closing its side.
            stream = self._stream
            if stream is not None:
                stream.close_side()
                stream.flush()

    async def _carry(self) -> None:
        session, loop = self._session, self._loop
        while True:
            if self._end_at and self._end_at <= self._clock():
                session.abandon()
            opens_at = session.opens_at()
            if opens_at is not None and opens_at <= self._clock():
                await self._open()
            self.turn()
            self._heard()
            if session.standing is Standing.OVER:
                return
            deadlines = (session.opens_at(), session.deadline(), self._next_turn(), self._end_at or None)
            times = [time for time in deadlines if time is not None]
            if times:
                await loop.within(loop.now() + max(min(times) - self._clock(), 0), self._stirred.wait)
            else:
                await self._stirred.wait()

    async def _open(self) -> None:
        session = self._session
        try:
            channel = await self._brokers.channel()
            stays = not self._brokers.has_others
            stream = channel.stream(CONSUME, None, self._stirred, self._stirred, stays=stays)
        except (GRPCError, lost.ConnectionLost) as error:
            session.lost(self._clock(), failure_of(error))
            return
        if session.opens_at() is None:
            stream.leave()
            return
        session.opened()
        self._channel, self._stream = channel, stream
