"""`goqueue bench log`: every figure is there, in the form that programs read, and nothing is left behind."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.bench.command import answer, bench, log_entries, take, wanted_bytes
from goqueue.cli.bench.driven_log import DrivenLog, open_log
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.machine import describe, file_system, is_in_memory
from goqueue.cli.bench.scratch import scratch
from goqueue.cli.bench.shared_log import Snapshot, build
from goqueue.cli.bench.sizes import FULL, MB, QUICK, CrowdSize, Sizes
from goqueue.cli.bench.workbench import BenchError, Timing, Workbench, quantile
from goqueue.cli.bench.workload import ring
from goqueue.core.log.config import Fsync, LogConfig
from goqueue.core.records.record import validate_records

ROOT = Path(__file__).parents[2]

KEYS = [
    "append_1", "append_1_x100", "append_10", "append_100", "append_1000",
    "read_100", "encode_100", "decode_100", "admit_100", "check_100",
    "lookup_offset", "lookup_time", "lookup_offset_1", "lookup_time_1",
    "recover_indexed", "recover_killed", "recover_bare", "recover_killed_synced",
    "group_commit_1", "group_commit_16", "group_commit_256",
    "rss_per_gb",
]  # fmt: skip
FIELDS = ["value", "unit", "limit", "ratio", "p50_ms", "p99_ms"]

TINY = Sizes(
    rounds=2,
    long_rounds=2,
    append_bytes=300_000,
    append_turns=20,
    codec_batches=3,
    shared_bytes={100: 2 * MB, 1: 200_000},
    lookups=20,
    checkpoint_bytes=1 << 20,
    commit_seconds=0.01,
    memory_bytes=2 * MB,
    memory_step_bytes=MB,
    broker_rounds=1,
    load_seconds=0.1,
    publish_batches=40,
    passed_batches=80,
    singles=20,
    paced=20,
    start_log_bytes=MB,
    worked_batches=2,
    called_batches=2,
    timers=100,
    scattered=100,
    pending=100,
    late=10,
    late_ms=100,
    burst=100,
    burst_ahead_ms=1000,
    failovers=1,
    storms=1,
    replicated_batches=10,
    behind_bytes=MB,
    attack_seconds=0.5,
    turns=10,
    turn_blocks=1,
    crowd=CrowdSize(partitions=2, groups=1, producers=2, leases=10),
    spark_records=100,
)
UNSYNCED = LogConfig(fsync=Fsync.NONE)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    """All figures, of amounts that say nothing."""
    return take(log_entries(TINY), TINY, tmp_path_factory.mktemp("bench"), lambda key, done: None)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(bench, ["log", *arguments])


# --- the figures


def test_every_figure_is_taken_in_the_order_in_which_it_is_listed(figures: dict[str, Figure]) -> None:
    assert list(figures) == KEYS


@pytest.mark.parametrize("key", KEYS)
def test_a_figure_has_a_value_of_its_unit_and_positive_numbers_beside_it(figures: dict[str, Figure], key: str) -> None:
    figure = figures[key]
    numbers = [figure.limit, figure.ratio, figure.p50_ms, figure.p99_ms]
    assert figure.unit
    assert math.isfinite(figure.value)
    assert figure.value > 0 or key == "rss_per_gb"
    assert all(number is None or (math.isfinite(number) and number > 0) for number in numbers)


@pytest.mark.parametrize("entry", log_entries(FULL), ids=lambda entry: str(entry.key))
def test_the_bars_of_a_figure_are_about_fields_that_it_has(figures: dict[str, Figure], entry: Entry) -> None:
    assert all(getattr(figures[entry.key], bar.field) is not None for bar in entry.bars)


@pytest.mark.parametrize(("writers", "served"), [(1, 1), (16, 8), (256, 128)])
def test_a_sync_serves_half_of_the_writers(figures: dict[str, Figure], writers: int, served: int) -> None:
    ratio = figures[f"group_commit_{writers}"].ratio
    assert ratio is not None
    assert served / 2 <= ratio <= writers


def test_the_answer_has_six_fields_a_figure_and_the_machine_beside_them(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    said = json.loads(json.dumps(answer("log", figures, describe(tmp_path)), allow_nan=False))
    assert said["name"] == "log"
    assert list(said["figures"]) == KEYS
    assert all(list(fields) == FIELDS for fields in said["figures"].values())
    assert {"cpu", "cores", "kernel", "file_system", "python"} <= said["machine"].keys()
    assert said["notes"].keys() <= said["figures"].keys()


def test_progress_passes_every_figure_once_and_ends_at_their_number(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    entries = [entry for entry in log_entries(TINY) if entry.key in {"encode_100", "decode_100"}]
    take(entries, TINY, tmp_path, lambda key, done: told.append((key, done)))
    assert [key for key, done in told if done in {0, 1}][:2] == ["encode_100", "encode_100"]
    assert [done for _, done in told] == [0, 0.5, 1, 1, 1.5, 2]


def test_numbers_are_rounded_to_what_counts() -> None:
    fields = Figure(123456.7, "x", ratio=0.123456, p50_ms=0.0).fields()
    assert fields == {"value": 123500, "unit": "x", "limit": None, "ratio": 0.1235, "p50_ms": 0, "p99_ms": None}


@pytest.mark.parametrize(
    ("bar", "cleared"),
    [
        (Bar("value", least=5), True),
        (Bar("value", least=6), False),
        (Bar("value", below=6), True),
        (Bar("value", below=5), False),
        (Bar("ratio", least=0), False),
    ],
)
def test_a_bar_is_cleared_by_a_number_on_its_good_side(bar: Bar, cleared: bool) -> None:
    assert bar.cleared(Figure(5, "x")) is cleared


# --- what they are measured with


def test_contenders_take_turns_and_the_least_counts(tmp_path: Path) -> None:
    turns: list[str] = []
    spans = {"ours": iter([3.0, 1.0, 2.0]), "bare": iter([30.0, 20.0, 10.0])}

    def contender(name: str) -> Timing:
        turns.append(name)
        span = next(spans[name])
        return Timing(span, span / 2)

    workbench = Workbench(tmp_path, TINY, lambda part: None)
    timings = workbench.interleave(3, {"ours": lambda: contender("ours"), "bare": lambda: contender("bare")})
    assert turns == ["ours", "bare"] * 3
    assert (timings["ours"].wall, timings["ours"].wall_median, timings["ours"].cpu) == (1, 2, 0.5)
    assert (timings["bare"].wall, timings["bare"].wall_median, timings["bare"].cpu) == (10, 20, 5)


def test_a_quantile_is_an_element_even_of_few() -> None:
    assert [quantile([1, 2, 3, 4], part) for part in (0, 0.5, 0.99, 1)] == [1, 3, 4, 4]
    assert quantile([7], 0.99) == 7


@pytest.mark.parametrize("batch_records", [1, 100])
def test_the_batches_that_are_written_are_valid_and_differ(batch_records: int) -> None:
    batches = ring(batch_records)
    assert all(validate_records(batch).record_count == batch_records for batch in batches[:5])
    assert len({bytes(batch) for batch in batches}) == len(batches)


def test_a_log_left_without_a_close_is_read_back_and_one_that_was_closed_is_not(tmp_path: Path) -> None:
    for close, scanned in ((False, True), (True, False)):
        folder = tmp_path / str(close)
        with DrivenLog(folder, UNSYNCED) as driven:
            for _ in range(20):
                driven.turn(ring(10)[:20])
            if close:
                driven.close()
        log = open_log(folder, UNSYNCED)
        assert log.log.next_offset == 4000
        assert (log.recovery.scanned_bytes > log.log.size_bytes / 2) is scanned
        log.close()


def test_a_shared_log_knows_where_its_batches_are(tmp_path: Path) -> None:
    shared = build(tmp_path, MB, 100, UNSYNCED)
    with shared.opened() as log:
        assert log.log.next_offset == shared.record_count == 1000
        for number, position in enumerate(shared.positions):
            found = log.read(number * 100, 1)
            assert found is not None
            assert found.next_position == position + len(found.batches)


def test_a_snapshot_brings_back_what_a_recovery_changed(tmp_path: Path) -> None:
    shared = build(tmp_path, MB, 100, UNSYNCED)
    folder = shared.killed.folder
    shared.killed.restore()
    assert Snapshot.take(folder) == shared.killed
    with shared.opened():
        assert Snapshot.take(folder) != shared.killed
    shared.killed.restore(without=("checkpoint", ".index"))
    assert not {name for name in os.listdir(folder) if name.endswith(("checkpoint", ".index"))}
    shared.closed.restore()
    assert Snapshot.take(folder) == shared.closed


# --- the command


def test_json_is_one_object_on_standard_output_and_the_file_system_is_named_beside(tmp_path: Path) -> None:
    ran = _run("--quick", "--json", "--only", "append_1*", "--only", "encode_100", "--folder", str(tmp_path))
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert list(said["figures"]) == [*(key for key in KEYS if key.startswith("append_1")), "encode_100"]
    assert ran.stderr == f"working in {tmp_path}, on {said['machine']['file_system']}\n"
    assert os.listdir(tmp_path) == []


def test_the_table_has_a_row_for_each_figure_with_its_bars(tmp_path: Path) -> None:
    ran = _run("--quick", "--only", "read_100", "--only", "decode_100", "--folder", str(tmp_path))
    assert ran.exit_code == 0, ran.output
    rows = {line.split()[0]: line for line in ran.stdout.splitlines() if line.strip()}
    assert "ratio >= 0.8" in rows["read_100"]
    assert "value >= 700,000" in rows["decode_100"]
    assert "records/s" in rows["decode_100"]
    assert "append_1" not in rows


def test_a_name_that_fits_no_figure_is_refused_with_those_there_are(tmp_path: Path) -> None:
    ran = _run("--only", "append_2", "--folder", str(tmp_path))
    assert ran.exit_code == 2
    assert "'append_2'" in ran.stderr
    assert all(key in ran.stderr for key in KEYS)


def test_too_little_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    wanted = r"MB free, 1,152,921,504,\d+ MB are needed: name another folder"
    with pytest.raises(BenchError, match=wanted), scratch(tmp_path, 1 << 60):
        pytest.fail("it began")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_a_run_takes_less_than_four_gigabytes(sizes: Sizes) -> None:
    assert 0 < wanted_bytes(log_entries(sizes), sizes) < 3_800 * MB


def test_figures_that_write_nothing_want_no_room() -> None:
    entries = [entry for entry in log_entries(FULL) if entry.key in {"encode_100", "decode_100"}]
    assert wanted_bytes(entries, FULL) == 0


def test_the_folder_goes_when_a_run_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with scratch(tmp_path, 1) as folder:
            (folder / "log").mkdir()
            (folder / "log" / "batches").write_bytes(bytes(100))
            raise OSError("the disk is on fire")

    with pytest.raises(OSError, match="on fire"):
        fail()
    assert os.listdir(tmp_path) == []


class _Interrupted:
    """Something whose finaliser is struck by an interrupt."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def _run_interrupted(folder: Path) -> None:
    with scratch(folder, 1):
        _Interrupted()
        time.sleep(60)


