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


# What to try next, by the code of what the broker refused.
_NEXT_STEPS = {
    "topic_not_found": "goqueue topic list shows those that are there, goqueue topic create makes one",
    "group_not_found": "goqueue group list shows those that are there",
    "node_not_found": "goqueue cluster nodes shows those that are there",
    "redrive_not_found": "goqueue dlq status shows those that are remembered",
    "topic_exists": "goqueue topic describe shows it, goqueue topic alter changes it",
}


def with_next_step(sentence: str, code: str) -> str:
    """What the broker said, with what to try next where there is something."""
    step = _NEXT_STEPS.get(code, "")
    return f"{sentence}; {step}" if step else sentence


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
