"""What the log knows of one segment without opening it.

A segment is one file of whole batches. `base` names it and is the lowest offset it may hold; `next_offset` is the first
offset it may not. Compaction writes a segment anew under the next `generation`, so that old and new never share a name
and a reader of the old one is not disturbed.
"""

from attrs import define

NO_TIMESTAMP = -1

# An index entry holds offsets relative to the base in 32 bits, of which one is left for a sign.
RELATIVE_OFFSET_MAX = (1 << 31) - 1


@define(slots=True)
class Segment:
    """One file of batches: offsets [base, next_offset), `size` bytes, the largest timestamp in it."""

    base: int
    generation: int
    size: int
    next_offset: int
    max_timestamp: int
    created_ms: int

    @property
    def name(self) -> str:
        """The file's name without its ending; it sorts as the offsets do."""
        return segment_name(self.base, self.generation)

    def check(self) -> None:
        """Assert what must always hold of a segment."""
        assert self.base >= 0
        assert self.next_offset >= self.base
        assert self.size >= 0


def segment_name(base: int, generation: int) -> str:
    """`00000000000000000042` as appended, `00000000000000000042.3` after the third compaction."""
    return f"{base:020d}" if generation == 0 else f"{base:020d}.{generation}"


def parse_segment_name(name: str) -> tuple[int, int] | None:
    """(base, generation) of a name that `segment_name` could have made; None for any other."""
    base, _, generation = name.partition(".")
    if len(base) != 20 or not _is_digits(base):
        return None
    if not generation:
        return (int(base), 0) if name == base else None
    if not _is_digits(generation) or generation.startswith("0"):
        return None
    return int(base), int(generation)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
