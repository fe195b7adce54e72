"""A running cluster as a reader of ranges sees it: which partitions there are, how far they reach, and their batches.

One connection of the client library without a loop: whom to ask, and when to ask again, is decided there. Calls that
fail in passing are repeated until the timeout, at other brokers too, so a leader that moves or a node that dies is a
pause. What is raised in the end is a ClientError.

Batches come as they are stored; nothing is decoded here.
"""

import ssl
from typing import Self

from attrs import define

from goqueue.proto import v1
from goqueue.spark.live.bootstrap import Bootstrap
from goqueue.spark.records.edges import UnreadableError
from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import error_of, failure_of
from goqueue.transports.client.lost import ConnectionLost
from goqueue.transports.client.topics import Partition, Topics

# A broker's own bound is of the same size.
FETCH_BYTES = 4 << 20
_LATEST_MS = (1 << 63) - 1


@define
class Reach:
    """What a partition holds: offsets in [first, end), and about how many bytes; where its leader speaks gRPC.

    `topic_id` says which topic of that name it is of.
    """

    topic: str
    partition: int
    first: int
    end: int
    size_bytes: int
    leader: str
    topic_id: str


class Cluster:
    """A connection for one thread, to be entered. Raises UnreadableError where the certificates cannot be read."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        tls = _tls(bootstrap) if bootstrap.is_secure else None
        self._loop = BlockingLoop()
        self._brokers = Brokers(self._loop, bootstrap.addresses, tls=tls, timeout_ns=bootstrap.timeout_ns)
        self._topics = Topics(self._brokers)

    def __enter__(self) -> Self:
        """Connect to whichever broker answers; raises ConnectionLost of the client library."""
        try:
            self._loop.run(self._brokers.open())
        except ConnectionLost as error:
            self.close()
            raise error_of(failure_of(error)) from error
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close all connections."""

        async def close() -> None:
            await self._brokers.close()
            await self._loop.__aexit__(None, None, None)

        self._loop.run(close())

    def topics(self) -> list[str]:
        """The names of all topics."""
        return sorted(topic.name for topic in self._loop.run(self._topics.list()))

    def identity(self, topic: str) -> str:
        """The id of a topic, which no other of its name has; raises TopicNotFound."""
        return self._loop.run(self._topics.describe(topic)).id

    def reaches(self, topic: str) -> list[Reach]:
        """Every partition of a topic; raises TopicNotFound."""
        # The id is asked for before the ends: if the topic is made again in between, its ends are taken for those of
        # the one before, and the fetches, which name that one's id, are refused.
        topic_id = self.identity(topic)
        found = self._loop.run(self._topics.partitions(topic))
        return [self.reach(each, topic_id) for each in sorted(found, key=lambda each: each.partition)]

    def find(self, topic: str, partition: int, moment_ms: int) -> int:
        """The offset of the first record at or after a moment; the partition's end if there is none."""
        request = v1.FindOffsetRequest(topic, partition, moment_ms)
        reply = self._loop.run(self._brokers.call("Messages/FindOffset", request, v1.FindOffsetReply, topic))
        return int(reply.offset)

    def fetch(self, topic: str, partition: int, offset: int, wait_ms: int = 0, topic_id: str = "") -> v1.FetchReply:
        """Whole batches from the one on that holds an offset, of the topic with this id if one is said.

        Raises OffsetOutOfRange, TopicReplaced and other ClientErrors.
        """
        request = v1.FetchRequest(topic, partition, offset, FETCH_BYTES, wait_ms, topic_id)
        return self._loop.run(self._brokers.call("Messages/Fetch", request, v1.FetchReply, topic))

    def reach(self, found: Partition, topic_id: str) -> Reach:
        """How far a partition reaches, of which some broker has told something."""
        first, end = found.start_offset, found.high_watermark
        if not found.is_exact:
            # Whoever answered does not lead it and knows what he was told last. A fetch goes to the leader, who says
            # how far it reaches; at its end, that brings nothing else.
            told = self.fetch(found.topic, found.partition, self.find(found.topic, found.partition, _LATEST_MS))
            first, end = told.start_offset, told.high_watermark
        return Reach(found.topic, found.partition, first, end, found.size_bytes, found.leader_address, topic_id)


def _tls(bootstrap: Bootstrap) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=bootstrap.ca_file or None)
    except OSError as error:
        raise UnreadableError(f"the option 'tls_ca': {bootstrap.ca_file} holds no certificates: {error}") from error
