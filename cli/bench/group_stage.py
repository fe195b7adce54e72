"""Members of a group in many processes as a benchmark sees them: told what to do, and followed in what they say."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

from attrs import define, field

from goqueue.cli.bench.group_member import Plan, written
from goqueue.cli.bench.workbench import BenchError

_PATIENCE_S = 60.0
_END_S = 10.0

# A member: the number of its process, and its own in there.
Who = tuple[int, int]


@define
class Standing:
    """What is known of all members at a moment."""

    owned: dict[Who, set[int]] = field(factory=dict)
    generation: int = 0
    # When the last change of an assignment was, and when a partition first flowed at a member.
    changed_at: dict[Who, int] = field(factory=dict)
    flows_at: dict[tuple[Who, int], int] = field(factory=dict)

    def is_settled(self, members: int, partitions: int) -> bool:
        """Whether every partition has one owner, and every member its share."""
        shares = [share for share in self.owned.values() if share]
        least, rest = divmod(partitions, members)
        return (
            len(shares) == members
            and sum(map(len, shares)) == partitions == len(set().union(*shares))
            and max(map(len, shares)) <= least + bool(rest)
        )


@define
class Report:
    """What the members of one process say about the time since the mark."""

    count: int = 0
    last_at: int = 0
    gaps_ns: dict[int, int] = field(factory=dict)


class Stage:
    """All processes of one measurement."""

    def __init__(self) -> None:
        self.standing = Standing()
        self.processes: list[subprocess.Popen[str]] = []
        self._news = threading.Condition()
        self._ready: set[int] = set()
        self._members: list[int] = []
        self._reports: dict[int, list[Report]] = {}

    def start(self, plan: Plan) -> int:
        """Another process, which is ready to join; answers its number."""
        number = len(self.processes)
        process = _launched("group_member", written(plan))
        self.processes.append(process)
        self._members.append(plan.members)
        threading.Thread(target=self._follow, args=(number, process), daemon=True).start()
        self.wait(f"process {number}", lambda: number in self._ready)
        return number

    def tell(self, word: str, *numbers: int) -> int:
        """Tell some processes, or all, what to do; answers the time before."""
        now = time.monotonic_ns()
        for number in numbers or range(len(self.processes)):
            given = self.processes[number].stdin
            assert given is not None
            given.write(f"{word}\n")
            given.flush()
        return now

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; BenchError if that takes too long."""
        with self._news:
            if not self._news.wait_for(is_so, _PATIENCE_S):
                raise BenchError(f"{what} took longer than {_PATIENCE_S:.0f} s: {self.standing}")

    def settled(self, members: int, partitions: int) -> int:
        """Wait until so many members share so many partitions; answers when that was."""
        self.wait(f"{members} members", lambda: self.standing.is_settled(members, partitions))
        return max(self.standing.changed_at.values())

    def reports(self, *numbers: int) -> dict[int, Report]:
        """What the processes say about the time since the mark, their members taken together."""
        wanted = numbers or tuple(range(len(self.processes)))
        self._reports = {number: [] for number in wanted}
        self.tell("report", *wanted)
        self.wait("a report", lambda: all(len(said) == self._members[number] for number, said in self._reports.items()))
        return {number: _together(said) for number, said in self._reports.items()}

    def _follow(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._news:
                self._hear(number, json.loads(line))
                self._news.notify_all()

    def _hear(self, number: int, said: dict[str, Any]) -> None:
        standing = self.standing
        if "ready" in said:
            self._ready.add(number)
        elif "report" in said:
            gaps = {int(partition): gap for partition, gap in said["gaps"].items()}
            self._reports.setdefault(number, []).append(Report(said["count"], said["last_at"], gaps))
        elif "flows" in said:
            standing.flows_at.setdefault(((number, said["member"]), said["flows"]), said["at"])
        else:
            who = (number, said["member"])
            standing.owned[who] = set(said["owned"])
            standing.changed_at[who] = said["at"]
            standing.generation = max(standing.generation, said["generation"])


def _together(reports: list[Report]) -> Report:
    gaps = {number: gap for report in reports for number, gap in report.gaps_ns.items()}
    return Report(sum(report.count for report in reports), max(report.last_at for report in reports), gaps)


def _launched(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"goqueue.cli.bench.{module}", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours


@contextmanager
def staged() -> Iterator[Stage]:
    """A stage that is empty at the end again."""
    stage = Stage()
    try:
        yield stage
    finally:
        _end(stage.processes)


@contextmanager
def trickling(address: str, topic: str, partitions: int, pause_ms: int) -> Iterator[None]:
    """Messages to all partitions meanwhile."""
    with ExitStack() as stack:
        process = _launched("group_trickle", address, topic, str(partitions), str(pause_ms))
        stack.callback(_end, [process])
        assert process.stdout is not None
        if not process.stdout.readline():
            raise BenchError("messages could not be published")
        yield


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        _close(process.stdin)
    for process in processes:
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _close(given: IO[str] | None) -> None:
    assert given is not None
    try:
        given.close()
    except BrokenPipeError:
        return
