"""`goqueue serve` as a process: what it says, what it refuses, and how it goes."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

from tests.cli import commands

READY = re.compile(
    r"is ready after \d+ ms: (https?)://127\.0\.0\.1:(\d+), grpc 127\.0\.0\.1:(\d+)"
    r"(?:, metrics http://127\.0\.0\.1:(\d+))?"
)


class Broker:
    """A broker in a process of its own, and its ports."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.ready = self.wait_for("is ready")
        found = READY.search(self.ready)
        assert found is not None, self.ready
        self.scheme = found[1]
        self.http, self.grpc, self.metrics = (int(port or 0) for port in found.groups()[1:])

    def wait_for(self, words: str) -> str:
        """The next line that says something; what comes before is dropped."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                return line
        raise AssertionError(f"it ended without {words!r}")

    def get(self, path: str, port: int | None = None, body: bytes | None = None, host: str = "") -> bytes:
        """What is answered there, to a body sent as JSON, and to a client that calls the broker `host`."""
        headers = {"Content-Type": "application/json", **({"Host": host} if host else {})}
        asked = urllib.request.Request(f"http://127.0.0.1:{port or self.http}{path}", body, headers)
        with urllib.request.urlopen(asked, timeout=20) as answer:
            content: bytes = answer.read()
            return content

    def end(self) -> int:
        """Its exit status, which comes by itself."""
        return self.process.wait(timeout=30)


def command(folder: Path, *options: str) -> list[str]:
    ports = ("--http", ":0", "--grpc", ":0", "--metrics", ":0")
    return [sys.executable, "-m", "goqueue", "serve", "--data-dir", str(folder), *ports, *options]


@contextmanager
def running(
    folder: Path, *options: str, invoked_as: str = "goqueue", notify: str = "", umask: int = -1
) -> Iterator[Broker]:
    """A broker that is ready; what is left of it is killed at the end."""
    variables = {**os.environ, "GOQUEUE_INVOKED_AS": invoked_as, "NOTIFY_SOCKET": notify}
    with subprocess.Popen(
        command(folder, *options), stderr=subprocess.PIPE, text=True, env=variables, umask=umask
    ) as process:
        try:
            yield Broker(process)
        finally:
            process.kill()


def refused(folder: Path, *options: str, **variables: str) -> list[str]:
    """What it says when it does not start."""
    ran = subprocess.run(
        command(folder, *options), capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, **variables},
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stderr.splitlines()


def test_it_serves_three_ports_and_stops_in_order(tmp_path: Path) -> None:
    with running(tmp_path, "--grace", "5s") as broker:
        broker.get("/topics", body=b'{"name": "orders"}')
        assert b"orders" in broker.get("/topics", broker.grpc)
        assert b"goqueue_broker_topics 1\n" in broker.get("/metrics", broker.metrics)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            broker.get("/topics", broker.metrics)
        broker.process.send_signal(signal.SIGTERM)
        assert broker.end() == 0
    with running(tmp_path) as broker:
        assert json.loads(broker.get("/topics"))["topics"] == ["orders"]


def test_a_first_user_is_told_what_to_type_next_as_they_typed_what_they_did(tmp_path: Path) -> None:
    with running(tmp_path, invoked_as="./dev run") as broker:
        assert "keeps the only copy" in broker.wait_for("this node is alone")
        said = broker.wait_for("topic create")
        assert said.rstrip().endswith(f"./dev run topic create orders --server localhost:{broker.http}")


def test_a_broker_in_the_background_is_ready_when_the_command_returns(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("storage: {reserve: 0}")
    waiting = command(tmp_path / "data", "--wait", "--config", str(tmp_path / "f.yaml"))
    ran = subprocess.run(waiting, capture_output=True, text=True, check=True, timeout=60, umask=0)
    pid = int(ran.stdout.split()[-1])
    try:
        said = (tmp_path / "data" / "broker.log").read_text()
        found = READY.search(said)
        assert found is not None, said
        answered = urllib.request.urlopen(f"http://127.0.0.1:{found[2]}/readyz", timeout=20)
        assert json.loads(answered.read())["status"] == "pass"
        assert refused(tmp_path / "data", "--wait")[0].partition(f"is in use by process {pid}:")[1]
        assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("data", "data/broker.log")] == [0o700, 0o600]
    finally:
        os.kill(pid, signal.SIGTERM)
        _await_end(pid)


def _await_end(pid: int) -> None:
    """Return when a process that is no child of this one is gone."""
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.05)


def test_a_broker_that_cannot_start_in_the_background_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert len(refused(tmp_path / "file", "--wait")) == 1


def test_systemd_is_told_when_the_broker_is_ready_and_when_it_stops(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(30)
        with running(tmp_path / "data", notify=str(tmp_path / "notify")) as broker:
            assert told.recv(100) == b"READY=1"
            broker.process.send_signal(signal.SIGTERM)
            assert told.recv(100) == b"STOPPING=1"
            assert broker.end() == 0


def test_a_disk_without_room_refuses_messages_and_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("storage: {reserve: 1TiB}")
    with running(tmp_path / "data", "--config", str(tmp_path / "f.yaml")) as broker:
        broker.get("/topics", body=b'{"name": "orders"}')
        with pytest.raises(urllib.error.HTTPError, match="503") as unready:
            broker.get("/readyz")
        assert json.loads(unready.value.read())["checks"]["disk"]["status"] == "fail"
        for delay in (b"", b', "delay": "1h"'):
            with pytest.raises(urllib.error.HTTPError, match="507") as full:
                broker.get("/topics/orders/publish", body=b'{"value": "a"%s}' % delay)
            assert json.loads(full.value.read())["code"] == "disk_full"
        produced = commands.run_process(f"127.0.0.1:{broker.http}", "produce", "orders", "-m", "a")
        assert produced.status == 1
        assert "the disk of node node-1 is full: nothing was stored" in produced.err


@pytest.mark.parametrize("mode", [(), ("--internal", ":0")], ids=["alone", "a cluster of one"])
def test_the_first_request_of_a_start_is_never_refused(tmp_path: Path, mode: tuple[str, ...]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [("/topics", b'{"name": "orders"}'), ("/topics/orders/publish", b'{"value": "a"}')]
    for path, body in asked:
        line = command(tmp_path, "--http", f":{port}", *mode)
        with subprocess.Popen(line, stderr=subprocess.DEVNULL) as process:
            try:
                _await_listener(port)
                typed = {"Content-Type": "application/json"}
                asking = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, typed)
                with urllib.request.urlopen(asking, timeout=20) as answer:
                    assert answer.status in (200, 201)
            finally:
                # What comes next begins after a kill.
                process.kill()


def _await_listener(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 20).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
        else:
            return


def test_commands_wait_for_a_broker_that_is_starting(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waiting = subprocess.Popen(
        commands.line("topic", "create", "orders"), stdout=subprocess.PIPE, text=True,
        env={**os.environ, "GOQUEUE_SERVER": f"127.0.0.1:{port}", "GOQUEUE_WAIT": "60"},
    )  # fmt: skip
    with waiting, running(tmp_path, "--http", f":{port}"):
        out, _ = waiting.communicate(timeout=60)
    assert out.startswith("made orders")


def test_it_answers_to_its_own_names_and_those_that_it_is_given(tmp_path: Path) -> None:
    with running(tmp_path, "--allowed-hosts", "mq.example.com,.example.org", "--advertise", "queue.internal") as broker:
        for port in (broker.http, broker.grpc, broker.metrics):
            for host in ("mq.example.com", "a.example.org:80", socket.gethostname(), "localhost", f"[::1]:{port}"):
                assert b"pass" in broker.get("/healthz", port, host=host)
            for host in ("evil.example", "example.com", f"evil.example:{port}"):
                with pytest.raises(urllib.error.HTTPError, match="421"):
                    broker.get("/healthz", port, host=host)


def test_a_variable_that_nothing_reads_is_warned_of_with_the_nearest_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOQUEUE_HTP_ADDR", ":1")
    monkeypatch.setenv("GOQUEUE_API_KEY", "of the command line")
    monkeypatch.setenv("GOQUEUE_SERVICE_HOST", "set by Kubernetes")
    monkeypatch.setenv("GOQUEUE_PORT_8080_TCP_ADDR", "set by Kubernetes")
    with subprocess.Popen(command(tmp_path), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            if "is ready" in line:
                break
            said.append(line)
        process.kill()
    assert [line.partition("nothing reads")[2].strip() for line in said if "nothing reads" in line] == [
        "the variable GOQUEUE_HTP_ADDR; did you mean GOQUEUE_HTTP_ADDR?"
    ]


def test_a_second_signal_cuts_what_the_first_waits_for(tmp_path: Path) -> None:
    begun = b"POST /topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"
    with (
        running(tmp_path, "--grace", "1h") as broker,
        socket.create_connection(("127.0.0.1", broker.http), timeout=20) as waiting,
    ):
        waiting.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n" + begun)
        assert waiting.recv(1000).startswith(b"HTTP/1.1 200")
        broker.process.send_signal(signal.SIGTERM)
        broker.wait_for("draining")
        broker.process.send_signal(signal.SIGINT)
        broker.wait_for("cutting 1 connections")
        assert broker.end() == 0


def test_the_log_may_be_json(tmp_path: Path) -> None:
    with running(tmp_path, "--log-format", "json", "--node-id", "north") as broker:
        said = json.loads(broker.ready)
    assert said["message"].startswith("node north is ready")
    assert (set(said), said["level"]) == ({"time", "level", "logger", "message"}, "info")


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    wrong = ("--http", "here", "--grpc", ":70000", "--grace", "soon", "--log-level", "loud", "--tls-key", "x")
    first, *problems = refused(tmp_path, *wrong, GOQUEUE_PEERS="b@b", GOQUEUE_NODE_ID="a b", GOQUEUE_LOG_FORMAT="xml")
    assert first == "goqueue: cannot serve like this:"
    named = [problem.strip().partition(" ")[0] for problem in problems]
    assert sorted(named) == [
        "--grace", "--grpc", "--http", "--log-format", "--log-level", "--node-id", "--peers", "--tls-cert"
    ]  # fmt: skip


def test_ports_that_are_taken_are_named_by_their_flags(tmp_path: Path) -> None:
    with socket.socket() as first, socket.socket() as second:
        for taken in (first, second):
            taken.bind(("127.0.0.1", 0))
            taken.listen()
        ports = [taken.getsockname()[1] for taken in (first, second)]
        said = refused(tmp_path, "--http", f":{ports[0]}", "--metrics", f":{ports[1]}")
    assert said[1:] == [
        f"  --http (GOQUEUE_HTTP_ADDR): cannot listen on 127.0.0.1:{ports[0]}: address already in use",
        f"  --metrics (GOQUEUE_METRICS_ADDR): cannot listen on 127.0.0.1:{ports[1]}: address already in use",
    ]
    assert "--grpc" in "".join(refused(tmp_path, "--http", ":8123", "--grpc", ":8123"))


def test_a_folder_that_is_in_use_or_no_folder_is_one_sentence(tmp_path: Path) -> None:
    with running(tmp_path / "used"):
        assert len(refused(tmp_path / "used")) == 1
    (tmp_path / "file").write_text("")
    assert len(refused(tmp_path / "file")) == 1


def test_what_a_broker_makes_in_its_data_folder_is_for_its_user_alone(tmp_path: Path) -> None:
    root = tmp_path / "made" / "data"
    with running(root, "--capture", str(root / "captures"), umask=0) as broker:
        broker.get("/topics", body=b'{"name": "orders"}')
        broker.get("/topics/orders/publish", body=b'{"value": "secret"}')
        broker.process.send_signal(signal.SIGTERM)
        assert broker.end() == 0
    made = [tmp_path / "made", *(tmp_path / "made").rglob("*")]
    assert {"LOCK", "FORMAT", "checkpoint", "captures", "orders"} <= {path.name for path in made}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}


DEFECTIVE = """
import sys
from goqueue.cli.main import main
from goqueue.storage.files import RealFile
sync = RealFile.finish_sync
def fail(file, token):
    if file.path.startswith("logs/orders"):
        raise ZeroDivisionError("planted")
    sync(file, token)
