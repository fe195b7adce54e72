"""Which streams a node leads and follows: it follows what is agreed, opens and removes, and says what has come.

What is agreed decides; nothing here does. A stream that was recovered arrives as a partition that is led or a replica
that follows, changes from one to the other when the agreed place of its partition says so, and leaves with its topic
or when its partition is to be elsewhere. Whoever asked for a topic is answered when it is so. What the node makes of
that is its own affair (`Follower`): reads, alarms and rooms are not known here.

Invariants: a topic is known, being removed, or neither; each stream that is to be here was asked to be opened once;
what is led is in `ReplicaSet.streams`, what is followed in `ReplicaSet.replicas`, under one name at most once.
"""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, field

from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_STREAM, Agreed, Agreement, Changed, metadata_config
from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.plan import deleted
from goqueue.core.cluster.plans import answer as answer_of
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.log.log import Log, LogState
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Open, Remove, SaveVote
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import Held, HostedTopic
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.replication import Replication
from goqueue.core.replication.roles import demoted, promoted
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import ProducerReply, Side
from goqueue.core.requests.metadata import AddSide, FinishDelete, MakeOwnTopic
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic

# A removal that the controller did not hear of is told again after so long.
_AGAIN_NS = 1_000_000_000


@define(eq=False)
class Follower:
    """Who makes something of what is led, by what it is to be called for."""

    # Tell whoever asked.
    answer: Callable[[Call | None, Reply], None]
    # A stream can be written: for the first time, again after its disk failed, or as a new leader does.
    arrived: Callable[[int, Partition, bool], None]
    # A stream is followed from here on, or again after its disk failed.
    followed: Callable[[int, Replica], None]
    # A stream is not led here, or cannot be used for now.
    closed: Callable[[int, str, str], None]
    # The settings of a stream are others.
    altered: Callable[[Held], None]
    # A stream that was led is led no more, and what is made of those who wait for it.
    left: Callable[[Partition, Refusal], None]
    # A stream is here no more, or has another role.
    dropped: Callable[[Held], None]
    # There are other topics, or other leaders.
    topics_changed: Callable[[], None]


