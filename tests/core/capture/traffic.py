"""A node under a little of everything, from a seed: requests of every kind, and a disk that answers late or fails.

`told` sees every call before the node does, so that a test can tell another node the same.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.capture.reading import ValueReader
from goqueue.core.capture.values import ValueWriter
from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.groups.plan import SESSION_MS_MAX
from goqueue.core.log.effects import FindTime, ReadResult, Sync, TimeResult
from goqueue.core.node import Node
from goqueue.core.ready import Compact, Fetching, Open, Ready, Remove
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import (
    CommitOffsets,
    DescribeGroup,
    FetchOffsets,
    GroupHeartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    MeasureGroups,
    PartitionOffset,
    PollGroup,
    ResetOffsets,
    ResetTo,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.messages import Acks, Fetch, FindOffset, NewRecord, Publish, PublishBatch
from goqueue.core.requests.nodes import DescribeNode
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
)
from goqueue.storage.capture import core_vocabulary
from tests.core.driven_node import opened_empty, stored
from tests.core.log.batches import WALL_MS
from tests.core.seeded_secrets import seeded_secrets

TOPICS = ("orders", "events", "bücher")
SECOND_NS = 1_000_000_000
VOCABULARY = core_vocabulary()
# Verbs that take no time.
TIMELESS = ("forget", "deadline")


def fresh_node() -> Node:
    """A node that knows nothing yet; the wall says WALL_MS."""
    return Node(NodeOptions("node-7", "1.2.3", 2, secrets=seeded_secrets()), Clock(0, WALL_MS), 0)


def copied(thing: Any) -> Any:
    """The same again, by way of the bytes that a capture would hold."""
    out = bytearray()
    ValueWriter(VOCABULARY, out, shares=False).write(thing)
    reader = ValueReader(VOCABULARY, bytes(out))
    again = reader.read()
    assert reader.is_done()
    return again


class Traffic:
    """The driver of one node."""

    def __init__(self, seed: int, node: Node, told: Callable[[str, tuple[Any, ...]], None] | None = None) -> None:
        self.random = Random(seed)
        self.node = node
        self.now = 0
        self.outputs: list[Ready] = []
        self._told = told
        self._to = 0
        self._syncs: list[Sync] = []
        self._opens: list[Open] = []
        self._removes: list[Remove] = []
        self._reads: list[Fetching] = []
        self._compactions: list[Compact] = []
        self._failed: set[str] = set()
        self._members: list[str] = []
        self._callers = [Caller("client"), Caller("other", "http", "ann", "acme", "trace-1")]
        self.call("take")

    def call(self, verb: str, *args: Any, **named: Any) -> Any:
        """One verb, for the node and for whoever listens."""
        if self._told is not None:
            self._told(verb, copied((args, named)))
        timed = () if verb in TIMELESS else (self.now,)
        came = getattr(self.node, verb)(*timed, *args, **named)
        if isinstance(came, Ready):
            self.outputs.append(came)
            self._syncs += [effect for effect in came.writes if isinstance(effect, Sync)]
            self._opens += came.opens
            self._removes += came.removes
            self._reads += came.reads
            self._compactions += came.compactions
            joined = [send.reply.member_id for send in came.sends if isinstance(send.reply, Joined)]
            self._members = (self._members + joined)[-4:]
        return came

    def turn(self) -> None:
        """Requests, a turn of the driver, and some answers of the disk."""
        self.now += self.random.choice((0, 1000, 300_000, SECOND_NS, 40 * SECOND_NS))
        if self.random.random() < 0.2:
            self.call("clock_moved", WALL_MS + self.now // 1_000_000 + self.random.choice((0, 0, 3, 5000)))
        for _ in range(self.random.randrange(4)):
            self._to += 1
            self.call("ask", self._to, evolve(self.random.choice(self._callers)), self._request())
        self.call("wake")
        while self.call("take"):
            self.call("written")
        self.call("deadline")
        if self.random.random() < 0.05:
            self.call("forget_recent")
        if self.random.random() < 0.05:
            self.call("disk_room", self.random.random() < 0.2)
        self._answer()

    def _request(self) -> Request:
        draw, topic = self.random, self.random.choice(TOPICS[: self.random.choice((1, 3))])
        partition = draw.randrange(3)
        values = [draw.randbytes(draw.choice((0, 10, 3000))) for _ in range(draw.randrange(4))]
        batch = stored(0, *[(WALL_MS + at, b"key", value, [("h", None)]) for at, value in enumerate([*values, b"v"])])
        if draw.random() < 0.1:
            batch[-1] ^= 1
        records = [NewRecord(draw.choice((None, b"k")), value, (("name", b"x"),)) for value in values]
        kinds: list[Request] = [
            CreateTopic(topic, draw.randrange(3), 1, {"fsync": draw.choice(("every", "interval", "none"))}),
            AlterTopic(topic, {"cleanup": draw.choice(("delete", "compact"))}),
            AlterTopic(topic, {"retention_bytes": draw.choice((-1, 10_000)), "segment_bytes": 1 << 16}),
            DescribeTopic(topic),
            DescribePartitions(topic),
            DescribeNode(),
            ListTopics(),
            Publish(topic, records, Acks.LEADER),
            Publish(topic, records),
            PublishBatch(topic, partition, draw.choice((batch, memoryview(batch)))),
            PublishBatch(topic, partition, batch),
            Fetch(topic, partition, draw.randrange(6), wait_ns=draw.choice((0, SECOND_NS))),
            Fetch(topic, partition, draw.randrange(3)),
            Fetch(topic, partition, 0, wait_ns=SECOND_NS),
            FindOffset(topic, partition, WALL_MS + draw.randrange(4)),
        ]
        if draw.random() < 0.25:
            return self._group_request(draw.choice((topic, TOPICS[0])))
        return DeleteTopic(topic) if draw.random() < 0.03 else draw.choice(kinds)

    def _group_request(self, topic: str) -> Request:
        draw, group = self.random, self.random.choice(("billing", "billing", "audit"))
        member_id = draw.choice(self._members) if self._members else "nobody"
        generation, places = draw.randrange(3), [PartitionOffset(topic, draw.randrange(2), draw.randrange(3))]
        kinds: list[Request] = [
            JoinGroup(group, [topic], draw.choice(("", member_id)), session_timeout_ms=SESSION_MS_MAX),
            JoinGroup(group, [topic], "", eager=True, session_timeout_ms=SESSION_MS_MAX),
            GroupHeartbeat(group, member_id, generation),
            WatchGroup(group, member_id, 1, draw.choice((0, SECOND_NS))),
            RevokePartitions(group, member_id, generation, {topic: [0, 1]}),
            PollGroup(group, member_id, draw.choice((1, 500)), wait_ns=draw.choice((0, SECOND_NS))),
            PollGroup(group, member_id),
            PollGroup(group, member_id, wait_ns=SECOND_NS),
            CommitOffsets(group, draw.choice(("", member_id)), generation, places),
            FetchOffsets(group),
            ResetOffsets(group, topic, draw.choice([*ResetTo]), at_ms=WALL_MS),
            DescribeGroup(group),
            ListGroups(),
            MeasureGroups(),
        ]
        return LeaveGroup(group, member_id) if draw.random() < 0.1 else draw.choice(kinds)

    def _answer(self) -> None:
        """Some of what the disk was asked for is done, or fails."""
        for wanted in self._some(self._opens):
            self._open(wanted)
        for sync in self._some(self._syncs):
            if self.random.random() < 0.05 and sync.stream != METADATA_STREAM:
                self._failed.add(sync.stream)
                self.call("disk_failed", sync.stream, "it is gone")
            elif sync.stream not in self._failed:
                self.call("synced", sync.stream, sync.token)
        for removal in self._some(self._removes):
            self.call("removed", removal.folder)
        for fetching in self._some(self._reads):
            self._read(fetching)
        for compact in self._some(self._compactions):
            if self.random.random() < 0.5:
                self.call("compaction_failed")
            else:
                self.call("compacted", compact.plan.stream, compact.plan.end_offset, [])
        if self._reads and self.random.random() < 0.2:
            self.call("forget", self.random.randint(1, self._to))
        for stream in sorted(self._failed):
            if self.random.random() < 0.3:
                self._failed.discard(stream)
                self._syncs = [sync for sync in self._syncs if sync.stream != stream]
                self.call("opened", stream, opened_empty())

    def _open(self, wanted: Open) -> None:
        if self.random.random() < 0.1 and wanted.stream != METADATA_STREAM:
            self.call("open_failed", wanted.stream, "it is damaged")
        else:
            self.call("opened", wanted.stream, opened_empty(wanted.config))

    def _read(self, fetching: Fetching) -> None:
        request, draw = fetching.request, self.random.random()
        if draw < 0.1:
            self.call("read_failed", fetching.token, "it cannot be read", damaged=draw < 0.05)
        elif isinstance(request, FindTime):
            self.call("read_done", fetching.token, TimeResult(1, WALL_MS) if draw < 0.5 else None)
        else:
            found = stored(request.offset, (WALL_MS, None, b"found" * 50, ()))
            self.call("read_done", fetching.token, ReadResult(memoryview(found), request.offset + 1, len(found)))

    def _some(self, waiting: list[Any]) -> list[Any]:
        """Part of a list, in order, taken out of it."""
        count = self.random.randint(0, len(waiting))
        some = waiting[:count]
        del waiting[:count]
        return some
