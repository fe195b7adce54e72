"""`goqueue replay` over the captures of several nodes: each told again, and one message followed through all."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.core.capture.timeline import Place
from goqueue.core.node import Node
from goqueue.core.requests.messages import Fetch, NewRecord, Publish
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.storage.capture_files import list_captures
from goqueue.storage.capture_following import follow, needed, timeline
from tests.core.capture.traffic import VOCABULARY
from tests.core.driven_cluster import DrivenCluster
from tests.core.log.batches import WALL_MS

FOLLOWED = 20


def captured_cluster(folder: Path) -> str:
    """Three nodes with a capture each; answers who leads the partition of the topic, which holds 40 messages."""
    captures: list[Capture] = []

    def recorded(node: Node) -> Node:
        capture = Capture(str(folder / node.options.node_id), CaptureLimits(file_bytes=6_000), in_place=True)
        captures.append(capture)
        return capture.start(node, 0, WALL_MS)

    def turn(cluster: DrivenCluster) -> None:
        cluster.advance(100)
        for capture in captures:
            assert capture.turn(cluster.now, WALL_MS + cluster.now // 1_000_000)

    cluster = DrivenCluster(3, recorded=recorded)
    cluster.until(
        lambda: cluster.controller() != "" and all(len(cluster.node(one).peers()) == 2 for one in cluster.living())
    )
    cluster.answer("n1", CreateTopic("orders", 1, 3))
    for at in range(40):
        cluster.answer(f"n{at % 3 + 1}", Publish("orders", [NewRecord(None, b"%d" % at * 50)]))
        turn(cluster)
    cluster.answer("n1", Fetch("orders", 0, FOLLOWED))
    for capture in captures:
        capture.close()
    return cluster.leader("orders")


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Path]]:
    """The leader of the topic, and a folder a node."""
    folder = tmp_path_factory.mktemp("cluster")
    return captured_cluster(folder), [folder / name for name in ("n1", "n2", "n3")]


def run(*arguments: object) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(goqueue, ["replay", *map(str, arguments)])


def test_the_captures_of_all_nodes_are_identical_each_by_its_name(captures: tuple[str, list[Path]]) -> None:
    folders = captures[1]
    result = run(*folders)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert [line.partition(" identical: ")[0] for line in lines] == [f"{one.name} ({one})" for one in folders]
    said = json.loads(run(*folders, "-o", "json").output)
    assert said["identical"] is True
    assert [one["node_id"] for one in said["nodes"]] == ["n1", "n2", "n3"]
    assert all(one["events"] > 200 for one in said["nodes"])


def test_one_node_that_diverges_is_named_and_fails_all(
    captures: tuple[str, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, folders = captures
    monkeypatch.setattr("goqueue.core.partition.partition.Partition.gather", lambda *_: None)
    result = run(*folders)
    assert result.exit_code == 1
    told = [line.split()[0] for line in result.output.splitlines() if " diverged in " in line]
    identical = [line.split()[0] for line in result.output.splitlines() if " identical: " in line]
    assert leader in told
    assert sorted([*told, *identical]) == ["n1", "n2", "n3"]


def test_a_message_is_followed_through_all_nodes(captures: tuple[str, list[Path]]) -> None:
    leader, folders = captures
    origin = f"n{FOLLOWED % 3 + 1}"
    result = run("--follow", f"orders/0/{FOLLOWED}", *folders)
    assert result.exit_code == 0, result.output
    title, *lines = result.output.splitlines()
    assert title.split()[:2] == ["TIME", "(UTC)"]
    rows = [line.split() for line in lines]
    first = [origin, "asked"]
    assert (rows[0][0], rows[0][2:4]) == ("2023-11-14", first)
    steps = {(row[2], row[3]) for row in rows}
    assert (leader, "appended") in steps
    assert {node for node, step in steps if step == "copied"} == {"n1", "n2", "n3"} - {leader}
    assert {node for node, step in steps if step == "durable"} == {"n1", "n2", "n3"}
    assert {(leader, "visible"), (origin, "answered"), ("n1", "delivered")} < steps


def test_a_program_gets_the_way_as_a_structure(captures: tuple[str, list[Path]]) -> None:
    leader, folders = captures
    said = json.loads(run("--follow", f"orders/0/{FOLLOWED}", *folders, "-o", "json").output)
    assert (said["topic"], said["partition"], said["offset"]) == ("orders", 0, FOLLOWED)
    assert [one["node_id"] for one in said["nodes"]] == ["n1", "n2", "n3"]
    [visible] = [step for step in said["steps"] if step["step"] == "visible"]
    assert (visible["node"], visible["peer"]) == (leader, "")
    assert visible["time"].startswith("2023-11-14T22:13:")
    times = [step["time"] for step in said["steps"]]
    assert times == sorted(times)


def test_only_the_files_that_may_speak_of_a_message_are_replayed(captures: tuple[str, list[Path]]) -> None:
    leader, folders = captures
    files = list_captures(str(next(one for one in folders if one.name == leader)))
    place = Place("orders", 0, FOLLOWED)
    few = needed(files, place, VOCABULARY)
    assert 1 < len(few) < len(files)
    assert few == files[-len(few) :]
    assert needed(files, Place("bills", 0, 0), VOCABULARY) == files
    some = follow(files, place, VOCABULARY)
    assert (some.node_id, some.replay.files, some.replay.is_identical) == (leader, len(few), True)
    whole = [follow(list_captures(str(one)), place, VOCABULARY) for one in folders]
    assert [step for step in timeline(whole) if step.node == leader] == some.steps


def test_where_nothing_is_said_of_a_message_the_status_says_so(captures: tuple[str, list[Path]]) -> None:
    result = run("--follow", "orders/0/4000", *captures[1])
    assert (result.exit_code, result.output) == (1, "nothing is said of orders/0/4000 in these captures\n")
    assert json.loads(run("--follow", "bills/0/1", *captures[1], "--json").output)["steps"] == []


@pytest.mark.parametrize("text", ["orders", "orders/0", "orders/0/-1", "orders/x/1", "/0/1", "orders/0/1/2"])
def test_a_place_that_is_none_is_named(text: str, captures: tuple[str, list[Path]]) -> None:
    result = run("--follow", text, *captures[1])
    assert result.exit_code == 2
    assert f"'{text}' is not TOPIC/PARTITION/OFFSET, like orders/0/17" in result.output
