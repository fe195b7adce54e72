"""The ConsumeReply around what a member's stream is told, spelled by hand.

To make an object of it costs more than all that is in it: betterproto sets each field of the oneof one by one.
"""

from typing import Any

from goqueue.proto.wire import unsigned
from goqueue.transports.grpc.codec import Codec

_REQUEST_ID = b"\x08"
_NUMBERS = {
    "joined": 2, "acked": 5, "nacked": 6, "rejected": 7, "extended": 8, "committed": 9, "assignment": 10,
    "revoked": 11, "left": 12, "refusal": 13, "sought": 14, "leaving": 15, "released": 16,
}  # fmt: skip
_TAGS = {which: unsigned(number << 3 | 2) for which, number in _NUMBERS.items()}


def stream_reply(codec: Codec, request_id: int, which: str, message: Any) -> bytes:  # noqa: ANN401 - of several classes
    """The reply to a request, or one that answers none, under 0; `which` is the field that it is of."""
    content = codec.encode(message)
    head = _REQUEST_ID + unsigned(request_id) if request_id else b""
    return b"".join((head, _TAGS[which], unsigned(len(content)), content))
