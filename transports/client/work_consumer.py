"""Working through topics together with others: each message to one member of the group, under a lease, until settled.

To whoever uses it this is a consumer: messages one by one, several tasks may ask for them at once. Up to `prefetch`
messages and `prefetch_bytes` are here that are not settled, so the broker is ahead of the work and memory is bounded.
What is said of messages goes out with the next turn of the loop, or once there is enough of it; nothing is started,
locked or waited for on account of one message.

A message is handed out only in the first half of its lease; what waits longer than that is handed back. Leaving the
block hands back what was not begun, sends what was said and waits for its answers, for a while, and leaves the group.
Refusals that nobody looked at are raised by `flush`, and by leaving.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Self, TypedDict

from attrs import define

from goqueue.core.client.failure import Failure
from goqueue.core.client.grants import Grant
from goqueue.core.client.membership import Standing
from goqueue.core.client.settling import Saying, Slip, Verb
from goqueue.core.client.work_session import Tended, WorkSession, WorkTerms
from goqueue.core.cluster.queue_settings import SPAN_MS_MAX
from goqueue.core.errors import BatchError
from goqueue.core.groups.beginnings import start_problem
from goqueue.core.groups.plan import SESSION_MS_MAX, SESSION_MS_MIN
from goqueue.core.requests.groups import GroupMode, JoinGroup
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import Unsettled, error_of, unreadable
from goqueue.transports.client.group_consumer import NO_ANSWER, topics_of
from goqueue.transports.client.leased_message import LeasedMessage, Settler, reason_of
from goqueue.transports.client.loops import SECOND_NS, Parking
from goqueue.transports.client.policies import AckPolicy
from goqueue.transports.client.settings import SettingGiven, settings_given
from goqueue.transports.client.times import MILLISECOND, nanoseconds_of
from goqueue.transports.client.work_stream import WorkStream

MIB = 1 << 20
PREFETCH = 200
PREFETCH_MAX = 100_000
PREFETCH_BYTES = 32 * MIB
PREFETCH_BYTES_MAX = 1 << 40
# How much is handed out before others, the network among them, get their turn.
TURN_BYTES = 256 << 10
# How long leaving waits for what was said to be answered.
FAREWELL_NS = 5 * SECOND_NS
HASTY_NS = 2 * SECOND_NS
# Of slips with refusals so many are kept for the report; of the others only messages are counted.
FAILED_MAX = 256
# Nobody is told that these were refused: the lease was over, and that shows when the message is settled.
_UNTOLD = (Verb.EXTEND, Verb.RELEASE)


class WorkOptions(TypedDict, total=False):
    """What may be said of a work consumer that others make; `Connection.work_consumer` has the defaults."""

    prefetch: int
    prefetch_bytes: int
    visibility_timeout: timedelta | None
    key_ordered: bool | None
    max_in_flight: int | None
    max_attempts: int | None
    start: str
    instance_id: str
    client_id: str
    session_timeout: timedelta


@define
class ConsumerPlan:
    """What a consumer was asked to be, checked."""

    terms: WorkTerms
    policy: AckPolicy


def work_plan(
    group: str, topics: Iterable[object], prefetch: int, prefetch_bytes: int, ack: AckPolicy | str,
    visibility_timeout: timedelta | None, settings: dict[str, SettingGiven], instance_id: str, client_id: str,
    session_timeout: timedelta, timeout_ns: int,
) -> ConsumerPlan:  # fmt: skip
    """The plan of a consumer out of what a user said; raises ValueError or TypeError."""
    for name, word in (("group", group), ("instance_id", instance_id), ("client_id", client_id)):
        _check_text(name, word)
    _check_number("prefetch", prefetch, PREFETCH_MAX)
    _check_number("prefetch_bytes", prefetch_bytes, PREFETCH_BYTES_MAX)
    if problem := start_problem(settings["start"]):
        raise ValueError(f"start says where a group begins that is new: {problem}")
    visibility_ms = 0 if visibility_timeout is None else _milliseconds(visibility_timeout, "visibility_timeout", 1)
    if visibility_ms > SPAN_MS_MAX:
        raise ValueError(f"visibility_timeout is at most {SPAN_MS_MAX * MILLISECOND}, not {visibility_timeout}")
    session_ms = _milliseconds(session_timeout, "session_timeout", 1)
    if not SESSION_MS_MIN <= session_ms <= SESSION_MS_MAX:
        least, most = SESSION_MS_MIN * MILLISECOND, SESSION_MS_MAX * MILLISECOND
        raise ValueError(f"session_timeout is from {least} to {most}, not {session_timeout}")
    given = {key: value for key, value in settings.items() if value is not None}
    settings_given(given)
    join = JoinGroup(
        group,
        topics_of(topics),
        instance_id=instance_id,
        client_id=client_id,
        session_timeout_ms=session_ms,
        mode=GroupMode.SHARED,
        config={key: value for key, value in given.items() if isinstance(value, int | str)},
    )
    return ConsumerPlan(WorkTerms(join, prefetch, prefetch_bytes, timeout_ns, visibility_ms), AckPolicy(ack))


def _check_number(name: str, number: object, most: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} is a whole number, not {number!r}")
    if not 1 <= number <= most:
        raise ValueError(f"{name} is from 1 to {most}, not {number}")


def _check_text(name: str, word: object) -> None:
    if not isinstance(word, str):
        raise TypeError(f"{name} is text, not {word!r}")
    word.encode()


def _milliseconds(span: timedelta, name: str, least_ms: int) -> int:
    nanoseconds_of(span, name, least=least_ms * MILLISECOND)
    return span // MILLISECOND


class WorkConsumer:
    """A member of a shared group; made by `work_consumer()` of a connection, used as a block and in `async for`."""

    def __init__(self, brokers: Brokers, plan: ConsumerPlan) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._clock = brokers.clock
        self._plan = plan
        self._group = plan.terms.join.group
        # Whether nothing is done for a message but to hand it out.
        self.is_plain = plan.policy is AckPolicy.MANUAL
        self._stream: WorkStream | None = None
        self._session: WorkSession[LeasedMessage] = WorkSession(plan.terms, brokers.random, LeasedMessage)
        self.own(LeasedMessage, self)
        self._settling = self._session.settling
        self._joined: Parking = self._loop.parking()
        self._arrived: Parking = self._loop.parking()
        self._parkings: dict[Slip, Parking] = {}
        # What was made of the last part that came and is not handed out, and until when it may be.
        self._messages: Iterator[LeasedMessage] = iter(())
        self._fresh_until = 0
        self._handed_bytes = 0
        self._forgotten = 0
        # The last message that was handed out, where the consumer settles by itself.
        self._in_hand: LeasedMessage | None = None
        self._failed: list[Slip] = []
        self._failed_count = 0
        self._is_stopping = False

    def own(self, make: type[LeasedMessage], settler: Settler) -> None:
        """Messages are of this class, and are settled with that."""
        assert self._stream is None
        grants = self._session.grants
        grants.make, grants.owner = make, settler

    async def __aenter__(self) -> Self:
        assert self._stream is None, "a consumer is entered once"
        session, loop = self._session, self._loop
        self._stream = WorkStream(self._brokers, session, self._heard, self._next_turn)
        due = loop.now() + self._brokers.timeout_ns
        try:
            while session.standing is Standing.OUT and loop.now() < due:
                await loop.within(due, self._joined.wait)
        except BaseException:
            self._stream.stop()
            raise
        if session.standing is not Standing.MEMBER:
            failure = session.failure or session.trouble or NO_ANSWER
            session.abandon()
            self._stream.stop()
            raise error_of(failure, self._group)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        assert self._stream is not None
        is_failed = isinstance(error, Exception)
        self._settle_in_hand(error)
        self._hand_back()
        if error is not None and not is_failed:
            # Whoever is cancelled waits for a moment only; what takes longer goes on beside.
            self._session.leave()
            self._stream.end_by(self._clock() + FAREWELL_NS)
            await self._loop.sheltered(partial(self._wait_until_over, HASTY_NS))
            return
        self._session.leave(why=reason_of(error) if error is not None else "")
        self._stream.stir()
        try:
            await self._wait_until_over(FAREWELL_NS)
        finally:
            self._session.abandon()
            self._stream.stop()
            self._heard()
        if error is None:
            if self._session.failure is not None:
                raise error_of(self._session.failure, self._group)
            self._raise_unsettled()

    async def _wait_until_over(self, most_ns: int) -> None:
        assert self._stream is not None
        await self._loop.within(self._loop.now() + most_ns, self._stream.until_over)

    # --- messages

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LeasedMessage:
        if self.is_plain:
            if self._clock() < self._fresh_until:
                for message in self._messages:
                    return message
            return await self._refill()
        self._settle_in_hand(None)
        message = await self._refill()
        if self._plan.policy is AckPolicy.ACK_FIRST:
            message.ack()
        else:
            self._in_hand = message
        return message

    async def next(self, timeout: timedelta | None = None) -> LeasedMessage | None:  # noqa: ASYNC109 - of a wait
        """The next message; None if none comes within `timeout`, or when `stop` was called."""
        if timeout is None:
            try:
                return await self.__anext__()
            except StopAsyncIteration:
                return None
        found: list[LeasedMessage] = []

        async def receive() -> None:
            found.append(await self.__anext__())

        with suppress(StopAsyncIteration):
            await self._loop.within(self._loop.now() + nanoseconds_of(timeout, "timeout"), receive)
        return found[0] if found else None

    def stop(self) -> None:
        """Hand out nothing more: whoever waits for a message is told that there is none, and what waits goes back."""
        self.stop_soon()
        if self._stream is not None:
            self._hand_back()
            self._session.retire()
            self._stir()
        self._tell_others()

    def stop_soon(self) -> None:
        """The same from the next look at it on, for whoever may be in the middle of anything."""
        self._is_stopping = True
        self._fresh_until = 0

    async def _refill(self) -> LeasedMessage:
        """The next message, when it may have to be waited for; raises StopAsyncIteration when there never will be."""
        stream, session = self._stream, self._session
        assert stream is not None, "a consumer is used as a block"
        if self._handed_bytes >= TURN_BYTES:
            self._handed_bytes = 0
            await self._loop.pause(0)
        while True:
            if self._is_stopping or session.standing in (Standing.LEAVING, Standing.OVER):
                self._raise_failure()
                self._tell_others()
                raise StopAsyncIteration
            if self._clock() < self._fresh_until:
                for message in self._messages:
                    return message
            else:
                self._hand_back()
            if session.grants.is_waiting:
                if session.is_urgent:
                    stream.turn()
                self._next_chunk()
                continue
            stream.hungry += 1
            try:
                # One turn is enough for all who wait.
                if stream.hungry == 1:
                    stream.turn()
                if not session.grants.is_waiting:
                    await self._arrived.wait()
            finally:
                stream.hungry -= 1

    def _next_chunk(self) -> None:
        """Make the next messages of what came, if there are any in it."""
        session = self._session
        try:
            chunk = session.grants.next()
        except BatchError as error:
            damaged = session.grants.damaged
            session.damaged(f"the client cannot read it: {error}"[:1_000])
            raise unreadable(*damaged, error) from error
        if not chunk:
            return
        grants = dict.fromkeys(message.claim.grant for message in chunk)
        self._fresh_until = min(grant.half for grant in grants)
        self._handed_bytes += chunk[0].claim.grant.bytes_each * len(chunk)
        self._messages = iter(chunk)
        self._tell_others()

    def _tell_others(self) -> None:
        """Who else waits is to look again."""
        if self._stream is not None and self._stream.hungry:
            self._arrived.wake()

    def _hand_back(self) -> None:
        """What was made and not begun goes back."""
        rest = self._take_rest()
        if rest:
            self._session.hand_back(rest)
            self._stir()

    def _take_rest(self) -> list[tuple[Grant, int]]:
        """What was made and not begun is not to be handed out any more."""
        self._fresh_until = 0
        return [(message.claim.grant, message.offset) for message in self._messages]

    def _raise_failure(self) -> None:
        failure, self._session.failure = self._session.failure, None
        if failure is not None:
            raise error_of(failure, self._group)

    # --- what happens beside

    def _heard(self) -> None:
        """Something may have changed."""
        session = self._session
        if session.forgotten != self._forgotten:
            self._forgotten = session.forgotten
            session.discard(self._take_rest())
        done, session.settling.done = session.settling.done, []
        for slip in done:
            parking = self._parkings.pop(slip, None)
            if parking is not None:
                parking.wake()
            if slip.unseen and slip.saying.verb not in _UNTOLD:
                self._remember(slip)
        self._joined.wake()
        if session.grants.is_waiting or self._is_stopping or session.standing is not Standing.MEMBER:
            self._tell_others()

    def _remember(self, slip: Slip) -> None:
        if len(self._failed) < FAILED_MAX:
            self._failed.append(slip)
        else:
            self._failed_count += slip.unseen

    def _next_turn(self) -> int | None:
        """When what was made and not begun has waited for too long, which is done here as well."""
        if self._fresh_until and self._fresh_until <= self._clock():
            self._hand_back()
        return self._fresh_until or None

    def _stir(self) -> None:
        assert self._stream is not None
        self._stream.stir()

    # --- what is said

    def ack(self, message: LeasedMessage) -> Slip:
        """See LeasedMessage."""
        session = self._session
        if not session.settling.waiting:
            self._stir()
        return session.ack(message.claim.grant, message.offset)

    def say(self, saying: Saying, message: LeasedMessage) -> Slip:
        """See LeasedMessage."""
        self._stir()
        return self._session.settle(saying, message.claim.grant, message.offset)

    def tend(self, message: LeasedMessage) -> Tended:
        """See LeasedMessage."""
        tended = self._session.tend(self._clock(), message.claim.grant, message.offset)
        if self._session.is_first(tended):
            self._stir()
        return tended

    def untend(self, tended: Tended) -> None:
        """See LeasedMessage."""
        self._session.untend(tended)

    def _settle_in_hand(self, error: BaseException | None) -> None:
        message, self._in_hand = self._in_hand, None
        if message is None or message.is_settled:
            return
        if error is None or self._plan.policy is AckPolicy.ACK:
            message.ack()
        elif not isinstance(error, Exception):
            message.release()
        elif self._plan.policy is AckPolicy.REJECT_ON_ERROR:
            message.reject(reason_of(error))
        else:
            message.nack(reason=reason_of(error))

    async def until_done(self, slip: Slip) -> None:
        """Wait for the answer to a slip."""
        while not slip.is_done:
            parking = self._parkings.get(slip)
            if parking is None:
                parking = self._parkings[slip] = self._loop.parking()
            await parking.wait()

    async def flush(self) -> None:
        """Wait until all that was said is answered; raises Unsettled if refusals went unseen."""
        self._stir()
        for slip in self._settling.unanswered():
            await self.until_done(slip)
        self._raise_unsettled()

    def _raise_unsettled(self) -> None:
        count = self._failed_count + sum(slip.unseen for slip in self._failed)
        first: Failure | None = next((why for slip in self._failed if (why := slip.first_failure) is not None), None)
        self._failed.clear()
        self._failed_count = 0
        if first is not None and count:
            raise Unsettled(count, error_of(first, self._group))

    # --- how it stands

    @property
    def member_id(self) -> str:
        """The member's id, of the group's making; another one after the group had forgotten this member."""
        return self._session.member_id

    @property
    def held(self) -> int:
        """How many messages are here that are not settled, begun or not."""
        return self._session.credit.messages_held
