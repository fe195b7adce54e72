"""Whatever members do, and wherever the coordinator is cut off: no partition has two readers, and every rebalance ends.

The model is a set of clients that believe what they were last told. Replies reach them once the journal is flushed; a
crash loses the end of the journal and all replies that were held. A client that behaves must be able to rely on its
belief: nobody else believes the same, and its commits are taken.
"""

from random import Random

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.clock import Clock
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.state import Slot
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
    Partitions,
    RevokePartitions,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from tests.core.calls import call
from tests.core.groups.group_story import MS, WALL_MS, rebuilt

SESSION_MS = 10_000
STEP_NS = 500 * MS
END = 1 << 40
PICKS = st.integers(0, 1 << 16)
TOPICS = ("a", "b", "c")


def slots(partitions: Partitions) -> set[Slot]:
    """Partitions one by one."""
    return {(topic, partition) for topic, numbers in partitions.items() for partition in numbers}


@define
class Client:
    """A member as it sees itself."""

    join: JoinGroup
    member_id: str = ""
    generation: int = 0
    believes: set[Slot] = field(factory=set)
    to_revoke: Partitions = field(factory=dict)
    is_required: bool = False


class Groups(RuleBasedStateMachine):
    """Clients of one group, and the node that its coordinator runs on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.count = 0
        self.journal: list[Entry] = []
        self.clients: list[Client] = []
        self.asked: dict[int, Client] = {}
        self.topics: dict[str, int] = {"a": 4}
        self.committed: dict[Slot, int] = {}
        self.durable: dict[Slot, int] = {}
        self.coordinator = Coordinator(Clock(0, WALL_MS), Random(1), self.ends, self.topics)

    def ends(self, topic: str, partition: int) -> tuple[int, int] | None:
        """Every partition is long."""
        return (0, END)

    # --- the node

    def ask(self, client: Client, request: Request) -> Reply:
        """Ask, and look at the reply as the client will only see it after a flush."""
        self.count += 1
        self.asked[self.count] = client
        self.coordinator.ask(self.now, call(self.count), request)
        return dict(self.coordinator.replies)[call(self.count)]

    def flush(self) -> None:
        """The journal is durable, and replies go out."""
        self.journal += self.coordinator.entries
        replies, self.coordinator.entries, self.coordinator.replies = self.coordinator.replies, [], []
        self.durable = dict(self.committed)
        for to, answer in replies:
            self.learn(self.asked.pop(to.number), answer)

    def learn(self, client: Client, answer: Reply) -> None:
        """A reply reaches its client."""
        if client not in self.clients:
            return
        if isinstance(answer, Refusal) and answer.code in (Code.UNKNOWN_MEMBER, Code.FENCED_INSTANCE):
            client.member_id = ""
            client.believes.clear()
        if isinstance(answer, Joined):
            client.member_id = answer.member_id
        if isinstance(answer, Joined) or (isinstance(answer, GroupBeat) and not client.join.eager):
            # What it already let go of and is told of once more it takes up again with what it was told last.
            client.believes = slots(answer.assigned) | slots(answer.to_revoke)
            client.to_revoke = answer.to_revoke
            client.generation = answer.generation
        if isinstance(answer, Joined | GroupBeat):
            client.is_required = answer.rebalance_required

    def let_pass(self, span_ns: int) -> None:
        """Time passes."""
        end = self.now + span_ns
        while (due := self.coordinator.deadline()) is not None and due <= end:
            self.now = max(due, self.now)
            self.coordinator.wake(self.now)
            self.coordinator.check()
        self.now = end

    def behave(self, client: Client) -> None:
        """What a client does that means well: it beats, lets go of what it should, and joins again where required."""
        if not client.member_id or (client.is_required and client.join.eager):
            self.join_again(client)
        else:
            self.ask(client, GroupHeartbeat("g", client.member_id, client.generation))
        self.flush()
        if client.to_revoke and client.member_id and not client.join.eager:
            self.let_go(client)

    def join_again(self, client: Client) -> None:
        """A join, before which an eager client stops reading, and so does one that is unknown."""
        if client.join.eager or not client.member_id:
            client.believes.clear()
        client.join.member_id = client.member_id
        self.ask(client, client.join)
        self.flush()

    def let_go(self, client: Client) -> None:
        """Stop reading what is to be given up, and say so."""
        client.believes -= slots(client.to_revoke)
        revoked, client.to_revoke = client.to_revoke, {}
        self.ask(client, RevokePartitions("g", client.member_id, client.generation, revoked))

    def pick(self, pick: int) -> Client:
        """One of the clients."""
        return self.clients[pick % len(self.clients)]

    # --- what happens

    @precondition(lambda self: len(self.clients) < 6)
    @rule(topics=st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3), eager=st.booleans(), named=st.booleans())
    def arrive(self, topics: list[str], eager: bool, named: bool) -> None:
        """A client joins."""
        instance_id = f"i{self.count}" if named else ""
        join = JoinGroup("g", topics, instance_id=instance_id, session_timeout_ms=SESSION_MS, eager=eager)
        self.clients.append(Client(join))
        self.join_again(self.clients[-1])

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def beat(self, pick: int) -> None:
        """A client does what it should."""
        self.behave(self.pick(pick))

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def let_go_unflushed(self, pick: int) -> None:
        """A client lets go, and the reply is yet to come."""
        client = self.pick(pick)
        if client.member_id and not client.join.eager:
            self.let_go(client)

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def leave(self, pick: int) -> None:
        """A client goes."""
        client = self.pick(pick)
        self.clients.remove(client)
        if client.member_id:
            self.ask(client, LeaveGroup("g", client.member_id))

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def come_back(self, pick: int) -> None:
        """A client's process ends, and one of the same name joins."""
        client = self.pick(pick)
        client.member_id = ""
        client.to_revoke = {}
        client.is_required = False
        if client.join.instance_id:
            self.join_again(client)
        else:
            self.clients.remove(client)

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS, topics=st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3))
    def subscribe(self, pick: int, topics: list[str]) -> None:
        """A client reads other topics."""
        client = self.pick(pick)
        client.join.topics = topics
        self.join_again(client)

    @rule(span_ms=st.integers(1, 300))
    def wait(self, span_ms: int) -> None:
        """A moment passes, too short for anybody to be missed."""
        self.let_pass(span_ms * MS)
        for client in self.clients:
            if client.member_id:
                self.coordinator.alive(self.now, "g", client.member_id)

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS, silent=st.booleans())
    def stop_behaving(self, pick: int, silent: bool) -> None:
        """A client is silent for longer than its session, or does not let go for over a minute, while others behave."""
        client = self.pick(pick)
        kept = slots(client.to_revoke)
        for _ in range(22 if silent else 122):
            self.let_pass(STEP_NS)
            for other in self.clients:
                if other is not client:
                    self.behave(other)
            if client.member_id and not silent:
                self.coordinator.alive(self.now, "g", client.member_id)
        if silent:
            self.clients.remove(client)
        else:
            live = self.owned_by(client)
            assert not kept & live or self.is_back(client, kept & live)
            # What was asked of it while it did not listen may be taken from it as well.
            client.believes &= live
            client.to_revoke = {}
            if client.join.eager:
                client.is_required = True

    def owned_by(self, client: Client) -> set[Slot]:
        """What the coordinator says a client has."""
        group = self.coordinator.groups.groups.get("g")
        member = group.members.get(client.member_id) if group else None
        return slots({topic: [*held] for topic, held in member.owned.items()}) if member else set()

    def is_back(self, client: Client, kept: set[Slot]) -> bool:
        """Whether partitions have become a client's own again."""
        target = slots(self.coordinator.groups.groups["g"].members[client.member_id].target)
        return kept <= target

    @rule(topic=st.sampled_from(TOPICS), more=st.integers(0, 3))
    def change_topics(self, topic: str, more: int) -> None:
        """A topic appears, grows or goes."""
        if more:
            self.topics = {**self.topics, topic: min(self.topics.get(topic, 0) + more, 8)}
        else:
            self.topics = {name: count for name, count in self.topics.items() if name != topic}
            self.committed = {slot: offset for slot, offset in self.committed.items() if slot[0] != topic}
        self.coordinator.topics_changed(self.now, self.topics, {})
        # The node tells nobody of topics that are not durable, so this is as well.
        self.flush()

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS, partition=PICKS, offset=st.integers(0, 100))
    def commit(self, pick: int, partition: int, offset: int) -> None:
        """A client commits for a partition, its own or another's."""
        client = self.pick(pick)
        known = sorted((topic, each) for topic, count in self.topics.items() for each in range(count))
        if not client.member_id or not known:
            return
        slot = known[partition % len(known)]
        request = CommitOffsets("g", client.member_id, client.generation, [PartitionOffset(*slot, offset)])
        answer = self.ask(client, request)
        is_taken = isinstance(answer, CommittedOffsets) and not answer.refusals
        if is_taken:
            self.committed[slot] = max(self.committed.get(slot, 0), offset)
        if slot in client.believes:
            assert is_taken, answer
        if any(slot in other.believes for other in self.clients if other is not client):
            assert not is_taken

    @rule(keep=PICKS)
    def crash(self, keep: int) -> None:
        """The node stops: the end of the journal and all replies that were held are lost, and it begins anew."""
        entries = self.coordinator.entries
        kept = entries[: keep % (len(entries) + 1)]
        self.journal += kept
        self.asked.clear()
        self.coordinator = Coordinator(Clock(0, WALL_MS), Random(self.count), self.ends, self.topics)
        self.coordinator.restore(self.now, self.journal)
        self.committed = {slot: record.offset for slot, record in self.coordinator.groups.committed("g").items()}
        assert all(self.committed[slot] >= offset for slot, offset in self.durable.items() if slot in self.committed)

    # --- what must hold

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        """No two clients believe in one partition, and what one believes in is its own."""
        believed = [slot for client in self.clients for slot in client.believes]
        assert len(set(believed)) == len(believed)
        for client in self.clients:
            if client.member_id:
                assert client.believes <= self.owned_by(client)

    @invariant()
    def the_journal_is_the_state(self) -> None:
        """Whoever begins with the entries so far knows what this coordinator knows."""
        self.coordinator.check()
        again = rebuilt(self.journal + self.coordinator.entries, self.topics)
        assert again.groups == self.coordinator.groups
        offsets = {slot: record.offset for slot, record in self.coordinator.groups.committed("g").items()}
        assert offsets == self.committed

    def teardown(self) -> None:
        """Once all behave, everything that is read has a reader, and nothing is in motion."""
        for _ in range(SESSION_MS // 500 + 10):
            self.let_pass(STEP_NS)
            for client in self.clients:
                self.behave(client)
        self.nobody_shares_a_partition()
        group = self.coordinator.groups.groups.get("g")
        if group is None or not self.clients:
            return
        answer = self.ask(self.clients[0], GroupHeartbeat("g", self.clients[0].member_id, self.clients[0].generation))
        assert isinstance(answer, GroupBeat)
        assert answer.state is GroupState.STABLE
        read = {topic for client in self.clients for topic in client.join.topics}
        wanted = {(topic, each) for topic in read for each in range(self.topics.get(topic, 0))}
        assert {slot for client in self.clients for slot in client.believes} == wanted


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=100, stateful_step_count=40)
