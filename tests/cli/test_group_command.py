"""`goqueue group` against a broker: what it prints, what it asks for, and how it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import pytest

from goqueue.cli.group import time_of_reset
from goqueue.cli.group_tables import print_group
from goqueue.cli.server import ask, parse_server
from goqueue.testing import Broker
from tests.cli.commands import line, run, said, variables


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that has five messages, an hour apart, in the first of the two partitions of `orders`."""
    with Broker() as broker:
        said(broker.address, "topic", "create", "orders", "-p", "2", "-r", "unlimited")
        given = "".join(
            json.dumps({"value": f"v{hour}", "partition": 0, "timestamp": f"2026-03-01T0{hour}:00:00Z"}) + "\n"
            for hour in range(5)
        )
        said(broker.address, "produce", "orders", "--json", "-q", given=given.encode())
        yield broker.address


def told(address: str, path: str, body: object) -> dict[str, Any]:
    """What the broker answers to a member."""
    return ask(parse_server(address), "POST", f"/v1/groups/{path}", body)


def joined(address: str, group: str = "billing") -> str:
    """The id of a member of a group, with its session of a minute."""
    body = {"client_id": "till", "topics": ["orders"], "session_timeout": "60s"}
    return str(told(address, f"{group}/join", body)["member_id"])


def committed(address: str, offset: int, group: str = "billing") -> None:
    """A group without members that has come so far."""
    told(address, f"{group}/commit", {"member_id": "", "offsets": {"orders": {"0": offset}}})


def rows(text: str) -> list[list[str]]:
    """The lines of a table, cell by cell."""
    return [line.split() for line in text.splitlines()]


def described(address: str, words: str) -> str:
    """What `describe billing` prints as soon as it has these words."""
    for _ in range(1000):
        shown = said(address, "group", "describe", "billing")
        if words in shown:
            return shown
    raise AssertionError(shown)


def test_groups_are_listed_with_their_state(address: str) -> None:
    assert rows(said(address, "group", "list")) == [["GROUP", "STATE", "MODE", "GENERATION", "MEMBERS"]]
    committed(address, 3, "audit")
    joined(address)
    assert rows(said(address, "group", "list"))[1:] == [
        ["audit", "empty", "exclusive", "0", "0"], ["billing", "stable", "exclusive", "1", "1"],
    ]  # fmt: skip
    found = json.loads(said(address, "group", "list", "-o", "json"))
    assert [each["group_id"] for each in found] == ["audit", "billing"]


def test_describe_shows_lag_by_partition_with_its_owner(address: str) -> None:
    committed(address, 3)
    member = joined(address)
    shown = said(address, "group", "describe", "billing").splitlines()
    assert shown[0] == "billing: stable, generation 1, 1 member, 2 messages left to read"
    table = rows("\n".join(shown))
    assert ["TOPIC", "PARTITION", "OFFSET", "LAG", "MEMBER"] in table
    assert ["orders", "0", "3", "2", member] in table
    assert ["orders", "1", "-", "0", member] in table
    assert [member, "till", "-", "orders", "0-1"] in [row[:5] for row in table]
    assert ["start", "earliest"] in table
    found = json.loads(said(address, "group", "describe", "billing", "-o", "json"))
    assert (found["offsets"]["orders"]["0"], found["lag"]["orders"]["0"]) == (3, 2)
    assert found["members"][0]["member_id"] == member
    assert "group_id: billing" in said(address, "group", "describe", "billing", "-o", "yaml")


def test_what_a_member_is_to_let_go_of_is_shown_as_that(address: str) -> None:
    first, second = (
        told(address, "billing/join/cooperative", {"client_id": name, "topics": ["orders"]})["member_id"]
        for name in ("one", "two")
    )
    shown = described(address, " generation 2,")
    assert ["orders", "0", "-", "5", first] in rows(shown)
    assert ["orders", "1", "-", "0", first, "(letting", "go)"] in rows(shown)
    told(address, "billing/revoke", {"member_id": first, "generation": 2, "revoked_partitions": ["orders-1"]})
    assert ["orders", "1", "-", "0", second] in rows(said(address, "group", "describe", "billing"))


