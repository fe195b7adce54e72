"""A message under a lease, and what its receiver says of it.

To say something takes it at once: it goes to the broker with the next turn, together with what else was said. What
comes back is a `Settlement`, which tells whether the broker has taken it, durably, for whoever waits for it.
"""

from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Protocol, Self

from goqueue.core.client.grants import Claim
from goqueue.core.client.settling import RELEASE, Saying, Slip, Verb
from goqueue.core.client.work_session import Tended
from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.queues.expiry import expiry
from goqueue.transports.client.errors import error_of
from goqueue.transports.client.messages import Message
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.times import MILLISECOND, moment_of

REASON_MAX = 1_000


class Settler(Protocol):
    """Who takes what is said of messages: a consumer."""

    def ack(self, message: "LeasedMessage") -> Slip:
        """It is done."""
        ...

    def say(self, saying: Saying, message: "LeasedMessage") -> Slip:
        """Something else."""
        ...

    def tend(self, message: "LeasedMessage") -> Tended:
        """Somebody is at work on it: its lease is to last."""
        ...

    def untend(self, tended: Tended) -> None:
        """Nobody is any more."""
        ...

    async def until_done(self, slip: Slip) -> None:
        """Wait for the answer to a slip."""
        ...


class Settlement:
    """What became of what was said: await it to know that the broker has taken it; else ClientError is raised.

    `ReceiptExpired` says that the lease was over by then, and somebody else has the message or will have it.
    """

    __slots__ = ("_message", "_slip")

    def __init__(self, message: "LeasedMessage", slip: Slip) -> None:
        self._message = message
        self._slip = slip

    @property
    def done(self) -> bool:
        """Whether it is known."""
        return self._slip.is_done

    def result(self) -> None:
        """Nothing, once it is done; raises ClientError if it was refused."""
        message, slip = self._message, self._slip
        if not slip.is_done:
            raise RuntimeError("it is on its way; await it first")
        failure = slip.look(message.claim.grant.stem, message.offset)
        if failure is not None:
            raise error_of(failure, message.topic)

    async def wait(self) -> None:
        """`result`, as soon as there is one."""
        if not self._slip.is_done:
            settler: Settler = self._message.claim.owner
            await settler.until_done(self._slip)
        self.result()

    def __await__(self) -> Generator[object, None, None]:
        return self.wait().__await__()


class LeasedMessage(Message):
    """One message that is this consumer's until it is settled or its lease is over."""

    __slots__ = ("_slip", "claim")

    def __init__(
        self,
        claim: Claim,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[tuple[str, bytes | None], ...],
    ) -> None:
        self.claim = self._origin = claim
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self._headers = headers
        # What was said of it, once something was.
        self._slip: Slip | None = None

    @property
    def attempt(self) -> int:
        """How often it was tried, this time included."""
        return self.claim.grant.attempt

    @property
    def leased_until(self) -> datetime:
        """When its lease ends by the broker's clock, as it was given."""
        return moment_of(self.claim.grant.until_ms)

    @property
    def expires(self) -> datetime | None:
        """When it expires for work queues, if it ever does on its own account."""
        until_ms = expiry(self._headers)
        return None if until_ms is None else moment_of(until_ms)

    @property
    def is_settled(self) -> bool:
        """Whether it was said what became of it; the broker may not have heard yet."""
        return self._slip is not None

    # --- what is said

    def ack(self) -> Settlement:
        """It is done, and never to be delivered to this group again."""
        slip = self._slip
        if slip is None:
            slip = self._slip = self.claim.owner.ack(self)
        elif slip.saying.verb is not Verb.ACK:
            slip = self._again(Saying(Verb.ACK))
        return Settlement(self, slip)

    def nack(self, delay: timedelta | None = None, reason: str = "") -> Settlement:
        """It failed, and is to be tried again: after `delay`, or after the pause that its attempts ask for."""
        delay_ms = None if delay is None else _within(delay, "delay", 0, DELAY_MS_MAX)
        return Settlement(self, self._settle(Saying(Verb.NACK, delay_ms=delay_ms, reason=_reason(reason))))

    def reject(self, reason: str = "") -> Settlement:
        """It is never to be tried again: it becomes a dead letter."""
        return Settlement(self, self._settle(Saying(Verb.REJECT, reason=_reason(reason))))

    def release(self) -> Settlement:
        """It was not begun: somebody else may have it at once, and the attempt does not count."""
        return Settlement(self, self._settle(RELEASE))

    def extend(self, span: timedelta | float) -> Settlement:
        """Its lease is to last for so long from now on, or so many seconds."""
        if not isinstance(span, timedelta):
            span = timedelta(seconds=span)
        saying = Saying(Verb.EXTEND, timeout_ms=_within(span, "span", 1, SPAN_MS_MAX))
        settler: Settler = self.claim.owner
        return Settlement(self, settler.say(saying, self))

    def processing(self, policy: AckPolicy | str = AckPolicy.NACK_ON_ERROR) -> "Processing":
        """A block for the work on it: its lease is prolonged meanwhile, and it is settled at the end.

        By default it is acknowledged, or given back if the block raises; one that is cancelled is released.
        """
        return Processing(self, AckPolicy(policy))

    def _settle(self, saying: Saying) -> Slip:
        if self._slip is not None:
            return self._again(saying)
        settler: Settler = self.claim.owner
        slip = self._slip = settler.say(saying, self)
        return slip

    def _again(self, saying: Saying) -> Slip:
        """Something was said before: if that was refused this is said as well, and else the broker has the word."""
        settler: Settler = self.claim.owner
        slip = settler.say(saying, self)
        before = self._slip
        if before is not None and before.is_done and before.find(self.claim.grant.stem, self.offset) is not None:
            self._slip = slip
        return slip


