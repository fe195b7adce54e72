"""docs/cluster.md is true: three brokers are started on this machine as it says, and are told what it says."""

import json
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.cli.commands import line, run, said
from tests.docs.page_blocks import Block, blocks_of

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
SECONDS_MAX = 60
BEGUN, LOOKED, DRAINED, GROWN, ALTERED = (
    "goqueue serve --node-id a --data-dir a ", "goqueue cluster nodes", "goqueue cluster drain b",
    "goqueue topic add-partitions", "goqueue topic alter",
)  # fmt: skip


def block(first: str) -> Block:
    """The block that begins so."""
    (found,) = (each for each in blocks_of("docs/cluster.md", PAGE.read_text()) if each.first.startswith(first))
    return found


def commands(first: str) -> list[list[str]]:
    """The commands of a block, as words."""
    lines = block(first).text.replace("\\\n", " ").splitlines()
    return [shlex.split(each.removeprefix("goqueue ")) for each in lines]


def free_ports(count: int) -> list[str]:
    """Ports that nobody listens on."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in taken]


@contextmanager
def three_brokers(folder: Path) -> Iterator[str]:
    """The brokers of the page, on ports that are free; the address of the first."""
    text = block(BEGUN).text
    stated = sorted(set(re.findall(r"(?<=:)[0-9]{4}\b", text)))
    ports = dict(zip(stated, free_ports(len(stated)), strict=True))
    with ExitStack() as stack:
        for words in commands(BEGUN):
            told = [re.sub(r"(?<=:)[0-9]{4}\b", lambda port: ports[port[0]], word) for word in words]
            process = stack.enter_context(subprocess.Popen(line(*told), cwd=folder, stderr=subprocess.DEVNULL))
            stack.callback(process.kill)
        yield f"127.0.0.1:{ports['8081']}"


def until_all_are_there(address: str) -> None:
    """Wait until three nodes live and nothing lacks."""
    due = monotonic() + SECONDS_MAX
    while True:
        outcome = run(address, "cluster", "nodes", "-o", "json")
        if outcome.status == 0:
            nodes = json.loads(outcome.out)
            if (
                len(nodes) == 3
                and all(node["healthy"] for node in nodes)
                and run(address, "cluster", "health").status == 0
            ):
                return
        assert monotonic() < due, outcome
        sleep(0.1)


def test_three_brokers_on_one_machine_do_what_the_page_says(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as address:
        until_all_are_there(address)
        for first in (LOOKED, DRAINED, GROWN, ALTERED):
            for words in commands(first):
                said(address, *words)
        listed = said(address, "cluster", "nodes")
        assert [len(re.findall(rf"^{node}\b", listed, re.MULTILINE)) for node in "abc"] == [1, 1, 1]
        assert json.loads(said(address, "topic", "describe", "orders", "-o", "json"))["partitions"] == 12