def test_offsets_are_shown_for_the_topics_that_are_asked_for(address: str) -> None:
    committed(address, 4)
    assert ["orders", "0", "4", "1"] in rows(said(address, "group", "offsets", "billing"))
    assert rows(said(address, "group", "offsets", "billing", "--topic", "items"))[1:] == []
    found = json.loads(said(address, "group", "offsets", "billing", "--topic", "orders", "-o", "json"))
    assert found["offsets"]["orders"]["0"] == 4


@pytest.mark.parametrize(
    ("place", "after"),
    [
        (("--to-earliest",), "0"),
        (("--to-latest",), "5"),
        (("--to-offset", "2"), "2"),
        (("--to-time", "2026-03-01T02:30:00Z"), "3"),
        (("--to-time", "1m"), "5"),
    ],
)
def test_a_reset_says_where_offsets_were_and_are(address: str, place: tuple[str, ...], after: str) -> None:
    committed(address, 1)
    reset = ("group", "reset-offsets", "billing", "--topic", "orders", "-p", "0", *place)
    dry = run(address, *reset, "--dry-run")
    assert (dry.status, dry.err) == (0, "nothing was changed: this was a dry run\n")
    assert rows(dry.out) == [["TOPIC", "PARTITION", "BEFORE", "AFTER"], ["orders", "0", "1", after]]
    assert json.loads(said(address, "group", "offsets", "billing", "-o", "json"))["offsets"]["orders"]["0"] == 1
    assert said(address, *reset) == dry.out
    assert (
        str(json.loads(said(address, "group", "offsets", "billing", "-o", "json"))["offsets"]["orders"]["0"]) == after
    )


def test_a_reset_of_what_a_member_reads_is_refused(address: str) -> None:
    joined(address)
    outcome = run(address, "group", "reset-offsets", "billing", "--topic", "orders", "--to-earliest")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("goqueue: ")


@pytest.mark.parametrize(
    "options",
    [
        (), ("--to-earliest", "--to-latest"), ("--to-offset", "-1"), ("--to-time", "soon"), ("--to-time", "12"),
        ("--to-offset", "0", "--to-time", "2h"), ("--to-earliest", "-p", "-1"),
    ],
)  # fmt: skip
def test_a_reset_goes_to_one_place(address: str, options: tuple[str, ...]) -> None:
    outcome = run(address, "group", "reset-offsets", "billing", "--topic", "orders", *options)
    assert (outcome.status, outcome.out) == (2, "")


def test_settings_are_altered_and_taken_back(address: str) -> None:
    committed(address, 0)
    altered = said(address, "group", "alter", "billing", "start=latest", "max_attempts=7")
    assert altered == "start of billing is latest\nmax_attempts of billing is 7\n"
    assert said(address, "group", "alter", "billing", "start=") == "start of billing is earliest\n"
    outcome = run(address, "group", "alter", "billing", "colour=red")
    assert outcome.status == 1
    assert "colour" in outcome.err


def test_a_group_without_members_is_deleted_after_a_yes(address: str) -> None:
    committed(address, 1)
    outcome = run(address, "group", "delete", "billing")
    assert outcome.status == 2
    assert "--yes" in outcome.err
    assert said(address, "group", "delete", "billing", "--yes") == "deleted billing\n"
    assert json.loads(said(address, "group", "list", "-o", "json")) == []


def test_a_person_is_asked_before_a_group_goes(address: str) -> None:
    committed(address, 1)
    for answer, status, said_then in ((b"n\n", 1, "billing was not deleted"), (b"y\n", 0, "")):
        person, terminal = os.openpty()
        os.write(person, answer)
        ran = subprocess.run(
            line("group", "delete", "billing"), stdin=terminal, capture_output=True, text=True, env=variables(address),
            check=False, timeout=60,
        )  # fmt: skip
        os.close(person)
        os.close(terminal)
        assert (ran.returncode, said_then in ran.stderr) == (status, True)
        assert "Delete billing and its offsets of 1 partition? [y/N]" in ran.stderr
    assert json.loads(said(address, "group", "list", "-o", "json")) == []