def test_an_interrupt_that_strikes_a_finaliser_is_not_lost(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run_interrupted(tmp_path)
    assert os.listdir(tmp_path) == []


def _heed_interrupts() -> None:
    """A shell starts what it runs in the background with interrupts ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_folder_goes_when_a_run_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "log", "--only", "append_1", "--folder", str(tmp_path)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it sets one signal and takes no lock
    ) as run:
        while not list(tmp_path.glob(".goqueue-bench-*/once/*")):
            assert run.poll() is None, run.communicate()
            time.sleep(0.01)
        run.send_signal(number)
        output, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert output == ""
    assert os.listdir(tmp_path) == []


# --- the machine


def test_the_machine_is_described_in_facts_that_json_can_carry(tmp_path: Path) -> None:
    facts = describe(tmp_path)
    assert json.loads(json.dumps(facts)) == facts
    assert isinstance(facts["cores"], int)
    assert facts["cores"] >= 1
    assert str(facts["python"]).endswith(".".join(map(str, sys.version_info[:2])) + f".{sys.version_info[2]}")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no file system in memory")
def test_a_file_system_in_memory_is_known_for_what_it_is() -> None:
    assert file_system(Path("/dev/shm")) == "tmpfs"
    assert is_in_memory(Path("/dev/shm"))
    ran = _run("--quick", "--json", "--only", "encode_100", "--folder", "/dev/shm")
    assert ran.stderr == "working in /dev/shm, on tmpfs: this measures memory, not a disk\n"
