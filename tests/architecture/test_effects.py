"""At run time the core touches nothing, and two runs of it come out the same: seen from outside, by an audit hook.

The hook is armed after everything was imported, because importing reads files. Neither reading a clock nor starting a
thread raises an audit event in Python 3.11; `test_purity` keeps those out.
"""

import os
import subprocess
import sys

import pytest

from tests.architecture.tree import ROOT, demand

# Audit events of the interpreter that mean a file, the network, a process or a late import.
TOUCHES = ("open", "os.", "socket.", "subprocess.", "shutil.", "tempfile.", "mmap.", "import", "signal.")

WATCH = """
import sys, socket, subprocess, tempfile
from tests.architecture.exercise import exercise
touched = None
def hook(event, args):
    if touched is not None and event.startswith({touches!r}):
        touched.append(f"{{event}} {{args!r}}")
sys.addaudithook(hook)
touched = []
try:
    outcome = {work}
finally:
    said, touched = touched, None
    print("\\n".join(said))
    print(outcome)
"""


def watched(work: str, seed: str = "random") -> tuple[list[str], str]:
    """What an expression touched, and what it came to, in an interpreter of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", WATCH.format(touches=TOUCHES, work=work)],
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    *touched, outcome = ran.stdout.splitlines()
    return [event for event in touched if event], outcome


def test_the_core_touches_nothing_while_it_works() -> None:
    touched, outcome = watched("exercise()")
    demand("\n".join(f"the core caused {event}: return it as an effect instead" for event in touched))
    assert len(outcome) == 64


def test_the_core_comes_out_the_same_under_any_hash_seed() -> None:
    outcomes = {watched("exercise()", seed)[1] for seed in ("0", "1", "4242")}
    assert len(outcomes) == 1, "order came from a set, from hash() or from id(): sort, or use a dict"


@pytest.mark.parametrize(
    ("work", "event"),
    [
        ("open('/dev/null', 'w').close()", "open "),
        ("open('/dev/null').close()", "open "),
        ("socket.socket().close()", "socket."),
        ("subprocess.run(['true'])", "subprocess."),
        ("__import__('os').listdir('.')", "os.listdir"),
        ("__import__('colorsys')", "import "),
    ],
)
def test_a_touch_is_seen(work: str, event: str) -> None:
    touched, _ = watched(work)
    assert any(seen.startswith(event) for seen in touched), touched


def test_an_order_that_hangs_on_the_hash_seed_is_seen() -> None:
    outcomes = {watched("list({'a', 'b', 'c', 'd', 'e'})", seed)[1] for seed in ("0", "1", "4242")}
    assert len(outcomes) > 1
