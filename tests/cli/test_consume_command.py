"""`goqueue consume` against a broker: where it begins and ends, and how messages are printed."""

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from goqueue.cli.moments import parse_place, parse_time
from goqueue.testing import Broker
from tests.cli.commands import line, run, said, variables

NOW = datetime(2026, 3, 1, 13, 30, tzinfo=UTC)

NEXT_STEP = "goqueue topic list shows those that are there, goqueue topic create makes one"


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that has five messages, an hour apart, in a topic `orders` of two partitions."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "2", "-r", "unlimited")
        given = "".join(
            json.dumps(
                {"value": f"v{hour}", "key": f"k{hour}", "partition": 0, "timestamp": f"2026-03-01T0{hour}:00:00Z"}
            )
            + "\n"
            for hour in range(5)
        )
        said(broker.address, "produce", "orders", "--json", "-q", given=given.encode())
        yield broker.address


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "01234"),
        (("--from-beginning",), "01234"),
        (("--from", "3"), "34"),
        (("--to", "2"), "01"),
        (("--from", "1", "--to", "3"), "12"),
        (("--from", "2026-03-01T02:00:00Z"), "234"),
        (("--from", "2026-03-01T02:00:00.001Z"), "34"),
        (("--to", "2026-03-01T01:00:00Z"), "0"),
        (("--to", "99"), "01234"),
        (("--to", "2999-01-01"), "01234"),
        (("-p", "0", "--from", "5"), ""),
        (("--from", "1m"), ""),
        (("-n", "2"), "01"),
        (("-n", "9"), "01234"),
        (("-p", "1"), ""),
        (("-p", "0", "-p", "1"), "01234"),
        (("--follow", "-p", "0", "--from", "1", "--to", "4"), "123"),
        (("--follow", "--from-beginning", "--timeout", "200ms"), "01234"),
        (("--follow", "--timeout", "200ms"), ""),
    ],
)
def test_it_begins_and_ends_where_it_is_told(address: str, options: tuple[str, ...], expected: str) -> None:
    assert said(address, "consume", "orders", *options).split() == [f"v{digit}" for digit in expected]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-o", "keyed"), "k0\tv0\n"),
        (("-o", "keyed", "--key-separator", "::"), "k0::v0\n"),
        (("--format", "%t/%p@%o %T %P %k=%v%%\\t%h"), "orders/0@0 2026-03-01T00:00:00.000Z normal k0=v0%\t\n"),
        (("-0",), "v0\0"),
    ],
)
def test_it_prints_as_it_is_told(address: str, options: tuple[str, ...], expected: str) -> None:
    assert said(address, "consume", "orders", "-n", "1", *options) == expected


def test_json_has_all_there_is(address: str) -> None:
    assert json.loads(said(address, "consume", "orders", "-n", "1", "-o", "json")) == {
        "topic": "orders", "partition": 0, "offset": 0, "timestamp": "2026-03-01T00:00:00.000Z",
        "key": "k0", "value": "v0", "headers": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--from", "1", "--from-beginning"), 2),
        (("--from", "soon"), 2),
        (("--to", "99999999999999999999"), 2),
        (("--timeout", "5"), 2),
        (("-n", "0"), 2),
        (("--format", "%x"), 2),
        (("--format", "%v", "-o", "json"), 2),
        (("-o", "xml"), 2),
        (("-p", "2"), 1),
        (("-p", "-1"), 2),
    ],
)
def test_what_cannot_be_meant_is_refused(address: str, options: tuple[str, ...], status: int) -> None:
    outcome = run(address, "consume", "orders", *options)
    assert (outcome.status, outcome.out) == (status, "")
    assert len(outcome.err.splitlines()[-1]) > 20


def test_a_priority_that_is_not_normal_is_printed_and_published_again() -> None:
    with Broker() as broker:
        said(broker.address, "topic", "create", "urgent", "-p", "1")
        said(broker.address, "produce", "urgent", "-m", "now", "--priority", "critical", "-q")
        printed = said(broker.address, "consume", "urgent", "-o", "json")
        assert json.loads(printed)["priority"] == "critical"
        said(broker.address, "produce", "urgent", "--json", "-q", given=printed.encode())
        assert said(broker.address, "consume", "urgent", "--format", "%v %P") == "now critical\nnow critical\n"


def test_a_topic_that_is_not_there_is_status_1(address: str) -> None:
    assert run(address, "consume", "none").err == "goqueue: there is no topic 'none'; " + NEXT_STEP + "\n"


def test_following_prints_at_once_and_ctrl_c_ends_it(address: str) -> None:
    with subprocess.Popen(
        line("consume", "orders", "-p", "0", "--follow", "--from", "4"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=variables(address),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"v4\n"
        said(address, "produce", "orders", "-q", "-p", "0", "-m", "fresh")
        assert process.stdout.readline() == b"fresh\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b""


def test_a_reader_that_stops_early_is_a_good_end(address: str) -> None:
    said(address, "produce", "orders", "-q", given=b"x" * 99 + b"\n" + b"y\n" * 500_000)
    with subprocess.Popen(
        line("consume", "orders"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables(address)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0", 0),
        ("1234", 1234),
        ("2h", NOW - timedelta(hours=2)),
        ("12:00", NOW.replace(hour=12, minute=0)),
        ("9:05", NOW.replace(hour=9, minute=5)),
        ("12:00:30", NOW.replace(hour=12, minute=0, second=30)),
        ("2026-02-28T12:00:00+01:00", datetime(2026, 2, 28, 11, tzinfo=UTC)),
    ],
)
def test_a_place_is_an_offset_a_span_or_a_time(text: str, place: int | datetime) -> None:
    found = parse_place(text, NOW)
    if isinstance(place, datetime) and text.count(":") < 3 and ":" in text:
        assert isinstance(found, datetime)
        assert found.replace(tzinfo=UTC) == place
    else:
        assert found == place


@pytest.mark.parametrize("text", ["", "-1", "soon", "25:00", "0001-01-01", "9" * 30, "1h-", "2026-13-01"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no place|larger than any offset"):
        parse_place(text, NOW)


def test_a_day_is_its_first_moment_where_the_user_is() -> None:
    assert parse_time("2026-03-01", NOW) == datetime(2026, 3, 1).astimezone()
