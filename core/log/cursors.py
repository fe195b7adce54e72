"""Where reads ended lately, so that a reader which goes on from there need not be looked up in an index.

A bounded memory of hints: losing one costs a look-up, and a hint is only taken for the segment it was made for.
"""

_CURSORS_MAX = 256


class Cursors:
    """offset -> (segment name, position of the batch that begins there), the most recent ones."""

    __slots__ = ("_cursors",)

    def __init__(self) -> None:
        self._cursors: dict[int, tuple[str, int]] = {}

    def note(self, offset: int, segment: str, position: int) -> None:
        """A read ended before `offset`, which begins at `position` of the segment."""
        self._cursors.pop(offset, None)
        if len(self._cursors) >= _CURSORS_MAX:
            del self._cursors[next(iter(self._cursors))]
        self._cursors[offset] = (segment, position)

    def position(self, offset: int, segment: str) -> int | None:
        """Where `offset` begins in the segment, if that is known."""
        cursor = self._cursors.get(offset)
        return cursor[1] if cursor is not None and cursor[0] == segment else None

    def forget(self, segments: list[str]) -> None:
        """Drop what points into segments that are no more."""
        self._cursors = {offset: cursor for offset, cursor in self._cursors.items() if cursor[0] not in segments}

    def clear(self) -> None:
        """Drop everything."""
        self._cursors.clear()

    def __len__(self) -> int:
        return len(self._cursors)
