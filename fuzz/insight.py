"""What checkers read inside of nodes, in one place: how far each is in what all agree on, and who it believes to be."""

from goqueue.core.cluster.apply import Topic
from goqueue.core.node import Node
from goqueue.core.records.batch import HEADER_BYTES, Header, read_header
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.simulated import SimulatedDisk


def agreed_index(node: Node) -> int:
    """The end of what a node knows to be agreed on, and has applied."""
    return node._agreement.agreed_index


def agreed_topics(node: Node) -> dict[str, Topic]:
    """The topics that a node knows to be agreed on, also one that has just begun and may not act on that yet."""
    return {**node._agreement.state.topics}


def term(node: Node) -> int:
    """The term in which a node believes to be."""
    return node._agreement.term


def batches(disk: SimulatedDisk, stream: str, name: str, position: int) -> list[tuple[int, Header]]:
    """The whole batches in a file of a stream from a position on, durable or not, and where each is."""
    content = disk.seen_bytes(f"{stream}/{name}{LOG_ENDING}", position)
    return [(position + at, header) for at, header in whole_batches(content)]


def whole_batches(content: bytes) -> list[tuple[int, Header]]:
    """The whole batches that lie one behind the other, and where each begins."""
    found: list[tuple[int, Header]] = []
    at = 0
    while at + HEADER_BYTES <= len(content):
        header = read_header(content, at)
        if header.length <= 0 or at + header.size > len(content):
            break
        found.append((at, header))
        at += header.size
    return found
