"""`goqueue topic` against a broker: what it prints, what it asks for, and how it ends."""

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from goqueue.cli.output import print_structure
from goqueue.cli.server import parse_server
from goqueue.cli.topic import parse_retention, parse_settings
from goqueue.testing import Broker
from tests.cli.commands import run, run_process, said


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is."""
    with Broker() as broker:
        yield broker.address


def test_a_topic_is_made_listed_altered_and_deleted(address: str) -> None:
    made = said(address, "topic", "create", "orders", "-p", "3", "-r", "7d", "--config", "fsync=interval")
    assert made == "made orders with 3 partitions\n"
    assert said(address, "topic", "list").splitlines()[1].split() == ["orders", "3", "0", "0"]
    found = json.loads(said(address, "topic", "describe", "orders", "-o", "json"))
    assert (found["config"]["retention_hours"], found["config"]["fsync"]) == (168, "interval")
    assert [each["id"] for each in found["partition_list"]] == [0, 1, 2]
    altered = said(address, "topic", "alter", "orders", "retention=2d", "fsync=")
    assert altered == "retention_hours of orders is 48\nfsync of orders is every\n"
    assert said(address, "topic", "delete", "orders", "--yes") == "deleted orders\n"
    assert json.loads(said(address, "topic", "list", "-o", "json")) == []


def test_describe_shows_partitions_and_settings(address: str) -> None:
    said(address, "topic", "create", "orders", "-p", "2")
    shown = said(address, "topic", "describe", "orders").splitlines()
    topic_id = json.loads(said(address, "topic", "describe", "orders", "-o", "json"))["id"]
    assert shown[0] == f"orders: 2 partitions, 0 messages, 0 bytes, id {topic_id}"
    assert shown[2].split()[:2] == ["PARTITION", "LEADER"]
    assert ["retention_hours", "168"] in [row.split() for row in shown]


def test_what_the_broker_refuses_is_a_sentence_and_status_1(address: str) -> None:
    said(address, "topic", "create", "orders")
    for arguments in (
        ("create", "orders"), ("create", "a b"), ("describe", "none"), ("alter", "orders", "colour=red"),
        ("alter", "orders", "fsync=maybe"), ("delete", "none", "--yes"), ("create", "big", "-p", "100000000"),
    ):  # fmt: skip
        outcome = run(address, "topic", *arguments)
        assert (outcome.status, outcome.out) == (1, ""), arguments
        assert outcome.err.startswith("goqueue: ")
        assert outcome.err.count("\n") == 1


def test_nothing_is_deleted_without_a_yes(address: str) -> None:
    said(address, "topic", "create", "orders")
    outcome = run(address, "topic", "delete", "orders")
    assert outcome.status == 2
    assert "--yes" in outcome.err
    assert "orders" in said(address, "topic", "list")


@pytest.mark.parametrize("arguments", [("topic", "list"), ("produce", "t", "-m", "x"), ("consume", "t")])
def test_where_no_broker_is_it_says_how_to_start_one(arguments: tuple[str, ...]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        outcome = run_process(address, *arguments)
    assert outcome.status == 3
    assert outcome.err == f"goqueue: no broker answers at {address}; start one with: goqueue serve\n"


def test_debug_shows_where_an_error_came_from(address: str) -> None:
    outcome = run(address, "--debug", "topic", "describe", "none")
    assert outcome.status == 1
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("goqueue: there is no topic 'none'; goqueue topic list shows")


def test_listing_topics_imports_no_client_library(address: str) -> None:
    code = (
        "import sys; from goqueue.cli.main import goqueue\n"
        "goqueue.main(['topic', 'list', '--server', sys.argv[1]], standalone_mode=False)\n"
        "print([name for name in ('betterproto', 'rich', 'trio', 'h2', 'attrs') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "['attrs']"


def test_topics_complete_from_the_broker_and_silently_not_without_one(address: str) -> None:
    said(address, "topic", "create", "orders")
    said(address, "topic", "create", "items")
    code = (
        "import os, sys; os.environ.update(_GOQUEUE_COMPLETE='bash_complete', COMP_WORDS=sys.argv[1], COMP_CWORD='2')\n"
        "os.environ['GOQUEUE_SERVER'] = sys.argv[2]\n"
        "from goqueue.cli.main import main; main()"
    )
    found = {
        where: subprocess.run(
            [sys.executable, "-c", code, "goqueue consume o", where], capture_output=True, text=True, check=False
        )
        for where in (address, "127.0.0.1:1", "nonsense")
    }
    assert found[address].stdout == "plain,orders\n"
    assert [(found[where].stdout.strip(), found[where].stderr) for where in ("127.0.0.1:1", "nonsense")] == [
        ("", "")
    ] * 2


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_has_its_completion(shell: str) -> None:
    assert "_GOQUEUE_COMPLETE" in said("127.0.0.1:1", "completion", shell)


@pytest.mark.parametrize(
    ("text", "host", "port", "is_secure"),
    [
        ("localhost:8080", "localhost", 8080, False),
        ("http://broker:80/", "broker", 80, False),
        ("https://broker", "broker", 443, True),
        ("[::1]:8080", "::1", 8080, False),
        ("https://[::1]", "::1", 443, True),
    ],
)
def test_an_address_has_several_forms(text: str, host: str, port: int, is_secure: bool) -> None:
    server = parse_server(text)
    assert (server.host, server.port, server.is_secure) == (host, port, is_secure)
    assert isinstance(server.tls(), ssl.SSLContext) is is_secure


@pytest.mark.parametrize("text", ["", "broker", ":1", "a:b", "a:0", "a:65536", "ftp://a:1", "a:1/x", "::1:5", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        parse_server(text)


def test_settings_have_their_types() -> None:
    found = parse_settings(["a=1", "b=-1", "c=0.5", "d=true", "e=text=x", "f=", "retention=1d"], may_reset=True)
    assert found == {"a": 1, "b": -1, "c": 0.5, "d": True, "e": "text=x", "f": None, "retention_hours": 24}


@pytest.mark.parametrize("pair", ["a", "=1", "retention=soon", "a="])
def test_what_is_no_setting_is_a_usage_error(pair: str) -> None:
    with pytest.raises(click.UsageError):
        parse_settings([pair], may_reset=False)


@pytest.mark.parametrize("text", ["90m", "0h", "x", ""])
def test_retention_is_in_whole_hours(text: str) -> None:
    with pytest.raises(ValueError, match=r"span of time|whole hours"):
        parse_retention(text)
    assert (parse_retention("7d"), parse_retention("unlimited")) == (168, -1)


def test_yaml_is_written_as_it_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    print_structure("yaml", {"name": "o: x", "empty": {}, "list": [{"a": 1, "b": [True, None]}, []], "0": "no"})
    assert capsys.readouterr().out.splitlines() == [
        'name: "o: x"', "empty: {}", "list:", "  - a: 1", "    b:", "      - true", "      - null", "  - []",
        '"0": "no"',
    ]  # fmt: skip
