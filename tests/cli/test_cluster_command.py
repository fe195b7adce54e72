"""`goqueue cluster` against one broker and against three: what it prints, what it asks for, and how it ends."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goqueue.testing import Broker
from tests.cli.commands import run, said
from tests.transports.clustered import HOST, Cluster, clustered
from tests.transports.serving import in_thread
from tests.transports.serving import run as run_trio


@pytest.fixture
def address() -> Iterator[str]:
    """Where a broker is that is alone."""
    with Broker() as broker:
        yield broker.address


def test_a_broker_alone_is_shown_as_a_cluster_of_one(address: str) -> None:
    said(address, "topic", "create", "orders", "-p", "2")
    shown = said(address, "cluster", "info").splitlines()
    assert shown[0] == "cluster of one node: controller testing, term 0, 1 voter"
    assert shown[1].endswith("0 without a replica, 0 without a leader")
    assert shown[4].split()[:3] == ["testing", "live", "controller"]
    assert said(address, "cluster", "nodes").splitlines() == shown[3:5]
    assert json.loads(said(address, "cluster", "info", "-o", "json"))["controller"] == "testing"
    assert said(address, "cluster", "health") == "ok: 1 of 1 node there\n"
    assert json.loads(said(address, "cluster", "nodes", "-o", "json"))[0]["node_id"] == "testing"


def test_partitions_are_added_to_a_topic(address: str) -> None:
    said(address, "topic", "create", "orders", "-p", "2")
    assert said(address, "topic", "add-partitions", "orders", "5") == "orders has 5 partitions, and had 2\n"
    refused = run(address, "topic", "add-partitions", "orders", "3")
    assert (refused.status, refused.out) == (1, "")


def test_what_needs_others_is_refused_with_a_sentence(address: str) -> None:
    said(address, "topic", "create", "orders", "-p", "1")
    for arguments in (
        ("cluster", "drain", "testing"),
        ("cluster", "undrain", "testing"),
        ("cluster", "forget", "testing", "--yes"),
        ("cluster", "readmit", "testing", "--yes"),
        ("cluster", "elect"),
        ("cluster", "moves"),
        ("cluster", "reassign", "orders", "--to", "other"),
    ):
        outcome = run(address, *arguments)
        assert (outcome.status, outcome.out) == (1, ""), arguments
        assert "alone" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("reassign", "orders"), "say where to by --to"),
        (("reassign", "orders", "--to", "a", "--cancel"), "say where to by --to"),
        (("reassign", "orders", "--to", ","), "--to names no node"),
        (("forget", "a"), "say --yes to forget the node"),
        (("readmit", "a"), "say --yes to give it up"),
        (("elect", "--unclean"), "--unclean goes with one partition"),
        (("elect", "orders", "--unclean"), "--unclean goes with one partition"),
        (("elect", "orders/0", "--node", "a"), "--node goes with --unclean"),
        (("elect", "orders/0", "-p", "0"), "say which partition once"),
        (("elect", "orders/x"), "say which partition once"),
        (("elect", "orders/0", "--unclean"), "say --yes to elect a leader that may lack messages"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...], complaint: str, address: str) -> None:
    outcome = run(address, "cluster", *arguments)
    assert outcome.status == 2
    assert complaint in " ".join(outcome.err.split())


def test_nodes_are_drained_and_partitions_moved_by_command(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        address = f"{HOST}:{cluster['b'].http}"

        async def ask(*arguments: str) -> str:
            return await in_thread(lambda: said(address, *arguments))

        await ask("topic", "create", "orders", "-p", "2", "--replication-factor", "2")
        await cluster.until("b", "/admin/topics/orders/scaling-status", lambda found: found["is_complete"])
        assert (await ask("cluster", "health")).startswith("ok: 3 of 3 nodes there")
        # In this process all commands share one context of variables, so one runs at a time.
        moved = await ask("cluster", "reassign", "orders", "--to", "c,a")
        assert moved == "orders is where it is to be\n"
        found = json.loads(await ask("topic", "describe", "orders", "-o", "json"))["partition_list"]
        assert [each["replicas"] for each in found] == [["c", "a"], ["a", "c"]]
        assert await ask("cluster", "moves") == "TOPIC  PARTITION  LEADER  ADDING  REMOVING  IN SYNC  COPIED\n"
        assert await ask("cluster", "reassign", "orders", "--cancel") == "took back 0 moves\n"
        assert await ask("cluster", "drain", "c") == "c drains and leads 0 partitions\n"
        rows = [line.split() for line in (await ask("cluster", "nodes")).splitlines()]
        assert next(row for row in rows if row[0] == "c")[1] == "draining"
        assert await ask("cluster", "undrain", "c") == "c may lead again\n"
        refused = await in_thread(lambda: run(address, "cluster", "readmit", "c", "--yes"))
        assert (refused.status, "c is live" in refused.err) == (1, True)
        assert await ask("cluster", "elect", "orders") == "0 partitions left that others lead\n"

    async def test() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await scenario(cluster)

    run_trio(test)


def test_why_nobody_leads_is_told_and_an_operator_lets_a_replica_lead_that_may_lack_messages(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        address = f"{HOST}:{cluster['b'].http}"

        async def ask(*arguments: str) -> str:
            return (await in_thread(lambda: run(address, *arguments))).out

        await ask("topic", "create", "orders", "-p", "1", "--replication-factor", "1")
        await ask("cluster", "reassign", "orders", "--to", "c")
        await cluster["c"].stop()
        await cluster.until("b", "/cluster", lambda found: found["offline_count"] == 1, 60)
        why = (
            "only c has all of orders/0, and does not live: start c, or give up what only c may have: "
            "goqueue cluster elect --unclean orders/0"
        )
        for told in (("cluster", "health"), ("cluster", "info"), ("topic", "describe", "orders")):
            assert why in await ask(*told), told
        refused = await in_thread(lambda: run(address, "cluster", "elect", "orders/0", "--unclean", "--yes"))
        assert (refused.status, refused.out) == (1, "")
        assert "no replica of partition 0 of orders lives: start one of c" in refused.err
        await ask("cluster", "reassign", "orders", "--to", "a", "--no-wait")
        assert await ask("cluster", "elect", "orders/0", "--unclean", "--yes") == "a leads orders/0\n"
        led = await in_thread(lambda: run(address, "cluster", "elect", "orders/0", "--unclean", "--yes"))
        assert "orders is led by a, which has everything" in led.err

    async def test() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await scenario(cluster)

    run_trio(test)


@pytest.mark.skipif(sys.platform != "linux", reason="each broker has an address of its own out of 127/8")
def test_the_demonstration_kills_a_leader_and_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "cluster", "demo", "--once", "--folder", str(tmp_path / "kept")]
    shown = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    words = " ".join(shown.stdout.split())
    assert re.search(r"Killed n\d, which led, with SIGKILL", words)
    assert re.search(r"All [\d,]+ acknowledged messages are there", words)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["n1", "n2", "n3"]
