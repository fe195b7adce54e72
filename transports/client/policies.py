"""When a message is settled by itself, by the names that users of other frameworks know."""

from enum import StrEnum


class AckPolicy(StrEnum):
    """What becomes of a message that is handed to somebody."""

    # Acknowledged before the work on it begins: at most once.
    ACK_FIRST = "ack_first"
    # Acknowledged when the work is over, whether it failed or not.
    ACK = "ack"
    # Acknowledged, or given back to be tried again if the work failed.
    NACK_ON_ERROR = "nack_on_error"
    # Acknowledged, or made a dead letter if the work failed.
    REJECT_ON_ERROR = "reject_on_error"
    # Nothing: whoever works on it says so.
    MANUAL = "manual"
