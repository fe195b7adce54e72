"""The high watermark never goes back while its partition is sound, and is never beyond what is durable as promised.

A topic with `fsync: every` shows only what a crash at this very moment would leave; this is read from the durable
bytes of the simulated disk, whatever the node believes.
"""

from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import HEADER_BYTES, read_header
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Place, Violation
from goqueue.storage.layout import LOG_ENDING


class Watermark(Checker):
    """Remembers every partition's high watermark."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._seen: dict[Place, int] = {}
        self._shaken: set[Place] = set()
        # By log, since the same segment of another replica may hold other batches.
        self._walked: dict[tuple[Log, str], tuple[int, int]] = {}

    def lost(self, topic_id: int | None) -> None:
        """Those of topics that promise little may go back once, when they are opened again."""
        for place in self._seen:
            if (topic_id is None or place[0] == topic_id) and not self.history.is_strong(place[0]):
                self._shaken.add(place)

    def stepped(self) -> None:
        """Look at every partition."""
        for topic_id, partition in self.sight.stirred_partitions():
            place, reached = (topic_id, partition.number), partition.high_watermark
            if topic_id in self.history.given_up:
                continue
            seen = self._seen.get(place, 0)
            if reached < seen and place in self._shaken:
                self._shaken.remove(place)
                self._seen[place] = reached
            elif reached < seen:
                raise Violation(f"the high watermark of {partition.log.stream} went from {seen} back to {reached}")
            if reached > seen:
                self._seen[place] = reached
                if self.history.is_strong(topic_id) and partition.log.unsound is None:
                    self._check_durable(partition)

    def _check_durable(self, partition: Partition) -> None:
        segments = [
            segment for segment in partition.log.segments if segment.size and segment.base < partition.high_watermark
        ]
        if not segments:
            return
        path = f"{partition.log.stream}/{segments[-1].name}{LOG_ENDING}"
        try:
            durable = self.sight.disk_of(partition).durable_bytes(path)
        except OSError as error:
            raise Violation(f"{path} holds what was acknowledged, and is not durable: {error}") from error
        key, compacts = (partition.log, segments[-1].name), partition.log.config.cleanup.compacts
        position, offset = self._walked.get(key, (0, segments[-1].base))
        while offset < partition.high_watermark:
            header = read_header(durable, position) if position + HEADER_BYTES <= len(durable) else None
            # A replica copies the gaps that compaction has left in its leader's log.
            is_next = header is not None and (
                header.base_offset == offset or (compacts and header.base_offset > offset)
            )
            if header is None or not is_next or position + header.size > len(durable):
                raise Violation(f"{path} is durable up to offset {offset} only, below {partition.high_watermark}")
            position, offset = position + header.size, header.next_offset
        self._walked[key] = (position, offset)
