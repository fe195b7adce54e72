"""`goqueue produce --delay` and `goqueue delayed` against a broker: what is kept back, looked at, moved and dropped."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click
import pytest

from goqueue.cli.delayed import name_given
from goqueue.cli.shortened import left, shortened
from goqueue.testing import Broker
from tests.cli.commands import run, said


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that has the topic `orders`, of one partition."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "1")
        yield broker.address


def kept(address: str, *options: str) -> list[str]:
    """Publish a message that is due later; what -v says of it: which it is, and when it is due."""
    return said(address, "produce", "orders", "-v", "-q", *options).split()


def listed(address: str, *options: str) -> list[dict[str, object]]:
    """What `delayed list` answers."""
    found = json.loads(said(address, "delayed", "list", "orders", "-o", "json", *options))
    assert isinstance(found["messages"], list)
    return found["messages"]


def test_a_message_with_a_delay_comes_when_it_is_due(address: str) -> None:
    before = datetime.now(UTC)
    name, due = kept(address, "-m", "late", "-k", "table", "-H", "waiter=7", "--delay", "300ms")
    assert name == "0:0"
    assert timedelta(milliseconds=290) < datetime.fromisoformat(due) - before < timedelta(seconds=30)
    came = json.loads(said(address, "consume", "orders", "--follow", "--from-beginning", "-n", "1", "-o", "json"))
    assert (came["value"], came["key"], came["headers"]) == ("late", "table", {"waiter": "7"})
    assert datetime.now(UTC) >= datetime.fromisoformat(due)
    assert listed(address) == []


def test_what_is_due_already_is_delivered_at_once(address: str) -> None:
    name, due = kept(address, "-m", "past", "--at", "2020-01-01T00:00:00Z")
    assert (name, due) == ("0:0", "2020-01-01T00:00:00.000Z")
    # The command sends batches, and a batch reaches its topic by way of the schedule whenever it is due.
    assert said(address, "consume", "orders", "--follow", "--from-beginning", "-n", "1") == "past\n"
    assert listed(address) == []


def test_json_lines_say_when_they_are_due(address: str) -> None:
    lines = [
        {"value": "b", "deliverAt": "2037-01-01T00:00:00Z"},
        {"value": "c", "delay": "9000d"},
        {"value": "a", "delay": "1h", "ttl": "5m", "priority": "high"},
        {"value": "at once", "delay": None},
    ]
    given = "\n".join(json.dumps(each) for each in lines).encode()
    said(address, "produce", "orders", "--json", "-q", given=given)
    assert said(address, "consume", "orders") == "at once\n"
    shown = said(address, "delayed", "list", "orders").splitlines()
    assert [row.split()[0] for row in shown] == ["MESSAGE", "0:2", "0:0", "0:1"]
    assert shown[1].endswith("high")
    assert shown[2].split()[1] == "2037-01-01T00:00:00.000Z"


def test_the_list_is_cut_and_says_so(address: str) -> None:
    for hours in (3, 1, 2):
        kept(address, "-m", f"{hours}", "--delay", f"{hours}h")
    assert [each["offset"] for each in listed(address)] == [1, 2, 0]
    outcome = run(address, "delayed", "list", "orders", "-n", "2")
    assert [row.split()[0] for row in outcome.out.splitlines()] == ["MESSAGE", "0:1", "0:2"]
    assert outcome.err == "1 message more; --count shows more of them\n"


def test_show_tells_what_is_in_a_message(address: str) -> None:
    name, due = kept(address, "-m", "one coffee", "-k", "table", "-H", "waiter=7", "--delay", "1d")
    shown = said(address, "delayed", "show", "orders", name)
    assert ["value", "one", "coffee"] in [row.split() for row in shown.splitlines()]
    assert ["header", "waiter", "7"] in [row.split() for row in shown.splitlines()]
    found = json.loads(said(address, "delayed", "show", "orders", name, "-o", "json"))
    assert (found["key"], found["deliver_at"]) == ("table", due)


def test_a_cancelled_message_never_comes(address: str) -> None:
    names = [kept(address, "-m", "x", "--delay", "1h")[0] for _ in range(3)]
    outcome = run(address, "delayed", "cancel", "orders", names[0])
    assert (outcome.status, outcome.out) == (2, "")
    assert "--yes" in outcome.err
    assert said(address, "delayed", "cancel", "orders", *names[:2], "--yes") == (
        f"cancelled {names[0]} of orders\ncancelled {names[1]} of orders\n"
    )
    assert [each["offset"] for each in listed(address)] == [2]
    again = run(address, "delayed", "cancel", "orders", names[0], "--yes")
    assert (again.status, again.out) == (1, "")
    assert again.err.startswith("goqueue: ")


def test_a_message_is_delivered_at_another_time(address: str) -> None:
    name, _ = kept(address, "-m", "x", "--delay", "1h")
    moved = said(address, "delayed", "reschedule", "orders", name, "--at", "2037-01-01T00:00:00Z")
    assert moved == f"{name} of orders is delivered at 2037-01-01T00:00:00.000Z\n"
    found = json.loads(said(address, "delayed", "reschedule", "orders", name, "--delay", "100ms", "-o", "json"))
    assert datetime.fromisoformat(found["deliver_at"]) < datetime.now(UTC) + timedelta(hours=1)
    assert said(address, "consume", "orders", "--follow", "--from-beginning", "-n", "1") == "x\n"


def test_a_delayed_message_that_is_not_there_is_status_1(address: str) -> None:
    for arguments in (
        ("show", "orders", "0:7"), ("cancel", "orders", "0:7", "--yes"), ("list", "none"), ("show", "none", "0:0"),
        ("reschedule", "orders", "0:7", "--delay", "1s"), ("show", "orders", "9:0"),
    ):  # fmt: skip
        outcome = run(address, "delayed", *arguments)
        assert (outcome.status, outcome.out) == (1, ""), arguments
        assert outcome.err.startswith("goqueue: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("produce", "t", "-m", "x", "--delay", "soon"), ("produce", "t", "-m", "x", "--delay", "-1s"),
        ("produce", "t", "-m", "x", "--delay", "999999999999999999d"), ("produce", "t", "-m", "x", "--at", "2h"),
        ("produce", "t", "-m", "x", "--delay", "1s", "--at", "12:00"), ("produce", "t", "-m", "x", "--ttl", "1"),
        ("delayed", "show", "orders", "7"), ("delayed", "show", "orders", "0:-7"), ("delayed", "cancel", "orders"),
        ("delayed", "reschedule", "orders", "0:7"), ("delayed", "list", "orders", "-n", "0"),
        ("delayed", "reschedule", "orders", "0:7", "--delay", "1s", "--at", "12:00"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2(arguments: tuple[str, ...]) -> None:
    outcome = run("127.0.0.1:1", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Error: " in outcome.err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('{"value": "", "delay": 5}', "delay is a span such as 30s"),
        ('{"value": "", "delay": "soon"}', "delay is a span such as 30s"),
        ('{"value": "", "delay": "1s", "deliverAt": "2037-01-01T00:00:00Z"}', "a delay or deliverAt, not both"),
        ('{"value": "", "deliverAt": "12:00"}', "deliverAt is a time with its zone"),
        ('{"value": "", "ttl": "-1s"}', "ttl is a span such as 30s"),
    ],
)
def test_a_json_line_with_no_such_time_says_why(address: str, given: str, why: str) -> None:
    outcome = run(address, "produce", "orders", "--json", given=f'{given}\n{{"value": "next"}}\n'.encode())
    assert outcome.status == 1
    assert why in outcome.err.splitlines()[0]
    assert said(address, "consume", "orders") == "next\n"


def test_a_delayed_message_is_named_by_partition_and_offset() -> None:
    assert str(name_given("3:17")) == "3:17"
    for text in ("17", "a:b", "0:99999999999999999999", "0:1:2", ""):
        with pytest.raises(click.BadParameter):
            name_given(text)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "due"), (0, "0s"), (59, "59s"), (60, "1m"), (3_661, "1h1m"), (90_000, "1d1h"), (86_400 * 400, "400d")],
)
def test_a_span_to_come_is_said_in_two_units(seconds: int, shown: str) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert left((now + timedelta(seconds=seconds)).isoformat(), now) == shown


def test_contents_are_shortened_to_a_line() -> None:
    assert shortened(None) == "-"
    assert shortened("a\nb\t") == "a·b·"
    assert len(shortened("x" * 1000)) == 40
