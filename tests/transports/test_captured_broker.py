"""A broker that is captured: on a real disk, with clients, from its first moment on or for a while."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trio

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.capture.recorder import Recorder
from goqueue.core.node import Node
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, NewRecord, Publish, PublishBatch, PublishReply
from goqueue.core.requests.nodes import DescribeNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
)
from goqueue.storage.capture import Capture, CaptureLimits, core_vocabulary
from goqueue.storage.capture_files import Replay, list_captures, replay
from goqueue.storage.files import FileDisk
from goqueue.transports.runtime import Runtime

CALLER = Caller("test", "none")


def replayed(folder: Path) -> Replay:
    """What comes of replaying a folder."""
    return replay(list_captures(str(folder)), core_vocabulary())


def a_batch() -> bytearray:
    """A few hundred bytes for a partition."""
    return encode([(1_700_000_000_000, b"key", bytes(300), ())])


async def everything(runtime: Runtime) -> None:
    """Every kind of request, answered or refused."""
    ask = partial(runtime.ask, CALLER)
    for name, fsync in (("orders", "every"), ("events", "interval"), ("logs", "none")):
        await ask(CreateTopic(name, 2, 1, {"fsync": fsync, "fsync_interval": "5ms", "retention_hours": -1}))
        for count in range(20):
            await ask(PublishBatch(name, count % 2, a_batch()))
            reply = await ask(Publish(name, [NewRecord(b"key", b"value"), NewRecord(None, None, partition=9)]))
            assert isinstance(reply, PublishReply)
            assert isinstance(reply.results[1], Refusal)
        fetched = await ask(Fetch(name, 0, 0))
        assert isinstance(fetched, Fetched)
        assert fetched.batches
        await ask(Fetch(name, 0, fetched.next_offset, wait_ns=20_000_000))
        await ask(FindOffset(name, 0, 1_700_000_000_000))
    broken = a_batch()
    broken[-1] ^= 1
    reply = await ask(PublishBatch("orders", 0, broken))
    assert isinstance(reply, PublishReply)
    assert isinstance(reply.results[0], Refusal)
    assert reply.results[0].code is Code.CORRUPT_BATCH
    for request in (
        AlterTopic("orders", {"retention_hours": 1}),
        DescribeTopic("orders"),
        DescribePartitions("orders"),
        DescribeNode(),
        ListTopics(),
        DeleteTopic("events"),
        CreateTopic("orders"),
        DescribeTopic("events"),
    ):
        await ask(request)


async def _waiting_is_given_up(runtime: Runtime) -> None:
    with trio.move_on_after(0.01):
        await runtime.ask(CALLER, Fetch("orders", 1, 1_000_000, wait_ns=10_000_000_000))
        await runtime.ask(CALLER, Fetch("logs", 1, 30, wait_ns=10_000_000_000))


def run(test: Callable[[], object]) -> None:
    """Run an asynchronous test; one that hangs fails."""

    async def bounded() -> None:
        with trio.fail_after(60):
            await test()  # type: ignore[misc]

    trio.run(bounded)


def runtime_on(path: Path, capture: Capture | None = None, said: list[str] | None = None) -> Runtime:
    """A broker that does not run yet."""
    report = print if said is None else said.append
    return Runtime(FileDisk(str(path / "data")), NodeOptions(version="test"), report, capture=capture)


@pytest.mark.parametrize("keeps_records", [False, True])
def test_a_broker_captured_from_its_first_moment_to_its_last_is_identical(tmp_path: Path, keeps_records: bool) -> None:
    folder = tmp_path / "captures"

    async def life() -> None:
        limits = CaptureLimits(file_bytes=50_000, total_bytes=1 << 30)
        capture = Capture(str(folder), limits, keeps_records=keeps_records)
        runtime = runtime_on(tmp_path, capture)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            assert runtime.is_captured
            await everything(runtime)
            await _waiting_is_given_up(runtime)
            await trio.sleep(0.15)
            nursery.cancel_scope.cancel()

    run(life)
    first = replayed(folder)
    assert first.is_identical, first
    assert first.faults == []
    run(life)
    both = replayed(folder)
    assert both.is_identical, both
    assert both.events > first.events + 500
    assert len({one.run for one in list_captures(str(folder))}) == 2


def test_a_capture_begins_and_ends_while_the_broker_works(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    driven: list[type] = []

    async def life() -> None:
        runtime = runtime_on(tmp_path)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            ask = partial(runtime.ask, CALLER)
            await ask(CreateTopic("orders", 2))
            await ask(PublishBatch("orders", 0, a_batch()))
            for _ in range(2):
                async with trio.open_nursery() as waiting:
                    # What was asked before the capture began is answered in it, and the other way round.
                    waiting.start_soon(ask, Fetch("orders", 1, 0, wait_ns=30_000_000))
                    await trio.sleep(0.001)
                    runtime.begin_capture(Capture(str(folder)))
                    driven.append(type(runtime._node))
                    for _ in range(20):
                        await ask(PublishBatch("orders", 0, a_batch()))
                    await trio.sleep(0.04)
                    waiting.start_soon(ask, Fetch("orders", 1, 0, wait_ns=20_000_000))
                    await trio.sleep(0.001)
                    runtime.end_capture()
                    driven.append(type(runtime._node))
                    assert not runtime.is_captured
                await ask(PublishBatch("orders", 0, a_batch()))
            runtime.end_capture()
            nursery.cancel_scope.cancel()

    run(life)
    assert driven == [Recorder, Node] * 2
    outcome = replayed(folder)
    assert outcome.is_identical, outcome
    assert (outcome.files, outcome.faults) == (2, [])
    assert outcome.events > 200


def test_a_capture_that_cannot_begin_is_reported_and_the_broker_works(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "file").write_text("in the way")

    async def life() -> None:
        runtime = runtime_on(tmp_path, Capture(str(tmp_path / "file" / "captures")), said)
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            assert not runtime.is_captured
            await everything(runtime)
            nursery.cancel_scope.cancel()

    run(life)
    assert len(said) == 1
    assert said[0].startswith("there is no capture: ")


def test_a_node_that_dies_leaves_what_it_died_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "captures"

    async def life() -> None:
        runtime = runtime_on(tmp_path, Capture(str(folder)))
        async with trio.open_nursery() as nursery:
            await nursery.start(runtime.run)
            await runtime.ask(CALLER, CreateTopic("orders", 2))
            monkeypatch.setattr("goqueue.core.replicas.replica_set.ReplicaSet._partitions", lambda self, leader: 1 // 0)
            await runtime.ask(CALLER, DescribePartitions("orders"))

    with pytest.raises(BaseExceptionGroup):
        run(life)
    outcome = replayed(folder)
    assert outcome.divergence is not None
    assert "DescribePartitions(name='orders')" in outcome.divergence.input
    assert "ZeroDivisionError" in outcome.divergence.actual
