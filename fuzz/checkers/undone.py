"""A message that was refused as not stored is in no log, neither at that time nor ever after.

A refusal whose code says that nothing was done (`Code.outcome`) speaks of one request. So a message is certainly
nowhere when every request that carried it was refused like that, until it is sent again. The client library says the
same of a message as a whole, after all its attempts.
"""

from collections.abc import Iterable

from goqueue.core.requests.messages import Fetch, Fetched, Publish, PublishBatch, PublishReply
from goqueue.core.requests.queues import PollWork
from goqueue.core.requests.refusals import Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Message, Violation, name_of
from goqueue.fuzz.users.publisher import Publisher
from goqueue.fuzz.workloads.library import LibraryProducer


class Undone(Checker):
    """Compares what is read with what was refused."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Count refusals, and look at what was read."""
        request = asked.request
        if isinstance(request, Publish | PublishBatch):
            for message, result in zip(asked.messages, _results(asked, reply), strict=True):
                if isinstance(result, Refusal) and result.outcome is Outcome.NONE:
                    message.undone += 1
        elif isinstance(request, Fetch) and isinstance(reply, Fetched):
            self._check(asked.found.values())
        elif isinstance(request, PollWork):
            self._check(name_of(given.record) for given in asked.given)

    def _check(self, names: Iterable[bytes]) -> None:
        for name in names:
            message = self.history.messages.get(name)
            if message is None:
                continue
            if message.undone >= message.sends:
                raise Violation(f"{name!r} is there, and each of {message.sends} answers said that it was not stored")
            self._check_library(message)

    def _check_library(self, message: Message) -> None:
        clients = [client for client in self.sight.clients if isinstance(client, LibraryProducer)]
        users = [user for user in self.sight.users if isinstance(user, Publisher)]
        for undone in (*(client.undone for client in clients), *(user.undone for user in users)):
            if message.name in undone:
                raise Violation(f"{message.name!r} is there, and the library said that it was not stored")


def _results(asked: Asked, reply: Reply) -> list[object]:
    """What each message of a publish was answered."""
    count = len(asked.messages)
    if not isinstance(reply, PublishReply):
        return [reply] * count
    return [*reply.results] if isinstance(asked.request, Publish) else [reply.results[0]] * count
