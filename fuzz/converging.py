"""A cluster after the trouble: there is a controller, partitions are led, replicas in sync, and all know the same."""

from collections.abc import Callable

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.cluster.plan import is_own
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.cluster import Drain, Reassign, ReplicaMove
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DescribePartitions, PartitionReply
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import agreed_index, agreed_state, are_voters_agreed, voters
from goqueue.fuzz.workloads.steward import Steward
from goqueue.fuzz.world import World

_LOOK_NS = 500_000_000
# A replica that is far behind, an election and another after that, and a topic that is being made.
_CONVERGED_NS = 60_000_000_000


class Converging:
    """Brings a cluster to rest; `ask` asks any node."""

    def __init__(self, world: World, ask: Callable[[Request], Reply]) -> None:
        self._world = world
        self._ask = ask

    def run(self) -> None:
        """Wait until all is well."""
        world = self._world
        self._wait_for(self._unrest_of_nodes)
        if world.options.grows or any(isinstance(client, Steward) for client in world.clients):
            for process in world.present():
                self._ask(Drain(process.node_id, False))
        if world.options.forgets or world.options.grows:
            self._wait_for(self._unrest_of_what_is_left)
            self._replace()
        # Where nodes have left for good, there may be fewer than a message needs.
        self._wait_for(self._unrest_of_what_is_left if world.options.grows else self._unrest)
        self._see_addresses()

    def _see_addresses(self) -> None:
        """See that clients are told where leaders are reached."""
        present = {process.node_id: process for process in self._world.present()}
        for topic in self._world.sight.topics():
            parts = self._ask(DescribePartitions(topic))
            for part in parts if isinstance(parts, list) else []:
                assert isinstance(part, PartitionReply)
                leader = present.get(part.leader)
                cluster = None if leader is None else leader.cluster
                if part.leader_address and (cluster is None or part.leader_address != cluster.grpc):
                    raise Violation(f"nothing fails, and clients are sent to {part.leader_address} for {part.leader}")

    def _replace(self) -> None:
        """Give partitions replicas on nodes that have joined, or were forgotten and are members anew."""
        names = [process.node_id for process in self._world.present()]
        wanted = min(self._world.options.replicas_max, len(names))
        for name, topic in self._world.sight.topics().items():
            for number, placement in topic.placements.items():
                if not is_own(name) and len(placement.replicas) < wanted:
                    others = [one for one in names if one not in placement.replicas]
                    replicas = [*placement.replicas, *others][:wanted]
                    self._ask(Reassign([ReplicaMove(name, number, replicas)]))

    def _wait_for(self, look: Callable[[], str]) -> None:
        world, until = self._world, self._world.now + _CONVERGED_NS
        while unrest := look():
            if world.now >= until:
                raise Violation(f"nothing fails, and {unrest}"[:600])
            pause = world.now + _LOOK_NS
            while world.step(pause):
                pass

    def _unrest(self) -> str:
        return self._unrest_of_nodes() or self._unrest_of_partitions(self._unrest_of)

    def _unrest_of_what_is_left(self) -> str:
        """The same, while partitions may lack replicas that were on nodes which were forgotten."""
        return self._unrest_of_nodes() or self._unrest_of_partitions(self._unrest_of_rest)

    def _unrest_of_nodes(self) -> str:
        """Who is not there, or does not know what others know."""
        nodes: list[Node] = []
        for process in self._world.present():
            if process.node is None or not process.node.has_metadata:
                return f"{process.node_id} is not there, or knows nothing"
            nodes.append(process.node)
        controllers = [node.options.node_id for node in nodes if node.is_controller]
        if len(controllers) != 1:
            return f"the controllers are {controllers}"
        if unrest := self._world.wiping.unrest():
            return unrest
        options = self._world.options
        if (options.forgets or options.grows) and (unrest := _unrest_of_voters(nodes)):
            return unrest
        if unrest := self._unrest_of_addresses(nodes):
            return unrest
        indexes = {node.options.node_id: agreed_index(node) for node in nodes}
        if len(dict.fromkeys(indexes.values())) != 1:
            return f"the nodes know different things to be agreed on: {indexes}"
        return ""

    def _unrest_of_addresses(self, nodes: list[Node]) -> str:
        """Who is believed to be reached elsewhere than it is, or is not known at all."""
        for process in self._world.present():
            assert process.cluster is not None
            is_reached = process.cluster.internal, process.cluster.http, process.cluster.grpc
            for node in nodes:
                known = agreed_state(node).nodes.get(process.node_id)
                believed = None if known is None else (known.internal, known.http, known.grpc)
                if believed != is_reached:
                    asked = node.options.node_id
                    return f"{asked} believes {process.node_id} to be reached at {believed}, not {is_reached}"
        return ""

    def _unrest_of_partitions(self, look: Callable[[Topic, int, Placement], str]) -> str:
        """Which partition is not led, or lacks replicas."""
        for topic in self._world.sight.topics().values():
            for number, placement in topic.placements.items():
                unrest = look(topic, number, placement)
                if unrest:
                    return unrest
        return ""

    def _unrest_of(self, topic: Topic, number: int, placement: Placement) -> str:
        led = self._led(topic, number, placement)
        if isinstance(led, str):
            return led
        return "" if led.is_settled else f"{topic.name}/{number} is {placement}, and readers do not see it"

    def _unrest_of_rest(self, topic: Topic, number: int, placement: Placement) -> str:
        """Readers see nothing of a partition that has fewer replicas than a message needs, until it is given more."""
        led = self._led(topic, number, placement)
        leadership = led.leadership if isinstance(led, Partition) else None
        is_too_few = leadership is not None and len(placement.replicas) < leadership.min_isr
        return "" if is_too_few else self._unrest_of(topic, number, placement)

    def _led(self, topic: Topic, number: int, placement: Placement) -> Partition | str:
        """A partition that is led and has all its replicas in sync, or what is wrong with it."""
        what = f"{topic.name}/{number} is {placement}"
        if placement.adding or placement.removing or sorted(placement.isr) != sorted(placement.replicas):
            return f"{what}: not all replicas are in sync"
        leader = self._world.machine(placement.leader)
        if leader is None or leader.node is None:
            return f"{what}: nobody leads it"
        led = leader.node.led.partition(topic.name, number)
        if isinstance(led, Refusal):
            return f"{what}, and its leader says {led.message}"
        assert isinstance(led, Partition)
        return led


def _unrest_of_voters(nodes: list[Node]) -> str:
    """Whether nodes that were forgotten and have joined again vote where a voter is missing: one, three or five do.

    Where nodes have left and no other takes their place, all that are left may vote, and that be an even number.
    """
    wanted = max(count for count in (1, 3, 5) if count <= len(nodes))
    voting = [voters(node) for node in nodes]
    is_agreed = all(are_voters_agreed(node) for node in nodes) and all(one == voting[0] for one in voting)
    is_enough = len(voting[0]) in (wanted, len(nodes)) and set(map(node_of, voting[0])) <= _names(nodes)
    return "" if is_agreed and is_enough else f"{wanted} nodes are to vote, and {voting} do"


def _names(nodes: list[Node]) -> set[str]:
    return {node.options.node_id for node in nodes}
