"""`goqueue dlq` against a broker: dead letters looked at, sent back, dropped, and what was done followed."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from goqueue.testing import Broker
from tests.cli.commands import line, run, said, variables


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that has the topic `orders`, and six dead letters of it, half of which have a header."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "1")
        given = "".join(
            json.dumps({"value": f"v{each}", "key": f"k{each % 3}", "headers": {"odd": "yes"} if each % 2 else {}})
            + "\n"
            for each in range(6)
        )
        said(broker.address, "produce", "orders", "--json", "-q", given=given.encode())
        consumed = said(broker.address, "consume", "orders", "-g", "billing", "--shared", "--ack", "reject", "-n", "6")
        assert sorted(consumed.split()) == [f"v{each}" for each in range(6)]
        due = monotonic() + 60
        while letters(broker.address) != [{"topic": "orders.dlq", "letters": 6}]:
            assert monotonic() < due, letters(broker.address)
        yield broker.address


def letters(address: str) -> list[dict[str, object]]:
    """What `dlq list` answers."""
    found = json.loads(said(address, "dlq", "list", "-o", "json"))
    assert isinstance(found, list)
    return found


def many_more(address: str) -> None:
    """A hundred dead letters more, so that a redrive of one a second lasts longer than any test."""
    said(address, "produce", "orders", "-q", given=b"more\n" * 100)
    said(address, "consume", "orders", "-g", "billing", "--shared", "--ack", "reject", "-n", "100")
    due = monotonic() + 60
    while letters(address)[0]["letters"] != 106:
        assert monotonic() < due, letters(address)


def peeked(address: str, *options: str) -> list[dict[str, Any]]:
    """What `dlq peek` answers."""
    found = json.loads(said(address, "dlq", "peek", "orders.dlq", "-o", "json", *options))
    assert isinstance(found, list)
    return found


def redriven(address: str, verb: str, *options: str) -> dict[str, Any]:
    """What a redrive or a purge comes to."""
    found = json.loads(said(address, "dlq", verb, "orders.dlq", "--yes", "-o", "json", *options))
    assert isinstance(found, dict)
    return found


def test_dead_letters_are_listed_and_looked_at(address: str) -> None:
    assert said(address, "dlq", "list").splitlines()[1].split() == ["orders.dlq", "6"]
    shown = said(address, "dlq", "peek", "orders.dlq", "-n", "2").splitlines()
    assert [row.split()[0] for row in shown] == ["LETTER", "0:0", "0:1"]
    assert shown[1].split()[2:] == ["rejected", "billing", "1", "orders-0@0", "k0", "v0"]
    assert [each["value"] for each in peeked(address)] == [f"v{each}" for each in range(6)]
    assert letters(address)[0]["letters"] == 6


def test_filters_choose_letters(address: str) -> None:
    assert [each["value"] for each in peeked(address, "--key", "k1")] == ["v1", "v4"]
    assert [each["value"] for each in peeked(address, "-H", "odd=yes", "-n", "2")] == ["v1", "v3"]
    assert peeked(address, "--group", "other") == []
    assert peeked(address, "--reason", "expired") == []
    assert len(peeked(address, "--reason", "rejected", "--since", "1h")) == 6
    assert peeked(address, "--until", "1h") == []


def test_letters_go_back_where_they_came_from(address: str) -> None:
    dry = redriven(address, "redrive", "--key", "k1", "--dry-run")
    assert (dry["state"], dry["matched"], dry["moved"], letters(address)[0]["letters"]) == ("done", 2, 0, 6)
    done = redriven(address, "redrive", "--key", "k1")
    assert (done["state"], done["matched"], done["moved"]) == ("done", 2, 2)
    assert [each["value"] for each in peeked(address)] == ["v0", "v2", "v3", "v5"]
    assert said(address, "consume", "orders", "--from", "6").split() == ["v1", "v4"]
    assert redriven(address, "redrive", "--key", "k1")["moved"] == 0


def test_letters_go_elsewhere_and_no_more_of_them_than_wanted(address: str) -> None:
    said(address, "topic", "create", "repaired", "-p", "1")
    shown = said(address, "dlq", "redrive", "orders.dlq", "--to", "repaired", "--limit", "4", "--rate", "1000", "--yes")
    assert shown.startswith("sent back 4 dead letters to repaired of ")
    assert said(address, "consume", "repaired").split() == ["v0", "v1", "v2", "v3"]
    assert letters(address)[0]["letters"] == 2


def test_purged_letters_are_gone(address: str) -> None:
    outcome = run(address, "dlq", "purge", "orders.dlq")
    assert (outcome.status, outcome.out) == (2, "")
    assert "--yes" in outcome.err
    assert said(address, "dlq", "purge", "orders.dlq", "-H", "odd=yes", "--dry-run").startswith("3 dead letters of ")
    assert said(address, "dlq", "purge", "orders.dlq", "-H", "odd=yes", "-y").startswith("dropped 3 dead letters of ")
    assert [each["value"] for each in peeked(address)] == ["v0", "v2", "v4"]
    assert said(address, "consume", "orders", "--from", "6") == ""


def test_a_redrive_is_followed_and_cancelled(address: str) -> None:
    many_more(address)
    redrive_id = said(address, "dlq", "redrive", "orders.dlq", "--rate", "1", "--yes", "--detach").strip()
    shown = said(address, "dlq", "status", redrive_id).splitlines()
    assert shown[1].split()[:3] == [redrive_id, "redrive", "orders.dlq"]
    cancelled = json.loads(said(address, "dlq", "cancel", redrive_id, "-o", "json"))
    assert cancelled["redrive_id"] == redrive_id
    followed = json.loads(said(address, "dlq", "status", redrive_id, "--follow", "-o", "json"))
    assert followed["state"] == "cancelled"
    assert followed["moved"] < 106
    assert [each["redrive_id"] for each in json.loads(said(address, "dlq", "status", "-o", "json"))] == [redrive_id]


def test_a_bar_shows_how_far_it_is_and_ctrl_c_ends_nothing_else(address: str) -> None:
    many_more(address)
    redrive_id = said(address, "dlq", "redrive", "orders.dlq", "--rate", "1", "--yes", "--detach").strip()
    screen, terminal = pty.openpty()
    command = line("dlq", "status", redrive_id, "--follow")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=variables(address)) as process:
        os.close(terminal)
        shown = b""
        while b"moved" not in shown:
            shown += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        while f"goqueue dlq cancel {redrive_id}".encode() not in shown:
            shown += os.read(screen, 4096)
        assert process.wait(timeout=60) == 130
    os.close(screen)
    assert json.loads(said(address, "dlq", "status", redrive_id, "-o", "json"))["state"] == "running"


def test_what_the_broker_refuses_is_a_sentence_and_status_1(address: str) -> None:
    for arguments in (
        ("peek", "none"), ("redrive", "none", "--yes"), ("redrive", "orders.dlq", "--to", "orders.dlq", "--yes"),
        ("redrive", "orders.dlq", "--to", "none", "--yes"), ("purge", "none", "--yes"), ("status", "0123456789abcdef"),
        ("cancel", "0123456789abcdef"),
    ):  # fmt: skip
        outcome = run(address, "dlq", *arguments)
        assert (outcome.status, outcome.out) == (1, ""), arguments
        assert outcome.err.startswith("goqueue: "), arguments


@pytest.mark.parametrize(
    "arguments",
    [
        ("peek", "t", "--reason", "boredom"), ("peek", "t", "-H", "nothing"), ("peek", "t", "-H", "a=1", "-H", "a=2"),
        ("peek", "t", "--since", "17"), ("peek", "t", "--until", "soon"), ("peek", "t", "-n", "0"),
        ("redrive", "t", "--rate", "0"), ("redrive", "t", "--limit", "-1"), ("redrive", "t", "--to"), ("purge",),
        ("status", "--follow"), ("status", "0123456789abcdef", "--topic", "t"), ("cancel",),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2(arguments: tuple[str, ...]) -> None:
    outcome = run("127.0.0.1:1", "dlq", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Error: " in outcome.err


def test_the_shell_completes_topics_of_dead_letters_and_redrives(address: str) -> None:
    redrive_id = redriven(address, "redrive", "--dry-run")["redrive_id"]
    code = (
        "import os, sys; os.environ.update(_GOQUEUE_COMPLETE='bash_complete', COMP_WORDS=sys.argv[1])\n"
        "os.environ.update(COMP_CWORD=str(len(sys.argv[1].split()) - 1), GOQUEUE_SERVER=sys.argv[2])\n"
        "from goqueue.cli.main import main; main()"
    )
    found = [
        subprocess.run([sys.executable, "-c", code, words, address], capture_output=True, text=True, check=False)
        for words in ("goqueue dlq peek ord", f"goqueue dlq cancel {redrive_id[:2]}")
    ]
    assert [(each.stdout.strip(), each.stderr) for each in found] == [
        ("plain,orders.dlq", ""),
        (f"plain,{redrive_id}", ""),
    ]
