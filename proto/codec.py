"""Messages to bytes and back, strictly and fast: what transports are given as their codec.

The work is done by generated code, one function a class, `v1_codec.py`; here a message finds its own. Bytes that
Google's implementation refuses are refused with a `WireError`, a ValueError that names message and field; what it
takes gives the same message here, and a message the same bytes. The one bound of our own: lists and maps of one
message hold `items_max` items together, since an empty message is two bytes on the wire and half a kilobyte as an
object.

A codec for a class that nobody generated code for is betterproto's own, which takes bytes that are cut short.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import betterproto

from goqueue.proto import v1_codec
from goqueue.proto.wire import ITEMS_MAX, Readable, WireError

_Pair: TypeAlias = tuple[Callable[[Any], bytes], Callable[..., Any]]
Codes: TypeAlias = Mapping[Any, _Pair]


class StrictCodec:
    """Encodes and decodes the messages of `v1`, and of whatever else there are generated codes for.

    With `views`, batches in what is decoded are memoryviews of the bytes given and not copies: for readers who pass
    them on or copy them once anyway. They keep those bytes alive.
    """

    __slots__ = ("_decoders", "_encoders", "_items_max", "_views")

    def __init__(self, *others: Codes, views: bool = False, items_max: int = ITEMS_MAX) -> None:
        codes: dict[Any, _Pair] = {kind: pair for table in (v1_codec.CODES, *others) for kind, pair in table.items()}
        self._encoders = {kind: encode for kind, (encode, _) in codes.items()}
        self._decoders = {kind: decode for kind, (_, decode) in codes.items()}
        self._views = views
        self._items_max = items_max

    def encode(self, message: Any) -> bytes:  # noqa: ANN401 - of any class of messages
        """The bytes of a message: always the same ones for the same content."""
        encode = self._encoders.get(type(message))
        if encode is None:
            return bytes(message)
        return encode(message)

    def decode(self, kind: Any, data: Readable) -> Any:  # noqa: ANN401
        """The message of class `kind` in these bytes; raises WireError, which is a ValueError."""
        decode = self._decoders.get(kind)
        if decode is None:
            return _forgiving(kind, data)
        return decode(memoryview(data) if self._views else data, 0, len(data), [self._items_max])


def _forgiving(kind: type[betterproto.Message], data: Readable) -> betterproto.Message:
    try:
        return kind().parse(bytes(data))
    except Exception as error:
        # It raises whatever its innards happen to: EOFError, struct.error, KeyError, UnicodeDecodeError.
        raise WireError(f"not a {kind.__name__}: {error}") from error
