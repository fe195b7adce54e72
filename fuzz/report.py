"""A verdict for people: what was promised and broken, in which world, what came last, and how to see it again."""

import subprocess
from collections import deque
from pathlib import Path

import attrs

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import Verdict

_LAST_EVENTS = 25


def explain_violation(case: Case, verdict: Verdict) -> str:
    """Everything there is to say of a world that broke a promise; it is run once more for its last events."""
    last: deque[str] = deque(maxlen=_LAST_EVENTS)
    again = live_through(case, last.append)
    lines = [
        f"violation in seed {verdict.seed}, at step {verdict.steps}: {verdict.violation}",
        f"where: {verdict.place}",
        f"commit: {commit()}",
        f"options: {verdict.options.text() or 'all as they are'}",
        *(f"calamity at {one.at_ns / 1e9:.1f} s: {one.text()}" for one in verdict.calamities),
        *(["who waits for whom:", *(f"  {line}" for line in verdict.waits)] if verdict.waits else []),
        *([verdict.stack] if verdict.stack else []),
        f"the last {len(last)} events:",
        *(f"  {line}" for line in last),
        f"again: {case.command()} --trace",
    ]
    if again != verdict:
        lines.append(f"the second run of this seed went another way: {again.digest}, not {verdict.digest}")
    return "\n".join(lines)


def explain_world(verdict: Verdict) -> str:
    """What a world was like, and what happened in it."""
    plain = Options()
    chosen = [
        f"  {name} = {value}{'' if value == getattr(plain, name) else '  *'}"
        for name, value in attrs.asdict(verdict.options).items()
    ]
    counts = [f"  {count:6} {what}" for what, count in sorted(verdict.counts.items())]
    life = f"{verdict.steps} steps and {verdict.lives} lives in {verdict.simulated_ms} ms"
    return "\n".join([
        f"seed {verdict.seed}: {life}, {verdict.acknowledged} messages acknowledged, digest {verdict.digest}",
        "options (* is not the default):", *chosen, "what happened:", *counts,
    ])  # fmt: skip


def commit() -> str:
    """The commit of the product's files, if they are in a repository; with `-dirty`, they have changed since."""
    folder = Path(__file__).resolve().parent
    try:
        said = subprocess.run(  # noqa: S603 - nothing of it comes from outside
            ["git", "-C", str(folder), "describe", "--always", "--dirty"],  # noqa: S607 - whichever git there is
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return "not known"
    return said.stdout.strip() or "not known"
