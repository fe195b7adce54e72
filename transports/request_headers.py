"""The headers of one request, as an application gets them by whichever protocol they came.

An application names the headers that it wants, once, and asks each request for those. No other header is copied for
that, and where none of them was sent the answer is a constant. What was found stays with the headers: clients send the
same head again and again, both protocols know it again, and then the answer is a look-up.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

NONE_SENT: Mapping[bytes, bytes] = MappingProxyType({})


class RequestHeaders(dict[bytes, bytes]):
    """By their names in lower case; what several headers of one name say is joined with commas, in their order."""

    __slots__ = ("_found",)

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(pairs)
        # By the names that were asked for, which are as many sets as there are applications.
        self._found: dict[frozenset[bytes], Mapping[bytes, bytes]] | None = None
        if len(self) < len(pairs):
            self.clear()
            for name, text in pairs:
                self[name] = self[name] + b", " + text if name in self else text

    def asked(self, names: frozenset[bytes]) -> Mapping[bytes, bytes]:
        """Those of these names that were sent, and no others; the answer is shared, and not for changing."""
        if self._found is None:
            self._found = {}
        found = self._found.get(names)
        if found is None:
            found = {name: text for name, text in self.items() if name in names} or NONE_SENT
            self._found[names] = found
        return found
