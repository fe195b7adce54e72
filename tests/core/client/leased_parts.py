"""What tests of leases at a client have in common: parts as a broker leases them, and messages as tuples."""

from goqueue.core.client.grants import Claim
from goqueue.core.records.batch import Codec, Lane, stamp
from goqueue.core.records.build import encode
from goqueue.core.requests.queues import LeasedBatches, LeaseRun

SECOND = 1_000_000_000
SPAN_MS = 30_000
# How the broker's clock stands when it sends: far from ours, which counts from 0.
NOW_MS = 1_700_000_000_000

Made = tuple[str, int, int, bytes | None]


def make(
    claim: Claim, offset: int, _timestamp: int, _key: bytes | None, value: bytes | None, _headers: object
) -> "Held":
    """A message of a test."""
    return Held(claim, offset, value)


class Held:
    """A message of a test: what it is, and what it is settled by."""

    def __init__(self, claim: Claim, offset: int, value: bytes | None) -> None:
        self.claim = claim
        self.grant = claim.grant
        self.offset = offset
        self.value = value


def batch(
    base: int, count: int, *, lane: Lane = Lane.NORMAL, codec: Codec = Codec.NONE, control: bool = False
) -> bytes:
    """A batch of a log whose values say the offset; of a control batch the records are no messages."""
    entries = [(NOW_MS, None if offset % 3 else b"key", b"%d" % offset, ()) for offset in range(base, base + count)]
    if control:
        entries = [(NOW_MS, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x00", ())]
    built = encode(entries, lane=lane, codec=codec, control=control)
    stamp(built, base, 0)
    return bytes(built)


def part(
    batches: bytes,
    *runs: tuple[int, int],
    stem: str = "s",
    attempt: int = 1,
    span_ms: int = SPAN_MS,
    topic: str = "jobs",
) -> LeasedBatches:
    """So many messages from these offsets on, leased together."""
    leases = [LeaseRun(first, count, attempt, stem, NOW_MS + span_ms) for first, count in runs]
    return LeasedBatches(topic, 0, batches, leases)


def said(messages: list[Held]) -> list[tuple[int, bytes | None]]:
    """Offsets and values."""
    return [(message.offset, message.value) for message in messages]


def meant(*offsets: int) -> list[tuple[int, bytes | None]]:
    """The same of the messages at these offsets."""
    return [(offset, b"%d" % offset) for offset in offsets]
