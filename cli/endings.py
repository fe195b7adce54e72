"""How a command ends when it does not end well: a sentence for the user, and an exit status for scripts.

0 is fine, 1 says that the broker refused or the operation failed, 2 that the command line or a file of settings was
wrong, 3 that no broker could be reached, 130 that Ctrl-C ended it, 143 that SIGTERM did.
"""

from goqueue.core.errors import GoQueueError

FAILED = 1
WRONG = 2
UNREACHABLE = 3
INTERRUPTED = 130
TERMINATED = 143


class Ending(GoQueueError):
    """A command ends here: one sentence, and the exit status."""

    def __init__(self, sentence: str, status: int = FAILED) -> None:
        super().__init__(sentence)
        self.status = status


def unreachable(address: str, why: str = "") -> Ending:
    """Nobody is there; the reason is said unless it is the ordinary one, that nothing listens."""
    if not why or "refused" in why.lower():
        return Ending(f"no broker answers at {address}; start one with: goqueue serve", UNREACHABLE)
    return Ending(f"no broker answers at {address}: {why.removeprefix(f'{address}: ')}", UNREACHABLE)
