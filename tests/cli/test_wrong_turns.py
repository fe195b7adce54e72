"""What commands say that cannot do what they are told: one sentence with the next step, a status, never a traceback."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from goqueue.testing import Broker
from tests.cli.commands import Outcome, run, said

# One command of each kind that asks a broker: over REST, to publish, to read, as a member of either kind of group.
ASKING = (
    ("topic", "list"), ("topic", "describe", "orders"), ("group", "list"), ("delayed", "list", "orders"),
    ("dlq", "list"), ("cluster", "info"), ("produce", "orders", "-m", "a"), ("consume", "orders"),
    ("consume", "orders", "--group", "g"), ("consume", "orders", "--group", "g", "--shared"),
)  # fmt: skip


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A broker with a message in each of the two partitions of `orders`."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "2")
        for partition in ("0", "1"):
            said(broker.address, "produce", "orders", "-p", partition, "-m", "a", "-q")
        yield broker.address


def sentence(outcome: Outcome, status: int = 1) -> str:
    """The one sentence with which a command ended."""
    assert outcome.status == status, outcome
    assert "Traceback" not in outcome.err
    (line,) = outcome.err.splitlines()
    assert line.startswith("goqueue: ")
    return line.removeprefix("goqueue: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("consume", "none"), "there is no topic 'none'; goqueue topic list shows"),
        (("consume", "none", "--follow"), "there is no topic 'none'; goqueue topic list shows"),
        (("consume", "orders", "-p", "7"), "orders has partitions 0 to 1, not 7"),
        (("consume", "orders", "-p", "0", "--from", "2"),
         "orders ends at offset 1 in partition 0, before --from 2; --from-beginning reads what is there"),
        (("consume", "orders", "-p", "0", "--from", "2", "--follow"), "--follow waits for what comes"),
        (("consume", "orders", "--from", "99"), "orders ends at offset 1"),
        (("produce", "none", "-m", "a"), "there is no topic 'none'; goqueue topic list shows"),
        (("topic", "describe", "none"), "goqueue topic create makes one"),
        (("topic", "create", "orders"), "topic orders exists already; goqueue topic describe shows it"),
        (("topic", "create", "more", "-p", "10001"), "num_partitions must be at most 10000"),
        (("topic", "alter", "orders", "fsync=often"), "expected one of every, interval, none"),
        (("group", "describe", "none"), "there is no group 'none'; goqueue group list shows"),
        (("group", "delete", "none"), "goqueue group list shows"),
        (("delayed", "list", "none"), "goqueue topic list shows"),
        (("delayed", "show", "orders", "0:99"), "no message waits at offset 99"),
        (("dlq", "peek", "none.dlq"), "there is no topic 'none.dlq'"),
        (("dlq", "status", "nothing"), "goqueue dlq status shows those that are remembered"),
        (("cluster", "drain", "nobody"), "this node is alone"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_one_sentence_with_the_next_step(
    address: str, arguments: tuple[str, ...], words: str
) -> None:
    assert words in sentence(run(address, *arguments))


def test_an_offset_that_lies_beyond_the_end_of_some_partitions_is_read_in_the_others(address: str) -> None:
    said(address, "produce", "orders", "-p", "1", "-m", "b", "-q")
    assert said(address, "consume", "orders", "--from", "2") == ""
    assert said(address, "consume", "orders", "-p", "1", "--from", "1") == "b\n"


class Stranger(BaseHTTPRequestHandler):
    """An HTTP server that is no broker."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Say something that is no JSON."""
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def stranger() -> Iterator[str]:
    """The address of an HTTP server that is no broker."""
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def silence() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("arguments", ASKING, ids=" ".join)
def test_an_address_without_a_broker_is_one_sentence_and_status_3(arguments: tuple[str, ...]) -> None:
    with silence() as nowhere:
        assert "start one with: goqueue serve" in sentence(run(nowhere, *arguments), 3)
    assert "no broker answers at nowhere.invalid:80" in sentence(run("nowhere.invalid:80", *arguments), 3)


@pytest.mark.parametrize("arguments", ASKING, ids=" ".join)
def test_somebody_else_at_the_address_is_one_sentence(arguments: tuple[str, ...]) -> None:
    with stranger() as other:
        outcome = run(other, *arguments)
        assert other in sentence(outcome, outcome.status)
        assert outcome.status in (1, 3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"valu": "a"}', "there is no field 'valu' in a message; did you mean value?"),
        ('{"value": "a", "colour": "red"}', "there is no field 'colour' in a message; known are value, key,"),
        ('{"value": "a", "deliver_at": "2030-01-01T00:00:00Z"}', "did you mean deliverAt?"),
    ],
)
def test_an_unknown_field_of_a_message_in_json_is_refused_with_its_line(address: str, line: str, words: str) -> None:
    outcome = run(address, "produce", "orders", "--json", "-q", given=b'{"value": "fine"}\n' + line.encode())
    assert outcome.status == 1
    first, *_ = outcome.err.splitlines()
    assert first.startswith("goqueue: line 2: ")
    assert words in first


def test_what_consume_prints_as_json_can_be_published_again_and_null_is_absent(address: str) -> None:
    said(address, "topic", "create", "copies", "-p", "1")
    nulls = b'{"value": "a", "key": null, "headers": null, "headers_encoding": null, "encoding": null, "delay": null}\n'
    said(address, "produce", "copies", "--json", "-q", given=nulls)
    printed = said(address, "consume", "copies", "-o", "json")
    said(address, "produce", "copies", "--json", "-q", given=printed.encode())
    assert said(address, "consume", "copies") == "a\na\n"
