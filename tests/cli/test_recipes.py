"""docs/recipes.md is true: what it says to type is typed here, and comes to what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from goqueue.testing import Broker
from tests.cli.commands import variables
from tests.cli.test_tutorial import Step, meant, steps

PAGE = Path(__file__).parents[2] / "docs/recipes.md"
SECONDS_MAX = 60
# A letter is on its way for a moment after its message was rejected.
LOOKS = ("goqueue dlq list", "goqueue dlq peek")
TIME = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
# Within an hour of a whole number of days there are no hours.
SPAN = re.compile(r"\b[0-9]+d(?:[0-9]+h)?\b")


def timeless(lines: list[str]) -> list[str]:
    """Lines without what differs from run to run."""
    return meant([SPAN.sub("SPAN", TIME.sub("MOMENT", line)) for line in lines])


def typed(step: Step, settings: dict[str, str]) -> list[str]:
    """What a command shows."""
    ran = subprocess.run(
        ["bash", "-c", step.typed], capture_output=True, text=True, env=settings, timeout=SECONDS_MAX, check=True
    )
    return timeless((ran.stdout + ran.stderr).splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="it is typed into bash")
def test_the_recipes_come_to_what_they_show() -> None:
    with Broker() as broker:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        settings = {**variables(broker.address), "PATH": path, "LC_ALL": "C"}
        for step in steps(PAGE.read_text()):
            due = monotonic() + SECONDS_MAX
            while (found := typed(step, settings)) != timeless(step.shown):
                assert step.typed.startswith(LOOKS), "\n".join([step.typed, *found])
                assert monotonic() < due, "\n".join([step.typed, *found])
                sleep(0.05)
