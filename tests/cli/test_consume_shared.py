"""`goqueue consume --group --shared` against a broker: each message to one member, settled as `--ack` says."""

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest

import goqueue
from goqueue.testing import Broker
from goqueue.transports.client.blocking import BlockingConnection
from tests.cli.commands import line, run, said, variables

MINUTE = timedelta(minutes=1)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker with the values 0 to 5 in the topic `orders`, which has one partition and tries again at once."""
    with Broker() as broker, goqueue.connect(broker.address) as gq:
        gq.topics.create("orders", partitions=1, config={"retry_backoff": "1ms"})
        with gq.producer() as producer:
            for number in range(6):
                producer.send("orders", b"%d" % number, key=b"k%d" % (number % 2))
        yield broker


@pytest.fixture
def gq(broker: Broker) -> Iterator[BlockingConnection]:
    """A connection to it."""
    with goqueue.connect(broker.address) as gq:
        yield gq


def consume(broker: Broker, *arguments: str) -> list[str]:
    """What a member prints, line by line."""
    return said(broker.address, "consume", "orders", "--group", "billing", "--shared", *arguments).splitlines()


def member(broker: Broker, *arguments: str) -> "subprocess.Popen[bytes]":
    """A member in a process of its own."""
    return subprocess.Popen(
        line("consume", "orders", "--group", "billing", "--shared", *arguments),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables(broker.address),
    )  # fmt: skip


def printed(process: "subprocess.Popen[bytes]", count: int) -> list[str]:
    """The next lines of a member."""
    assert process.stdout is not None
    return [process.stdout.readline().decode().strip() for _ in range(count)]


def test_what_was_printed_is_acknowledged_and_the_rest_is_not(broker: Broker, gq: BlockingConnection) -> None:
    assert consume(broker, "-n", "4") == ["0", "1", "2", "3"]
    assert consume(broker, "-n", "2", "--format", "%v %a") == ["4 1", "5 1"]
    assert consume(broker, "--timeout", "200ms") == []
    assert gq.groups.describe("billing").members == []


@pytest.mark.parametrize("policy", ["first", "after"])
def test_a_message_is_delivered_once(broker: Broker, policy: str) -> None:
    assert consume(broker, "--ack", policy, "-n", "6") == [*"012345"]
    assert consume(broker, "--ack", policy, "--timeout", "200ms") == []


def test_without_an_acknowledgement_all_go_back_and_no_attempt_counts(broker: Broker) -> None:
    for _ in range(2):
        shown = consume(broker, "--ack", "none", "-n", "6", "--format", "%v %a")
        assert sorted(shown) == [f"{number} 1" for number in range(6)]


def test_what_is_given_back_is_tried_again(broker: Broker) -> None:
    assert consume(broker, "--ack", "nack", "-n", "6") == [*"012345"]
    again = [json.loads(each) for each in consume(broker, "-n", "6", "-o", "json")]
    assert sorted((each["value"], each["attempt"]) for each in again) == [(each, 2) for each in "012345"]


def test_what_is_rejected_becomes_a_dead_letter(broker: Broker) -> None:
    assert consume(broker, "--ack", "reject", "-n", "2") == ["0", "1"]
    assert consume(broker, "-n", "4") == ["2", "3", "4", "5"]
    came = said(broker.address, "consume", "orders.dlq", "--follow", "--from-beginning", "-n", "2", "-o", "json")
    letters = [json.loads(each) for each in came.splitlines()]
    assert [(each["value"], each["headers"]["goqueue.dlq.group"]) for each in letters] == [
        ("0", "billing"), ("1", "billing"),
    ]  # fmt: skip


def test_two_members_share_one_partition(broker: Broker, gq: BlockingConnection) -> None:
    options = ("--prefetch", "1", "--max-in-flight", "1", "--ack", "none")
    with member(broker, *options) as ann, member(broker, *options) as bob:
        assert sorted(printed(ann, 1) + printed(bob, 1)) == ["0", "1"]
        assert len(gq.groups.describe("billing").members) == 2
        for each in (ann, bob):
            each.terminate()
    assert sorted(consume(broker, "-n", "6")) == [*"012345"]


def test_a_key_waits_for_who_works_on_it_and_others_do_not(broker: Broker) -> None:
    with member(broker, "--key-ordered", "--prefetch", "1", "--ack", "none") as ann:
        assert printed(ann, 1) == ["0"]
        assert consume(broker, "-n", "3") == ["1", "3", "5"]
        assert consume(broker, "--timeout", "200ms") == []
        ann.terminate()
    assert consume(broker, "-n", "3", "--format", "%v %a") == ["0 1", "2 1", "4 1"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_settles_what_was_printed_and_leaves(
    broker: Broker, gq: BlockingConnection, number: int, status: int
) -> None:
    with member(broker, "--client-id", "till") as process:
        assert printed(process, 6) == [*"012345"]
        (found,) = gq.groups.describe("billing").members
        assert found.client_id == "till"
        process.send_signal(number)
        assert process.wait(timeout=60) == status
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert gq.groups.describe("billing").members == []
    assert consume(broker, "--timeout", "200ms") == []


@pytest.mark.parametrize(
    ("first", "second", "hint"), [(("--shared",), (), "say --shared"), ((), ("--shared",), "leave --shared out")]
)
def test_a_group_of_the_other_kind_is_refused(
    broker: Broker, first: tuple[str, ...], second: tuple[str, ...], hint: str
) -> None:
    said(broker.address, "consume", "orders", "--group", "billing", "-n", "1", *first)
    outcome = run(broker.address, "consume", "orders", "--group", "billing", "-n", "1", *second)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("goqueue: ")
    assert outcome.err.endswith(f"; {hint}\n")


def test_describe_shows_what_is_left_to_do(broker: Broker) -> None:
    consume(broker, "-n", "4")
    shown = said(broker.address, "group", "describe", "billing").splitlines()
    assert shown[0] == "billing: shared, empty, generation 1, 0 members, 2 messages left to do"
    assert [row.split() for row in shown[2:6]] == [
        ["TOPIC", "PARTITION", "OFFSET", "LAG"], ["orders", "0", "4", "2"], [],
        ["MEMBER", "CLIENT", "INSTANCE", "HEARD", "OF"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ("orders", "--shared"), ("orders", "-g", "g", "--ack", "first"), ("orders", "-g", "g", "--key-ordered"),
        ("orders", "-g", "g", "--prefetch", "5"), ("orders", "-g", "g", "--shared", "--commit", "auto"),
        ("orders", "-g", "g", "--shared", "--ack", "maybe"), ("orders", "-g", "g", "--shared", "-p", "0"),
        ("orders", "-g", "g", "--visibility-timeout", "5s"), ("orders", "-g", "g", "--shared", "--prefetch", "0"),
        ("orders", "-g", "g", "--shared", "--max-in-flight", "0"), ("orders", "-g", "g", "--max-attempts", "3"),
        ("orders", "-g", "g", "--shared", "--visibility-timeout", "soon"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2(arguments: tuple[str, ...]) -> None:
    outcome = run("127.0.0.1:1", "consume", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Error: " in outcome.err
