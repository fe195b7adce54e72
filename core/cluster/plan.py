"""What a request would change in the agreed state: records, or a refusal. Nothing here changes anything."""

import json
import re

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.records import (
    MetadataRecord,
    ProducerIds,
    SideAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.cluster.topic_settings import SETTINGS, settings_problems
from goqueue.core.verbs import AlterTopic, Code, CreateTopic, DeleteTopic, Refusal, Side

PARTITIONS_MAX = 10_000
NAME_BYTES_MAX = 200
PRODUCER_IDS_A_BLOCK = 1000
OWN_PREFIX = "__"
_NAME = re.compile(r"[A-Za-z0-9._-]+")

Plan = list[MetadataRecord] | Refusal


def plan_create(state: ClusterState, request: CreateTopic, partitions_default: int, wall_ms: int) -> Plan:
    """The records that make a topic."""
    problem = name_problem(request.name)
    if problem:
        return Refusal(Code.INVALID, problem, "name")
    partitions = request.partitions or partitions_default
    if not 1 <= partitions <= PARTITIONS_MAX:
        return Refusal(Code.INVALID, f"num_partitions must be from 1 to {PARTITIONS_MAX}", "num_partitions")
    if request.replication_factor != 1:
        message = f"replication_factor must be at most 1, the number of nodes, not {request.replication_factor}"
        return Refusal(Code.INVALID, message, "replication_factor")
    refusal = _config_refusal(request.config)
    if refusal is not None:
        return refusal
    if request.name in state.topics:
        return Refusal(Code.TOPIC_EXISTS, f"topic {request.name} exists already", "name")
    if request.name in state.removing:
        message = f"topic {request.name} was deleted, and its folder is still being removed"
        return Refusal(Code.UNAVAILABLE, message, "name", retry_after_ms=200)
    return _created(state, request.name, partitions, request.config, wall_ms)


def plan_own(state: ClusterState, name: str, partitions: int, config: dict[str, object], wall_ms: int) -> Plan:
    """The records that make a topic of the broker's own."""
    assert is_own(name)
    if name in state.topics:
        return Refusal(Code.TOPIC_EXISTS, f"topic {name} exists already", "name")
    return _created(state, name, partitions, config, wall_ms)


def _created(state: ClusterState, name: str, partitions: int, config: dict[str, object], wall_ms: int) -> Plan:
    return [TopicCreated(name, state.next_topic_id, partitions, json.dumps(config, sort_keys=True), wall_ms)]


def plan_alter(state: ClusterState, request: AlterTopic) -> Plan:
    """The records that change a topic's settings."""
    if is_own(request.name):
        return not_yours(request.name)
    topic = state.topics.get(request.name)
    if topic is None:
        return no_such_topic(request.name)
    given = {key: value for key, value in request.config.items() if value is not None}
    refusal = _config_refusal(
        {key: request.config[key] for key in request.config if key in given or key not in SETTINGS}
    )
    if refusal is not None:
        return refusal
    changed = {key: value for key, value in {**topic.config, **request.config}.items() if value is not None}
    return [TopicAltered(request.name, json.dumps(changed, sort_keys=True))]


def plan_side(state: ClusterState, name: str, side: Side) -> Plan:
    """The records that give a topic's partitions a stream more; the same once more where they have it."""
    assert side is not Side.DATA
    return [SideAdded(name, side)] if name in state.topics else no_such_topic(name)


def plan_delete(state: ClusterState, request: DeleteTopic) -> Plan:
    """The records that remove a topic."""
    if is_own(request.name):
        return not_yours(request.name)
    topic: Topic | None = state.topics.get(request.name)
    return [TopicDeleted(request.name, topic.topic_id)] if topic is not None else no_such_topic(request.name)


def plan_removed(state: ClusterState, name: str) -> Plan:
    """The records that free the name of a deleted topic, whose folder is gone."""
    topic_id = state.removing.get(name)
    return [TopicRemoved(name, topic_id)] if topic_id is not None else no_such_topic(name)


def plan_producer_ids(state: ClusterState) -> Plan:
    """The records that give a node the next block of producer ids."""
    first = state.next_producer_id
    return [ProducerIds(first, first + PRODUCER_IDS_A_BLOCK)]


def name_problem(name: str) -> str:
    """Why a topic may not be called so; empty when it may."""
    if not name:
        return "a topic needs a name"
    if len(name) > NAME_BYTES_MAX:
        return f"a topic's name has at most {NAME_BYTES_MAX} characters, not {len(name)}"
    if not _NAME.fullmatch(name) or name in (".", ".."):
        return f"a topic's name consists of letters, digits, '.', '_' and '-', unlike {name!r}"
    if is_own(name):
        return "names that begin with '__' are for the broker's own topics"
    return ""


def is_own(name: str) -> bool:
    """Whether a topic is the broker's own: anybody may read it, and nobody else writes, alters or deletes it."""
    return name.startswith(OWN_PREFIX)


def not_yours(name: str) -> Refusal:
    """The answer to whoever would change a topic of the broker's own."""
    return Refusal(Code.INVALID, f"topic {name} is the broker's own, and only read by others", "topic")


def no_such_topic(name: str) -> Refusal:
    """The answer to whoever asks for a topic that is not there."""
    return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {name!r}", "name")


def _config_refusal(config: dict[str, object]) -> Refusal | None:
    problems = settings_problems(config)
    if not problems:
        return None
    key, problem = next(iter(problems.items()))
    return Refusal(Code.INVALID, f"config.{key}: {problem}", f"config.{key}")