@define(eq=False)
class MetadataListener:
    """The topics of a node; `opens`, `removes` and `finished` are what the driver and the controller are asked for."""

    clock: Clock
    led: ReplicaSet
    agreement: Agreement
    _follower: Follower
    _recent: RecentBatches
    # What a topic gets besides what its maker says of it.
    _topic_config: dict[str, Value]
    # None in a node that is alone, and leads all that it has.
    _replication: Replication | None
    # The number of this process among all that this node has been; None in a node that is alone.
    _incarnation: int | None
    opens: list[Open] = field(factory=list)
    removes: list[Remove] = field(factory=list)
    # Topics whose folders are gone here.
    finished: list[FinishDelete] = field(factory=list)
    is_open: bool = False
    # Deleted topics whose folders the driver is removing, and those whose folders are gone, with when to say so again.
    _removals: dict[str, None] = field(factory=dict)
    _unsaid: dict[str, int] = field(factory=dict)
    # Folders of partitions that were here when the process began, with ids of topics, until it is known what these are.
    _claimed: dict[str, int] = field(factory=dict)
    # Who waits for a topic to be gone.
    _deleters: dict[str, list[Call]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.opens.append(Open(METADATA_STREAM, metadata_config(self.led.thresholds)))

    @property
    def is_settled(self) -> bool:
        """Whether it is known of every partition that was there at the start if it can be used."""
        return self.is_open and self.led.is_settled()

    # --- what is agreed

    def change(self, now: int, call: Call, request: Any) -> None:  # noqa: ANN401 - whatever the agreement has plans for
        """Take a request that changes what is agreed on; it is answered when it has come to be."""
        if isinstance(request, CreateTopic):
            request = evolve(request, config={**self._topic_config, **request.config})
        leader = self.led.topics.get(request.name) if isinstance(request, AddSide) else None
        if isinstance(request, AddSide) and leader is not None and request.side in leader.topic.sides:
            leader.awaited_by.append(call)
            self._answer_opened(leader)
            return
        self.agreement.ask(now, call, request)
        self.agreement.proceed(now)

    def metadata_opened(
        self,
        now: int,
        state: LogState,
        entries: Iterable[Entry],
        vote: SaveVote | None,
        claimed: Iterable[tuple[str, int]],
    ) -> None:
        """The metadata was recovered, at first or after a failure or a cut."""
        self.agreement.opened(now, state, entries, vote)
        if not self.is_open:
            self._claimed = dict(claimed)
        self.is_open = True

    def follow(self, now: int) -> Changed:
        """Make what is here what is agreed, as far as that has changed, and answer what has come to be."""
        changed = self.agreement.take_changed()
        names = changed.topics
        if changed.everything:
            state = self.agreement.state
            names = dict.fromkeys([*self.led.topics, *state.topics, *state.removing, *self._deleters])
        for name in names:
            self._follow_topic(now, name)
        if changed.everything:
            self._clear_away(now)
        for call, answer in self.agreement.take_answers():
            self._answer(call, answer)
        return changed

    def _answer(self, call: Call | None, answer: Refusal | ProducerReply | Agreed | None) -> None:
        if call is None:
            return
        if not isinstance(answer, Agreed):
            self._follower.answer(call, answer)
            return
        request = answer.request
        leader = self.led.topics.get(getattr(request, "name", ""))
        if isinstance(request, DeleteTopic):
            self._deleters.setdefault(request.name, []).append(call)
            self._answer_deleters(request.name)
        elif isinstance(request, CreateTopic | MakeOwnTopic | AddSide | AlterTopic) and leader is None:
            # It was made, and deleted at once.
            self._follower.answer(call, deleted(request.name))
        elif isinstance(request, CreateTopic | MakeOwnTopic) and leader is not None:
            leader.asked_by.append(call)
            self._answer_opened(leader)
        elif isinstance(request, AddSide) and leader is not None:
            leader.awaited_by.append(call)
            self._answer_opened(leader)
        elif isinstance(request, AlterTopic) and leader is not None:
            self._follower.answer(call, self.led.described(leader))
        else:
            self._follower.answer(call, answer_of(self.agreement.state, request))

    def _answer_deleters(self, name: str) -> None:
        if name not in self.agreement.state.removing:
            for call in self._deleters.pop(name, []):
                self._follower.answer(call, None)

    # --- topics

    def _follow_topic(self, now: int, name: str) -> None:
        topic, leader = self.agreement.state.topics.get(name), self.led.topics.get(name)
        if leader is not None and (topic is None or topic.topic_id != leader.topic.topic_id):
            # Its folder goes, whether anybody waits for that, and whether the name is another topic's by now.
            self._remove(name, self._give_up(now, name))
            leader = None
        if topic is not None:
            if leader is None:
                leader = self.led.topics[name] = HostedTopic(
                    topic, self.led.node_id, self._replication is None, self.led.thresholds
                )
                self._follower.topics_changed()
            elif leader.is_changed_by(topic):
                self._alter(leader, topic)
            leader.topic = topic
            self._place(now, leader)
        if not self._owes(name):
            # All know that it is gone here; others may still have theirs.
            self._unsaid.pop(name, None)
        elif name not in self._unsaid:
            self._remove(name, [])
        self._answer_deleters(name)

    def _remove(self, name: str, streams: list[str]) -> None:
        """Have the folder of a topic removed, in which these streams may be open."""
        if name not in self._removals:
            self._removals[name] = None
            self.removes.append(Remove(f"logs/{name}", streams))

    def _owes(self, name: str) -> bool:
        """Whether it is waited for that this node has removed the folder of a deleted topic."""
        holders = self.agreement.state.holders.get(name)
        return name in self.agreement.state.removing and (not holders or self.led.node_id in holders)

    def _alter(self, leader: HostedTopic, topic: Topic) -> None:
        leader.alter(topic)
        self._follower.topics_changed()
        for held in leader.all_held():
            self._follower.altered(held)

    def _place(self, now: int, leader: HostedTopic) -> None:
        """Have the streams of a topic here that are to be here, in the roles that they are to have."""
        name, topic = leader.topic.name, leader.topic
        leader.may_lead = self._may_lead()
        if name in self._removals:
            # What is being removed under this name was another topic's.
            return
        for number in leader.strayed():
            self._stray(now, leader, number)
        topic_id = 0 if self._replication is None else topic.topic_id
        for side, number in leader.begin():
            self.opens.append(Open(topic.stream(number, side), leader.config(side), topic_id))
        for held in leader.all_held():
            self._assign(now, leader, held)
        if leader.take_moved():
            self._follower.topics_changed()
        for side, number in leader.take_elsewhere():
            self._follower.closed(now, topic.stream(number, side), _led_by(leader, number))
        self._answer_opened(leader)

    def _may_lead(self) -> bool:
        """Whether it is agreed that this process is the node; what is read at a start may speak of an earlier one."""
        own = self.agreement.state.nodes.get(self.led.node_id)
        return self._incarnation is None or (own is not None and own.incarnation == self._incarnation)

    def _stray(self, now: int, leader: HostedTopic, number: int) -> None:
        """A partition is to be elsewhere, and no more here."""
        name = leader.topic.name
        message = f"partition {number} of {name} has left this node"
        refusal = Refusal(Code.NOT_LEADER, message, "partition", retry_after_ms=100)
        for held in leader.drop(number):
            self._drop(now, held, refusal)
        self.removes.append(Remove(f"logs/{name}/{number}", leader.streams_of(number)))

    def _clear_away(self, now: int) -> None:
        """Remove what was here when the process began, and went elsewhere or was deleted while there was none."""
        claimed, self._claimed = self._claimed, {}
        state = self.agreement.state
        for folder, topic_id in claimed.items():
            if topic_id >= state.next_topic_id:
                # Of a cluster whose metadata somebody has taken away: nothing here says that it is not wanted.
                continue
            _, name, number = folder.split("/")
            leader = self.led.topics.get(name)
            if leader is not None and not leader.is_here(int(number)) and int(number) not in leader.leaving:
                self._stray(now, leader, int(number))
            elif leader is None:
                self._remove(name, [])

    def _give_up(self, now: int, name: str) -> list[str]:
        """A topic is gone; whoever waits for it is told. Answers its streams."""
        leader = self.led.topics.pop(name)
        self._follower.topics_changed()
        refusal = deleted(name)
        for call in (*leader.asked_by, *leader.awaited_by):
            self._follower.answer(call, refusal)
        for held in leader.all_held():
            self._drop(now, held, refusal)
        return leader.streams()

    def _drop(self, now: int, held: Held, refusal: Refusal) -> None:
        stream = held.log.stream
        if self._replication is not None:
            self._replication.leave(now, stream)
        self.led.streams.pop(stream, None)
        self.led.replicas.pop(stream, None)
        if isinstance(held, Partition):
            self._follower.left(held, refusal)
        self._follower.dropped(held)

    def removed(self, now: int, folder: str) -> None:
        """The folder of a topic or of a partition is gone."""
        _, name, *number = folder.split("/")
        leader = self.led.topics.get(name)
        if number and leader is not None:
            leader.leaving.pop(int(number[0]), None)
            self._place(now, leader)
        elif not number:
            del self._removals[name]
            if leader is not None:
                self._place(now, leader)
            if self._owes(name):
                self._unsaid[name] = now
                self.wake(now)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return min(self._unsaid.values(), default=None)

    def wake(self, now: int) -> None:
        """Say again what the controller has not taken notice of."""
        for name, due in self._unsaid.items():
            if due <= now:
                self._unsaid[name] = now + _AGAIN_NS
                self.finished.append(FinishDelete(name, self.led.node_id if self._replication is not None else ""))

    # --- roles

    def _assign(self, now: int, leader: HostedTopic, held: Held) -> None:
        """Give a stream the role that is agreed for it."""
        replication, placement = self._replication, leader.placement(held.number)
        if replication is None or placement is None:
            return
        topic_id, stream = leader.topic.topic_id, held.log.stream
        if leader.is_led(held.number):
            if isinstance(held, Replica):
                held = self._promote(now, replication, leader, held)
            replication.lead(now, topic_id, held, placement, leader.min_isr, leader.sides())
            if stream not in self.led.streams:
                self.led.streams[stream] = held
                self._follower.arrived(now, held, True)
        else:
            if isinstance(held, Partition):
                held = self._demote(now, replication, leader, held)
            replication.follow(now, topic_id, held, placement.leader, placement.leader_epoch)

    def _promote(self, now: int, replication: Replication, leader: HostedTopic, replica: Replica) -> Partition:
        replication.leave(now, replica.log.stream)
        partition = promoted(replica, self._recent)
        self._follower.dropped(replica)
        leader.hold(replica.side, replica.number, partition)
        del self.led.replicas[replica.log.stream]
        return partition

    def _demote(self, now: int, replication: Replication, leader: HostedTopic, partition: Partition) -> Replica:
        stream, number = partition.log.stream, partition.number
        replication.leave(now, stream)
        refusal = Refusal(Code.NOT_LEADER, _led_by(leader, number), "partition", retry_after_ms=100)
        del self.led.streams[stream]
        self._follower.left(partition, refusal)
        self._follower.dropped(partition)
        replica, _ = demoted(partition, refusal)
        leader.hold(partition.side, number, replica)
        self.led.replicas[stream] = replica
        self._follower.followed(now, replica)
        self._follower.closed(now, stream, _led_by(leader, number))
        return replica

    # --- streams

    def opened(self, now: int, stream: str, state: LogState) -> None:
        """A stream was recovered, at first or after a failure."""
        held = self.led.held(stream)
        if isinstance(held, Partition):
            held.reopened(now, state)
            self._follower.arrived(now, held, False)
            return
        if held is not None:
            assert self._replication is not None
            self._replication.reopened(now, stream, state)
            self._follower.followed(now, held)
            return
        leader, number, side = self._at(stream)
        if leader is None or not leader.lacks(number, side):
            return
        self._begin(now, leader, number, side, Log(stream, leader.config(side), self.clock, state), state)
        self._answer_opened(leader)

    def _begin(self, now: int, leader: HostedTopic, number: int, side: Side, log: Log, state: LogState) -> None:
        name = leader.topic.name
        if self._replication is None:
            partition = Partition(name, number, log, self._recent, side)
            partition.history.recall(now, self.clock.wall_ms(now), state)
            leader.hold(side, number, partition)
            self.led.streams[log.stream] = partition
            self._follower.arrived(now, partition, True)
            return
        replica = Replica(name, number, log, side)
        replica.recall(now, self.clock, state)
        leader.hold(side, number, replica)
        self.led.replicas[log.stream] = replica
        self._follower.followed(now, replica)
        self._assign(now, leader, replica)

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be recovered: its partition answers with the reason, all others go on."""
        leader, number, side = self._at(stream)
        if leader is None:
            return
        leader.open_failed(number, why, side)
        if self._replication is not None and stream in self.led.replicas:
            self._replication.recovery_failed(now, stream, why)
        self._answer_opened(leader)
        self._follower.closed(now, stream, why)

    def _at(self, stream: str) -> tuple[HostedTopic | None, int, Side]:
        """The topic that is known, the partition and the side that a stream is of."""
        _, name, number, *side = stream.split("/")
        return self.led.topics.get(name), int(number), Side(side[0]) if side else Side.DATA

    def _answer_opened(self, leader: HostedTopic) -> None:
        if not leader.is_settled():
            return
        asked_by, leader.asked_by = leader.asked_by, []
        for call in asked_by:
            self._follower.answer(call, self.led.described(leader))
        awaited_by, leader.awaited_by = leader.awaited_by, []
        for call in awaited_by:
            self._follower.answer(call, None)

    def check(self) -> None:
        """Assert the invariants."""
        assert not self.led.streams.keys() & self.led.replicas.keys()


def _led_by(leader: HostedTopic, number: int) -> str:
    name, node = leader.topic.name, leader.leader(number)
    return f"partition {number} of {name} is led by {node or 'nobody at the moment'}"
