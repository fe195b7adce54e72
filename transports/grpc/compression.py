"""Message compression: identity and gzip, and never more output than allowed.

A few kilobytes of gzip may inflate to gigabytes. So inflating stops at the bound for messages, and what would pass it
is refused like a long message.
"""

import zlib

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable

ACCEPTED = b"identity,gzip"
ENCODINGS = frozenset((b"identity", b"gzip"))
# Below this, the header and trailer of gzip cost more than is won.
WORTHWHILE_BYTES = 256
# From here on it is done in a thread, which costs as much as squeezing this much.
ASIDE_BYTES = 16 * 1024
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 1


def inflate(data: Readable, bytes_max: int) -> bytes:
    """What gzip made of a message; raises INVALID_ARGUMENT if it did not, RESOURCE_EXHAUSTED past the bound."""
    inflating = zlib.decompressobj(_GZIP)
    try:
        message = inflating.decompress(data, bytes_max + 1)
    except zlib.error as error:
        raise GRPCError(Status.INVALID_ARGUMENT, f"a message that is no gzip: {error}") from error
    if len(message) > bytes_max:
        raise GRPCError(Status.RESOURCE_EXHAUSTED, f"a message that inflates past the bound of {bytes_max} bytes")
    if not inflating.eof:
        raise GRPCError(Status.INVALID_ARGUMENT, "a message whose gzip is cut off")
    return message


def deflate(message: bytes) -> bytes:
    """A message as gzip, quickly rather than small."""
    deflating = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return deflating.compress(message) + deflating.flush()
