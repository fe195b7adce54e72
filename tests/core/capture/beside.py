"""A node that is told again what it was told, and a changed one beside it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from goqueue.core.capture.alterations import Alterations, parse_alterations
from goqueue.core.capture.counterpart import Counterpart
from goqueue.core.capture.differing import Report
from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.replay import Replayer
from goqueue.core.node import Node
from tests.core.capture.traffic import VOCABULARY

File = tuple[int, bytes, list[bytes]]


class Notes:
    """What one process is told, from its beginning."""

    def __init__(self, node: Node) -> None:
        self.recorder = Recorder(node, VOCABULARY)
        self._first = (0, self.recorder.begin_file())

    def file(self) -> File:
        """All of it so far."""
        return (*self._first, [self.recorder.take_block()])


def told_beside(
    file: File,
    settings: dict[str, str] | None = None,
    change: Callable[[], AbstractContextManager[object]] = nullcontext,
    kept_max: int = 20,
) -> Report:
    """What came of telling a changed node the same as the one that was captured."""
    first, content, blocks = file
    said: list[object] = []
    replayer = Replayer(VOCABULARY, lambda _node, _event, came: said.append(came))
    assert replayer.begin(content, first) is None
    alterations = parse_alterations(settings or {}) if settings else Alterations()
    with change():
        counterpart = Counterpart(VOCABULARY, content, first, alterations, kept_max)
    for block in blocks:
        said.clear()
        assert replayer.feed(block) is None, "the node that is as it was must do what it did"
        with change():
            counterpart.feed(block, said)
    with change():
        return counterpart.close()
