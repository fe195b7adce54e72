"""The batches that are written: records of 1,000 random bytes, no key, no headers, no compression.

Random bytes, so that no file system or disk that compresses shines; many different batches, so that the processor's
caches hold them no better than what a broker receives.
"""

import os
import time

from goqueue.cli.bench.sizes import RECORD_BYTES
from goqueue.core.records.build import Entry, encode

# More than a core's own caches hold, less than the processor's shared one: where bytes are that a socket just brought.
_RING_BYTES = 4 << 20


def ring(batch_records: int) -> list[bytearray]:
    """Different batches of that many records, to be appended over and over."""
    count = max(2, _RING_BYTES // (batch_records * RECORD_BYTES))
    return [encode(entries(batch_records)) for _ in range(count)]


def entries(count: int) -> list[Entry]:
    """Records as a producer has them, all of this millisecond."""
    timestamp = time.time_ns() // 1_000_000
    return [(timestamp, None, value, ()) for value in values(count)]


def values(count: int) -> list[bytes]:
    """Different values."""
    return [os.urandom(RECORD_BYTES) for _ in range(count)]
