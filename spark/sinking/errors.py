"""What goes wrong between rows and a topic, told so that whoever runs the job knows which row, and why."""

from goqueue.core.errors import GoQueueError


class UnwritableError(GoQueueError):
    """Options, columns or rows that cannot become messages; the sentence says which, and what would be right."""


class MismatchError(GoQueueError):
    """An attempt found other rows where an earlier one had stored its own: the order was not the same."""
