"""Failures that no disk has: the broker stops in order, names what failed, and acknowledges nothing any more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, Fetched, PublishBatch
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.disk import WritableBuffer
from goqueue.storage.errors import DefectError
from goqueue.storage.files import FileDisk, RealFile
from goqueue.transports.runtime import Runtime
from tests.transports.services.served_broker import batch
from tests.transports.serving import run

CALLER = Caller("test")


class DefectiveDisk(FileDisk):
    """A disk that raises in one kind of call, once told to, what no disk raises."""

    def __init__(self, root: str, call: str) -> None:
        super().__init__(root)
        self.call = call
        self.is_defective = False

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> Any:  # noqa: ANN401 - a file
        """A file of this disk."""
        return _DefectiveFile(self, super().open(path, create=create, read_only=read_only))


class _DefectiveFile:
    def __init__(self, disk: DefectiveDisk, file: RealFile) -> None:
        self._disk = disk
        self._file = file

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a file has
        if self._disk.is_defective and name == self._disk.call and self._file.path.startswith("logs/orders"):
            return _fail
        return getattr(self._file, name)

    def read_cached_into(self, _buffer: WritableBuffer, _position: int) -> None:
        """Has every read wait for the disk."""


def _fail(*_: object) -> None:
    raise ZeroDivisionError("planted")


def ending_of(
    disk: DefectiveDisk, provoke: Callable[[Runtime, list[Reply]], None]
) -> tuple[BaseException, list[Reply]]:
    """What the broker raises that was provoked, and what was answered to the requests of `provoke`."""
    answers: list[Reply] = []

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            runtime = Runtime(disk, NodeOptions(recent_bytes=0))
            await nursery.start(runtime.run)
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            await runtime.ask(CALLER, PublishBatch("orders", 0, bytearray(batch(b"before"))))
            disk.is_defective = True
            provoke(runtime, answers)

    with pytest.raises(BaseExceptionGroup) as caught:
        run(scenario)
    cause: BaseException = caught.value
    while isinstance(cause, BaseExceptionGroup):
        [cause] = cause.exceptions
    return cause, answers


def publish(runtime: Runtime, answers: list[Reply]) -> None:
    """A message that has to wait for a sync, and another one, which comes when that one is under way."""
    for value in (b"first", b"second"):
        runtime.post(CALLER, PublishBatch("orders", 0, bytearray(batch(value))), answers.append)


def read(runtime: Runtime, answers: list[Reply]) -> None:
    """A read that has to wait for the disk."""
    runtime.post(CALLER, Fetch("orders", 0, 0), answers.append)


@pytest.mark.parametrize(
    ("call", "provoke", "named", "code"),
    [
        ("finish_sync", publish, "logs/orders/0: sync failed", Code.OUTCOME_UNKNOWN),
        ("read_into", read, "a Reading failed", Code.SHUTTING_DOWN),
    ],
)
def test_what_fails_in_a_thread_and_is_no_error_of_the_disk_ends_the_broker(
    tmp_path: Path, call: str, provoke: Callable[[Runtime, list[Reply]], None], named: str, code: Code
) -> None:
    error, answers = ending_of(DefectiveDisk(str(tmp_path), call), provoke)
    assert isinstance(error, DefectError)
    assert str(error).startswith(f"{named} in a way that it never should (ZeroDivisionError at ")
    assert str(error).endswith(": planted)")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert answers
    assert all(isinstance(answer, Refusal) and answer.code is code for answer in answers)


def test_the_folder_is_free_for_the_next_process_which_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    ending_of(DefectiveDisk(str(tmp_path), "finish_sync"), publish)

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            runtime = Runtime(FileDisk(str(tmp_path)), NodeOptions())
            await nursery.start(runtime.run)
            fetched = await runtime.ask(CALLER, Fetch("orders", 0, 0))
            assert isinstance(fetched, Fetched)
            assert b"before" in bytes(fetched.batches)
            nursery.cancel_scope.cancel()

    run(scenario)


def test_a_broker_that_is_stopped_meanwhile_does_not_wait_for_what_never_ends(tmp_path: Path) -> None:
    disk = DefectiveDisk(str(tmp_path), "finish_sync")

    answers: list[Reply] = []

    async def scenario() -> None:
        async with trio.open_nursery() as nursery:
            runtime = Runtime(disk, NodeOptions())
            await nursery.start(runtime.run)
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            disk.is_defective = True
            publish(runtime, answers)
            nursery.cancel_scope.cancel()

    with pytest.raises(BaseExceptionGroup) as caught:
        run(scenario)
    assert caught.group_contains(DefectError)
    assert all(isinstance(answer, Refusal) for answer in answers)
    assert len(answers) == 2
