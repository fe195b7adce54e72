"""`goqueue consume --group` against a broker: sharing partitions, committing what was printed, leaving properly."""

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest

import goqueue
from goqueue.testing import Broker
from goqueue.transports.client.blocking import BlockingConnection
from tests.cli.commands import line, run, said, variables


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker with the values 0 to 5, evens and odds in a partition each, in the topic `orders`."""
    with Broker() as broker, goqueue.connect(broker.address) as gq:
        gq.topics.create("orders", partitions=2)
        with gq.producer() as producer:
            for number in range(6):
                producer.send("orders", b"%d" % number, key=b"k", partition=number % 2)
        yield broker


@pytest.fixture
def gq(broker: Broker) -> Iterator[BlockingConnection]:
    """A connection to it."""
    with goqueue.connect(broker.address) as gq:
        yield gq


def consume(broker: Broker, *arguments: str) -> list[str]:
    """What a member prints, line by line."""
    return said(broker.address, "consume", "orders", "--group", "billing", *arguments).splitlines()


def committed(gq: BlockingConnection) -> dict[int, int | None]:
    """The group's offsets by partition."""
    return {each.partition: each.offset for each in gq.groups.offsets("billing", "orders")}


def member(broker: Broker, *arguments: str) -> "subprocess.Popen[bytes]":
    """A member in a process of its own."""
    return subprocess.Popen(
        line("consume", "orders", "--group", "billing", *arguments),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables(broker.address),
    )  # fmt: skip


def printed(process: "subprocess.Popen[bytes]", count: int) -> list[str]:
    """The next lines of a member."""
    assert process.stdout is not None
    return sorted(process.stdout.readline().decode().strip() for _ in range(count))


def test_a_group_goes_on_where_it_left_off(broker: Broker, gq: BlockingConnection) -> None:
    assert sorted(consume(broker, "-n", "6")) == [*"012345"]
    assert committed(gq) == {0: 3, 1: 3}
    with gq.producer() as producer:
        producer.publish("orders", b"more", partition=1)
    assert consume(broker, "-n", "1") == ["more"]
    assert gq.groups.describe("billing").members == []


def test_what_was_not_printed_is_not_committed(broker: Broker, gq: BlockingConnection) -> None:
    (first,) = consume(broker, "-n", "1")
    known = committed(gq)
    assert sorted(offset or 0 for offset in known.values()) == [0, 1]
    assert known[int(first)] == 1
    assert sorted([first, *consume(broker, "-n", "5")]) == [*"012345"]


def test_without_commits_the_group_stays_where_it_is(broker: Broker, gq: BlockingConnection) -> None:
    for _ in range(2):
        assert sorted(consume(broker, "-n", "6", "--commit", "none")) == [*"012345"]
    assert set(committed(gq).values()) <= {None, 0}


def test_a_silence_ends_it(broker: Broker, gq: BlockingConnection) -> None:
    assert sorted(consume(broker, "--timeout", "300ms")) == [*"012345"]
    assert committed(gq) == {0: 3, 1: 3}
    assert consume(broker, "--timeout", "100ms") == []


