"""One member that polls: its partitions, its place in each, and the poll under way.

The bytes of batches are passed on as they come, but for the header of the first. So a poll ends at an offset and not
behind so many records: where compaction has left gaps it may bring fewer than were asked for.

Invariant: a place belongs to a partition that the member has, and to its present tenure of it.
"""

from bisect import bisect_left
from collections import deque

from attrs import define, field

from goqueue.core.groups.sessions import MemberKey
from goqueue.core.groups.state import Slot
from goqueue.core.records.batch import read_header
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import PolledBatches
from goqueue.core.requests.messages import Fetched

# Until something was read of a partition nothing is known of its records.
_RECORD_BYTES = 1 << 10
_READ_BYTES_LEAST = 16 << 10


@define(eq=False)
class Place:
    """Where a member goes on in a partition that it has since some generation.

    The tenure may be told of once `after` batches of the journal are durable.
    """

    since: int
    after: int
    offset: int
    # What is yet to be found: the first message at or after it, in milliseconds since 1970.
    moment_ms: int | None = None
    record_bytes: int = _RECORD_BYTES
    # Whether another node has refused to read there.
    is_lost: bool = False


@define(eq=False)
class Poll:
    """A poll under way: what it has found, the partitions that it has yet to look at, and its read if there is one."""

    call: Call
    records_max: int
    bytes_max: int
    deadline: int
    waits: bool = False
    records_left: int = 0
    bytes_left: int = 0
    size: int = 0
    rest: deque[Slot] = field(factory=deque)
    found: list[tuple[Place, PolledBatches]] = field(factory=list)
    reading: int = 0
    slot: Slot = ("", 0)
    place: Place | None = None
    offset: int = 0
    is_waiting: bool = False

    def begin(self, order: list[Slot], first: Slot) -> None:
        """Look at every partition, with nothing found."""
        self.found.clear()
        self.size = 0
        self.records_left, self.bytes_left = self.records_max, self.bytes_max
        self.look_round(order, first)

    def look_round(self, order: list[Slot], first: Slot) -> None:
        """Look at every partition, beginning with the first that is not before `first`."""
        at = bisect_left(order, first)
        self.rest = deque(order[at:] + order[:at])

    def reached(self, place: Place) -> int:
        """Where to read on in a partition, after what was found there."""
        found = next((part.end_offset for of, part in reversed(self.found) if of is place), 0)
        return max(found, place.offset)

    @property
    def is_full(self) -> bool:
        """Whether nothing more goes in."""
        return self.records_left <= 0 or self.bytes_left <= 0

    def read_bytes(self, place: Place | None) -> int:
        """How much to read of a partition: about as much as is wanted."""
        record_bytes = _RECORD_BYTES if place is None else place.record_bytes
        wanted = max(self.records_left * record_bytes * 5 // 4, _READ_BYTES_LEAST)
        return min(wanted, self.bytes_left)

    def take(self, slot: Slot, place: Place, fetched: Fetched) -> None:
        """Take what was read, as far as there is room for it."""
        size = len(fetched.batches)
        if self.found and size > self.bytes_left:
            self.bytes_left = 0
            return
        header = read_header(fetched.batches)
        first = max(self.offset, header.base_offset)
        end = min(fetched.next_offset, first + self.records_left)
        if header.record_count <= self.records_left:
            # Few records may be left of a batch that spans many offsets.
            end = max(end, header.next_offset)
        span = end - first
        self.records_left -= min(span, header.record_count) if end == header.next_offset else span
        self.bytes_left -= size
        self.size += size
        self.found.append((place, PolledBatches(*slot, fetched.batches, first, end)))
        place.record_bytes = size // max(fetched.next_offset - header.base_offset, 1) + 1


@define(eq=False)
class Reader:
    """A member that has polled: what it has since when, in order, and where it is."""

    group: str
    member_id: str
    held: dict[Slot, int] = field(factory=dict)
    order: list[Slot] = field(factory=list)
    places: dict[Slot, Place] = field(factory=dict)
    # The partition at which the next poll begins.
    first: Slot = ("", 0)
    poll: Poll | None = None

    @property
    def key(self) -> MemberKey:
        """By what it is found."""
        return self.group, self.member_id

    def hold(self, held: dict[Slot, int]) -> None:
        """Have these partitions and no others."""
        self.held, self.order = held, sorted(held)
        self.places = {slot: place for slot, place in self.places.items() if held.get(slot) == place.since}
        poll = self.poll
        if poll is None:
            return
        if all(self.is_at(place, part) for place, part in poll.found):
            poll.look_round(self.order, self.first)
        else:
            poll.begin(self.order, self.first)

    def is_at(self, place: Place, part: PolledBatches) -> bool:
        """Whether what was found in a partition is still the member's."""
        return self.places.get((part.topic, part.partition)) is place
