"""`goqueue serve --capture`: a broker with clients, killed or stopped, and what its capture comes to."""

import json
import signal
from pathlib import Path

from click.testing import CliRunner

from goqueue.cli.main import goqueue
from goqueue.storage.capture_files import list_captures
from tests.cli.test_serve import Broker, refused, running


def clients(broker: Broker, topic: str = "orders") -> None:
    """A few requests of several kinds."""
    broker.get("/topics", body=json.dumps({"name": topic, "num_partitions": 2}).encode())
    for number in range(20):
        message = {"key": str(number), "value": "x" * 500}
        broker.get(f"/topics/{topic}/publish", body=json.dumps(message).encode())
    for partition in range(2):
        broker.get(f"/topics/{topic}/partitions/{partition}/messages")
    broker.get("/topics")


def replayed(folder: Path) -> tuple[int, str]:
    """Exit status and words of `goqueue replay`."""
    result = CliRunner().invoke(goqueue, ["replay", str(folder)])
    return result.exit_code, result.output


def test_a_broker_that_is_captured_and_stopped_is_identical(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    options = ("--capture", str(folder), "--capture-file-bytes", "64KiB", "--capture-records", "on")
    with running(tmp_path / "data", *options) as broker:
        for round_ in range(8):
            clients(broker, f"topic-{round_}")
        broker.process.send_signal(signal.SIGTERM)
        assert broker.end() == 0
    status, said = replayed(folder)
    assert (status, said.startswith("identical: ")) == (0, True), said
    assert len(list_captures(str(folder))) > 1


def test_a_broker_that_is_killed_leaves_a_capture_that_is_identical_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    with running(tmp_path / "data", "--capture", str(folder)) as broker:
        clients(broker)
        # The clock is read every second, and what was noted goes out then at the latest.
        while not _has_events(folder):
            broker.get("/topics")
        broker.process.kill()
        broker.end()
    status, said = replayed(folder)
    assert status == 0, said
    assert said.splitlines()[-1].startswith("identical: ")


def _has_events(folder: Path) -> bool:
    return any(Path(one.path).stat().st_size > 20_000 for one in list_captures(str(folder)))


def test_a_signal_begins_and_ends_a_capture(tmp_path: Path) -> None:
    with running(tmp_path / "data") as broker:
        clients(broker)
        broker.process.send_signal(signal.SIGUSR1)
        broker.wait_for("a capture has begun in")
        clients(broker, "events")
        broker.process.send_signal(signal.SIGUSR1)
        broker.wait_for("the capture has ended")
        clients(broker, "logs")
        broker.process.send_signal(signal.SIGTERM)
        assert broker.end() == 0
    status, said = replayed(tmp_path / "data" / "captures")
    assert (status, said.startswith("identical: ")) == (0, True), said
    assert ", 1 snapshot, " in said


def test_sizes_and_switches_that_make_no_sense_are_named(tmp_path: Path) -> None:
    said = "\n".join(
        refused(tmp_path, "--capture-bytes", "much", "--capture-file-bytes", "5", "--capture-records", "perhaps")
    )
    assert "--capture-bytes (GOQUEUE_CAPTURE_BYTES): 'much' is no size of at least 64 KiB" in said
    assert "--capture-file-bytes (GOQUEUE_CAPTURE_FILE_BYTES): '5' is no size" in said
    assert "--capture-records (GOQUEUE_CAPTURE_RECORDS): 'perhaps' is none of on, off" in said
