"""`goqueue produce` against a broker: what arrives, what is refused by its line, what Ctrl-C leaves."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from goqueue.testing import Broker
from tests.cli.commands import line, run, said, variables

NEXT_STEP = "goqueue topic list shows those that are there, goqueue topic create makes one"


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that has a topic `orders` of one partition."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "1", "-r", "unlimited")
        yield broker.address


def consumed(address: str, *options: str) -> list[str]:
    """What is in the topic."""
    return said(address, "consume", "orders", *options).splitlines()


def objects(address: str) -> list[dict[str, object]]:
    """What is in the topic, with all that belongs to it."""
    return [json.loads(each) for each in consumed(address, "-o", "json")]


def test_given_messages_arrive_with_key_headers_and_time(address: str) -> None:
    outcome = run(
        address, "produce", "orders", "-m", "one", "-m", "two", "--key", "k", "-H", "a=b=c", "--priority", "high",
        "--timestamp", "2026-03-01T12:00:00Z", "--acks", "leader", "--compression", "gzip",
    )  # fmt: skip
    assert outcome.status == 0
    assert outcome.err.startswith("published 2 messages to orders in ")
    first, second = objects(address)
    assert (first["value"], first["key"], first["headers"]) == ("one", "k", {"a": "b=c"})
    assert (first["timestamp"], second["value"]) == ("2026-03-01T12:00:00.000Z", "two")


def test_every_line_is_a_message_the_empty_ones_too(address: str, tmp_path: Path) -> None:
    said(address, "produce", "orders", "-q", given=b"one\n\nthree")
    (tmp_path / "lines").write_bytes(b"four\n")
    said(address, "produce", "orders", "-q", "--file", str(tmp_path / "lines"))
    said(address, "produce", "orders", "-q", "-0", given=b"five\nsix\0")
    assert consumed(address) == ["one", "", "three", "four", "five", "six"]


def test_many_lines_arrive_in_their_order(address: str) -> None:
    lines = [f"{number:08d}" + "." * (number % 90) for number in range(50_000)]
    outcome = run(address, "produce", "orders", given="\n".join(lines).encode())
    assert outcome.err.startswith("published 50,000 messages")
    assert consumed(address) == lines


def test_verbose_says_where_each_went(address: str) -> None:
    assert said(address, "produce", "orders", "-v", given=b"a\nb\n") == "0:0\n0:1\n"


def test_what_is_no_message_is_named_by_its_line_and_the_others_go(address: str) -> None:
    outcome = run(address, "produce", "orders", "--key-separator", ":", given=b"a:1\nbad\nb:2:3\n")
    assert outcome.status == 1
    assert outcome.err.splitlines()[0] == "goqueue: line 2: there is no ':' after the key"
    assert outcome.err.splitlines()[-1] == "goqueue: 1 message was not published"
    assert consumed(address, "-o", "keyed") == ["a\t1", "b\t2:3"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("nothing", "it is no JSON"),
        ("[1]", "it is no JSON object"),
        ("{}", "it has no value"),
        ('{"value": 1}', "value is text or null, not int"),
        ('{"value": "!", "encoding": "base64"}', "value is no base64"),
        ('{"value": "", "encoding": "rot13"}', "encoding is base64"),
        ('{"value": "", "headers": []}', "headers are an object"),
        ('{"value": "", "partition": "1"}', "partition is a number"),
        ('{"value": "", "partition": 9}', "orders has partitions 0 to 0, not 9"),
        ('{"value": "", "timestamp": "12:00"}', "timestamp is a time with its zone"),
        ('{"value": "", "timestamp": "1960-01-01T00:00:00Z"}', "1970 or later"),
        ('{"value": "", "priority": "urgent"}', "priority is one of"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_a_json_line_that_is_no_message_says_why(address: str, given: str, why: str) -> None:
    outcome = run(address, "produce", "orders", "--json", given=f'{given}\n{{"value": "next"}}\n'.encode())
    assert outcome.status == 1
    assert outcome.err.startswith("goqueue: line 1: ")
    assert why in outcome.err.splitlines()[0]
    assert consumed(address) == ["next"]


def test_what_consume_prints_as_json_can_be_published_again(address: str) -> None:
    lines: list[dict[str, object]] = [
        {"value": "text", "key": "k", "headers": {"a": "b", "none": None}, "timestamp": "2026-03-01T12:00:00.123Z"},
        {"value": "/wA=", "key": None, "encoding": "base64", "headers": {"h": "/w=="}, "headers_encoding": "base64"},
        {"value": None, "key": "gone"},
    ]
    given = "\n".join(json.dumps(each) for each in lines).encode()
    said(address, "produce", "orders", "--json", "-q", given=given)
    first = objects(address)
    for found, expected in zip(first, lines, strict=True):
        assert {key: found[key] for key in expected} == expected
    said(address, "produce", "orders", "--json", "-q", given="\n".join(json.dumps(each) for each in first).encode())
    again = objects(address)[3:]
    assert [{**each, "offset": 0} for each in again] == [{**each, "offset": 0} for each in first]


@pytest.mark.parametrize(
    "options",
    [
        ("-m", "x", "--file", __file__), ("--file", "missing"), ("-m", "x", "-H", "nothing"), ("--priority", "urgent"),
        ("--json", "--key-separator", ":"), ("--key", "k", "--key-separator", ":"), ("--timestamp", "soon"),
        ("--key-separator", ""), ("-p", "-1"), ("--acks", "2"), ("--compression", "rar"), ("--server", "nowhere"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2(options: tuple[str, ...]) -> None:
    outcome = run("127.0.0.1:1", "produce", "orders", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Error: " in outcome.err


def test_a_topic_that_is_not_there_is_status_1(address: str) -> None:
    outcome = run(address, "produce", "none", "-m", "x")
    assert outcome.status == 1
    assert outcome.err == "goqueue: there is no topic 'none'; " + NEXT_STEP + "\n"


def test_ctrl_c_publishes_what_was_taken(address: str) -> None:
    with subprocess.Popen(
        line("produce", "orders", "-v"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=variables(address),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"one\ntwo\nrest of a line")
        process.stdin.flush()
        # Nothing more comes, and yet these are published: what waits for input holds nothing back.
        assert [process.stdout.readline(), process.stdout.readline()] == [b"0:0\n", b"0:1\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read().startswith(b"interrupted: published 2 messages to orders")
    assert consumed(address) == ["one", "two"]
