"""The documentation is true: its blocks of code are run as they stand there, each against a broker of its own.

Brokers are in this process and in memory, so that one costs some milliseconds. What cannot be run is named in
`treatments.py`, with the reason.
"""

import ast
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

import click
import pytest
import trio
import yaml

import goqueue
from goqueue.cli.main import goqueue as command_line
from goqueue.testing import Broker
from tests.cli.commands import run, said
from tests.docs.page_blocks import Block, blocks
from tests.docs.treatments import COMPILED, ELSEWHERE, LEFT, PARSED

BLOCKS = blocks()
ADDRESSES = re.compile(r"localhost:(8080|9000)")
PAGES_OF_COMMANDS = ("docs/queues.md", "docs/delays.md", "docs/dead-letters.md")


class Enough(Exception):
    """A program that goes on for ever has shown what it does."""


def treated(block: Block, table: dict[tuple[str, str], str]) -> bool:
    """Whether a table names a block."""
    return any(block.page == page and block.first.startswith(first) for page, first in table)


def is_python(block: Block) -> bool:
    """Whether it is Python to be run."""
    if block.kind == "indented":
        return block.first.startswith(("import ", "async with"))
    return block.kind == "python" and not (treated(block, COMPILED) or treated(block, ELSEWHERE))


def is_curl(block: Block) -> bool:
    """Whether it is calls over HTTP to be made."""
    return block.first.startswith("curl ") and not treated(block, ELSEWHERE)


def is_json(block: Block) -> bool:
    """Whether it is what a broker answers."""
    return block.first.startswith("{") and not treated(block, LEFT)


def are_commands(block: Block) -> bool:
    """Whether it is commands to be carried out."""
    return block.page in PAGES_OF_COMMANDS


RUN: tuple[Callable[[Block], bool], ...] = (
    is_python, is_curl, is_json, are_commands, lambda block: block.kind == "yaml"
)  # fmt: skip


def params(of_kind: Callable[[Block], bool]) -> list[Any]:
    """The blocks of a kind as a test's parameters."""
    return [pytest.param(block, id=f"{block.page}:{block.line}") for block in BLOCKS if of_kind(block)]


@pytest.mark.parametrize("block", [pytest.param(block, id=f"{block.page}:{block.line}") for block in BLOCKS])
def test_every_block_is_run_or_has_a_reason_not_to_be(block: Block) -> None:
    is_run = any(each(block) for each in RUN)
    is_named = any(treated(block, table) for table in (ELSEWHERE, PARSED, COMPILED, LEFT))
    assert is_run or is_named, f"{block}: run it, or say in tests/docs/treatments.py why it is not"


def test_nothing_is_named_that_is_not_there() -> None:
    named = [(page, first) for table in (ELSEWHERE, PARSED, COMPILED, LEFT) for page, first in table]
    there = [(block.page, block.first) for block in BLOCKS]
    assert [key for key in named if not any(page == key[0] and first.startswith(key[1]) for page, first in there)] == []


# --- Python


def prepare(broker: Broker, *, has_group: bool = False) -> None:
    """What programs of the pages find: messages, one that is delayed, a dead letter, and maybe a group `billing`."""
    with goqueue.connect(broker.address) as gq:
        for topic in ("orders", "refunds"):
            gq.topics.create(topic, partitions=1)
        with gq.producer() as producer:
            for number in range(20):
                producer.send("orders", f"order {number}", key="table 5")
            producer.send("orders", "later", delay=timedelta(hours=1))
        with gq.work_consumer("kitchen", "orders") as consumer:
            message = consumer.next(timeout=timedelta(seconds=30))
            assert message is not None
            message.reject().result()
        if has_group:
            gq.groups.commit("billing", {("orders", 0): 1})
        while not gq.dlq.list():
            trio.run(trio.sleep, 0.01)


