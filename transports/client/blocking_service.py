"""Functions that are called with messages, where there is no loop: one thread, one message at a time, in turns.

See `subscribers.py` for what they are. A thread of each consumer prolongs the lease of the message in hand, as long as
the function takes.
"""

import logging
import signal
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import timedelta

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.blocking_work_consumer import BlockingLeasedMessage, BlockingWorkConsumer
from goqueue.transports.client.errors import CorruptBatch
from goqueue.transports.client.subscribers import Subscriber

log = logging.getLogger(__name__)

NOW = timedelta(0)
# How long a wait goes on when somebody says stop.
LOOK = timedelta(milliseconds=100)


class BlockingService:
    """All functions of a connection, from joining the groups to leaving them."""

    def __init__(self, loop: BlockingLoop, subscribers: Iterable[Subscriber]) -> None:
        self._loop = loop
        self._subscribers = [*subscribers]
        self._is_stopping = False

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_stopping = True

    def run(self) -> None:
        """Work until it is stopped, or a group cannot be read any more: then that is raised."""
        deaf = self._loop.on_signal(signal.SIGTERM, self.stop)
        try:
            with ExitStack() as stack:
                pairs = [
                    (subscriber, stack.enter_context(BlockingWorkConsumer(self._loop, subscriber.consumer())))
                    for subscriber in self._subscribers
                ]
                patience = LOOK / len(pairs)
                wait = NOW
                while not self._is_stopping:
                    found = [self._turn(subscriber, consumer, wait) for subscriber, consumer in pairs]
                    wait = NOW if any(found) else patience
        finally:
            deaf()

    def _turn(self, subscriber: Subscriber, consumer: BlockingWorkConsumer, wait: timedelta) -> bool:
        """Work on the next message of a consumer, if one comes in time; whether one did."""
        if self._is_stopping:
            return False
        try:
            message = consumer.next(wait)
        except CorruptBatch as error:
            log.error("%s: %s", subscriber.name, error)  # noqa: TRY400 - where it was raised says nothing
            return True
        if message is None:
            return False
        self._work_on(subscriber, message)
        return True

    def _work_on(self, subscriber: Subscriber, message: BlockingLeasedMessage) -> None:
        try:
            with message.processing(subscriber.policy):
                subscriber.work(message)
        except Exception:
            log.exception("%s failed with %r, attempt %d", subscriber.name, message, message.attempt)
