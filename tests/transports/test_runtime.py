"""The loop that drives a node: requests that are posted, forgotten, turned away, and how many bytes may wait."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.records.batch import Lane
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, PublishBatch, PublishReply
from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.table import weight
from goqueue.core.requests.topics import CreateTopic, ListTopics
from goqueue.storage.files import FileDisk
from goqueue.transports.admission import Admission
from goqueue.transports.runtime import Runtime
from goqueue.transports.trio_asking import answered
from goqueue.transports.trio_parking import Alarm
from tests.transports.running import running_broker
from tests.transports.services.served_broker import StallingDisk, batch
from tests.transports.serving import run, until

CALLER = Caller("test")


def with_runtime(folder: Path, scenario: Callable[[Runtime], Awaitable[None]]) -> None:
    """Run a scenario with a broker that has the topic `orders`."""

    async def bounded() -> None:
        async with running_broker(folder) as runtime:
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            await scenario(runtime)

    run(bounded)


def test_what_is_posted_is_answered_once_and_in_order(tmp_path: Path) -> None:
    async def scenario(runtime: Runtime) -> None:
        answers: list[Reply] = []
        for _ in range(50):
            runtime.post(CALLER, PublishBatch("orders", 0, bytearray(batch(b"x"))), answers.append)
        assert runtime.waiting_count == 50
        assert runtime.held_bytes > 50 * len(batch(b"x"))
        await until(lambda: len(answers) == 50)
        offsets = [each.results[0].offset for each in answers]  # type: ignore[union-attr]
        assert offsets == list(range(50))
        assert runtime.held_bytes == runtime.waiting_count == 0

    with_runtime(tmp_path, scenario)


def test_a_cancelled_task_gets_an_answer_that_comes_before_it_waits(tmp_path: Path) -> None:
    async def ended() -> None:
        async with running_broker(tmp_path) as runtime:
            pass
        with trio.CancelScope() as scope:
            scope.cancel()
            reply = await answered(runtime.post, runtime.forget, CALLER, DescribeNode())
        assert isinstance(reply, Refusal)
        assert reply.code is Code.SHUTTING_DOWN

    run(ended)


def test_an_answer_may_be_followed_by_a_request_at_once(tmp_path: Path) -> None:
    async def scenario(runtime: Runtime) -> None:
        answers: list[Reply] = []

        def again(reply: Reply) -> None:
            answers.append(reply)
            if len(answers) < 20:
                runtime.post(CALLER, DescribeNode(), again)

        runtime.post(CALLER, DescribeNode(), again)
        await until(lambda: len(answers) == 20)
        assert all(isinstance(each, NodeReply) for each in answers)

    with_runtime(tmp_path, scenario)


def test_what_is_forgotten_is_not_answered(tmp_path: Path) -> None:
    async def scenario(runtime: Runtime) -> None:
        answers: list[Reply] = []
        waiting = runtime.post(CALLER, Fetch("orders", 0, 0, wait_ns=60_000_000_000), answers.append)
        published = runtime.post(CALLER, PublishBatch("orders", 0, bytearray(batch(b"x"))), answers.append)
        runtime.forget(published)
        await runtime.ask(CALLER, DescribeNode())
        runtime.forget(waiting)
        runtime.forget(waiting)
        fetched = await runtime.ask(CALLER, Fetch("orders", 0, 0))
        assert isinstance(fetched, Fetched)
        assert fetched.high_watermark == 0, "it was taken back before its turn"
        assert answers == []
        assert runtime.held_bytes == 0

    with_runtime(tmp_path, scenario)


def test_who_cannot_take_its_answer_harms_nobody(tmp_path: Path) -> None:
    async def scenario(runtime: Runtime) -> None:
        def refuse(_: Reply) -> None:
            raise RuntimeError("no, thanks")

        answers: list[Reply] = []
        runtime.post(CALLER, ListTopics(), refuse)
        runtime.post(CALLER, ListTopics(), answers.append)
        await until(lambda: len(answers) == 1)
        assert isinstance(await runtime.ask(CALLER, DescribeNode()), NodeReply)

    with_runtime(tmp_path, scenario)


def test_a_broker_that_leaves_says_so_and_answers_everybody(tmp_path: Path) -> None:
    async def scenario() -> None:
        answers: list[Reply] = []
        told: list[str] = []
        async with running_broker(tmp_path) as runtime:
            runtime.when_leaving(lambda: told.append("leaving"))
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            runtime.post(CALLER, Fetch("orders", 0, 0, wait_ns=60_000_000_000), answers.append)
            assert told == []
        assert told == ["leaving"]
        runtime.post(CALLER, DescribeNode(), answers.append)
        answers.append(await runtime.ask(CALLER, DescribeNode()))
        assert [each.code for each in answers if isinstance(each, Refusal)] == [Code.SHUTTING_DOWN] * 3

    run(scenario)


def test_an_ask_waits_while_too_much_is_unanswered_and_readers_do_not(tmp_path: Path) -> None:
    disk = StallingDisk(str(tmp_path))

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            runtime = Runtime(disk, NodeOptions(), admission_bytes_max=10_000)
            await nursery.start(runtime.run)
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            disk.stall()
            answers: list[Reply] = []

            async def publish() -> None:
                answers.append(await runtime.ask(CALLER, PublishBatch("orders", 0, bytearray(batch(bytes(4000))))))

            async with trio.open_nursery() as publishers:
                for _ in range(20):
                    publishers.start_soon(publish)
                await until(lambda: not runtime.is_roomy())
                for _ in range(20):
                    await trio.lowlevel.checkpoint()
                    assert runtime.held_bytes < 10_000 + 5000
                assert isinstance(await runtime.ask(CALLER, Fetch("orders", 0, 0)), Fetched)
                assert answers == []
                disk.go_on()
            assert [type(each) for each in answers] == [PublishReply] * 20
            await runtime.room()
            nursery.cancel_scope.cancel()

    try:
        run(scenario)
    finally:
        disk.go_on()


def test_an_ask_that_is_cancelled_while_it_waits_for_room_was_never_there() -> None:
    async def scenario() -> None:
        admission = Admission(100)
        admission.take(100)
        with trio.move_on_after(0.01) as scope:
            await admission.room()
        assert scope.cancelled_caught
        admission.release(100)
        await admission.room()

    run(scenario)


@pytest.mark.parametrize(
    ("request_", "least"),
    [
        (PublishBatch("t", 0, bytearray(5000)), 5000),
        (Publish("t", [NewRecord(b"k" * 100, b"v" * 300, (), None, None, Lane.NORMAL)] * 3), 1200),
        (Publish("t", [NewRecord(None, None)] * 10), 1000),
    ],
)
def test_publishes_weigh_at_least_what_they_hold(request_: Publish | PublishBatch, least: int) -> None:
    assert least < weight(request_) < 3 * least + 1000
    assert weight(Fetch("t", 0, 0)) == 0


def test_an_alarm_rings_at_the_earliest_time_that_was_set() -> None:
    async def scenario() -> None:
        rung: list[float] = []
        began = trio.current_time()
        alarm = Alarm(lambda: rung.append(trio.current_time() - began))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(alarm.run)
            alarm.set(began + 5)
            await trio.sleep(1)
            alarm.set(began + 3)
            alarm.set(began + 9)
            await trio.sleep(4)
            assert rung == [3]
            alarm.set(began + 9)
            await trio.sleep(10)
            assert rung == [3, 9]
            nursery.cancel_scope.cancel()

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


def test_a_broker_on_a_folder_twice_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path):
            with pytest.raises(BaseExceptionGroup) as caught:
                async with trio.open_nursery() as nursery:
                    await nursery.start(Runtime(FileDisk(str(tmp_path)), NodeOptions()).run)
            assert "in use" in str(caught.value.exceptions[0])

    run(scenario)
