"""A snapshot is the node: what is restored from it goes on as if nothing had been."""

import sys
from typing import Any

import pytest

from goqueue.core.capture.comparison import first_difference
from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.snapshot import restored, snapshot
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.node import Node
from goqueue.storage.capture import core_vocabulary
from tests.core.capture.traffic import TIMELESS, Traffic, fresh_node


class Twins:
    """A node, and from some moment on another that was restored from its snapshot and is told the same."""

    def __init__(self, seed: int) -> None:
        self.vocabulary = core_vocabulary()
        self.twin: Node | None = None
        self.came: list[object] = []
        self.traffic = Traffic(seed, fresh_node(), self._tell)

    def _tell(self, verb: str, arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        if self.twin is not None:
            timed = () if verb in TIMELESS else (self.traffic.now,)
            came = getattr(self.twin, verb)(*timed, *arguments[0], **arguments[1])
            if verb == "take":
                self.came.append(came)

    def part(self) -> None:
        """Make the twin."""
        content = snapshot(self.vocabulary, self.traffic.node)
        self.twin = restored(self.vocabulary, content)
        assert snapshot(self.vocabulary, self.twin) == content
        self.traffic.outputs.clear()


@pytest.mark.parametrize("seed", range(12))
def test_a_restored_node_says_what_the_first_one_says_from_any_moment_on(seed: int) -> None:
    twins = Twins(seed)
    for _ in range(20 + 20 * seed):
        twins.traffic.turn()
    twins.part()
    for _ in range(120):
        twins.traffic.turn()
    assert twins.twin is not None
    twins.twin.check()
    assert len(twins.came) > 100
    assert twins.came == twins.traffic.outputs
    assert snapshot(twins.vocabulary, twins.twin) == snapshot(twins.vocabulary, twins.traffic.node)


def test_a_node_can_be_restored_between_a_request_and_its_turn() -> None:
    twins = Twins(3)
    for _ in range(60):
        twins.traffic.turn()
    for to in range(10_000, 10_020):
        twins.traffic.call("ask", to, twins.traffic._callers[0], twins.traffic._request())
    twins.part()
    for _ in range(20):
        twins.traffic.turn()
    assert twins.came == twins.traffic.outputs


def test_a_restored_node_shares_nothing_with_the_first() -> None:
    twins = Twins(5)
    for _ in range(80):
        twins.traffic.turn()
    content = snapshot(twins.vocabulary, twins.traffic.node)
    other = restored(twins.vocabulary, content)
    for _ in range(40):
        twins.traffic.turn()
    assert snapshot(twins.vocabulary, other) == content
    assert first_difference(other, twins.traffic.node) is not None


def test_a_difference_between_two_nodes_is_found_by_its_path() -> None:
    vocabulary = core_vocabulary()
    first, second = fresh_node(), fresh_node()
    assert first_difference(first, second) is None
    second.options.partitions_default = 3
    difference = first_difference(first, second)
    assert difference is not None
    assert (difference.path, difference.expected, difference.actual) == ("node.options.partitions_default", "2", "3")
    assert snapshot(vocabulary, first) != snapshot(vocabulary, second)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x0a\x00", b"\xff", b"\x10\x00\x00"])
def test_what_is_no_snapshot_is_refused(content: bytes) -> None:
    with pytest.raises(CaptureError):
        restored(core_vocabulary(), content)


def test_a_damaged_snapshot_never_raises_anything_else() -> None:
    vocabulary = core_vocabulary()
    content = snapshot(vocabulary, fresh_node())
    refused = 0
    # Here and there: all places take most of a minute, and are much alike.
    places = sorted({*range(0, len(content), 7), *range(100), *range(len(content) - 100, len(content))})
    for at in places:
        for changed in (content[:at], content[:at] + bytes([content[at] ^ 0x11]) + content[at + 1 :]):
            try:
                restored(vocabulary, changed)
            except CaptureError:
                refused += 1
    assert refused > len(places)


def test_a_class_that_this_release_does_not_have_is_named() -> None:
    content = snapshot(core_vocabulary(), fresh_node())
    fewer = Vocabulary(
        module for name, module in sys.modules.items() if name.startswith("goqueue.core.") and "clock" not in name
    )
    with pytest.raises(CaptureError, match=r"core\.clock:Clock is unknown to this release"):
        restored(fewer, content)
