"""Requests that are refused for certain: they are about what is not there, or ask for what nobody may have.

Which refusal comes first is left open where there are several reasons, such as a partition that there is not of a topic
that is gone. Every name in them that there is not contains `vain`, so that whoever looks on can tell that nothing of it
has come to be.
"""

from collections.abc import Callable
from random import Random

from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.cluster import (
    AlterIsr,
    Drain,
    ElectLeaders,
    ForgetNode,
    IsrChange,
    LeaveNode,
    ReadmitNode,
    Reassign,
    RegisterNode,
    ReplicaMove,
)
from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DescribeRedrive,
    ListRedrives,
    PurgeDead,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.delays import CancelDelayed, GetDelayed, ListDelayed, RescheduleDelayed
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    FetchOffsets,
    GroupHeartbeat,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
    PollGroup,
    ResetOffsets,
    ResetTo,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.messages import Fetch, FindOffset, NewRecord, Publish, PublishBatch
from goqueue.core.requests.queues import AckWork, ExtendWork, NackWork, PollWork, ReceiptRun, RejectWork, ReleaseWork
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import (
    AddPartitions,
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
)
from goqueue.fuzz.options import Options

VAIN = "vain"
"""What is not there bears this name."""

_FAR = 1 << 60
# Nobody but the broker makes topics of such names.
_OWN = "__vain"
_WRONG_NAMES = ("", ".", "..", "in vain", "vain/0", "vain" * 100, "__vain")
_WRONG_SETTINGS: tuple[tuple[str, object], ...] = (
    ("vain", 1), ("segment_bytes", 0), ("segment_bytes", "many"), ("segment_bytes", True), ("segment_bytes", 1.5),
    ("index_interval_bytes", 1 << 40), ("segment_age", 5), ("segment_age", "5 minutes"), ("segment_age", "0s"),
    ("segment_age", "9" * 50 + "d"), ("segment_age", "999999999d"), ("dirty_ratio", 2), ("dirty_ratio", True),
    ("dirty_ratio", "half"), ("cleanup", "burn"), ("dlq", 1), ("dlq", "perhaps"), ("dlq_topic", "__vain"),
    ("dlq_topic", 7), ("lane_weights", "1/2"), ("lane_weights", "0/1/1/1/1"), ("lane_weights", 5),
    ("message_timestamp_before_max", -1.0), ("message_timestamp_before_max", "-2"), ("visibility_timeout", "9999d"),
    ("max_attempts", 0), ("min_insync_replicas", 101), ("partitioner", ""),
)  # fmt: skip
_WRONG_GROUP_SETTINGS: tuple[tuple[str, object], ...] = (
    ("vain", 1), ("assignor", "best"), ("start", "nowhere"), ("start", True),
    ("start", "2023-02-30T12:00:00Z"), ("start", "2023-02-03T25:00:00Z"),
    ("key_ordered", "yes"),
    ("max_attempts", 0), ("max_attempts", True), ("max_attempts", "3"), ("max_in_flight", 1 << 40),
    ("visibility_timeout", 5), ("visibility_timeout", "long"), ("retry_backoff", "0s"),
    ("offsets_retention", "999999999d"),
)  # fmt: skip
_WRONG_SIEVES = (
    Sieve("boredom"), Sieve(group="vain" * 300), Sieve(headers={f"h{at}": b"" for at in range(33)}),
    Sieve(died_from_ms=-1), Sieve(died_until_ms=1 << 63), Sieve(died_from_ms=5, died_until_ms=5),
)  # fmt: skip
# Nobody gives out such receipts: the second has the length of one.
_STEMS = ("", "A" * 64, "no receipt")


