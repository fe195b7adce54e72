"""Those who look after things: one makes, alters, describes and deletes topics, others write and read offsets.

Each asks for one thing at a time, and several of them ask about the same at one time.
"""

from collections.abc import Awaitable, Callable
from random import Random

from attrs import define, field

from goqueue.fuzz.chaos.clients.crew import LEDGER, LOG, READERS, Crew, code_of
from goqueue.fuzz.histories.operation import NO_OFFSET, Operation, Verb
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.errors import ClientError, CommitFailed

_TOPICS = 2
_FSYNCS = ("every", "interval", "none")
_PAUSE_S = (0.1, 0.8)


@define(eq=False)
class Officer:
    """Somebody who asks for one thing after another."""

    crew: Crew
    process: str
    _random: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = self.crew.random(self.process)

    async def run(self) -> None:
        """Until told to stop."""
        await self.crew.persist(self.process, self.crew.stopping, self._serve)

    async def _serve(self) -> None:
        async with self.crew.connection(self.process) as gq:
            while not self.crew.stopping.is_set():
                await self._act(gq)
                await self.crew.rest(self.crew.stopping, self._random.uniform(*_PAUSE_S))

    async def _act(self, gq: Connection) -> None:
        raise AssertionError("each kind of officer has its own acts")

    async def _try(self, operation: Operation, work: Callable[[], Awaitable[dict[str, object]]]) -> None:
        """Note what comes of something."""
        try:
            told = await work()
        except ClientError as error:
            self.crew.conclude(operation, error)
        else:
            self.crew.recorder.ok(operation, **told)


class Administrator(Officer):
    """Changes topics that nobody uses, and looks at them."""

    async def _act(self, gq: Connection) -> None:
        random, recorder = self._random, self.crew.recorder
        topic, drawn = f"meta-{random.randrange(_TOPICS)}", random.random()
        config = {"fsync": random.choice(_FSYNCS)}

        async def create() -> dict[str, object]:
            await gq.topics.create(topic, partitions=1, config=config)
            return {}

        async def alter() -> dict[str, object]:
            await gq.topics.alter(topic, config)
            return {}

        async def delete() -> dict[str, object]:
            await gq.topics.delete(topic)
            return {}

        async def describe() -> dict[str, object]:
            found = await gq.topics.describe(topic)
            return {"config": {"fsync": found.config["fsync"]}}

        if drawn < 0.3:
            await self._try(recorder.begin(self.process, Verb.CREATE, topic=topic, config=config), create)
        elif drawn < 0.5:
            await self._try(recorder.begin(self.process, Verb.ALTER, topic=topic, config=config), alter)
        elif drawn < 0.65:
            await self._try(recorder.begin(self.process, Verb.DELETE, topic=topic), delete)
        else:
            await self._try(recorder.begin(self.process, Verb.DESCRIBE, topic=topic), describe)


class Clerk(Officer):
    """Writes and reads the offset of a group that has no members, and reads that of one that has."""

    async def _act(self, gq: Connection) -> None:
        random, recorder = self._random, self.crew.recorder
        if random.random() < 0.45:
            offset = random.randrange(max(len(self.crew.acknowledged.get(LOG, ())) // 8, 1))
            operation = recorder.begin(self.process, Verb.COMMIT, group=LEDGER, offsets=[(LOG, 0, offset)])

            async def commit() -> dict[str, object]:
                try:
                    await gq.groups.commit(LEDGER, {(LOG, 0): offset})
                except CommitFailed as error:
                    return {"refused": [(*slot, code_of(each)) for slot, each in error.failures.items()]}
                return {"refused": []}

            await self._try(operation, commit)
            return
        group = random.choice((LEDGER, LEDGER, READERS))

        async def look() -> dict[str, object]:
            found = await gq.groups.offsets(group, LOG)
            offsets = [(one.topic, one.partition, NO_OFFSET if one.offset is None else one.offset) for one in found]
            return {"offsets": offsets}

        await self._try(recorder.begin(self.process, Verb.COMMITTED, group=group), look)


def officers(crew: Crew) -> list[Officer]:
    """All of them."""
    clerks = [Clerk(crew, f"c{number}") for number in range(3)]
    return [Administrator(crew, "a0"), Administrator(crew, "a1"), *clerks]
