"""What the clients of a storm share: where the brokers are, who writes the history, and when to end.

Producers and administrators go on until `stopping`, readers until `ending`. A client that the library fails where it
should have gone on by itself notes that as `trouble`, which is no verdict, and begins again.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import trio
from attrs import define, field

import goqueue
from goqueue.core.client.failure import outcome_of
from goqueue.core.requests.refusals import Code, Outcome
from goqueue.fuzz.histories.operation import Operation
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.errors import ClientError, ConnectionLost

LOG, JOBS = "log", "jobs"
READERS, WORKERS, KEYED, LEDGER = "readers", "workers", "keyed", "ledger"
_AGAIN_S, _CONNECTED_S = 0.3, 20.0
_TROUBLE_MAX = 200


@define(eq=False)
class Crew:
    """See the module."""

    addresses: str
    recorder: Recorder
    seed: int
    # Messages a second that each producer sends.
    rate: float
    stopping: trio.Event = field(factory=trio.Event)
    ending: trio.Event = field(factory=trio.Event)
    trouble: list[str] = field(factory=list)
    # What was acknowledged, by topic, and what each reader or group was given of it.
    acknowledged: dict[str, set[str]] = field(factory=dict)
    seen: dict[str, set[str]] = field(factory=dict)
    # Set, and another one, whenever a reader was given something for the first time.
    news: trio.Event = field(factory=trio.Event)

    def random(self, process: str) -> Random:
        """The generator of one client."""
        return Random(f"{self.seed}/{process}")

    @asynccontextmanager
    async def connection(self, process: str) -> AsyncIterator[Connection]:
        """A connection of a client's own; where nobody answers at first it is tried again for a while."""
        async with AsyncExitStack() as stack:
            until = trio.current_time() + _CONNECTED_S
            while True:
                connecting = goqueue.connect(self.addresses, random=self.random(f"{process}/connection"))
                try:
                    gq = await stack.enter_async_context(connecting)
                    break
                except ConnectionLost:
                    # No broker answers.
                    if trio.current_time() > until:
                        raise
                await trio.sleep(_AGAIN_S)
            yield gq

    def conclude(self, operation: Operation, error: ClientError) -> None:
        """An operation did not end well: what was done of it says the error."""
        if error.outcome is Outcome.NONE:
            self.recorder.fail(operation, error.code)
        else:
            self.recorder.unknown(operation, error.code)

    def saw(self, reader: str, values: list[str]) -> None:
        """A reader was given these."""
        seen = self.seen.setdefault(reader, set())
        if not seen.issuperset(values):
            seen.update(values)
            self.news.set()
            self.news = trio.Event()

    def missing(self, topic: str, reader: str) -> int:
        """How much of what was acknowledged in a topic a reader was not given yet."""
        return len(self.acknowledged.get(topic, set()) - self.seen.get(reader, set()))

    async def persist(self, process: str, until: trio.Event, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that ends by itself after an event; again and again where the library gives up before."""
        while not until.is_set():
            try:
                await work()
            except* ClientError as errors:
                for error in _leaves(errors):
                    if len(self.trouble) < _TROUBLE_MAX:
                        self.trouble.append(f"{process}: {error!r}")
                with trio.move_on_after(_AGAIN_S):
                    await until.wait()

    async def rest(self, until: trio.Event, seconds: float) -> None:
        """Wait, unless it is time to end."""
        with trio.move_on_after(seconds):
            await until.wait()


def _leaves(errors: BaseExceptionGroup[ClientError]) -> list[ClientError]:
    found: list[ClientError] = []
    for error in errors.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def wall_ms() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def value_of(content: bytes | None) -> str:
    """The name of a message, with which its content begins."""
    return bytes(content or b"").partition(b"|")[0].decode(errors="replace")


def key_of(content: bytes | None) -> str | None:
    """A key as text."""
    return None if content is None else bytes(content).decode(errors="replace")


def code_of(error: ClientError) -> str:
    """Why something was refused, as a code that says as well whether it may have been done."""
    is_doubtful = error.outcome is Outcome.UNKNOWN and outcome_of(error.code) is not Outcome.UNKNOWN
    return str(Code.OUTCOME_UNKNOWN) if is_doubtful else error.code
