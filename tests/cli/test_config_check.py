"""`goqueue config check`, and a broker that does what its file says."""

import json
import urllib.error
from pathlib import Path

import pytest
import yaml

from goqueue.cli.settings.keys import KEYS
from tests.cli.commands import Outcome, run
from tests.cli.test_serve import refused, running


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file of a test is."""
    for key in KEYS:
        if key.variable:
            monkeypatch.delenv(key.variable, raising=False)
    monkeypatch.delenv("GOQUEUE_CONFIG", raising=False)
    return tmp_path / "goqueue.yaml"


def check(*arguments: str) -> Outcome:
    """What is said of some settings."""
    return run("", "config", "check", *arguments)


def test_check_says_where_each_setting_comes_from(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("broker:\n  nodeId: north\n  grace: ${PATIENCE:1s}\nstorage: {segmentSize: 64MiB}\n")
    monkeypatch.setenv("PATIENCE", "30s")
    monkeypatch.setenv("GOQUEUE_LOG_LEVEL", "debug")
    outcome = check(str(file), "--http", ":8081", "-o", "json")
    assert outcome.status == 0, outcome.err
    found = {each["key"]: each for each in json.loads(outcome.out)}
    assert [*found] == [key.name for key in KEYS]
    assert found["broker.nodeId"] == {
        "key": "broker.nodeId", "value": "north", "source": "file", "place": f"{file}:2",
    }  # fmt: skip
    assert (found["broker.grace"]["value"], found["broker.grace"]["place"]) == ("30s", f"{file}:3 (PATIENCE)")
    assert (found["storage.segmentSize"]["value"], found["metrics.enabled"]["value"]) == (64 << 20, True)
    assert (found["logging.level"]["source"], found["logging.level"]["place"]) == ("variable", "GOQUEUE_LOG_LEVEL")
    assert (found["broker.listeners.http"]["source"], found["broker.listeners.http"]["place"]) == ("flag", "--http")
    assert (found["metrics.listen"]["source"], found["metrics.listen"]["place"]) == ("default", "")
    assert yaml.safe_load(check(str(file), "--http", ":8081", "-o", "yaml").out) == [*found.values()]
    rows = [row.split() for row in check(str(file)).out.splitlines()]
    assert ["broker.nodeId", "north", f"{file}:2"] in rows
    assert ["metrics.listen", ":9090", "default"] in rows


def test_check_ends_with_status_2_and_everything_that_is_wrong(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("broker:\n  nodeid: north\n  tls: {key: k.pem}\nconsumer: {sessionTimeout: 2s}\n")
    monkeypatch.setenv("GOQUEUE_CONFIG", str(file))
    outcome = check("--grace", "soon")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [
        "goqueue: cannot serve like this:",
        "  --grace (GOQUEUE_GRACE): 'soon' is no span of time; write it like 30s, 5m, 1h30m or 250ms",
        f"  {file}:2: broker.nodeid: there is no such key; did you mean broker.nodeId?",
        "  --tls-cert (GOQUEUE_TLS_CERT): it is needed beside --tls-key",
        "  consumer.heartbeatInterval: it has to be shorter than the session timeout, 2s",
    ]
    assert check(str(file.with_name("none.yaml"))).status == 2


def test_a_broker_does_what_its_file_says(file: Path) -> None:
    file.write_text("""\
broker: {nodeId: north}
storage: {segmentSize: 1MiB, indexIntervalBytes: 8192, fsync: {mode: interval, intervalMs: 250}}
defaults:
  topic: {partitions: 2, retention: {hours: 24, bytes: 1000000}}
  delivery: {visibilityTimeout: 5s, maxRetries: 0, dlqEnabled: false}
logging: {format: json}
consumer: {sessionTimeout: 12s}
""")
    with running(file.parent / "folder", "--config", str(file)) as broker:
        assert json.loads(broker.ready)["message"].startswith("node north is ready")
        broker.get("/topics", body=b'{"name": "orders"}')
        broker.get("/topics", body=b'{"name": "kept", "num_partitions": 1, "config": {"retention_hours": 168}}')
        orders, kept = (json.loads(broker.get(f"/topics/{name}")) for name in ("orders", "kept"))
        broker.get("/groups/billing/join", body=b'{"topics": ["orders"], "client_id": "till"}')
        [member] = json.loads(broker.get("/groups/billing"))["members"]
    assert member["session_timeout"] == "12s"
    expected = {
        "segment_bytes": 1 << 20,
        "index_interval_bytes": 8192,
        "fsync": "interval",
        "fsync_interval": "250ms",
        "retention_hours": 24,
        "retention_bytes": 1_000_000,
        "visibility_timeout": "5s",
        "max_attempts": 1,
        "dlq": False,
    }
    assert orders["partitions"] == 2
    assert {key: orders["config"][key] for key in expected} == expected
    assert kept["partitions"] == 1
    assert {key: kept["config"][key] for key in expected} == {**expected, "retention_hours": 168}


def test_metrics_may_be_switched_off(file: Path) -> None:
    file.write_text("metrics: {enabled: false}")
    with running(file.parent / "folder", "--config", str(file)) as broker:
        assert b"topics" in broker.get("/topics")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            broker.get("/metrics")


def test_a_broker_does_not_start_with_a_file_that_is_wrong(file: Path) -> None:
    file.write_text("broker: {nodeId: a b}\nmetrics: {listens: ':1'}\n")
    assert refused(file.parent, "--config", str(file)) == [
        "goqueue: cannot serve like this:",
        f"  {file}:1: broker.nodeId: 'a b' is no name; up to 100 letters, digits, dots, dashes and underscores are",
        f"  {file}:2: metrics.listens: there is no such key; did you mean metrics.listen?",
    ]
