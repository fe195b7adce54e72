"""The records of a work queue: what changed, one record a call, and now and then a snapshot of everything.

Changes and not last values, because of what settling costs. A call that settles a hundred messages in order is 24 bytes
of numbers however much is in flight, and settles that follow each other become one record; the whole state of a window
would be written anew each time. So a snapshot bounds what is replayed, and everything before it may be dropped.

Numbers are packed as 64-bit little-endian integers: one call spells all of them. Times are calendar times beside the
spans they came from, so that a retry comes when it was due also after a restart, and a jump of the calendar cannot put
it off by more than its span. A lease has its whole span again after a restart: its member may not know of that.
"""

from collections.abc import Iterable
from struct import Struct, pack, unpack

from attrs import define

from goqueue.core.codec.codec import Codec
from goqueue.core.errors import ProtocolError

_WORD = Struct("<q").size


@define
class Delivered:
    """`leased` runs went to a member under a lease, `held` runs wait behind others of their keys, up to `reach`.

    What lies between the reach before and this one and is in neither is not there. `keys` are the hashes of the keys of
    the leased offsets and then of the held ones, packed, or empty; `has_key` is a byte for each of them.
    """

    lease: int
    member: str
    span_ms: int
    reach: int
    leased: bytes
    held: bytes
    keys: bytes
    has_key: bytes


@define
class Settled:
    """Runs that need no more delivery: triples of a lease, 0 for none, a first offset and the one after the last."""

    runs: bytes


@define
class Returned:
    """Runs of a lease to be delivered again, after a while; `failed` counts against their attempts."""

    lease: int
    runs: bytes
    failed: bool
    delay_ms: int
    until_ms: int


@define
class Doomed:
    """Runs of a lease that are not delivered again: they are dead letters, until they are settled."""

    lease: int
    runs: bytes
    failed: bool
    reason: str


@define
class Extended:
    """Runs of a lease that have another span before them, from when this was said."""

    lease: int
    runs: bytes
    span_ms: int


@define
class Restarted:
    """Everything is forgotten, and delivery goes on at an offset."""

    floor: int


@define
class Cut:
    """The partition lost what lay at an offset and beyond, and other messages come there; `reach` is at most that."""

    reach: int


@define
class Opened:
    """Everything up to a reach is ready; `lanes` are the runs that are not normal: triples of first, end and lane."""

    reach: int
    lanes: bytes


@define
class LeaseRecord:
    """A lease in a snapshot: `runs` are those of its offsets that are open."""

    lease: int
    member: str
    span_ms: int
    runs: bytes


@define
class Snapshot:
    """Everything: pages by number with their statuses and failures, leases, waits, dead letters, and keys.

    A page that is a single byte is all alike. `waits` are a first offset, the one after the last, until when and the
    span left; `keys` offsets and hashes.
    """

    floor: int
    reach: int
    last_lease: int
    numbers: list[int]
    pages: list[bytes]
    failures: list[bytes]
    leases: list[bytes]
    waits: bytes
    doomed: bytes
    reasons: list[str]
    keys: bytes


Record = Delivered | Settled | Returned | Doomed | Extended | Restarted | Opened | Cut | Snapshot

WORK_CODEC = Codec(
    {
        1: Delivered,
        2: Settled,
        3: Returned,
        4: Doomed,
        5: Extended,
        6: Restarted,
        7: LeaseRecord,
        8: Snapshot,
        9: Opened,
        10: Cut,
    }
)


def packed(numbers: "list[int]") -> bytes:
    """Numbers as bytes."""
    return pack(f"<{len(numbers)}q", *numbers)


def unpacked(content: bytes) -> tuple[int, ...]:
    """The numbers that `packed` made bytes of."""
    if len(content) % _WORD:
        raise ProtocolError(f"{len(content)} bytes are no whole number of 64-bit integers")
    return unpack(f"<{len(content) // _WORD}q", content)


def packed_runs(runs: list[tuple[int, int]]) -> bytes:
    """Runs as bytes."""
    return packed([bound for run in runs for bound in run])


def unpacked_runs(content: bytes) -> list[tuple[int, int]]:
    """The runs that `packed_runs` made bytes of."""
    bounds = unpacked(content)
    if len(bounds) % 2:
        raise ProtocolError(f"{len(bounds)} bounds are no whole number of runs")
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def packed_triples(triples: Iterable[tuple[int, int, int]]) -> bytes:
    """Triples of numbers as bytes."""
    return packed([each for triple in triples for each in triple])


def unpacked_triples(content: bytes) -> list[tuple[int, int, int]]:
    """The triples that `packed_triples` made bytes of."""
    numbers = unpacked(content)
    if len(numbers) % 3:
        raise ProtocolError(f"{len(numbers)} numbers are no whole number of triples")
    return list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
