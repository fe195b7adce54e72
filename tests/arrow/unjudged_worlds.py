"""Simulated worlds that go on when a promise is broken, so that what comes of a bug is in their captures.

A simulator sees more than any capture, such as what is on a disk, and ends a world the moment that a promise is broken.
What people notice comes later.
"""

from collections.abc import Callable
from typing import Any

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.process import Process
from goqueue.fuzz.sim import Verdict, run_world
from goqueue.fuzz.world import World

_HOOKS = [name for name, held in vars(Checker).items() if callable(held) and not name.startswith("_")]


class _Lenient:
    """Looks on, and has the checkers of a world say nothing."""

    def begin(self, world: World) -> None:
        """Every hook of every checker ends quietly."""
        for checker in world.checkers:
            for name in _HOOKS:
                setattr(checker, name, _quietly(getattr(checker, name)))

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Of no interest."""

    def asked(self, process: Process, to: int, request: Request) -> None:
        """Of no interest."""

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """Of no interest."""

    def looked(self, process: Process) -> None:
        """Of no interest."""


def _quietly(hook: Callable[..., Any]) -> Callable[..., Any]:
    def quiet(*given: Any) -> Any:  # noqa: ANN401 - whatever the hook is given
        try:
            return hook(*given)
        except Violation:
            return None

    return quiet


def live_unjudged(seed: int, options: Options, folder: str) -> Verdict:
    """Live through a world to its end, whatever it breaks, and capture it."""
    return run_world(seed, options=options, capture=folder, watch=_Lenient())
