"""A whole node as bytes, and a node from them that goes on exactly as the first would have.

A snapshot holds the state as it is, by class and field (`values`): there is no second description of it that could
fall behind when a component gets another field. The price is that a snapshot belongs to the release that wrote it;
another one whose classes differ says so and reads nothing.

Invariants: a node and what `restored` makes of its snapshot have the same snapshot, answer the same to the same verbs,
and share nothing.
"""

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.reading import READ_ERRORS, ValueReader
from goqueue.core.capture.values import ValueWriter
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.node import Node


def snapshot(vocabulary: Vocabulary, node: Node) -> bytes:
    """Everything that a node is; what it has been told and has not said yet included."""
    out = bytearray()
    ValueWriter(vocabulary, out).write(node)
    return bytes(out)


def restored(vocabulary: Vocabulary, content: bytes) -> Node:
    """The node of a snapshot. Raises CaptureError."""
    reader = ValueReader(vocabulary, content)
    try:
        node = reader.read()
    except READ_ERRORS as error:
        raise CaptureError(f"the snapshot cannot be read: {error}") from error
    if not isinstance(node, Node) or not reader.is_done():
        raise CaptureError("the snapshot is not that of a node")
    return node
