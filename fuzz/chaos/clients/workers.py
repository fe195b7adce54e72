"""Workers of shared groups: they acknowledge most of what they are given, and do with the rest what workers do.

They have it tried again, reject it, extend its lease, hand it back, work too long, or say nothing at all. Once nothing
more is sent they acknowledge everything.
"""

from datetime import timedelta
from random import Random

import trio
from attrs import define, field

from goqueue.fuzz.chaos.clients.crew import JOBS, KEYED, Crew, code_of, key_of, value_of, wall_ms
from goqueue.fuzz.histories.operation import Verb
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.leased_message import LeasedMessage, Settlement
from goqueue.transports.client.work_consumer import WorkConsumer

LEASE_MS = 4_000
ATTEMPTS_MAX = 5
# By how much clocks of this machine may seem to differ: what rounding to milliseconds and a busy machine make of one.
CLOCK_ERROR_MS = 50
_SESSION = timedelta(seconds=60)
_NEXT = timedelta(seconds=1)
_PREFETCH = 8
_STAYS_S = (10.0, 60.0)
_AT_ONCE_MAX = 6


@define(eq=False)
class Worker:
    """A member of a shared group."""

    crew: Crew
    process: str
    group: str
    _random: Random = field(init=False)
    _hands: trio.Semaphore = field(factory=lambda: trio.Semaphore(_AT_ONCE_MAX), init=False)

    def __attrs_post_init__(self) -> None:
        self._random = self.crew.random(self.process)

    async def run(self) -> None:
        """Until told to end."""
        await self.crew.persist(self.process, self.crew.ending, self._stay)

    async def _stay(self) -> None:
        """Work until the end, or for a while."""
        crew = self.crew
        self._hands = trio.Semaphore(_AT_ONCE_MAX)
        leaves_at = trio.current_time() + self._random.uniform(*_STAYS_S)
        async with crew.connection(self.process) as gq:
            consumer = gq.work_consumer(
                self.group, JOBS, prefetch=_PREFETCH, visibility_timeout=timedelta(milliseconds=LEASE_MS),
                key_ordered=self.group == KEYED, max_attempts=ATTEMPTS_MAX, session_timeout=_SESSION,
            )  # fmt: skip
            async with consumer:
                try:
                    async with trio.open_nursery() as nursery:
                        while not crew.ending.is_set() and (crew.stopping.is_set() or trio.current_time() < leaves_at):
                            await self._next(consumer, nursery)
                finally:
                    # What is open goes back when the block is left.
                    crew.recorder.note(self.process, Verb.LEAVE, group=self.group)

    async def _next(self, consumer: WorkConsumer, nursery: trio.Nursery) -> None:
        """Take one message, if there is one, and work on it beside the others."""
        await self._hands.acquire()
        message = await consumer.next(_NEXT)
        if message is None:
            self._hands.release()
        else:
            self._receive(message)
            nursery.start_soon(self._work, message)

    def _receive(self, message: LeasedMessage) -> None:
        recorder, grant = self.crew.recorder, message.claim.grant
        value, left_ms = value_of(message.value), grant.until_ms - wall_ms() - CLOCK_ERROR_MS
        given = {
            "topic": message.topic, "partition": message.partition, "offset": message.offset, "value": value,
            "key": key_of(message.key), "attempt": message.attempt, "lease": grant.stem,
            "age_ms": max(LEASE_MS - left_ms, 0), "left_ms": left_ms,
        }  # fmt: skip
        recorder.ok(recorder.begin(self.process, Verb.RECEIVE, group=self.group), messages=[given])
        self.crew.saw(self.group, [value])

    # --- what becomes of a message

    async def _work(self, message: LeasedMessage) -> None:
        try:
            drawn = self._random.random()
            if self.crew.stopping.is_set() or drawn < 0.75:
                await trio.sleep(0.0 if self.crew.stopping.is_set() else self._random.uniform(0.0, 0.05))
                await self._say(Verb.ACK, message)
            elif drawn < 0.83:
                delay_ms = self._random.choice((None, 300, 1_500))
                await self._say(Verb.NACK, message, delay_ms=delay_ms)
            elif drawn < 0.86:
                await self._say(Verb.REJECT, message)
            elif drawn < 0.91:
                await self._say(Verb.RELEASE, message)
            elif drawn < 0.95:
                await trio.sleep(LEASE_MS / 2_000)
                await self._say(Verb.EXTEND, message, span_ms=LEASE_MS)
                await trio.sleep(LEASE_MS / 2_000)
                await self._say(Verb.ACK, message)
            elif drawn < 0.98:
                # Too long: somebody else has it by now.
                await trio.sleep(LEASE_MS / 1_000 + self._random.uniform(-0.1, 2.0))
                await self._say(Verb.ACK, message)
        finally:
            self._hands.release()

    async def _say(self, verb: Verb, message: LeasedMessage, **asked: int | None) -> None:
        crew, row = self.crew, (message.topic, message.partition, message.offset, message.claim.grant.stem)
        operation = crew.recorder.begin(self.process, verb, group=self.group, messages=[row], **asked)
        try:
            await _said(verb, message, asked)
        except ClientError as error:
            crew.recorder.ok(operation, refused=[(*row, code_of(error))])
        else:
            crew.recorder.ok(operation, refused=[])


def _said(verb: Verb, message: LeasedMessage, asked: dict[str, int | None]) -> Settlement:
    if verb is Verb.NACK:
        delay_ms = asked["delay_ms"]
        return message.nack(None if delay_ms is None else timedelta(milliseconds=delay_ms))
    if verb is Verb.EXTEND:
        return message.extend(timedelta(milliseconds=asked["span_ms"] or 0))
    return {Verb.ACK: message.ack, Verb.REJECT: message.reject, Verb.RELEASE: message.release}[verb]()
