"""When a deletion is answered, the topic's folder is gone and stays gone until the topic is made again."""

from goqueue.core.calls import Reply
from goqueue.core.verbs import DeleteTopic
from goqueue.fuzz.checkers.checker import Checker, Sight
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
            self._look()

    def stepped(self) -> None:
        """Those made again may have files."""
        if self._deleted and self.sight.node() is not None:
            self._deleted -= self.sight.topic_ids().keys()

    def started(self) -> None:
        """A life begins without what was deleted."""
        self.stepped()
        self._look()

    def ended(self) -> None:
        """So does it end."""
        self._look()

    def _look(self) -> None:
        topics = self.sight.topics()
        for path in (path for process in self.sight.processes for path in process.disk.paths()):
            parts = path.split("/")
            if parts[0] == "logs" and parts[1] in self._deleted and parts[1] not in topics:
                raise Violation(f"topic {parts[1]} was deleted, and there is {path}")
