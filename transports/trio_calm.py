"""Whether requests come one by one: told by how many came in each round of the loop."""

from trio.abc import Instrument


class Calm(Instrument):
    """Counts what comes in a round of trio's loop, from one look at the sockets to the next."""

    def __init__(self) -> None:
        self._count = 0
        self._was_calm = True

    def note(self) -> None:
        """Something came in."""
        self._count += 1

    @property
    def holds(self) -> bool:
        """Whether nothing came in this round yet, and no more than one thing in the one before."""
        return self._was_calm and not self._count

    def after_io_wait(self, timeout: float) -> None:
        """A round begins."""
        self._was_calm, self._count = self._count <= 1, 0
