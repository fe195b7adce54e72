"""Dead letters as a user of the client library sees them: listed, looked at, sent back, dropped."""

from datetime import UTC, datetime, timedelta

import pytest

import goqueue
from goqueue import errors
from goqueue.testing import Broker
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.dead_letters import DeadLetter
from goqueue.transports.client.loops import SECOND_NS, Loop
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.working import fill, one, take


async def bury(gq: Connection, count: int = 6) -> None:
    """Reject so many jobs, the even ones as broken and the others as late."""
    await fill(gq, 2, count)
    async with gq.work_consumer("crew", "jobs") as consumer:
        for message in await take(consumer, count):
            message.reject("late" if int(message.value or b"") % 2 else "broken")
        await consumer.flush()
    while sum(each.letters for each in await gq.dlq.list()) < count:
        await gq._brokers.loop.pause(SECOND_NS // 200)


@on_every_loop
def test_letters_say_what_they_are_and_why(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        begun = datetime.now(UTC)
        await bury(gq)
        (topic,) = await gq.dlq.list()
        assert (topic.topic, topic.letters) == ("jobs.dlq", 6)
        page = await gq.dlq.peek("jobs.dlq", limit=4)
        assert len(page.letters) == 4
        rest = await gq.dlq.peek("jobs.dlq", limit=4, after=page.after)
        assert rest.after is None
        letters = [*page.letters, *rest.letters]
        assert sorted(int(letter.value or b"") for letter in letters) == [*range(6)]
        letter = next(letter for letter in letters if letter.value == b"3")
        assert (letter.reason, letter.group, letter.attempts) == ("rejected", "crew", 1)
        assert (letter.source_topic, letter.source_partition, letter.source_offset) == ("jobs", 1, 1)
        assert letter.key == b"k3"
        assert letter.died_at > begun - timedelta(seconds=5)
        found: list[DeadLetter] = [each async for each in gq.dlq.all("jobs.dlq")]
        assert len(found) == 6

    connected(kind, test)


@on_every_loop
def test_letters_are_sent_back_and_worked_on(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await bury(gq)
        tried = await gq.dlq.wait(await gq.dlq.redrive("jobs.dlq", dry_run=True))
        assert (tried.state, tried.matched, tried.moved, tried.is_dry_run) == ("done", 6, 0, True)
        redrive = await gq.dlq.redrive("jobs.dlq", goqueue.LetterFilter(key="k3"))
        done = await gq.dlq.wait(redrive)
        assert (done.state, done.moved, done.is_over) == ("done", 1, True)
        assert done.ended_at is not None
        async with gq.work_consumer("crew", "jobs") as consumer:
            message = await one(consumer)
            assert (message.value, message.attempt) == (b"3", 1)
            message.ack()
        assert redrive.redrive_id in [each.redrive_id for each in await gq.dlq.redrives("jobs.dlq")]
        assert (await gq.dlq.status(redrive.redrive_id)).moved == 1
        (topic,) = await gq.dlq.list()
        assert topic.letters == 5

    connected(kind, test)


def test_letters_are_dropped_and_a_redrive_can_be_stopped() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await bury(gq)
        slow = await gq.dlq.redrive("jobs.dlq", rate=1)
        stopped = await gq.dlq.cancel(slow)
        assert (await gq.dlq.wait(stopped.redrive_id)).state in ("cancelled", "done")
        purge = await gq.dlq.wait(await gq.dlq.purge("jobs.dlq"))
        assert purge.is_purge
        assert purge.state == "done"
        assert [each.letters for each in await gq.dlq.list()] == [0]

    connected("trio", test)


def test_what_is_not_there_is_said_so() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("jobs")
        with pytest.raises((errors.NoDeadLetters, errors.TopicNotFound)):
            await gq.dlq.peek("jobs")
        with pytest.raises(errors.RedriveNotFound):
            await gq.dlq.status("0123456789abcdef")
        with pytest.raises(ValueError, match="limit"):
            await gq.dlq.peek("jobs", limit=0)
        with pytest.raises(ValueError, match="rate"):
            await gq.dlq.redrive("jobs", rate=-1)
        with pytest.raises(ValueError, match="zone"):
            await gq.dlq.peek("jobs", goqueue.LetterFilter(since=datetime(2030, 1, 1)))  # noqa: DTZ001

    connected("trio", test)


def test_without_a_loop_the_names_are_the_same() -> None:
    with Broker() as broker, connect(broker.address) as gq:
        gq.topics.create("jobs", partitions=1)
        with gq.producer() as producer:
            later = producer.publish("jobs", b"later", delay=timedelta(hours=1))
            producer.publish("jobs", b"bad", partition=0)
        assert [each.offset for each in gq.delayed.all("jobs")] == [later.offset]
        assert gq.delayed.get("jobs", 0, later.offset).value == b"later"
        gq.delayed.reschedule("jobs", 0, later.offset, delay=timedelta(hours=2))
        gq.delayed.cancel("jobs", 0, later.offset)
        assert gq.delayed.list("jobs").count == 0
        with gq.work_consumer("crew", "jobs") as consumer:
            message = consumer.next(timedelta(seconds=20))
            assert message is not None
            message.reject("no").result()
            while not gq.dlq.list() or gq.dlq.list()[0].letters == 0:
                pass
            assert [each.value for each in gq.dlq.all("jobs.dlq")] == [b"bad"]
            redrive = gq.dlq.wait(gq.dlq.redrive("jobs.dlq"))
            assert gq.dlq.status(redrive.redrive_id).moved == 1
            assert gq.dlq.redrives()[0].redrive_id == redrive.redrive_id
            assert gq.dlq.cancel(redrive).state == "done"
            again = consumer.next(timedelta(seconds=20))
            assert again is not None
            again.ack()
        assert gq.dlq.wait(gq.dlq.purge("jobs.dlq")).state == "done"