def compiled(block: Block) -> CodeType:
    """The program; what waits may stand outside of a function."""
    code: CodeType = compile(block.text, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


@pytest.mark.parametrize("block", params(lambda block: treated(block, COMPILED) and block.kind == "python"))
def test_python_that_is_not_run_is_python_at_least(block: Block) -> None:
    compiled(block)


@pytest.mark.parametrize("block", params(is_python))
def test_programs_run(block: Block) -> None:
    # A loop over all that comes never ends by itself; its first word is enough.
    is_endless = "async for" in block.text and "stop=" not in block.text

    with Broker() as broker:
        if 'topics.create("orders"' not in block.text:
            prepare(broker, has_group="gq.groups" in block.text)
        code = compiled(Block(block.page, block.line, block.kind, block.text.replace("localhost:9000", broker.address)))

        async def program() -> list[str]:
            printed: list[str] = []
            async with goqueue.connect(broker.address) as gq:

                def note(*words: object) -> None:
                    printed.append(" ".join(map(str, words)))
                    if "gq.run()" in block.text:
                        gq.stop()
                    elif is_endless:
                        raise Enough

                names: dict[str, Any] = {"goqueue": goqueue, "gq": gq, "print": note}
                with trio.fail_after(60):
                    await as_coroutine(code, names)
            return printed

        if code.co_flags & inspect.CO_COROUTINE:
            printed = trio.run(program)
            # What is printed about an error is not, where there is none.
            assert printed or "print(" not in block.text or "except" in block.text
        else:
            exec(code, {"goqueue": goqueue, "print": lambda *_: None})


async def as_coroutine(code: CodeType, names: dict[str, Any]) -> None:
    """Run a program that waits; a group of errors that wraps the expected end is the expected end."""
    try:
        await eval(code, names)
    except Enough:
        pass
    except BaseExceptionGroup as group:
        _, other = group.split(Enough)
        if other is not None:
            raise


# --- calls over HTTP


def requests(text: str) -> list[str]:
    """The calls of a block, each on one line."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.startswith("curl ")]


@pytest.mark.parametrize("block", params(is_curl))
def test_calls_over_http_are_answered_as_they_are_meant_to_be(block: Block) -> None:
    with Broker() as broker:
        if '"name": "orders"' not in block.text:
            prepare(broker)
        found: dict[str, list[str]] = {}
        for line in requests(block.text):
            words = [filled(word, found) for word in shlex.split(line)]
            asked = [ADDRESSES.sub(broker.address, word) for word in words]
            ran = subprocess.run(
                [*asked, "-sS", "-m", "60", "-w", "\n%{http_code}"], capture_output=True, text=True, check=True
            )
            content, _, status = ran.stdout.rpartition("\n")
            assert status in ("200", "201", "202"), f"{line}\n{ran.stdout}"
            remember(json.loads(content), found)


# What stands in a call for something of an answer before, and the field of that answer.
NAMED = {"MEMBER": "member_id", "ID": "redrive_id", "RECEIPT": "receipt_handle", "17": "offset"}


def filled(word: str, found: dict[str, list[str]]) -> str:
    """A word of a call with what stands in it for something else; of several receipts each is used once."""

    def chosen(name: re.Match[str]) -> str:
        known = found.get(name[0], [])
        if not known:
            return name[0]
        return known.pop(0) if name[0] == "RECEIPT" else known[-1]

    return re.sub(rf"\b({'|'.join(NAMED)})\b", chosen, word)


def remember(answer: dict[str, Any], found: dict[str, list[str]]) -> None:
    """Keep of an answer what the following calls name."""
    for part in [answer, *answer.get("messages", [])]:
        for name, field in NAMED.items():
            if field in part:
                found.setdefault(name, []).append(str(part[field]))


@pytest.mark.parametrize("block", params(is_json))
def test_answers_that_are_shown_are_json(block: Block) -> None:
    assert {"error", "code", "field"} <= set(json.loads(block.text))


@pytest.mark.parametrize("block", params(lambda block: block.kind == "yaml"))
def test_files_that_are_shown_are_yaml(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), dict)


# --- commands


def command_lines(text: str) -> list[list[str]]:
    """The commands of the product in a block, as words; what is said beside them is left out."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r" && ", line):
            typed = re.split(r"\s+# |\s{3,}", part.strip().removeprefix("PYTHONPATH=. "))[0]
            if typed.startswith("goqueue "):
                words = shlex.split(re.sub(r"[\[\]]", "", typed.partition(" | ")[0]))
                found.append(words[1:])
    return found


@pytest.mark.parametrize("block", params(lambda block: treated(block, PARSED)))
def test_commands_that_are_not_carried_out_are_understood(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = tmp_path / "config.yaml"
    contexts.write_text("contexts: {staging: {server: 'localhost:1'}}")
    monkeypatch.setenv("GOQUEUE_CLI_CONFIG", str(contexts))
    lines = command_lines(block.text)
    assert lines
    with (
        patch.object(click.Command, "invoke", lambda *_: None),
        patch.object(click.Path, "convert", lambda _self, value, *_: Path(value)),
    ):
        for line in lines:
            command_line.main(line, prog_name="goqueue", standalone_mode=False)


@pytest.mark.parametrize("block", params(are_commands))
def test_commands_go_well(block: Block) -> None:
    with Broker() as broker:
        prepare(broker)
        for line in command_lines(block.text):
            # What waits for more, waits for one message here; what is named by its place, is found at another.
            more = ["-n", "1"] if line[0] == "consume" else ["--yes"] if line[1] in ("cancel", "redrive") else []
            typed = ["0:0" if word == "3:17" else word for word in line]
            outcome = run(broker.address, *typed, *more)
            assert outcome.status == 0, outcome


def test_the_first_message_of_the_readme() -> None:
    (block,) = (block for block in BLOCKS if block.first == "./dev run &")
    with Broker() as broker:
        commands = [line.removeprefix("./dev run ") for line in block.text.splitlines()]
        assert commands[0] == "&", "without anything it is a broker"
        printed = [said(broker.address, *shlex.split(line)) for line in commands[1:]]
    assert printed[-1] == "one coffee\n"


@pytest.mark.skipif(sys.platform == "win32", reason="it is a script of bash")
def test_the_script_of_the_readme_knows_its_commands() -> None:
    root = Path(__file__).parents[2]
    shown = subprocess.run([root / "dev", "help"], capture_output=True, text=True, check=True, env=os.environ).stdout
    for block in BLOCKS:
        for name in re.findall(r"^\./dev (\w+)", block.text, re.MULTILINE):
            assert re.search(rf"^  {name}\b", shown, re.MULTILINE), block