RealFile.finish_sync = fail
main()
"""


def test_what_never_should_fail_ends_the_process_with_a_sentence_and_acknowledges_nothing(tmp_path: Path) -> None:
    program = [sys.executable, "-c", DEFECTIVE, *command(tmp_path)[3:]]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as process:
        try:
            broker = Broker(process)
            broker.get("/topics", body=b'{"name": "orders"}')
            with pytest.raises(urllib.error.HTTPError, match="504"):
                broker.get("/topics/orders/publish", body=b'{"value": "lost"}')
            assert broker.end() == 1
            assert process.stderr is not None
            *log, said = process.stderr.read().splitlines()
        finally:
            process.kill()
    assert all(" INFO " in line for line in log)
    assert said.startswith("goqueue: logs/orders/0: sync failed in a way that it never should (ZeroDivisionError at ")
    with running(tmp_path) as broker:
        assert json.loads(broker.get("/topics"))["topics"] == ["orders"]


def test_tls_files_are_read_again_on_sighup(tmp_path: Path) -> None:
    authorities = [trustme.CA(), trustme.CA()]
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def issue(authority: trustme.CA) -> None:
        issued = authority.issue_cert("127.0.0.1")
        cert.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())

    def version(broker: Broker, authority: trustme.CA) -> bytes:
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        with urllib.request.urlopen(f"https://127.0.0.1:{broker.http}/version", timeout=20, context=trusting) as answer:
            content: bytes = answer.read()
            return content

    issue(authorities[0])
    with running(tmp_path / "folder", "--tls-cert", str(cert), "--tls-key", str(key)) as broker:
        assert broker.scheme == "https"
        assert b"api" in version(broker, authorities[0])
        issue(authorities[1])
        broker.process.send_signal(signal.SIGHUP)
        broker.wait_for("read again")
        assert b"api" in version(broker, authorities[1])
        key.write_text("none")
        broker.process.send_signal(signal.SIGHUP)
        broker.wait_for("the old ones stay")
        assert b"api" in version(broker, authorities[1])
    assert "--tls-cert" in refused(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key))[1]
