"""What the node agreed to about topics stays agreed, whatever dies."""

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic, TopicReply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation


class Agreement(Checker):
    """Topics whose creation was answered exist until somebody wants them deleted; those deleted never come back."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._known: dict[str, int] = {}
        self._deleted: set[int] = set()

    def asked(self, asked: Asked) -> None:
        """Once a deletion is asked for, existing is no promise."""
        if isinstance(asked.request, DeleteTopic):
            self._known.pop(asked.request.name, None)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Note what was agreed to."""
        if isinstance(asked.request, CreateTopic | AlterTopic) and isinstance(reply, TopicReply):
            topic_id = self.sight.topic_ids().get(reply.name)
            if topic_id is not None and not self.history.may_be_deleted(reply.name):
                self._known[reply.name] = topic_id
        if isinstance(asked.request, DeleteTopic) and reply is None and asked.topic_id is not None:
            self._deleted.add(asked.topic_id)

    def started(self) -> None:
        """Compare with what the next life knows."""
        self.stepped()

    def stepped(self) -> None:
        """Compare with what is led."""
        node, topic_ids = self.sight.node(), self.sight.topic_ids()
        for name, topic_id in self._known.items():
            if (node is not None or self.sight.is_cluster) and topic_ids.get(name) != topic_id:
                raise Violation(f"topic {name} of id {topic_id} was agreed to, and is {topic_ids.get(name)}")
        for topic_id in topic_ids.values():
            if topic_id in self._deleted:
                raise Violation(f"topic {topic_id} was deleted, and is back")
