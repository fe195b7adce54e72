"""Where messages go that a command reads: made into lines, counted, written, and no more of them than are wanted."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from attrs import define

from goqueue.cli.renderings import Printable, Rendering
from goqueue.cli.spool import STDOUT, Spool

if TYPE_CHECKING:
    from goqueue.cli.meter import Meter


@define
class Printer:
    """Messages to be printed, `count` at most, and how many were."""

    rendering: Rendering
    end: bytes
    spool: Spool
    count: int | None
    meter: "Meter | None"
    printed: int = 0

    @property
    def left(self) -> int | None:
        """How many are still wanted, None for all there are."""
        return None if self.count is None else max(self.count - self.printed, 0)

    @property
    def is_done(self) -> bool:
        """Whether all that is wanted was printed."""
        return self.left == 0

    def print(self, messages: Sequence[Printable]) -> int:
        """Write messages soon, as many as are wanted, and say how many those are. Raises Closed if nobody reads."""
        messages = messages[: self.left]
        size = self.spool.write(self.rendering(messages), self.end)
        self.printed += len(messages)
        if self.meter is not None:
            self.meter.advance(len(messages), size)
        return len(messages)


@contextmanager
def printing(rendering: Rendering, end: bytes, count: int | None, *, at_once: bool) -> Iterator[Printer]:
    """A printer to standard output, with a meter beside it where a person sees only that."""
    is_watched = os.isatty(STDOUT)
    with ExitStack() as stack:
        meter = None
        if not is_watched and sys.stderr.isatty():
            from goqueue.cli.meter import Meter

            meter = stack.enter_context(Meter("reading", None))
        yield Printer(rendering, end, Spool(at_once=at_once or is_watched), count, meter)
