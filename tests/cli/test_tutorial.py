"""docs/tutorial.md is true: what it says to type is typed here, in as many terminals, and comes to what it shows."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from attrs import define, field

from goqueue.testing import Broker
from tests.cli.commands import variables

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
SECONDS_MAX = 60
# What differs from run to run: ids, rates, ages, and so the widths of columns.
VARIABLE = (
    (r"[0-9a-f]{16}", "ID"), (r" in [0-9.]+ s \(.*\)", " in TIME"), (r"\b[0-9]+s ago", "AGO"), (r" +", " "),
)  # fmt: skip


@define
class Step:
    """Something typed in a terminal, and what is to be seen there afterwards."""

    terminal: str
    typed: str
    shown: list[str] = field(factory=list)


def steps(page: str) -> Iterator[Step]:
    """All steps of the page; one without anything typed is a look at a terminal."""
    for terminal, block in re.findall(r"```console (\w+)\n(.*?)```", page, re.DOTALL):
        step = Step(terminal, "")
        for line in block.splitlines():
            if line.startswith(("$ ", "^")):
                if step.typed or step.shown:
                    yield step
                step = Step(terminal, line.removeprefix("$ "))
            else:
                step.shown.append(line)
        yield step


def meant(lines: list[str]) -> list[str]:
    """Lines without what differs from run to run."""
    text = "\n".join(lines)
    for pattern, name in VARIABLE:
        text = re.sub(pattern, name, text)
    return [line.strip() for line in text.splitlines()]


class Terminal:
    """Where a member runs, and all that it printed."""

    def __init__(self, command: str, settings: dict[str, str], screen: Path) -> None:
        self._screen = screen
        with screen.open("wb") as out:
            self._process = subprocess.Popen(["bash", "-c", f"exec {command}"], stdout=out, stderr=out, env=settings)
        self._expected: set[str] = set()

    def press(self, typed: str) -> None:
        """A key, or the end of a stopped job."""
        if typed == "kill -9 %1":
            self._process.kill()
            self._process.wait()
        else:
            self._process.send_signal({"^C": signal.SIGINT, "^Z": signal.SIGSTOP}[typed])
        if typed == "^C":
            assert self._process.wait(SECONDS_MAX) == 130

    def shows(self, lines: list[str]) -> bool:
        """Whether these lines were printed, among others that were expected before."""
        return {*lines} <= {*self._screen.read_text().splitlines()}

    def close(self) -> None:
        """End what still runs."""
        self._process.kill()
        self._process.wait()


def is_shown(step: Step, found: list[str]) -> bool:
    """Whether this is what the page shows; where it ends with `...`, more may follow."""
    shown = meant(step.shown)
    return meant(found)[: len(shown) - 1] == shown[:-1] if shown[-1:] == ["..."] else meant(found) == shown


def run_in_shell(step: Step, settings: dict[str, str]) -> None:
    """Type a command; one that looks at the group is typed again while the group is about to be what is shown."""
    due = monotonic() + SECONDS_MAX
    while True:
        ran = subprocess.run(
            ["bash", "-c", step.typed], capture_output=True, text=True, env=settings, timeout=SECONDS_MAX, check=True
        )
        found = (ran.stdout + ran.stderr).splitlines()
        if is_shown(step, found):
            return
        assert step.typed.startswith("goqueue group describe"), "\n".join([step.typed, *found])
        assert monotonic() < due, "\n".join(found)
        sleep(0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="it is typed into bash")
def test_the_tutorial_comes_to_what_it_shows(tmp_path: Path) -> None:
    terminals: dict[str, Terminal] = {}
    with Broker() as broker:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        settings = {**variables(broker.address), "PATH": path, "LC_ALL": "C"}
        try:
            for step in steps(PAGE.read_text()):
                if step.terminal == "broker":
                    assert step.typed == "goqueue serve"
                elif step.terminal == "shell":
                    run_in_shell(step, settings)
                else:
                    if step.typed.startswith("goqueue"):
                        terminals[step.terminal] = Terminal(step.typed, settings, tmp_path / step.terminal)
                    elif step.typed:
                        terminals[step.terminal].press(step.typed)
                    due = monotonic() + SECONDS_MAX
                    while not terminals[step.terminal].shows(step.shown):
                        assert monotonic() < due, step
                        sleep(0.05)
        finally:
            for terminal in terminals.values():
                terminal.close()
    assert {*terminals} == {"ann", "bob"}
