"""A few nodes that have nothing but their forwarding, and carry requests out by a table; letters move when told to."""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.records import NodeRegistered, NodeStanding, PartitionPlaced, TopicCreated
from goqueue.core.peers.codec import decode, encode
from goqueue.core.ready import Letter
from goqueue.core.requests.call import Call, Caller, Origin
from goqueue.core.requests.cluster import RegisteredReply, RegisterNode
from goqueue.core.requests.groups import GroupBeat, GroupHeartbeat, GroupState
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.core.routing.context import RoutingContext
from goqueue.core.routing.dispatch import Dispatch

SECOND = 1_000_000_000
ME = Caller("tests")
# What requests are answered with where a test does not say it; None where they are answered so.
USUAL: dict[type, Reply] = {
    Fetch: Fetched(b"", 0, 0, 0),
    CreateTopic: TopicReply("made", 1, {}, 0, {}, 0),
    GroupHeartbeat: GroupBeat(1, GroupState.STABLE, {}, {}, 0, False, 0),
    RegisterNode: RegisteredReply("cluster", Standing.LIVE),
}


def stored(partition: int, offset: int) -> PublishReply:
    """The answer to a batch that was stored."""
    return PublishReply([Published(partition, offset)])


@define(eq=False)
class Place:
    """One node: what it carried out, what it answered, and what it keeps waiting."""

    cluster: "Cluster"
    node_id: str
    incarnation: int
    state: ClusterState
    taken: list[tuple[Call, Any]] = field(factory=list)
    answers: dict[int, Reply] = field(factory=dict)
    forgotten: list[Call] = field(factory=list)
    calls: dict[int, Call] = field(factory=dict)
    # Requests of these classes are answered when the test says so.
    parks: tuple[type, ...] = ()
    dispatch: Dispatch = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin, or begin anew with nothing."""
        options = ClusterOptions([], incarnation=self.incarnation)
        self.dispatch = Dispatch(
            RoutingContext(
                self.node_id,
                options,
                self._state,
                self._controller,
                self._spread,
                self._take,
                self._answer,
                self.forgotten.append,
            )
        )

    def _state(self) -> ClusterState:
        return self.state

    def _controller(self) -> str:
        return self.cluster.controller

    def _spread(self, topic: str, records: Sequence[NewRecord]) -> dict[int, list[int]]:
        places: dict[int, list[int]] = {}
        for at, record in enumerate(records):
            number = at % self.state.topics[topic].partitions if record.partition is None else record.partition
            places.setdefault(number, []).append(at)
        return places

    def _answer(self, to: Call, reply: Reply) -> None:
        if to.origin is Origin.NODE or to.service is ServiceName.ROUTING:
            self.dispatch.answered(to, reply)
            return
        assert to.number not in self.answers
        self.answers[to.number] = reply

    def ask(self, to: int, request: Any) -> None:  # noqa: ANN401 - any request or wish
        """Ask as a client does, or below 0 as a service; what is not looked after is carried out here."""
        asked = Call(to, ME) if to >= 0 else Call(to, ME, Origin.SERVICE, ServiceName.GROUPS, is_own=True)
        self.calls[to] = asked
        if not self.dispatch.ask(self.cluster.now, asked, request):
            self._take(self.cluster.now, asked, request)

    def forget(self, to: int) -> None:
        """Nobody waits any more for what was asked under a number."""
        self.dispatch.forget(self.calls[to])

    def _take(self, now: int, to: Call, request: Any) -> None:  # noqa: ANN401
        assert to.caller == ME
        self.taken.append((to, request))
        if not isinstance(request, self.parks):
            self.tell(to, self._outcome(request))

    def _outcome(self, request: Any) -> Reply:  # noqa: ANN401
        if isinstance(request, Publish):
            spread = self._spread(request.topic, request.records) if request.topic in self.state.topics else {}
            for partition, places in spread.items():
                for at in places:
                    request.records[at].partition = partition
            return PublishReply([self._published(request.topic, record.partition) for record in request.records])
        if isinstance(request, PublishBatch):
            published = self._published(request.topic, request.partition)
            return published if isinstance(published, Refusal) else PublishReply([published])
        return self.cluster.outcome(self, request)

    def _published(self, topic: str, partition: int | None) -> Published | Refusal:
        known = self.state.topics.get(topic)
        if known is None or partition not in known.placements:
            return Refusal(Code.TOPIC_NOT_FOUND, "there is no such topic")
        leader = known.placements[partition].leader
        if leader != self.node_id:
            return Refusal(Code.NOT_LEADER, "another node leads", leader=leader)
        offset = self.cluster.ends.get(partition, 0)
        self.cluster.ends[partition] = offset + 1
        return Published(partition, offset)

    def tell(self, to: Call, reply: Reply) -> None:
        """Answer what was carried out."""
        self._answer(to, reply)


class Cluster:
    """The nodes, and the letters between them."""

    def __init__(self, *names: str, controller: str = "") -> None:
        self.now = SECOND
        self.controller = controller
        self.outcome: Callable[[Place, Any], Reply] = lambda _place, request: USUAL.get(type(request))
        # How many messages were stored in each partition, whoever led it.
        self.ends: dict[int, int] = {}
        self.letters: list[tuple[str, Letter]] = []
        self.is_fit: Callable[[str, Letter], bool] = lambda _sender, _letter: True
        self.places = {name: Place(self, name, 1000 + at, ClusterState()) for at, name in enumerate(names)}
        for name in names:
            self.agree(self._registered(name))

    def __getitem__(self, name: str) -> Place:
        return self.places[name]

    def _registered(self, name: str) -> NodeRegistered:
        return NodeRegistered(name, self.places[name].incarnation, "", "", "", "", "", "", 0)

    def agree(self, *records: Any, only: str = "") -> None:  # noqa: ANN401 - metadata records
        """Let all nodes, or only one, hear of what was agreed on."""
        for place in self.places.values():
            if only in ("", place.node_id):
                for record in records:
                    place.state.apply(record)
                place.dispatch.routes_changed(self.now)

    def create(self, topic: str, *leaders: str) -> None:
        """A topic, and who leads its partitions."""
        self.agree(TopicCreated(topic, 1, len(leaders), "{}", 0))
        for partition, leader in enumerate(leaders):
            self.lead(topic, partition, leader)

    def lead(self, topic: str, partition: int, leader: str, only: str = "") -> None:
        """Another leader for a partition."""
        everybody = sorted(self.places)
        self.agree(PartitionPlaced(topic, partition, everybody, everybody, leader, 1, 1), only=only)

    def die(self, name: str) -> None:
        """A node is known to be dead."""
        self.agree(NodeStanding(name, Standing.DEAD))

    def restart(self, name: str) -> None:
        """A node begins anew, and all know."""
        place = self.places[name]
        place.incarnation += 100
        place.begin()
        self.agree(self._registered(name))

    def collect(self) -> None:
        """Take out what the nodes have to say."""
        for place in self.places.values():
            while place.dispatch.settle(self.now):
                pass
            letters, place.dispatch.letters = place.dispatch.letters, []
            self.letters += [(place.node_id, letter) for letter in letters]

    def deliver(self, sender: str, letter: Letter) -> None:
        """Bring one letter, as bytes."""
        message = decode(b"".join(encode(letter.message)))
        self.places[letter.to].dispatch.receive(self.now, sender, message)

    def run(self) -> None:
        """Bring all letters that are fit to be brought, and those that they bring about; the others are lost."""
        self.collect()
        while self.letters:
            sender, letter = self.letters.pop(0)
            if self.is_fit(sender, letter):
                self.deliver(sender, letter)
            self.collect()
        self.check()

    def wait(self, seconds: float) -> None:
        """Let time go by, and everything that it brings about happen."""
        end = self.now + round(seconds * SECOND)
        self.run()
        while True:
            times = [place.dispatch.deadline() for place in self.places.values()]
            due = min((time for time in times if time is not None), default=end + 1)
            if due > end:
                break
            self.now = max(self.now, due)
            for place in self.places.values():
                place.dispatch.wake(self.now)
            self.run()
        self.now = end

    def check(self) -> None:
        """Assert the invariants of all."""
        for place in self.places.values():
            place.dispatch.check()
