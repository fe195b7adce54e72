"""docs/groups.md is true: what its first part shows is run as it stands there, against a broker."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import trio

import goqueue
from goqueue.cli.server import ask, parse_server
from goqueue.testing import Broker
from tests.cli.commands import said

PAGE = (Path(__file__).parents[2] / "docs/groups.md").read_text()
MEMBERSHIP = PAGE.split("## How to be a member")[1].split("\n## ")[0]
CARE = PAGE.split("## How to look after a group")[1].split("\n## ")[0]
SERVER = "localhost:8080"


class Enough(Exception):
    """All messages that there are were billed."""


class Till:
    """Who is handed the messages in the examples."""

    def __init__(self) -> None:
        self.billed: list[bytes] = []

    def bill(self, value: bytes) -> None:
        """Take a message; the fourth is the last."""
        self.billed.append(value)
        if len(self.billed) == 4:
            raise Enough


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker with four messages in the topic `orders`."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "2")
        said(broker.address, "produce", "orders", "-q", *["-p", "0", "-m", "a", "-m", "b", "-m", "c", "-m", "d"])
        yield broker


def requests(lines: str) -> Iterator[tuple[str, str, Any]]:
    """Method, path and body of each call of curl."""
    for line in re.findall(r"^    curl (.*)$", lines, re.MULTILINE):
        words = shlex.split(line)
        body = json.loads(words.pop(words.index("--json") + 1)) if "--json" in words else None
        method = "GET" if body is None else "POST"
        (path,) = [word.removeprefix(SERVER) for word in words if word.startswith(SERVER)]
        yield method, path, body


def test_the_commands_of_a_member_go_well(broker: Broker) -> None:
    (command,) = re.findall(r"^    goqueue (.*)$", MEMBERSHIP, re.MULTILINE)
    assert said(broker.address, *command.split(), "-n", "4").split() == [*"abcd"]


def test_the_examples_in_python_read_every_message(broker: Broker) -> None:
    on_a_loop, without_one = (
        example.replace("localhost:9000", broker.address)
        for example in re.findall(r"```python\n(.*?)```", MEMBERSHIP, re.DOTALL)
    )
    till = Till()
    found: dict[str, Any] = {"goqueue": goqueue, "bill": till.bill}
    exec(f"async def example():\n{indent(on_a_loop, '    ')}", found)
    with pytest.raises(Enough):
        trio.run(found["example"])
    with goqueue.connect(broker.address) as gq:
        gq.groups.delete("billing")
    till.billed.clear()
    with pytest.raises(Enough):
        exec(without_one, found)
    assert till.billed == [b"a", b"b", b"c", b"d"]


def test_the_calls_over_http_make_a_member_read_commit_and_leave(broker: Broker) -> None:
    answers: list[dict[str, Any]] = []
    for method, path, body in requests(MEMBERSHIP):
        member = answers[0]["member_id"] if answers else ""
        given = json.loads(json.dumps(body).replace("MEMBER", member))
        answers.append(ask(parse_server(broker.address), method, path.replace("MEMBER", member), given))
    joined, polled, committed, beat, left = answers
    assert joined["assigned_partitions"] == ["orders-0", "orders-1"]
    assert [message["value"] for message in polled["messages"]] == [*"abcd"]
    assert (committed["committed"], beat["rebalance_required"], left["left"]) == (True, False, True)


def test_each_way_to_look_after_a_group_goes_well(broker: Broker) -> None:
    rows = re.findall(r"^\| [^|]+ \| `goqueue ([^`]+)` \| `([^`]+)` \| `(\w+) ([^`]+)` \|$", CARE, re.MULTILINE)
    assert len(rows) == 7
    bodies = {"POST": {"topic": "orders", "to": "earliest"}, "PATCH": {"config": {"start": "latest"}}}
    with goqueue.connect(broker.address) as gq:
        for command, call, method, path in rows:
            gq.groups.commit("billing", {("orders", 0): 1})
            assert said(broker.address, *command.split())
            gq.groups.commit("billing", {("orders", 0): 1})
            eval(call, {"gq": gq})
            gq.groups.commit("billing", {("orders", 0): 1})
            assert ask(parse_server(broker.address), method, path, bodies.get(method))