def test_a_group_with_members_stays(address: str) -> None:
    joined(address)
    outcome = run(address, "group", "delete", "billing", "--yes")
    assert outcome.status == 1
    assert "billing" in outcome.err
    assert "billing" in said(address, "group", "list")


def test_rebalances_are_counted_for_one_group_and_for_all(address: str) -> None:
    joined(address)
    for name in (("billing",), ()):
        table = rows(said(address, "group", "rebalances", *name))
        assert ["rebalances", "1"] in table
        assert ["because", "of", "member_joined", "1"] in table
    assert json.loads(said(address, "group", "rebalances", "-o", "json"))["total_rebalances"] == 1


def test_what_is_not_there_is_a_sentence_and_status_1(address: str) -> None:
    for arguments in (
        ("describe", "none"), ("offsets", "none"), ("delete", "none", "--yes"), ("alter", "none", "start=latest"),
        ("describe", "a b"), ("reset-offsets", "billing", "--topic", "none", "--to-earliest"),
    ):  # fmt: skip
        outcome = run(address, "group", *arguments)
        assert (outcome.status, outcome.out) == (1, ""), arguments
        assert outcome.err.startswith("goqueue: ")
        assert outcome.err.count("\n") == 1


def test_listing_groups_imports_no_client_library(address: str) -> None:
    code = (
        "import sys; from goqueue.cli.main import goqueue\n"
        "goqueue.main(['group', 'list', '--server', sys.argv[1]], standalone_mode=False)\n"
        "print([name for name in ('betterproto', 'rich', 'trio', 'h2', 'yaml', 'attrs') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "['attrs']"


@pytest.mark.parametrize("words", ["goqueue group describe b", "goqueue consume orders --group b"])
def test_groups_complete_from_the_broker_and_silently_not_without_one(address: str, words: str) -> None:
    committed(address, 0)
    committed(address, 0, "audit")
    code = (
        "import os, sys; os.environ.update(_GOQUEUE_COMPLETE='bash_complete', COMP_WORDS=sys.argv[1])\n"
        "os.environ.update(COMP_CWORD=str(len(sys.argv[1].split()) - 1), GOQUEUE_SERVER=sys.argv[2])\n"
        "from goqueue.cli.main import main; main()"
    )
    found = [
        subprocess.run([sys.executable, "-c", code, words, where], capture_output=True, text=True, check=False)
        for where in (address, "127.0.0.1:1")
    ]
    assert [(each.stdout.strip(), each.stderr) for each in found] == [("plain,billing", ""), ("", "")]


def test_many_partitions_are_said_in_few_words(capsys: pytest.CaptureFixture[str]) -> None:
    member = {
        "member_id": "m", "client_id": "", "partitions_to_revoke": [], "last_heartbeat": None,
        "assigned_partitions": [f"a-b-{number}" for number in (0, 1, 2, 5, 7, 8)] + ["z-10"],
    }  # fmt: skip
    found = {
        "group_id": "g",
        "state": "stable",
        "mode": "exclusive",
        "generation": 1,
        "members": [member],
        "config": {},
    }
    print_group(found, {"offsets": {}, "lag": {}}, datetime.now(UTC))
    assert rows(capsys.readouterr().out)[5] == ["m", "-", "-", "a-b", "0-2,5,7-8;", "z", "10", "-"]


def test_a_time_to_go_on_from_is_a_moment_or_so_long_ago() -> None:
    assert time_of_reset("2026-03-01T12:00:00+01:00") == datetime(2026, 3, 1, 11, tzinfo=UTC)
    assert abs(datetime.now(UTC) - timedelta(hours=2) - time_of_reset("2h")) < timedelta(minutes=1)
    with pytest.raises(click.BadParameter, match="--to-offset 12"):
        time_of_reset("12")
