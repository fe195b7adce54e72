"""An administrator: makes the topics, and as often as the options say deletes, alters and describes them."""

from random import Random

from goqueue.core.requests.nodes import DescribeNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
)
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

# A topic that could not be made for now.
_PASSING = (Code.UNAVAILABLE, Code.NOT_CONTROLLER, Code.OUTCOME_UNKNOWN, Code.NOT_ENOUGH_REPLICAS, Code.SHUTTING_DOWN)


class Admin(Client):
    """Changes topics."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = 2
        self._to_create = [f"t{number}" for number in range(options.topics)]

    def think_ns(self) -> int:
        """An administrator has more patience than a producer, once there are topics."""
        if self._to_create:
            return 1_000_000
        most_ns = 4_000_000 if self.options.alters_fsync else 20_000_000
        return self.random.randint(0, max(most_ns, 4 * self.options.think_ns))

    def next_request(self) -> Request:
        """A change, or a question."""
        random = self.random
        if self._to_create:
            return self._create(self._to_create.pop())
        if random.random() < 10 * self.options.p_topic_change:
            name = self.draw_topic()
            drawn = random.random()
            if drawn < 0.3:
                return DeleteTopic(name)
            if drawn < 0.8:
                return self._create(name)
            return AlterTopic(name, self._change())
        name = self.draw_topic()
        questions: tuple[Request, ...] = (DescribeTopic(name), DescribePartitions(name), ListTopics(), DescribeNode())
        return random.choice(questions)

    def answered(self, request: Request, reply: Reply) -> None:
        """What is refused for the moment is asked again; so is any topic that should be there from the beginning."""
        if isinstance(request, CreateTopic) and isinstance(reply, Refusal):
            # Nodes that have yet to come may be wanted for all replicas.
            if reply.code in _PASSING or reply.field == "replication_factor":
                self._to_create.append(request.name)

    def lost(self, request: Request) -> None:
        """A topic that was to be made may not have been."""
        if isinstance(request, CreateTopic):
            self._to_create.append(request.name)

    def _change(self) -> dict[str, object]:
        """Settings that a topic may have from here on."""
        random, options = self.random, self.options
        if options.alters_fsync and random.random() < 0.7:
            return {"fsync": random.choice(("every", "interval", "none"))}
        if options.retention and random.random() < 0.5:
            if random.random() < 0.5:
                return {"retention_hours": 1}
            return {"retention_bytes": options.retention_bytes}
        return {"max_message_bytes": random.choice((1 << 20, None))}

    def _variety(self) -> dict[str, object]:
        """How a topic differs from most."""
        random = self.random
        config: dict[str, object] = {
            "partitioner": random.choice(("murmur3", "murmur2", "crc32", "round_robin", "sticky")),
            "segment_age": random.choice(("7d", "500ms", "3s")),
            "min_compaction_lag": random.choice(("0s", "100ms")),
        }
        if self.options.value_bytes_max >= 1_000:
            config["max_message_bytes"] = random.choice((1 << 10, 2_000, 16 << 20))
        return config

    def _create(self, name: str) -> CreateTopic:
        random, options = self.random, self.options
        config: dict[str, object] = {"fsync": random.choice(options.fsyncs), "fsync_interval": "10ms"}
        config["retention_hours"] = -1
        if options.lane_weights:
            config["lane_weights"] = options.lane_weights
        if options.starvation_ms:
            config["starvation_after"] = f"{options.starvation_ms}ms"
        if options.hostiles:
            config["validation"] = "full"
        if options.small_segments:
            config["segment_bytes"] = 1 << 16
        if options.retention and random.random() < 0.5:
            config |= {"retention_hours": 1}
        if options.retention and random.random() < 0.5:
            config |= {"retention_bytes": options.retention_bytes}
        if random.random() < options.p_compact:
            cleanup = random.choice(("compact", "compact", "compact_delete"))
            config |= {"cleanup": cleanup, "dirty_ratio": random.choice((0, 0.5)), "segment_bytes": 1 << 16}
            config |= {"tombstone_retention": random.choice(("0s", "24h"))}
        partitions = random.randint(1, options.partitions_max)
        if options.varied:
            config |= self._variety()
        if options.nodes == 1:
            return CreateTopic(name, partitions, 1, config)
        # While a cluster grows, topics have as many replicas as there are nodes for; they get more later.
        replicas = random.randint(1, options.replicas_max) if options.grows else options.replicas_max
        config["min_insync_replicas"] = min(options.min_insync, replicas)
        return CreateTopic(name, partitions, replicas, config)
