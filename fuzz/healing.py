"""The second phase of a world: nothing fails any more, and everything has to come to rest as it was promised.

All partitions open, nobody waits for an answer, every promised message can be read, and publishing and making topics
work.
"""

from goqueue.core.partition.partition import Partition
from goqueue.core.requests.messages import Fetch, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.converging import Converging
from goqueue.fuzz.draining import Draining
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.settling import Settling
from goqueue.fuzz.users.finishing import Finishing
from goqueue.fuzz.world import World

_REST_NS = 20_000_000_000
"""More than a node waits between two looks at what is worth compacting."""
_STEPS_MAX = 20_000
# More than anybody waits for what all replicas are to confirm.
_REST_NS_CLUSTER = 35_000_000_000
_QUIET_NS = 5_000_000_000
_AGAIN_NS = 200_000_000
_PASSING = (Code.UNAVAILABLE, Code.NOT_LEADER, Code.NOT_CONTROLLER, Code.NOT_COORDINATOR, Code.OUTCOME_UNKNOWN)
# A partition that is damaged for good is tried again and again, which takes time and shows nothing.
_REST_NS_ROTTEN = 1_000_000_000


class _Answer(Checker):
    """Remembers the healer's own answers."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self.replies: dict[int, Reply] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Keep it."""
        if asked.client == HEALER:
            self.replies[asked.to] = reply


class Healing:
    """Brings a world to rest."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answers = _Answer(world.sight)
        world.checkers.append(self._answers)
        self._count = 0
        self._settling = Settling(world, self._ask)
        self._draining = Draining(world, self._ask)
        self._finishing = Finishing(world, self._ask)
        self._converging = Converging(world, self._ask)

    def run(self) -> None:
        """Heal, and see that all is well."""
        world = self._world
        world.heal()
        if world.sight.is_cluster:
            self._converging.run()
        world.sight.calm_since = world.now
        self._finishing.run()
        self._settling.run()
        self._draining.run()
        self._finishing.end()
        self._rest()
        self._settling.see_end()
        self._settling.see_forgotten()
        if not world.sight.is_cluster:
            self._see_partitions()
        self._read_all()
        world.scribe.read_whole()
        self._publish()
        self._make_topic()
        self._rest()
        world.watchdog.rest()
        for checker in world.checkers:
            checker.ended()
        world.scribe.judge()

    def _rest(self) -> None:
        """Let time pass until whatever waits has had time enough."""
        world, steps, steps_max = self._world, 0, _STEPS_MAX
        # Until the sessions of members are over that have fallen silent.
        has_members = world.options.members or world.options.eager_members
        soon = world.now + _QUIET_NS + (world.options.session_ms_max * 1_000_000 if has_members else 0)
        rest_ns = _REST_NS_ROTTEN if world.history.rotten else _REST_NS
        if world.sight.is_cluster:
            # Nodes that have nothing to do tell each other so.
            rest_ns, steps_max = _REST_NS_CLUSTER, _STEPS_MAX * 10 * len(world.processes)
        until = world.now + rest_ns
        while world.step(until):
            steps += 1
            if world.sight.is_cluster and world.now >= soon and self._is_quiet():
                return
            if steps > steps_max:
                raise Violation(f"the world finds no rest: {steps_max} steps in {rest_ns} ns")

    def _is_quiet(self) -> bool:
        """Whether nobody waits for an answer."""
        return all(asked.is_forgotten for asked in self._world.history.open.values())

    def _ask(self, request: Request) -> Reply:
        """Ask somebody; in a cluster what passes is asked again, of somebody else."""
        until = self._world.now + (_REST_NS_CLUSTER if self._world.sight.is_cluster else _REST_NS)
        while True:
            reply = self._ask_once(request, until)
            if not self._world.sight.is_cluster or self._world.now >= until:
                return reply
            if not (isinstance(reply, Refusal) and reply.code in _PASSING):
                return reply
            self._wait(_AGAIN_NS)

    def _ask_once(self, request: Request, until: int) -> Reply:
        world = self._world
        world.scribe.asked(HEALER, request)
        to = world.ask(request)
        while to not in self._answers.replies:
            if not world.step(until):
                raise Violation(f"nothing fails, and this is not answered: {request}"[:500])
        reply = self._answers.replies.pop(to)
        world.scribe.answered(request, reply)
        return reply

    def _wait(self, time_ns: int) -> None:
        until = self._world.now + time_ns
        while self._world.step(until):
            pass

    def _see_partitions(self) -> None:
        node = self._world.sight.node()
        if node is None:
            raise Violation("nothing fails, and no process lives")
        for leader in node.led.topics.values():
            for number in range(leader.topic.partitions):
                if self._is_rotten(leader.topic.topic_id, number):
                    continue
                partition = leader.partition(number)
                if isinstance(partition, Refusal):
                    raise Violation(f"nothing fails, and {partition.message}")
                if partition.log.unsound is not None:
                    raise Violation(f"nothing fails, and {partition.log.stream} is unsound: {partition.log.unsound}")

    def _read_all(self) -> None:
        for topic_id, partition in self._world.sight.partitions():
            promised = self._world.history.promised.get((topic_id, partition.number), {})
            end = self._read(topic_id, partition)
            if promised and end is not None and max(promised) >= end:
                raise Violation(f"{partition.log.stream} ends at {end}, below the acknowledged {max(promised)}")

    def _read(self, topic_id: int, partition: Partition) -> int | None:
        """Read a partition to its end, and say where that is; None where bits have rotted on the way."""
        offset = partition.log.start_offset
        while offset < partition.high_watermark:
            reply = self._ask(Fetch(partition.topic, partition.number, offset, 1 << 20))
            if isinstance(reply, Refusal) and self._is_rotten(topic_id, partition.number):
                return None
            next_offset = getattr(reply, "next_offset", offset)
            if next_offset <= offset:
                raise Violation(f"nothing fails, and offset {offset} of {partition.log.stream} gives {reply}"[:500])
            offset = next_offset
        return offset

    def _is_rotten(self, topic_id: int, number: int) -> bool:
        return (topic_id, number) in self._world.history.rotten

    def _publish(self) -> None:
        for topic_id, partition in self._world.sight.partitions():
            reply = self._publish_one(partition)
            if not isinstance(reply, Published) and not self._is_rotten(topic_id, partition.number):
                raise Violation(f"nothing fails, and a publish to {partition.log.stream} gives {reply}")

    def _publish_one(self, partition: Partition) -> Reply:
        """Publish a message, and another one where its leader went back to the first replica meanwhile."""
        until = self._world.now + _REST_NS_CLUSTER
        while True:
            self._count += 1
            record = NewRecord(None, b"healer:%d|" % self._count, partition=partition.number)
            reply = self._ask(Publish(partition.topic, [record]))
            result = reply.results[0] if isinstance(reply, PublishReply) else reply
            is_over = not isinstance(result, Refusal) or result.code not in _PASSING
            if is_over or not self._world.sight.is_cluster or self._world.now >= until:
                return result
            self._wait(_AGAIN_NS)

    def _make_topic(self) -> None:
        reply = self._ask(CreateTopic("healed", 1, 1, {"fsync": "every"}))
        if not isinstance(reply, TopicReply):
            raise Violation(f"nothing fails, and a topic cannot be made: {reply}")
