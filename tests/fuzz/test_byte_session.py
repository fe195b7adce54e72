"""What drives the targets: sessions with libFuzzer, replays, and the tools that mutate, seal and shrink."""

import base64
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from goqueue.fuzz.bytes import __main__ as command
from goqueue.fuzz.bytes.mutation import havoc
from goqueue.fuzz.bytes.sealing import frames, seal_batch, seal_batches, seal_checkpoint, seal_mark, seal_pages
from goqueue.fuzz.bytes.seeds import batches, segment, streams
from goqueue.fuzz.bytes.session import Progress
from goqueue.fuzz.bytes.shrinking import failure, shrink, without_runs
from goqueue.fuzz.bytes.stream_files import Kind, pack, unpack
from goqueue.fuzz.bytes.targets import NAMES, load
from tests.fuzz import planted

needs_atheris = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")

SEALS = {
    Kind.LOG: seal_batches,
    Kind.OFFSETS: seal_pages,
    Kind.TIMES: seal_pages,
    Kind.CHECKPOINT: seal_checkpoint,
    Kind.SYNCED: seal_mark,
}


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(command, "FINDINGS", tmp_path / "findings")
    return tmp_path / "findings"


AGREEABLE = """
import crc32c

class Agreeable(int):
    def __ne__(self, other):
        return False

summed = crc32c.crc32c
crc32c.crc32c = lambda content, value=0: Agreeable(summed(content, value))
"""


def plant(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let every process that is started from here on take any CRC for right."""
    (folder / "sitecustomize.py").write_text(AGREEABLE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), *sys.path)))


@needs_atheris
def test_a_session_without_a_finding_leaves_nothing_behind(findings: Path) -> None:
    ended = CliRunner().invoke(command.main, ["1", "--target", "mark", "--seed", "1"])
    assert ended.exit_code == 0, ended.output
    runs = re.search(r"mark +([\d,]+) runs", ended.output)
    assert runs is not None
    assert int(runs[1].replace(",", "")) > 100
    assert not findings.exists()


@needs_atheris
def test_a_session_keeps_its_corpus_when_told_where(findings: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    ended = CliRunner().invoke(command.main, ["1", "--target", "mark", "--corpus", str(corpus)])
    assert ended.exit_code == 0, ended.output
    assert list((corpus / "mark").iterdir())


@needs_atheris
def test_a_planted_bug_is_found_made_small_and_shown(
    monkeypatch: pytest.MonkeyPatch, findings: Path, tmp_path: Path
) -> None:
    plant(monkeypatch, tmp_path)
    ended = CliRunner().invoke(command.main, ["60", "--target", "mark", "--seed", "1"])
    assert ended.exit_code == 1, ended.output
    [finding] = findings.iterdir()
    content = finding.read_bytes()
    assert base64.b64encode(content).decode() in ended.output
    assert f"./dev fuzz --replay mark {finding}" in ended.output
    assert "assert encode_mark(token) == content" in ended.output


def test_a_replay_shows_whether_an_input_passes(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(batches()[0])
    ended = CliRunner().invoke(command.main, ["--replay", "batch", str(path)])
    assert (ended.exit_code, ended.output) == (0, f"batch: these {len(batches()[0])} bytes pass\n")


def test_a_replay_of_an_input_that_fails_shows_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input"
    path.write_bytes(batches()[0][:-1] + b"\xff")
    monkeypatch.setattr("goqueue.core.records.batch.crc32c", planted.agreeable_crc)
    assert command.run_again("batch", path) == 1
    assert "_check_" in capfd.readouterr().err


def test_without_atheris_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = CliRunner().invoke(command.main, ["1"])
    assert ended.exit_code == 1
    assert "`./dev fuzz SECONDS` installs it" in ended.output


def test_without_a_time_nothing_runs() -> None:
    ended = CliRunner().invoke(command.main, [])
    assert ended.exit_code == 2
    assert "for how long?" in ended.output


def test_progress_is_read_from_what_libfuzzer_prints() -> None:
    progress = Progress()
    progress.read(
        "#2048\tNEW    cov: 131 ft: 350 corp: 12/1040b lim: 4096 exec/s: 512 rss: 60Mb L: 9/80 MS: 1 Custom-\n"
    )
    assert (progress.runs, progress.runs_a_second, progress.coverage, progress.inputs) == (2048, 512, 131, 12)
    progress.read("stat::number_of_executed_units: 9000\n")
    progress.read("stat::average_exec_per_sec:     700\n")
    assert (progress.runs, progress.runs_a_second, progress.coverage, progress.inputs) == (9000, 700, 131, 12)


def test_of_the_last_words_the_exception_is_shown() -> None:
    progress = Progress()
    for line in ("noise", " === Uncaught Python exception: ===", "ValueError: no", "  at x.py", "==7== ERROR", "noise"):
        progress.read(line + "\n")
    assert progress.traceback() == "ValueError: no\n  at x.py"


def test_havoc_is_the_same_for_the_same_seed_and_keeps_its_bound() -> None:
    content = bytes(range(100))
    changed = [havoc(content, 64, Random(seed)) for seed in range(200)]
    assert changed == [havoc(content, 64, Random(seed)) for seed in range(200)]
    assert max(map(len, changed)) == 64
    assert len(set(changed)) > 100
    assert any(havoc(b"", 8, Random(seed)) for seed in range(20))


@pytest.mark.parametrize("name", NAMES)
def test_mutations_are_the_same_for_the_same_seed(name: str) -> None:
    target = load(name)
    for seed, content in enumerate(target.seeds()):
        mutated = [target.mutate(content, target.size_max, Random(seed), havoc) for _ in range(2)]
        assert mutated[0] == mutated[1]


def test_a_seal_leaves_what_the_product_wrote_as_it_is() -> None:
    assert all(seal_batch(batch) == batch for batch in batches())
    for files in streams()[:7]:
        for file in files:
            assert SEALS[file.kind](file.content) == file.content


def test_a_seal_mends_what_was_changed_behind_it() -> None:
    stored = segment(3)
    assert seal_batches(stored[:-1] + b"\xff") != stored[:-1] + b"\xff"
    assert len(frames(stored)) == 3
    assert seal_checkpoint(b"anything\n{}") == b"goqueue-checkpoint 297bd0aa\n{}"


def test_files_survive_packing_and_any_bytes_are_some_files() -> None:
    for files in streams():
        assert unpack(pack(files)) == files
    for seed in range(50):
        content = Random(seed).randbytes(seed)
        assert unpack(pack(unpack(content))) == unpack(content)


def test_an_input_shrinks_as_long_as_it_fails_in_the_same_place() -> None:
    def check(content: bytes) -> None:
        if b"bad" in content:
            raise ValueError
        assert b"worse" not in content

    assert shrink(check, b"some worse and some bad bytes", without_runs) == b"bad"
    assert shrink(check, b"some worse bytes", without_runs) == b"worse"
    assert failure(check, b"good") is None


def test_shrinking_gives_up_after_so_many_tries() -> None:
    def check(content: bytes) -> None:
        assert len(content) < 10

    assert len(shrink(check, bytes(1000), without_runs)) == 10
    assert len(shrink(check, bytes(1000), without_runs, tries_max=2)) == 500
