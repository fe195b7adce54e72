"""Readers: consumers that follow a topic from its beginning, and members of a group that commit and come and go."""

from random import Random

import trio
from attrs import define, field

from goqueue.fuzz.chaos.clients.crew import LOG, READERS, Crew, code_of, value_of
from goqueue.fuzz.histories.operation import Verb
from goqueue.transports.client.errors import ClientError, CommitFailed
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.messages import Message

Slot = tuple[str, int]

_COMMIT_S = 0.5
_STAYS_S = (8.0, 40.0)


@define(eq=False)
class Follower:
    """Where a reader is, and what it notes of each list that it is given."""

    crew: Crew
    process: str
    reader: str
    group: str = ""
    positions: dict[Slot, int] = field(factory=dict)

    def begin(self, slots: list[Slot]) -> None:
        """These are read anew, from wherever that is."""
        for slot in slots:
            self.positions.pop(slot, None)
        self.crew.recorder.note(self.process, Verb.ASSIGN, group=self.group, partitions=slots)

    def take(self, batch: list[Message]) -> None:
        """A list of messages, all of one partition."""
        slot = batch[0].topic, batch[0].partition
        messages = [(message.offset, value_of(message.value)) for message in batch]
        position = messages[-1][0] + 1
        part = {
            "topic": slot[0], "partition": slot[1], "begin": self.positions.get(slot), "position": position,
            "messages": messages,
        }  # fmt: skip
        recorder = self.crew.recorder
        recorder.ok(recorder.begin(self.process, Verb.POLL, group=self.group), parts=[part])
        self.positions[slot] = position
        self.crew.saw(self.reader, [value for _, value in messages])


@define(eq=False)
class PlainReader:
    """Reads a topic from its beginning, and from where it was after the library gave up."""

    crew: Crew
    process: str
    topic: str = LOG

    async def run(self) -> None:
        """Until told to end."""
        await self.crew.persist(self.process, self.crew.ending, self._read)

    async def _read(self) -> None:
        crew = self.crew
        async with crew.connection(self.process) as gq, gq.consumer(self.topic, start="earliest") as consumer:
            partitions = await gq.topics.partitions(self.topic)
            follower = Follower(crew, self.process, self.process)
            follower.begin([(self.topic, each.partition) for each in partitions])
            # It begins at the beginning, which is offset 0 as long as nothing is removed.
            follower.positions = {(self.topic, each.partition): 0 for each in partitions}
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_after, crew.ending, nursery.cancel_scope)
                async for batch in consumer.batches():
                    follower.take(batch)


@define(eq=False)
class Member:
    """A member of a group, which commits what it has read, and leaves now and then to come back as another."""

    crew: Crew
    process: str
    _random: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = self.crew.random(self.process)

    async def run(self) -> None:
        """Until told to end."""
        await self.crew.persist(self.process, self.crew.ending, self._stay)

    async def _stay(self) -> None:
        """Be a member until the end, or for a while as long as messages are sent."""
        crew = self.crew
        follower = Follower(crew, self.process, READERS, READERS)
        async with (
            crew.connection(self.process) as gq,
            gq.group_consumer(
                READERS, LOG, commit="manual", on_assigned=follower.begin, on_revoked=follower.begin,
                on_lost=follower.begin,
            ) as consumer,
            trio.open_nursery() as nursery,
        ):  # fmt: skip
            nursery.start_soon(self._read, consumer, follower)
            nursery.start_soon(self._commit, consumer)
            await crew.rest(crew.stopping, self._random.uniform(*_STAYS_S))
            if crew.stopping.is_set():
                await crew.ending.wait()
            nursery.cancel_scope.cancel()

    async def _read(self, consumer: GroupConsumer, follower: Follower) -> None:
        async for batch in consumer.batches():
            follower.take(batch)

    async def _commit(self, consumer: GroupConsumer) -> None:
        crew = self.crew
        while True:
            await crew.rest(crew.ending, _COMMIT_S)
            if crew.ending.is_set():
                return
            offsets = {slot: consumer.position(*slot) for slot in consumer.assignment}
            if not offsets:
                continue
            rows = [(*slot, offset) for slot, offset in offsets.items()]
            operation = crew.recorder.begin(self.process, Verb.COMMIT, group=READERS, offsets=rows)
            try:
                await consumer.commit(offsets)
            except CommitFailed as error:
                refused = [(*slot, code_of(each)) for slot, each in error.failures.items()]
                crew.recorder.ok(operation, refused=refused)
            except ClientError as error:
                crew.conclude(operation, error)
            else:
                crew.recorder.ok(operation, refused=[])


async def _cancel_after(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
