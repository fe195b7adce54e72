"""What a producer is asked to be: how it gathers, what it promises, and how long it tries.

Values alone; what follows from them is in `session.py`, and how a user says them in `transports.client.producer`.
"""

from attrs import define

from goqueue.core.records.batch import Codec
from goqueue.core.timers.backoff import FIRST_NS, LONGEST_NS

SECOND_NS = 1_000_000_000


@define
class Terms:
    """What a user chooses for a producer."""

    batch_bytes: int = 16384
    linger_ns: int = 5_000_000
    codec: Codec = Codec.NONE
    is_idempotent: bool = True
    # Batches come encoded, and with numbers of their own, which nothing here may change.
    is_numbered: bool = False
    delivery_timeout_ns: int = 120 * SECOND_NS
    # An answer that takes longer means that the connection is of no use.
    request_timeout_ns: int = 30 * SECOND_NS
    backoff_first_ns: int = FIRST_NS
    backoff_longest_ns: int = LONGEST_NS
