"""Simulated worlds: the product keeps its promises, the same seed gives the same world, and a planted bug is found."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from goqueue.core.log.effects import Read
from goqueue.core.log.log import Log, LogState
from goqueue.core.metadata import Metadata
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Send
from goqueue.core.verbs import Fetch, PublishReply, Refusal, Reply
from goqueue.fuzz import sim
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import run_world
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Removal
from goqueue.storage.simulated import SimulatedDisk

SEEDS = 60


def found(options: Callable[[], Options] | None = None) -> str:
    """What the first seed that sees something wrong says; empty when none does."""
    for seed in range(SEEDS):
        verdict = run_world(seed, options=options() if options is not None else None)
        if verdict.violation is not None:
            return verdict.violation
    return ""


def test_the_product_keeps_its_promises() -> None:
    for seed in range(SEEDS):
        assert run_world(seed).violation is None


def test_the_same_seed_gives_the_same_world() -> None:
    first, second = run_world(7), run_world(7)
    assert first == second
    assert first.digest != run_world(8).digest


def test_the_world_does_not_hang_on_the_hash_seed(pytestconfig: pytest.Config) -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-m", "goqueue.fuzz.sim", "--seeds", "3..6", "--json"],
            cwd=pytestconfig.rootpath,
            env={**os.environ, "PYTHONPATH": str(pytestconfig.rootpath), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert [json.loads(line)["digest"] for line in outputs[0].splitlines()] == [
        run_world(seed).digest for seed in (3, 4, 5)
    ]


def test_a_violation_says_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Partition, "check", _broken)
    assert sim.main(["--seeds", "5..9", "--steps", "50"]) == 1
    said = capsys.readouterr().out
    assert "violation in seed 5, at step" in said
    assert "producers=" in said
    assert "python -m goqueue.fuzz.sim --seed 5 --steps 50" in said


def _broken(partition: Partition) -> None:
    raise AssertionError("planted")


def test_a_healthy_run_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim.main(["--seeds", "0..3"]) == 0
    assert "3 worlds kept" in capsys.readouterr().out
    assert sim.main(["--seed", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["violation"] is None


# --- planted bugs: each is what somebody might really write


def crashing() -> Options:
    """Worlds in which machines crash and no more."""
    return Options(p_crash=0.02, p_topic_change=0.0, value_bytes_max=50)


def test_acknowledging_before_the_sync_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "acknowledged_offset", property(lambda log: log.next_offset))
    assert "durable" in found(crashing)


def test_acknowledging_before_the_write_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real_take = Partition.take

    def take(partition: Partition, now: int) -> object:
        effects = real_take(partition, now)
        partition.written()
        return effects

    monkeypatch.setattr(Partition, "take", take)
    assert found(lambda: Options(fsyncs=("none",), p_write_error=0.05, p_cold=0.3))


def test_not_syncing_at_all_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamJob, "_sync", lambda job: None)
    assert found(crashing)


def test_not_syncing_the_folder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedDisk, "sync_folder", lambda disk, path: None)
    assert found(crashing)


def test_serving_above_the_high_watermark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(partition: Partition, fetch: Fetch) -> Read | Refusal | None:
        if fetch.offset > partition.log.next_offset:
            return None
        return partition.log.read(max(fetch.offset, partition.log.start_offset), fetch.max_bytes)

    monkeypatch.setattr(Partition, "read", read)
    assert "got" in found(lambda: Options(consumers=2, think_ns=0, p_topic_change=0.0))


def test_a_reply_dropped_on_a_failed_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real_disk_failed = Partition.disk_failed

    def disk_failed(partition: Partition, now: int, why: str) -> None:
        partition._unacknowledged.clear()
        real_disk_failed(partition, now, why)

    monkeypatch.setattr(Partition, "disk_failed", disk_failed)
    assert "never answered" in found(lambda: Options(p_sync_error=0.05, p_write_error=0.05))


def test_a_second_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real_send = Node._send

    def send(node: Node, to: int | None, reply: Reply) -> None:
        real_send(node, to, reply)
        if isinstance(reply, PublishReply) and to is not None and to % 20 == 0:
            node._ready.sends.append(Send(to, reply))

    monkeypatch.setattr(Node, "_send", send)
    assert "answered twice" in found(Options)


def test_a_deleted_topic_that_keeps_its_folder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Removal, "run", lambda removal: None)
    assert found(lambda: Options(p_topic_change=0.1))


def test_a_deletion_that_a_crash_interrupts_for_good_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is removed by the process that deleted the topic, or never: the next topic of the name inherits it."""
    real_replay = Metadata.replay

    def replay(metadata: Metadata, records: list[bytes]) -> None:
        real_replay(metadata, records)
        metadata.state.removing.clear()

    monkeypatch.setattr(Metadata, "replay", replay)
    assert found(lambda: Options(p_topic_change=0.1, p_kill=0.05, think_ns=0))


def test_metadata_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real_reopened = Metadata.reopened

    def reopened(metadata: Metadata, now: int, state: LogState, records: list[bytes]) -> None:
        real_reopened(metadata, now, state, records[:-1])

    monkeypatch.setattr(Metadata, "reopened", reopened)
    assert found(lambda: Options(p_sync_error=0.1, p_topic_change=0.1))
