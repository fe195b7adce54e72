"""A member of a shared group without a loop: what `work_consumer.py` offers, with no `await`.

While its block lasts a thread, the pulse, gives turns to what goes on beside whenever no call does: what was said of
messages goes out, leases are prolonged, what waited too long is handed back. Messages are handed out by calls alone.
To say something of a message is no call that waits; its settlement's `result` is.
"""

from datetime import timedelta
from time import monotonic_ns
from typing import Self

from goqueue.core.client.settling import Saying, Slip
from goqueue.core.client.work_session import Tended
from goqueue.transports.client.blocking_group_consumer import Pulse
from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.leased_message import LeasedMessage, Settlement
from goqueue.transports.client.times import nanoseconds_of
from goqueue.transports.client.work_consumer import WorkConsumer


class BlockingSettlement:
    """What became of what was said: ask for its `result`, now or later or never."""

    __slots__ = ("_loop", "_settlement")

    def __init__(self, loop: BlockingLoop, settlement: Settlement) -> None:
        self._loop = loop
        self._settlement = settlement

    @property
    def done(self) -> bool:
        """Whether it is known."""
        return self._settlement.done

    def result(self, timeout: timedelta | None = None) -> None:
        """Nothing, as soon as the broker has taken it; raises TimeoutError, or ClientError if it was refused."""
        settlement = self._settlement
        if settlement.done:
            settlement.result()
        elif timeout is None:
            self._loop.run(settlement.wait())
        else:
            due = self._loop.now() + nanoseconds_of(timeout, "timeout")
            if not self._loop.run(self._loop.within(due, settlement.wait)) and not settlement.done:
                raise TimeoutError(f"no answer within {timeout}; what was said is still on its way")
            settlement.result()


class BlockingLeasedMessage(LeasedMessage):
    """See LeasedMessage."""

    __slots__ = ()

    def ack(self) -> BlockingSettlement:  # type: ignore[override]
        """See LeasedMessage."""
        return self._told(super().ack())

    def nack(self, delay: timedelta | None = None, reason: str = "") -> BlockingSettlement:  # type: ignore[override]
        """See LeasedMessage."""
        return self._told(super().nack(delay, reason))

    def reject(self, reason: str = "") -> BlockingSettlement:  # type: ignore[override]
        """See LeasedMessage."""
        return self._told(super().reject(reason))

    def release(self) -> BlockingSettlement:  # type: ignore[override]
        """See LeasedMessage."""
        return self._told(super().release())

    def extend(self, span: timedelta | float) -> BlockingSettlement:  # type: ignore[override]
        """See LeasedMessage."""
        return self._told(super().extend(span))

    def _told(self, settlement: Settlement) -> BlockingSettlement:
        settler: BlockingSettler = self.claim.owner
        return BlockingSettlement(settler.loop, settlement)


class BlockingSettler:
    """Takes what is said of messages while nothing goes on beside."""

    def __init__(self, loop: BlockingLoop, consumer: WorkConsumer) -> None:
        self.loop = loop
        self._consumer = consumer

    def ack(self, message: LeasedMessage) -> Slip:
        """See Settler."""
        loop = self.loop
        loop.hold()
        try:
            return self._consumer.ack(message)
        finally:
            loop.let_go()

    def say(self, saying: Saying, message: LeasedMessage) -> Slip:
        """See Settler."""
        self.loop.hold()
        try:
            return self._consumer.say(saying, message)
        finally:
            self.loop.let_go()

    def tend(self, message: LeasedMessage) -> Tended:
        """See Settler."""
        self.loop.hold()
        try:
            return self._consumer.tend(message)
        finally:
            self.loop.let_go()

    def untend(self, tended: Tended) -> None:
        """See Settler."""
        self.loop.hold()
        try:
            self._consumer.untend(tended)
        finally:
            self.loop.let_go()

    async def until_done(self, slip: Slip) -> None:
        """See Settler."""
        await self._consumer.until_done(slip)


class BlockingWorkConsumer:
    """See WorkConsumer; it is used in `for`."""

    def __init__(self, loop: BlockingLoop, consumer: WorkConsumer) -> None:
        self._loop = loop
        self._consumer = consumer
        consumer.own(BlockingLeasedMessage, BlockingSettler(loop, consumer))
        self._pulse: Pulse | None = None

    def __enter__(self) -> Self:
        """Become a member."""
        self._loop.run(self._consumer.__aenter__())
        self._pulse = Pulse(self._loop)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Hand back what was not begun, wait for what was said to be answered, and leave the group."""
        assert self._pulse is not None
        self._pulse.stop()
        self._loop.run(self._consumer.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> BlockingLeasedMessage:
        message = self._at_hand()
        if message is None:
            try:
                message = self._loop.run(self._consumer.__anext__())
            except StopAsyncIteration:
                raise StopIteration from None
        assert isinstance(message, BlockingLeasedMessage)
        return message

    def next(self, timeout: timedelta | None = None) -> BlockingLeasedMessage | None:
        """The next message; None if none comes within `timeout`, or when `stop` was called."""
        message = self._at_hand()
        if message is None:
            message = self._loop.run(self._consumer.next(timeout))
        assert message is None or isinstance(message, BlockingLeasedMessage)
        return message

    def _at_hand(self) -> LeasedMessage | None:
        """What needs no loop, but that no beat takes it away meanwhile."""
        consumer, running = self._consumer, self._loop.running
        if not consumer.is_plain or not running.acquire(blocking=False):
            return None
        try:
            if monotonic_ns() < consumer._fresh_until:
                for message in consumer._messages:
                    return message
        finally:
            running.release()
        return None

    def stop(self) -> None:
        """Hand out nothing more, from the next time on that a message is asked for."""
        self._consumer.stop_soon()

    def flush(self) -> None:
        """See WorkConsumer."""
        self._loop.run(self._consumer.flush())

    @property
    def member_id(self) -> str:
        """See WorkConsumer."""
        return self._consumer.member_id

    @property
    def held(self) -> int:
        """See WorkConsumer."""
        return self._consumer.held
