"""When a deletion is answered, the topic's folder is gone and stays gone until the topic is made again.

In a cluster it may be on nodes that are dead or cut off, and what those have goes when they are back: before the end.
"""

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import DeleteTopic
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Asked, Violation


class Deletion(Checker):
    """Looks for files of topics that are not there."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._deleted: set[str] = set()

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Note a deletion."""
        if isinstance(asked.request, DeleteTopic) and reply is None:
            self._deleted.add(asked.request.name)
            if not self.sight.is_cluster:
                self._look()

    def stepped(self) -> None:
        """Those made again may have files."""
        if self._deleted and self.sight.node() is not None:
            self._deleted -= self.sight.topic_ids().keys()

    def started(self) -> None:
        """A life begins without what was deleted."""
        self.stepped()
        if not self.sight.is_cluster:
            self._look()

    def ended(self) -> None:
        """So does it end."""
        self._look()
        if self.sight.is_cluster:
            self._look_for_partitions()

    def _present(self) -> list[Broker]:
        """The machines whose nodes have not left for good: nobody looks after the folders of those that have."""
        return [process for process in self.sight.processes if not process.is_retired]

    def _look_for_partitions(self) -> None:
        """Nobody has a partition that is elsewhere."""
        topics = self.sight.topics()
        for process in self._present():
            for path in process.disk.paths():
                parts = path.split("/")
                topic = topics.get(parts[1]) if parts[0] == "logs" and len(parts) > 3 else None
                if topic is not None and process.node_id not in topic.placements[int(parts[2])].replicas:
                    raise Violation(f"{process.node_id} has {path}, and is no replica of it")

    def _look(self) -> None:
        topics = self.sight.topics()
        for path in (path for process in self._present() for path in process.disk.paths()):
            parts = path.split("/")
            if parts[0] == "logs" and parts[1] in self._deleted and parts[1] not in topics:
                raise Violation(f"topic {parts[1]} was deleted, and there is {path}")