class Processing:
    """The work on a message, as a block; with `async with` on a loop and with `with` where there is none."""

    __slots__ = ("_message", "_policy", "_tended")

    def __init__(self, message: LeasedMessage, policy: AckPolicy) -> None:
        self._message = message
        self._policy = policy
        self._tended: Tended | None = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end(error)

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end(error)

    @property
    def lost(self) -> bool:
        """Whether the broker refused to prolong the lease: the message is somebody else's."""
        return self._tended is not None and self._tended.failure is not None

    def begin(self) -> None:
        """The work begins."""
        assert self._tended is None, "a message is worked on once"
        settler: Settler = self._message.claim.owner
        self._tended = settler.tend(self._message)
        if self._policy is AckPolicy.ACK_FIRST:
            self._message.ack()

    def end(self, error: BaseException | None) -> None:
        """The work is over, one way or the other; what was settled in the block stays so."""
        message = self._message
        settler: Settler = message.claim.owner
        assert self._tended is not None
        settler.untend(self._tended)
        if message.is_settled or self._policy is AckPolicy.MANUAL:
            return
        if error is not None and not isinstance(error, Exception):
            message.release()
        elif error is None or self._policy is AckPolicy.ACK:
            message.ack()
        elif self._policy is AckPolicy.REJECT_ON_ERROR:
            message.reject(reason_of(error))
        else:
            message.nack(reason=reason_of(error))


def reason_of(error: BaseException) -> str:
    """An error in a few words, whatever is in them."""
    try:
        words = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - even that can fail, and is none of ours
        words = type(error).__name__
    return words[:REASON_MAX].encode(errors="replace").decode()


def _reason(reason: str) -> str:
    if not isinstance(reason, str):
        raise TypeError(f"a reason is text, not {type(reason).__name__}")
    if len(reason) > REASON_MAX:
        raise ValueError(f"a reason has up to {REASON_MAX} characters, not {len(reason)}")
    reason.encode()
    return reason


def _within(span: timedelta, name: str, least: int, most: int) -> int:
    """A span in milliseconds; refuses one that is out of bounds."""
    if not isinstance(span, timedelta):
        raise TypeError(f"{name} is a timedelta, not {type(span).__name__}")
    milliseconds = span // MILLISECOND
    if not least <= milliseconds <= most:
        raise ValueError(f"{name} is from {least * MILLISECOND} to {most * MILLISECOND}, not {span}")
    return milliseconds
