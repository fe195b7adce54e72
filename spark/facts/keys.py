"""Keys of what clients publish, summed up over a file by a sketch of bounded size: those that come often are in it.

Space saving, a cut at a time: when there are twice as many counters as are to be kept, those with the least go, and
whoever comes next begins with as much as the largest of them had. So a key that is told of came at most as often as is
said, and less often by at most its error; one that is not told of came at most as often as the largest that went.

A capture leaves the records of most batches out, unless it was told to keep them. Of those no key is known: so each
topic has a fact that says of how many messages the keys could be looked at.
"""

from collections import Counter

import mmh3
from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.node import Node
from goqueue.core.records.batch import read_header
from goqueue.core.records.record import Recordless, iterate
from goqueue.core.requests.messages import Publish, PublishBatch
from goqueue.spark.facts.listening import CLIENT, Errand, Hears, Listener
from goqueue.spark.facts.notebook import Notebook

KEPT_MAX = 1024
_TEXT_BYTES_MAX = 200


@define(eq=False)
class _Counter:
    count: int
    error: int
    bytes: int = 0


@define(eq=False)
class Sketch:
    """Counters of what comes most often."""

    kept_max: int = KEPT_MAX
    _counters: dict[tuple[str, bytes], _Counter] = field(factory=dict)
    _floor: int = 0

    def add(self, topic: str, key: bytes, size: int) -> None:
        """A message came."""
        counter = self._counters.get((topic, key))
        if counter is None:
            if len(self._counters) >= 2 * self.kept_max:
                self._cut()
            counter = self._counters[topic, key] = _Counter(self._floor, self._floor)
        counter.count += 1
        counter.bytes += size

    def _cut(self) -> None:
        ranked = self._ranked()
        self._floor = ranked[self.kept_max][1].count
        self._counters = dict(ranked[: self.kept_max])

    def _ranked(self) -> list[tuple[tuple[str, bytes], _Counter]]:
        return sorted(self._counters.items(), key=lambda each: -each[1].count)

    def most(self) -> list[tuple[str, bytes, int, int, int]]:
        """What came most often, the first the most: topic, key, how often at most, by how much too high, bytes."""
        return [(topic, key, one.count, one.error, one.bytes) for (topic, key), one in self._ranked()[: self.kept_max]]


class Keys(Listener):
    """Notes `keyed` and `looked`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._sketch = Sketch()
        # By topic: messages that clients asked to publish, and those whose keys are in the capture.
        self._all: Counter[str] = Counter()
        self._looked: Counter[str] = Counter()

    def hears(self) -> Hears:
        """Messages, one by one and in batches."""
        return Hears(asked={Publish: self._asked, PublishBatch: self._batch_asked})

    def _asked(self, node: Node, errand: Errand) -> None:
        if errand.way != CLIENT:
            return
        request: Publish = errand.request
        self._all[request.topic] += len(request.records)
        self._looked[request.topic] += len(request.records)
        for record in request.records:
            if record.key is not None:
                key = bytes(record.key)
                self._sketch.add(request.topic, key, len(key) + len(record.value or b""))

    def _batch_asked(self, node: Node, errand: Errand) -> None:
        if errand.way != CLIENT:
            return
        request: PublishBatch = errand.request
        if isinstance(request.batch, Recordless):
            self._all[request.topic] += read_header(request.batch).record_count
            return
        try:
            records = [(one.key, one.value) for one in iterate(request.batch)]
        except BatchError:
            # Nobody knows how many messages it was meant to have, and it was refused.
            return
        self._all[request.topic] += len(records)
        self._looked[request.topic] += len(records)
        for found, value in records:
            if found is not None:
                key = bytes(found)
                self._sketch.add(request.topic, key, len(key) + len(value or b""))

    def end(self, node: Node) -> None:
        """The sum of the file."""
        for topic in sorted(self._all):
            self.notebook.note("looked", topic=topic, count=self._looked[topic], value=self._all[topic])
        for topic, key, count, error, size in self._sketch.most():
            self.notebook.note(
                "keyed", topic=topic, key_hash=mmh3.hash64(key)[0], count=count, bytes=size, value=error,
                detail=_spelled(key),
            )  # fmt: skip


def _spelled(key: bytes) -> str | None:
    """A key as text, if it is one and is short."""
    try:
        return key.decode() if len(key) <= _TEXT_BYTES_MAX else None
    except UnicodeDecodeError:
        return None
