"""How a group's queues on a topic behave: what the group says for itself, and the topic's word for all else."""

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.durations import parse_duration_ms
from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX, WorkSettings, read_weights
from goqueue.core.cluster.topic_settings import Value, setting
from goqueue.core.groups.settings import DEFAULTS
from goqueue.core.groups.settings import Value as GroupValue
from goqueue.core.queues.targets import dead_topic


def work_settings(of: Topic, group: dict[str, GroupValue]) -> WorkSettings:
    """The settings of a queue, from those that were set on its topic and on its group."""
    topic = of.config
    backoff_ms = _span_ms("retry_backoff", topic, group, DELAY_MS_MAX)
    return WorkSettings(
        visibility_ms=_span_ms("visibility_timeout", topic, group, SPAN_MS_MAX),
        max_attempts=int(group.get("max_attempts", setting(topic, "max_attempts"))),
        backoff_ms=backoff_ms,
        backoff_max_ms=max(int(setting(topic, "retry_backoff_max")), backoff_ms),
        max_in_flight=in_flight_max(group),
        key_ordered=bool(group.get("key_ordered", DEFAULTS["key_ordered"])),
        dlq=bool(dead_topic(of)),
        ttl_ms=int(setting(topic, "message_ttl")),
        lane_weights=read_weights(str(setting(topic, "lane_weights"))),
        starvation_ms=int(setting(topic, "starvation_after")),
    )


def in_flight_max(group: dict[str, GroupValue]) -> int:
    """How much a member of a group may have at once."""
    return int(group.get("max_in_flight", DEFAULTS["max_in_flight"]))


def _span_ms(key: str, topic: dict[str, Value], group: dict[str, GroupValue], most: int) -> int:
    said = group.get(key)
    span_ms = int(setting(topic, key)) if said is None else parse_duration_ms(str(said))
    return min(max(span_ms, 1), most)