class Petitions:
    """Draws one after the other."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        self._name = name.encode()
        self._random = random
        self._topics = [f"t{number}" for number in range(options.topics)]
        self._numbers = options.partitions_max
        self._groups = [f"g{number}" for number in range(options.groups)]
        self._nodes = [f"node-{number + 1}" for number in range(options.nodes)]
        self._published = 0
        self._kinds: list[Callable[[str, int], tuple[Request, ...]]] = [
            self._new_topics, self._old_topics, self._publishes, self._reads, self._members, self._joins, self._offsets,
            self._groups_at_all, self._receipts, self._delayed, self._dead_letters, self._redrives, self._operations,
            self._moves, self._strangers,
        ]  # fmt: skip

    def draw(self) -> Request:
        """A request that is refused."""
        kind = self._random.choice(self._kinds)
        return self._random.choice(kind(self._random.choice(self._topics), self._random.randrange(self._numbers)))

    def _group(self) -> str:
        return self._random.choice(self._groups)

    def _new_topics(self, _: str, __: int) -> tuple[Request, ...]:
        key, value = self._random.choice(_WRONG_SETTINGS)
        return (
            CreateTopic(self._random.choice(_WRONG_NAMES)), CreateTopic(VAIN, 10_001), CreateTopic(VAIN, -1),
            CreateTopic(VAIN, 1, 100), CreateTopic(VAIN, 1, -1), *([CreateTopic(VAIN, 1, 0, {key: value})] * 10),
        )  # fmt: skip

    def _old_topics(self, topic: str, _: int) -> tuple[Request, ...]:
        key, value = self._random.choice(_WRONG_SETTINGS)
        return (
            AlterTopic(topic, {key: value}), AlterTopic(topic, {key: value}), AlterTopic(topic, {"vain": None}),
            AlterTopic(VAIN, {}), AlterTopic(_OWN, {}), DeleteTopic(VAIN), DeleteTopic(_OWN), DescribeTopic(VAIN),
            DescribePartitions(VAIN), AddPartitions(VAIN, 2), AddPartitions(_OWN, 2), AddPartitions(topic, 0),
            AddPartitions(topic, 10_001),
        )  # fmt: skip

    def _publishes(self, topic: str, number: int) -> tuple[Request, ...]:
        self._published += 1
        value = b"%s:%d|" % (self._name, self._published)
        records = (
            NewRecord(None, value, partition=99), NewRecord(None, value, partition=-1),
            NewRecord(b"a", value, delay_ms=-1), NewRecord(b"a", value, delay_ms=5, due_ms=1 << 40),
            NewRecord(None, value, due_ms=-1), NewRecord(None, value, due_ms=_FAR),
            NewRecord(None, value, delay_ms=_FAR),
            NewRecord(None, value, timestamp=INT64_MAX), NewRecord(None, value, timestamp=-2),
        )  # fmt: skip
        return (
            Publish(VAIN, [NewRecord(None, value)]), Publish("__groups", [NewRecord(None, value)]),
            PublishBatch(VAIN, number, bytearray(b"no batch")), PublishBatch(topic, 99, bytearray(b"no batch")),
            *(Publish(topic, [self._random.choice(records)]) for _ in range(6)),
        )  # fmt: skip

    def _reads(self, topic: str, number: int) -> tuple[Request, ...]:
        return (
            Fetch(VAIN, number, 0), Fetch(topic, 99, 0), Fetch(topic, -1, 0), Fetch(topic, number, -1),
            Fetch(topic, number, _FAR), Fetch(topic, number, 0, identity=VAIN),
            FindOffset(VAIN, number, 0), FindOffset(topic, 99, 0),
        )  # fmt: skip

    def _members(self, topic: str, number: int) -> tuple[Request, ...]:
        group, member = self._random.choice((self._group(), VAIN)), self._random.choice((VAIN, f"{VAIN}@{0:016x}"))
        return (
            GroupHeartbeat(group, member, 0), WatchGroup(group, member), LeaveGroup(group, member),
            RevokePartitions(group, member, 0, {topic: [number]}), PollGroup(group, member),
            CommitOffsets(group, member, 0, [PartitionOffset(topic, number, 0)]), PollWork(VAIN, member),
            PollWork(VAIN, member, visibility_ms=-1),
        )  # fmt: skip

    def _joins(self, topic: str, _: int) -> tuple[Request, ...]:
        key, value = self._random.choice(_WRONG_GROUP_SETTINGS)
        return (
            JoinGroup(self._random.choice(_WRONG_NAMES), [topic]), JoinGroup(VAIN, []), JoinGroup(VAIN, ["in vain"]),
            JoinGroup(VAIN, [topic], client_id="\n"), JoinGroup(VAIN, [topic], instance_id=VAIN * 100),
            JoinGroup(VAIN, [topic], session_timeout_ms=1), JoinGroup(VAIN, [topic], session_timeout_ms=_FAR),
            JoinGroup(VAIN, [topic], assignor="best"), JoinGroup(VAIN, [topic], VAIN),
            *([JoinGroup(VAIN, [topic], config={key: value})] * 4),
        )  # fmt: skip

    def _offsets(self, topic: str, number: int) -> tuple[Request, ...]:
        group = self._random.choice((self._group(), VAIN))
        absurd = PartitionOffset(topic, number, self._random.choice((-1, _FAR, INT64_MAX)))
        nowhere = self._random.choice((PartitionOffset(topic, 99, 0), PartitionOffset(VAIN, 0, 0)))
        return (
            CommitOffsets(group, "", 0, [absurd]), CommitOffsets(group, "", 0, [nowhere, absurd]),
            CommitOffsets("in vain", "", 0, [absurd]), FetchOffsets(VAIN), ResetOffsets(VAIN, topic, ResetTo.EARLIEST),
            ResetOffsets(group, VAIN, ResetTo.LATEST), ResetOffsets(group, topic, ResetTo.LATEST, [99]),
            ResetOffsets(group, topic, ResetTo.OFFSET, [number], self._random.choice((-1, _FAR))),
        )  # fmt: skip

    def _groups_at_all(self, _: str, __: int) -> tuple[Request, ...]:
        key, value = self._random.choice(_WRONG_GROUP_SETTINGS)
        return (
            AlterGroup(self._group(), {key: value}), AlterGroup(VAIN, {}), DeleteGroup(VAIN), DescribeGroup(VAIN),
            DeleteGroup("in vain"),
        )  # fmt: skip

    def _receipts(self, _: str, number: int) -> tuple[Request, ...]:
        run = ReceiptRun(self._random.choice(_STEMS), number, self._random.choice((1, 3)))
        many = [ReceiptRun(VAIN, 0, 10_001)]
        return (
            AckWork([run]), NackWork([run]), RejectWork([run]), ExtendWork([run], 5), ReleaseWork([run]),
            AckWork([run], VAIN, VAIN), AckWork([]), AckWork(many), AckWork([ReceiptRun(VAIN, -1)]),
            AckWork([ReceiptRun(VAIN, 0, 0)]), AckWork([run], member_id=VAIN * 100), NackWork([run], -1),
            NackWork([run], _FAR), NackWork([run], reason=VAIN * 300), RejectWork([run], VAIN * 300),
            ExtendWork([run], -1), ExtendWork([run], _FAR),
        )  # fmt: skip

    def _delayed(self, topic: str, number: int) -> tuple[Request, ...]:
        far = topic, number, _FAR
        return (
            ListDelayed(VAIN), ListDelayed(topic, 0), ListDelayed(topic, 1 << 40), GetDelayed(VAIN, 0, 0),
            GetDelayed(topic, 99, 0), GetDelayed(*far), CancelDelayed(topic, 99, 0), CancelDelayed(*far),
            CancelDelayed(VAIN, 0, 0), RescheduleDelayed(*far), RescheduleDelayed(topic, number, 0, -1),
            RescheduleDelayed(topic, number, 0, 5, 5), RescheduleDelayed(topic, number, 0, _FAR),
        )  # fmt: skip

    def _dead_letters(self, topic: str, _: int) -> tuple[Request, ...]:
        letters, sieve = self._random.choice((topic, f"{topic}.dlq")), self._random.choice(_WRONG_SIEVES)
        return (
            BrowseDead(VAIN), BrowseDead(letters, limit=0), BrowseDead(letters, limit=1 << 40),
            BrowseDead(letters, after={99: 0}), BrowseDead(letters, after={0: -1}), BrowseDead(letters, sieve),
            BrowseDead(letters, sieve), BrowseDead(letters, sieve), PurgeDead(letters, sieve), PurgeDead(VAIN),
        )  # fmt: skip

    def _redrives(self, topic: str, _: int) -> tuple[Request, ...]:
        letters, sieve = self._random.choice((topic, f"{topic}.dlq")), self._random.choice(_WRONG_SIEVES)
        return (
            StartRedrive(VAIN), StartRedrive(letters, sieve=sieve), StartRedrive(letters, rate=-1),
            StartRedrive(letters, limit=-1), StartRedrive(letters, f"{topic}.dlq"), StartRedrive(letters, VAIN),
            StartRedrive(letters, "__groups"), DescribeRedrive(VAIN), CancelRedrive(VAIN), ListRedrives(VAIN),
        )  # fmt: skip

    def _operations(self, topic: str, _: int) -> tuple[Request, ...]:
        return (
            Drain(VAIN), ForgetNode(VAIN), ReadmitNode(VAIN), ElectLeaders(VAIN), ElectLeaders(topic, 99),
            ElectLeaders(unclean=True), ElectLeaders(topic, 0, unclean=True, node_id=VAIN),
        )  # fmt: skip

    def _moves(self, topic: str, number: int) -> tuple[Request, ...]:
        node = self._random.choice(self._nodes)
        move = ReplicaMove(topic, number, [node])
        return (
            Reassign([]), Reassign([move, move]), Reassign([ReplicaMove(VAIN, 0, [node])]),
            Reassign([ReplicaMove(topic, 99, [node])]), Reassign([ReplicaMove(topic, number, [VAIN])]),
            Reassign([ReplicaMove(topic, number, [node, node])]),
        )  # fmt: skip

    def _strangers(self, topic: str, number: int) -> tuple[Request, ...]:
        """What a node writes that is none of the cluster, or whose process is gone."""
        node = self._random.choice(self._nodes)
        change = IsrChange(topic, number, 1, 1, [node])
        return (
            RegisterNode("vain/0", 1, VAIN), LeaveNode(VAIN, 1), LeaveNode(node, 1),
            AlterIsr(node, 1, [change]), AlterIsr(VAIN, 1, [change]),
        )  # fmt: skip
