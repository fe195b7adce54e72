"""The command line as a user has it: what it says and how it ends, run in this process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import BinaryIO
from unittest.mock import patch

from attrs import define

from goqueue.cli.main import main


@define
class Outcome:
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


def variables(address: str) -> dict[str, str]:
    """The environment of a command that talks to this broker."""
    return {**os.environ, "GOQUEUE_SERVER": address}


def line(*arguments: str) -> list[str]:
    """The command as a process is given it."""
    return [sys.executable, "-m", "goqueue", *arguments]


def run(address: str, *arguments: str, given: bytes = b"") -> Outcome:
    """Run a command to its end, in this process: starting one takes longer than most commands."""
    with TemporaryFile() as source, TemporaryFile() as out, TemporaryFile() as err:
        source.write(given)
        source.seek(0)
        with _standing_in(source, out, err), patch.dict(os.environ, GOQUEUE_SERVER=address):
            status = _status(arguments)
        return Outcome(status, _text(out), _text(err))


def run_process(address: str, *arguments: str) -> Outcome:
    """Run a command to its end, in a process of its own."""
    ran = subprocess.run(
        line(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
        env=variables(address),
    )  # fmt: skip
    return Outcome(ran.returncode, ran.stdout, ran.stderr)


def said(address: str, *arguments: str, given: bytes = b"") -> str:
    """What a command prints that goes well."""
    outcome = run(address, *arguments, given=given)
    assert outcome.status == 0, outcome.err
    return outcome.out


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="backslashreplace")


def _status(arguments: tuple[str, ...]) -> int:
    code: str | int | None = None
    try:
        with patch.object(sys, "argv", ["goqueue", *arguments]):
            main()
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        print(code, file=sys.stderr)
        return 1
    return code or 0


@contextmanager
def _standing_in(*files: BinaryIO) -> Iterator[None]:
    """These files in place of the standard ones, down to the descriptors."""
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    try:
        with (
            open(0, closefd=False) as source, open(1, "w", closefd=False) as out, open(2, "w", closefd=False) as err,
            patch.multiple(sys, stdin=source, stdout=out, stderr=err),
        ):  # fmt: skip
            yield
    finally:
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
