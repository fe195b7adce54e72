"""HPACK that remembers: the same headers under the same dynamic table are the same bytes.

Theory: a header block depends on its headers and on the dynamic table alone. As long as the table stays as it is, both
directions are a dictionary look-up. Once a client has sent a request of each kind, its later blocks are all indexes,
and so are our constant responses; a call then costs two look-ups instead of some thirty table searches.

Invariants: a block that changed the table is never remembered; any change of the table forgets everything; what is
remembered is bounded in number and size, so that a peer cannot fill memory with it.
"""

from collections.abc import Iterable
from typing import Any

from hpack import Decoder, Encoder, HeaderTuple
from hpack.exceptions import HPACKDecodingError
from hpack.table import HeaderTable

from goqueue.transports.http2.request import Headers

REMEMBERED_MAX = 64
REMEMBERED_BYTES_MAX = 1024
# RFC 7541, section 4.2: a block opens with at most two of them, the smallest size in between and the last.
TABLE_UPDATES_MAX = 2


class CountedTable(HeaderTable):
    """A dynamic table that counts its changes."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0

    def add(self, name: bytes, value: bytes) -> None:
        """Adds an entry, perhaps at the cost of older ones."""
        self.changes += 1
        super().add(name, value)

    @property
    def maxsize(self) -> int:
        """The bytes that its entries may take."""
        return self._maxsize

    @maxsize.setter
    def maxsize(self, newmax: int) -> None:
        self.changes += 1
        HeaderTable.maxsize.fset(self, newmax)  # type: ignore[attr-defined]


class RememberingEncoder(Encoder):
    """An encoder that knows constant blocks again: give it a tuple of plain pairs for those, a list for all others."""

    def __init__(self) -> None:
        super().__init__()
        self.header_table = self._table = CountedTable()
        self._known: dict[Headers, bytes] = {}
        self._known_at = 0

    def encode(self, headers: Any, huffman: bool = True) -> bytes:  # noqa: ANN401 - hpack takes many shapes
        """The block for these headers."""
        table = self._table
        if type(headers) is not tuple:
            return super().encode(headers, huffman)
        if self._known_at != table.changes or table.resized:
            self._known.clear()
            self._known_at = table.changes
        elif (known := self._known.get(headers)) is not None:
            return known
        pending = table.resized
        block = super().encode(headers, huffman)
        if table.changes == self._known_at and not pending and len(self._known) < REMEMBERED_MAX:
            self._known[headers] = block
        return block


class RememberingDecoder(Decoder):
    """A decoder that knows short blocks again."""

    def __init__(self) -> None:
        super().__init__()
        self.header_table = self._table = CountedTable()
        self._known: dict[bytes, list[HeaderTuple]] = {}
        self._known_at = 0
        self._updates = 0
        self.forgotten = 0

    def known(self, block: bytes) -> list[tuple[bytes, bytes]] | None:
        """The headers of a block that is remembered; the list is shared, and not for changing.

        Whoever keeps what was made of them lets go of it when `forgotten` is another number.
        """
        known: list[Any] | None = self._known.get(block) if self._known_at == self._table.changes else None
        return known

    def decode(self, data: bytes, raw: bool = False) -> Iterable[HeaderTuple]:
        """The headers of this block; the list is shared, and not for changing."""
        table = self._table
        if self._known_at != table.changes:
            self._forget()
            self._known_at = table.changes
        elif (known := self._known.get(data)) is not None:
            return known
        self._updates = 0
        headers = list(super().decode(data, raw))
        if table.changes == self._known_at and len(data) <= REMEMBERED_BYTES_MAX:
            if len(self._known) >= REMEMBERED_MAX:
                self._forget()
            self._known[data] = headers
        return headers

    def _forget(self) -> None:
        self._known.clear()
        self.forgotten += 1

    def _update_encoding_context(self, data: bytes | memoryview) -> int:
        # One byte each: without a bound, a block of them keeps us busy for a hundred milliseconds.
        self._updates += 1
        if self._updates > TABLE_UPDATES_MAX:
            raise HPACKDecodingError("more table size updates than a block may hold")
        return super()._update_encoding_context(data)
