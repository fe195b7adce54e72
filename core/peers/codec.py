"""Letters between nodes as bytes, and back; requests and answers in them have the numbers of `core/requests`.

The numbers are for ever: one that is not used any more is not given to another class. A field that is added later says
since which version (`shapes.since`); what a release sends to a node of the one before is written in that one's version,
which the two find out when they meet. A class that is added is sent to nobody who does not know it.

Whatever the bytes are, decoding ends in a letter or in ProtocolError.
"""

from typing import Any

from goqueue.core.cluster.remote_offsets import Ends
from goqueue.core.codec.codec import Codec
from goqueue.core.codec.shapes import Shape, Shapes
from goqueue.core.peers.publishes import record_shape, reply_shape
from goqueue.core.quorum.messages import QUORUM_MESSAGES, QuorumLetter
from goqueue.core.records.varint import Readable
from goqueue.core.replication import messages as replication
from goqueue.core.requests.messages import NewRecord, PublishReply
from goqueue.core.requests.replies import REPLY_NUMBERS
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import SENT
from goqueue.core.routing import messages as forwarding

# What two nodes may speak to each other; of two ranges that meet, the highest they share.
VERSION_MIN = 1
VERSION = 1

_QUORUM_FIRST = 10

_LETTERS: dict[int, type] = {
    30: QuorumLetter,
    40: replication.Pull,
    41: replication.Pulled,
    42: replication.Kept,
    50: forwarding.Forwarded,
    51: forwarding.Answered,
    52: forwarding.Abandoned,
    53: forwarding.Inquiry,
    54: forwarding.Missing,
    60: Ends,
}

# Only letters come by themselves; the rest is what they hold.
_QUORUM = {_QUORUM_FIRST + number: cls for number, cls in QUORUM_MESSAGES.items()}
_INNER = {cls: number for number, cls in {**_LETTERS, **_QUORUM}.items()} | SENT | REPLY_NUMBERS

LETTERS: tuple[type, ...] = tuple(_LETTERS.values())


def _request_shape(shapes: Shapes) -> Shape:
    """A request that one node passes on to another."""
    return shapes.one_of([*SENT])


PEER_CODEC = Codec(
    _LETTERS,
    VERSION,
    {Request: _request_shape, NewRecord: record_shape, PublishReply: reply_shape},
    VERSION_MIN,
    _INNER,
)


def encode(message: object, version: int = VERSION) -> list[Readable]:
    """The bytes of a letter for a node that reads a version, in pieces; what is large in it is not copied."""
    return PEER_CODEC.pieces(message, version)


def decode(content: Readable) -> Any:  # noqa: ANN401 - any of LETTERS
    """The letter in `content`, or ProtocolError; it may hold views of the content, which has to stay as it is."""
    return PEER_CODEC.decode(content)