def test_a_member_reads_several_topics(broker: Broker, gq: BlockingConnection) -> None:
    gq.topics.create("items", partitions=1)
    with gq.producer() as producer:
        producer.publish("items", b"pen")
    out = said(broker.address, "consume", "orders", "items", "-g", "billing", "-n", "7", "--format", "%t %v")
    assert sorted(out.splitlines()) == sorted([*(f"orders {number}" for number in range(6)), "items pen"])


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_commits_what_was_printed_and_leaves(
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
    assert committed(gq) == {0: 3, 1: 3}
    assert gq.groups.describe("billing").members == []


def test_a_second_ctrl_c_ends_a_member_that_cannot_commit() -> None:
    with Broker() as broker, goqueue.connect(broker.address) as gq:
        gq.topics.create("orders", partitions=1)
        with gq.producer() as producer:
            producer.publish("orders", b"0")
        process = member(broker, "--commit", "auto")
        assert printed(process, 1) == ["0"]
    # The broker is gone for good.
    with process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
        assert process.returncode in (-signal.SIGINT, 1)


def test_two_members_share_and_one_takes_over_from_a_dead_one(broker: Broker, gq: BlockingConnection) -> None:
    def owners() -> dict[str, int]:
        return {each.client_id: len(each.assigned) for each in gq.groups.describe("billing").members}

    with member(broker, "--client-id", "ann") as ann:
        assert printed(ann, 6) == [*"012345"]
        with member(broker, "--client-id", "bob", "--session-timeout", "1s") as bob:
            while owners() != {"ann": 1, "bob": 1}:
                assert (ann.poll(), bob.poll()) == (None, None)
            with gq.producer() as producer:
                producer.send("orders", b"even", partition=0)
                producer.send("orders", b"odd", partition=1)
            assert {*printed(ann, 1), *printed(bob, 1)} == {"even", "odd"}
            bob.kill()
        with gq.producer() as producer:
            producer.send("orders", b"last even", partition=0)
            producer.send("orders", b"last odd", partition=1)
        # Bob had no time to say that it had printed one of these.
        lines: list[str] = []
        while not {"last even", "last odd"} <= {*lines}:
            lines += printed(ann, 1)
        assert owners() == {"ann": 2}
        ann.terminate()


def test_a_member_with_an_instance_id_comes_back_to_its_partitions(broker: Broker, gq: BlockingConnection) -> None:
    with member(broker, "--instance-id", "one", "--session-timeout", "60s") as process:
        printed(process, 6)
        before = gq.groups.describe("billing")
        process.kill()
    with member(broker, "--instance-id", "one", "--session-timeout", "60s") as process:
        with gq.producer() as producer:
            producer.publish("orders", b"more", partition=0)
        while printed(process, 1) != ["more"]:
            pass
        after = gq.groups.describe("billing")
        process.terminate()
    assert after.generation == before.generation
    assert [each.instance_id for each in after.members] == ["one"]
    assert after.members[0].assigned == before.members[0].assigned


def test_a_second_process_with_the_same_instance_id_fences_the_first(broker: Broker) -> None:
    with member(broker, "--instance-id", "one") as first:
        printed(first, 6)
        with member(broker, "--instance-id", "one") as second:
            assert first.wait(timeout=60) == 1
            assert first.stderr is not None
            assert first.stderr.read().startswith(b"goqueue: ")
            second.terminate()


def test_a_topic_that_is_not_there_is_said_and_waited_for(broker: Broker) -> None:
    outcome = run(broker.address, "consume", "none", "--group", "billing", "--timeout", "100ms")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == "goqueue: there is no topic 'none' yet; it is read once there is\n"


def test_a_reader_that_stops_early_is_a_good_end(broker: Broker, gq: BlockingConnection) -> None:
    gq.topics.create("many", partitions=1)
    with gq.producer() as producer:
        for number in range(50_000):
            producer.send("many", b"%020d" % number)
    command = line("consume", "many", "--group", "billing")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables(broker.address)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
    assert gq.groups.describe("billing").members == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("orders", "items"), ("orders", "--instance-id", "one"), ("orders", "--commit", "none"),
        ("orders", "--session-timeout", "5s"), ("orders", "--client-id", "till"),
        ("orders", "-g", "billing", "-p", "0"), ("orders", "-g", "billing", "--from", "3"),
        ("orders", "-g", "billing", "--from-beginning"), ("orders", "-g", "billing", "--to", "3"),
        ("orders", "-g", "billing", "--session-timeout", "1ms"), ("orders", "-g", "billing", "--commit", "maybe"), (),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(broker: Broker, arguments: tuple[str, ...]) -> None:
    outcome = run(broker.address, "consume", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert len(outcome.err.splitlines()[-1]) > 20


def test_a_group_that_cannot_be_is_a_sentence_and_status_1(broker: Broker) -> None:
    outcome = run(broker.address, "consume", "orders", "--group", "a b")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("goqueue: ")


def test_json_has_the_topic_and_the_place_of_each_message(broker: Broker) -> None:
    found = [json.loads(each) for each in consume(broker, "-n", "6", "-o", "json")]
    assert {(each["topic"], each["partition"], each["offset"]) for each in found} == {
        ("orders", number % 2, number // 2) for number in range(6)
    }
