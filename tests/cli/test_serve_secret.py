"""`goqueue serve` among others: who may be a peer is said before it starts, and secrets are read and shown nowhere."""

import json
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.cli.commands import run
from tests.cli.test_serve import Broker, command, refused, running

SECRET = "a-secret-of-thirty-two-characters"
OTHER = "another-one-of-thirty-characters"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_a_broker_that_any_machine_could_join_does_not_start(tmp_path: Path) -> None:
    [_, said] = refused(tmp_path, "--internal", "192.0.2.1:7000")
    assert said.startswith("  --internal (GOQUEUE_INTERNAL_ADDR): whoever reaches 192.0.2.1 from another machine")
    assert all(way in said for way in ("--cluster-secret-file", "cluster.tls", "--insecure"))


def test_insecure_is_a_word_by_itself_and_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOQUEUE_CONFIG", raising=False)
    outcome = run("", "config", "check", "--insecure", "--internal", "0.0.0.0:7000", "-o", "json")
    assert outcome.status == 0, outcome.err
    assert "warning: whoever reaches 0.0.0.0 can pose as a node" in outcome.err
    found = {each["key"]: each for each in json.loads(outcome.out)}
    assert (found["broker.insecure"]["value"], found["broker.insecure"]["place"]) == (True, "--insecure")
    off = run("", "config", "check", "--insecure", "off", "--internal", "0.0.0.0:7000")
    assert off.status == 2


@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_a_secret_of_the_environment_is_used_and_not_shown(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOQUEUE_CLUSTER_SECRET", SECRET)
    outcome = run("", "config", "check", "--internal", "0.0.0.0:7000", "-o", form)
    assert outcome.status == 0, outcome.err
    assert outcome.err == ""
    assert "(not shown)" in outcome.out
    assert "GOQUEUE_CLUSTER_SECRET" in outcome.out
    assert SECRET not in outcome.out
    monkeypatch.setenv("GOQUEUE_CLUSTER_SECRET", "short-secret")
    outcome = run("", "config", "check")
    assert outcome.status == 2
    assert "cluster.secret (GOQUEUE_CLUSTER_SECRET): the secret has 12 bytes" in outcome.err
    assert "short-secret" not in outcome.out + outcome.err


def test_there_is_no_flag_that_would_put_a_secret_on_a_command_line() -> None:
    assert "No such option" in run("", "serve", "--cluster-secret", SECRET).err
    assert SECRET not in run("", "serve", "--help").out


def nodes_at(broker: Broker) -> int:
    """How many nodes a broker knows."""
    with urllib.request.urlopen(f"http://127.0.0.1:{broker.http}/cluster", timeout=20) as answered:
        return len(json.loads(answered.read())["nodes"])


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so, which it must be within a minute."""
    end = monotonic() + 60
    while not condition():
        assert monotonic() < end
        sleep(0.02)


def test_a_node_joins_when_its_file_has_the_secret_of_the_others(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(f"{SECRET}\n")
    wrong.write_text(f"{OTHER}\n")
    a_flags = ("--node-id", "a", "--internal", place, "--cluster-secret-file", str(right))
    b_flags = ("--node-id", "b", "--join", place, "--internal", ":0", "--cluster-secret-file", str(wrong))
    captured = ("--capture", str(tmp_path / "captured"))
    with running(tmp_path / "a", *a_flags) as a, (tmp_path / "b.log").open("w") as log:
        b = subprocess.Popen(command(tmp_path / "b", *b_flags, *captured), stderr=log)
        try:
            a.wait_for("the cluster's secret is another at node")
            until(lambda: "the cluster's secret is another at node" in (tmp_path / "b.log").read_text())
            until(lambda: "is ready" in (tmp_path / "b.log").read_text())
            assert nodes_at(a) == 1
            wrong.write_text(f"{SECRET}\n")
            b.send_signal(signal.SIGHUP)
            until(lambda: nodes_at(a) == 2)
            assert "SIGHUP: the files of TLS and of the secret were read again" in (tmp_path / "b.log").read_text()
            b.send_signal(signal.SIGTERM)
            assert b.wait(timeout=30) == 0
        finally:
            b.kill()
            b.wait()
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path not in (right, wrong)]
    assert kept
    assert not any(key.encode() in content for content in kept for key in (SECRET, OTHER))
