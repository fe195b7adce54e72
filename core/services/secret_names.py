"""What stands for a secret where it may be read by others than the broker: its name.

A name is as long as the secret and has the same CRC-32C, so a batch in which it stands in the place of the secret has
the CRC that it had. Otherwise it says nothing of it: it begins with a hash.
"""

import re
from hashlib import blake2b

from crc32c import crc32c

from goqueue.core.records.chosen_crc import CHOSEN_BYTES, chosen

SECRET_BYTES = 32
# The key of the entry of a ledger whose value is a secret, and how the two stand in a record.
SECRET_KEY = b"\x00secret"
_ENTRY = re.compile(b"\x0e" + re.escape(SECRET_KEY) + b"\x40(.{%d})" % SECRET_BYTES, re.DOTALL)


def name_of(secret: bytes) -> bytes:
    """What stands for a secret."""
    assert len(secret) == SECRET_BYTES
    begun = blake2b(secret, digest_size=SECRET_BYTES - CHOSEN_BYTES, person=b"goqueue name").digest()
    return begun + chosen(crc32c(begun), crc32c(secret))


def without_secrets(written: bytes) -> bytes:
    """What was written, with names in the place of the secrets of ledgers."""
    return _ENTRY.sub(lambda found: found[0][:-SECRET_BYTES] + name_of(found[1]), written)
