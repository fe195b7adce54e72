"""One session of one target: a child process, its progress while it runs, and what came of it.

What libFuzzer prints is read in a thread, line by line, since it may say nothing for minutes. Everything that a session
needs lies in a folder of its own that is removed at the end, unless the caller keeps the corpus.
"""

import re
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TextIO

from attrs import define, field

from goqueue.core.errors import GoQueueError

_STATUS = re.compile(
    r"#(?P<runs>\d+)\s+(?P<event>\w+)\s+cov: (?P<coverage>\d+) ft: \d+ corp: (?P<inputs>\d+)/\S+"
    r"(?: .*?exec/s: (?P<speed>\d+))?"
)
_FINAL_RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_FINAL_SPEED = re.compile(r"stat::average_exec_per_sec:\s*(\d+)")
_EXCEPTION = "=== Uncaught Python exception: ==="
_LAST_WORDS_LINES = 200
_POLL_SECONDS = 0.25


class SessionFailed(GoQueueError):
    """The child ended without a finding and without having fuzzed; its last words say why."""


@define
class Progress:
    """What libFuzzer last said of itself."""

    runs: int = 0
    runs_a_second: int = 0
    coverage: int = 0
    inputs: int = 0
    last_words: deque[str] = field(factory=lambda: deque(maxlen=_LAST_WORDS_LINES))

    def read(self, line: str) -> None:
        """Take in one line of its output."""
        if status := _STATUS.match(line):
            self.runs = int(status["runs"])
            self.coverage = int(status["coverage"])
            self.inputs = int(status["inputs"])
            self.runs_a_second = int(status["speed"] or 0)
        elif final := _FINAL_RUNS.match(line):
            self.runs = int(final[1])
        elif final := _FINAL_SPEED.match(line):
            self.runs_a_second = int(final[1])
        elif not line.startswith("INFO: "):
            self.last_words.append(line.rstrip("\n"))

    def follow(self, output: TextIO) -> None:
        """Take in all of its output."""
        for line in output:
            self.read(line)

    def traceback(self) -> str:
        """The Python exception among the last words, or all of them when there is none."""
        words = list(self.last_words)
        if _EXCEPTION in (said := [word.strip() for word in words]):
            words = words[said.index(_EXCEPTION) + 1 :]
            end = next((at for at, word in enumerate(words) if word.startswith("==")), len(words))
            words = words[:end]
        return "\n".join(words)


@define
class Outcome:
    """How a session ended; `finding` is the input that failed, if any did."""

    progress: Progress
    finding: Path | None


def fuzz(
    name: str,
    seconds: int,
    seed: int,
    *,
    findings: Path,
    watch: Callable[[Progress], None],
    corpus: Path | None = None,
) -> Outcome:
    """Fuzz one target for that long, or until it fails. Raises SessionFailed."""
    with tempfile.TemporaryDirectory(prefix=f"goqueue-fuzz-{name}-") as room:
        grown = Path(room, "corpus") if corpus is None else corpus / name
        grown.mkdir(parents=True, exist_ok=True)
        known = _kept(findings, name)
        progress = Progress()
        status = _run([name, str(seconds), str(seed), room, str(grown), str(findings)], progress, watch)
        if status == 0:
            return Outcome(progress, None)
        finding = _new_finding(known, findings, name, Path(room))
        if finding is None:
            raise SessionFailed(f"the process that fuzzes {name} ended with status {status}:\n{progress.traceback()}")
        return Outcome(progress, finding)


def _run(arguments: list[str], progress: Progress, watch: Callable[[Progress], None]) -> int:
    command = [sys.executable, "-m", "goqueue.fuzz.bytes.child", *arguments]
    with subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as child:
        assert child.stdout is not None
        reader = Thread(target=progress.follow, args=(child.stdout,))
        reader.start()
        try:
            while child.poll() is None:
                reader.join(_POLL_SECONDS)
                watch(progress)
        finally:
            if child.poll() is None:
                child.terminate()
            reader.join()
    return child.returncode


def _kept(findings: Path, name: str) -> dict[Path, int]:
    """The findings of a target there are, with the time each was written."""
    return {path: path.stat().st_mtime_ns for path in findings.glob(f"{name}-*")}


def _new_finding(known: dict[Path, int], findings: Path, name: str, room: Path) -> Path | None:
    """What the child kept, or else what libFuzzer left of an input that killed it, moved to the findings."""
    for path, written in _kept(findings, name).items():
        if known.get(path) != written:
            return path
    for left in room.glob("killer-*"):
        findings.mkdir(parents=True, exist_ok=True)
        kept = findings / f"{name}-{left.name.removeprefix('killer-')}"
        kept.write_bytes(left.read_bytes())
        return kept
    return None
