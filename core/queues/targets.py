"""Where dead letters go, and where they go back to.

What dies in `orders` goes to `orders.dlq`, or where the topic's `dlq_topic` says, in the partition of the same number
where there is one. A topic of dead letters has none of its own, unless its `dlq_topic` says so: what dies there is
dropped by the group that gave it up, and is still a letter.

A letter goes back to the partition that it came from, so the letters of a key stay in their order.
"""

from attrs import define

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.plan import is_own, no_such_topic
from goqueue.core.cluster.topic_settings import SETTINGS, Value, setting
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.deadletters import DeadLetter
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import CreateTopic

SUFFIX = ".dlq"
# What the headers of a letter take at most beyond its message, and then some.
_LETTER_BYTES = 1 << 16
_MESSAGE_BYTES_MAX = 1 << 30


def dead_topic(topic: Topic) -> str:
    """Where what dies in a topic goes; empty where it is dropped."""
    if not setting(topic.config, "dlq"):
        return ""
    named = str(setting(topic.config, "dlq_topic"))
    if named:
        return "" if named == topic.name else named
    return "" if topic.name.endswith(SUFFIX) else f"{topic.name}{SUFFIX}"


def creation(topic: Topic, name: str) -> CreateTopic:
    """How the topic of a topic's dead letters is made: like it, but that letters neither expire nor replace others.

    On as many nodes as its messages are, whoever of them is there at the moment.
    """
    size = setting(topic.config, "max_message_bytes")
    assert isinstance(size, int)
    config: dict[str, object] = {
        **topic.config,
        "cleanup": "delete",
        "message_ttl": _default("message_ttl"),
        "dlq_topic": _default("dlq_topic"),
        "max_message_bytes": min(size + _LETTER_BYTES, _MESSAGE_BYTES_MAX),
    }
    factor = max((len(placement.replicas) for placement in topic.placements.values()), default=1)
    return CreateTopic(name, topic.partitions, factor, config)


def _default(key: str) -> Value:
    return SETTINGS[key].default


def dead_topics(led: ReplicaSet) -> list[str]:
    """All topics of dead letters that there are, by name."""
    named = {str(setting(leader.topic.config, "dlq_topic")) for leader in led.topics.values()}
    return sorted(name for name in led.topics if not is_own(name) and (name.endswith(SUFFIX) or name in named))


def resolved(led: ReplicaSet, name: str) -> HostedTopic | Refusal:
    """The topic of dead letters that is meant: by its own name, or by that of a topic whose letters it has."""
    leader = led.topics.get(name)
    if leader is None:
        refusal = no_such_topic(name)
        refusal.field = "topic"
        return refusal
    dead = name if name in dead_topics(led) else dead_topic(leader.topic)
    found = led.topics.get(dead)
    if is_own(name) or found is None:
        return Refusal(Code.NO_DEAD_LETTERS, f"topic {name} has no dead letters", "topic")
    return found


@define(eq=False)
class Targets:
    """Where the letters of a topic are sent back to: where each came from, or to one topic."""

    _led: ReplicaSet
    topic: str
    to: str

    def of(self, letter: DeadLetter) -> tuple[str, int] | str:
        """Topic and partition for a letter, or why there is none."""
        name = self.to or letter.source_topic or self.topic.removesuffix(SUFFIX)
        where = f"the letter at offset {letter.offset} of partition {letter.partition}"
        if name == self.topic:
            return f"{where} does not say where it came from; name a topic for it"
        leader = self._led.topics.get(name)
        if leader is None:
            return f"{where} belongs to topic {name}, which is not there"
        if is_own(name):
            return f"{where} says that it is of topic {name}, which is the broker's own"
        number = letter.source_partition if letter.source_partition >= 0 else letter.partition
        return name, number % leader.topic.partitions
