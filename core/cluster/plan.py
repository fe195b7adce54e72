"""What a request would change in the agreed state: records, or a refusal. Nothing here changes anything."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.draft import draft
from goqueue.core.cluster.placement import Loads, first_places, loads
from goqueue.core.cluster.records import (
    MetadataRecord,
    PartitionPlaced,
    PartitionsAdded,
    ProducerIds,
    SideAdded,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.cluster.topic_settings import SETTINGS, settings_problems
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import AddPartitions, AlterTopic, CreateTopic, DeleteTopic

PARTITIONS_MAX = 10_000
NAME_BYTES_MAX = 200
PRODUCER_IDS_A_BLOCK = 1000
# How many nodes have the broker's own topics, where there are so many.
OWN_REPLICAS = 3
# The default number of replicas that stands for the usual one, with `min_insync_replicas` to match.
AUTOMATIC = 0
_USUAL_REPLICAS = 3
OWN_PREFIX = "__"
_NAME = re.compile(r"[A-Za-z0-9._-]+")

Plan = list[MetadataRecord] | Refusal


def plan_create(
    state: ClusterState,
    request: CreateTopic,
    partitions_default: int,
    wall_ms: int,
    replicas_default: int = 1,
    founders: int = 0,
) -> Plan:
    """The records that make a topic; among nodes, its partitions are placed as well.

    There are `founders` of the cluster, of which some are maybe yet to register; none for a node that is alone.
    """
    problem = name_problem(request.name)
    if problem:
        return Refusal(Code.INVALID, problem, "name")
    partitions = request.partitions or partitions_default
    if not 1 <= partitions <= PARTITIONS_MAX:
        return Refusal(Code.INVALID, f"num_partitions must be from 1 to {PARTITIONS_MAX}", "num_partitions")
    nodes = max(len(state.nodes), founders, 1)
    replicas = request.replication_factor or min(replicas_default or _USUAL_REPLICAS, nodes)
    config = request.config
    if replicas_default == AUTOMATIC and replicas > 2:
        config = {"min_insync_replicas": replicas - 1, **config}
    refusal = _replication_refusal(nodes, replicas) or _config_refusal(config)
    if refusal is not None:
        return refusal
    if request.name in state.topics:
        return Refusal(Code.TOPIC_EXISTS, f"topic {request.name} exists already", "name")
    if request.name in state.removing:
        return _being_removed(state, request.name)
    chosen = loads(state)
    if nodes > len(state.nodes) and founders and len(state.nodes) < replicas:
        return _being_founded(len(state.nodes), founders)
    if state.nodes and chosen.usable < replicas and _model(state, request.name, replicas) is None:
        return _too_few(chosen.usable, replicas)
    created = _created(state, request.name, partitions, config, wall_ms)
    return [created, *_places(state, request.name, range(partitions), chosen, replicas)]


def plan_own(
    state: ClusterState, name: str, partitions: int, config: dict[str, object], wall_ms: int, founders: int = 0
) -> Plan:
    """The records that make a topic of the broker's own."""
    if not is_own(name) or name_problem(name.removeprefix(OWN_PREFIX)):
        return Refusal(Code.INVALID, "names of the broker's own topics begin with '__'", "name")
    if not 1 <= partitions <= PARTITIONS_MAX:
        return Refusal(Code.INVALID, f"num_partitions must be from 1 to {PARTITIONS_MAX}", "num_partitions")
    refusal = _config_refusal(config)
    if refusal is not None:
        return refusal
    if name in state.topics:
        return Refusal(Code.TOPIC_EXISTS, f"topic {name} exists already", "name")
    created, chosen = _created(state, name, partitions, config, wall_ms), loads(state)
    if not state.nodes:
        return _being_founded(0, founders) if founders else [created]
    if not chosen.usable:
        return _too_few(0, 1)
    return [created, *first_places(name, range(partitions), chosen, min(OWN_REPLICAS, chosen.usable))]


def _created(state: ClusterState, name: str, partitions: int, config: dict[str, object], wall_ms: int) -> TopicCreated:
    return TopicCreated(name, state.next_topic_id, partitions, json.dumps(config, sort_keys=True), wall_ms)


def _replication_refusal(nodes: int, replicas: int) -> Refusal | None:
    if 1 <= replicas <= nodes:
        return None
    message = f"replication_factor must be from 1 to {nodes}, the number of nodes, not {replicas}"
    return Refusal(Code.INVALID, message, "replication_factor")


def _being_founded(nodes: int, founders: int) -> Refusal:
    message = f"the cluster is being founded: {nodes} of {founders} nodes have begun"
    return Refusal(Code.UNAVAILABLE, message, "replication_factor", retry_after_ms=200)


def _too_few(usable: int, replicas: int) -> Refusal:
    message = f"{usable} of the nodes live, too few for {replicas} replicas"
    return Refusal(Code.NOT_ENOUGH_REPLICAS, message, "replication_factor", retry_after_ms=1000)


def _places(
    state: ClusterState, name: str, numbers: Iterable[int], chosen: Loads, replicas: int
) -> list[MetadataRecord]:
    """Where partitions that are new are to be; nowhere in particular where a node is alone.

    Dead letters are placed like what died, so that they are as safe and mostly stay on the node.
    """
    if not state.nodes:
        return []
    model = _model(state, name, replicas)
    if model is None:
        return [*first_places(name, numbers, chosen, replicas)]
    return [_like(state, name, number, model) for number in numbers]


def _model(state: ClusterState, name: str, replicas: int) -> Topic | None:
    """The topic whose dead letters a topic is for, if there is one with as many replicas."""
    topics = state.topics
    named = topics.get(name.removesuffix(".dlq")) if name.endswith(".dlq") else None
    model = named or next((one for one in topics.values() if one.config.get("dlq_topic") == name), None)
    return model if model is not None and model.placements and len(draft(model, 0).target) >= replicas else None


def _like(state: ClusterState, name: str, number: int, model: Topic) -> PartitionPlaced:
    """A place like that of another topic's partition; replicas that do not live have nothing to catch up yet."""
    like = draft(model, number % model.partitions)
    able = (Standing.LIVE, Standing.DRAINING)
    alive = [one for one in like.target if state.nodes[one].standing in able]
    leader = like.leader if like.leader in alive else next(iter(alive), "")
    return PartitionPlaced(name, number, like.target, alive or like.target, leader, 1, 1)


def _being_removed(state: ClusterState, name: str) -> Refusal:
    holders = state.holders.get(name, [])
    where = f" by {', '.join(holders)}" if holders else ""
    message = f"topic {name} was deleted, and its folder is still being removed{where}"
    return Refusal(Code.UNAVAILABLE, message, "name", retry_after_ms=200)


def plan_partitions(state: ClusterState, request: AddPartitions) -> Plan:
    """The records that give a topic more partitions, with as many replicas as the others are to have."""
    if is_own(request.name):
        return not_yours(request.name)
    topic = state.topics.get(request.name)
    if topic is None:
        return no_such_topic(request.name)
    if not topic.partitions < request.partitions <= PARTITIONS_MAX:
        message = f"num_partitions must be from {topic.partitions + 1} to {PARTITIONS_MAX}: partitions are only added"
        return Refusal(Code.INVALID, message, "num_partitions")
    added: list[MetadataRecord] = [PartitionsAdded(request.name, request.partitions)]
    if not topic.config.get("key_partitions"):
        # Keys stay where they are, and with them their order, until somebody says otherwise.
        kept = {**topic.config, "key_partitions": topic.partitions}
        added.append(TopicAltered(request.name, json.dumps(kept, sort_keys=True)))
    if not topic.placements:
        return added
    chosen, replicas = loads(state), len(draft(topic, 0).target)
    if chosen.usable < replicas and _model(state, request.name, replicas) is None:
        return _too_few(chosen.usable, replicas)
    return [*added, *_places(state, request.name, range(topic.partitions, request.partitions), chosen, replicas)]


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
    return [TopicAltered(request.name, json.dumps(changed, sort_keys=True)), *_regular_places(topic, changed)]


def _regular_places(topic: Topic, config: dict[str, Any]) -> Iterator[PartitionPlaced]:
    """Places whose ELR is another under a topic's next settings: with enough in sync, messages are acknowledged."""
    altered = evolve(topic, config=config)
    for number, placed in sorted(topic.placements.items()):
        if placed.elr and placed.isr:
            changed = draft(altered, number)
            changed.keep_in_sync(placed.isr)
            if changed.differs(placed):
                yield changed.record()


def plan_side(state: ClusterState, name: str, side: Side) -> Plan:
    """The records that give a topic's partitions a stream more; the same once more where they have it."""
    if side is Side.DATA:
        return Refusal(Code.INVALID, "every partition has its data", "side")
    return [SideAdded(name, side)] if name in state.topics else no_such_topic(name)


def plan_delete(state: ClusterState, request: DeleteTopic) -> Plan:
    """The records that remove a topic."""
    if is_own(request.name):
        return not_yours(request.name)
    topic: Topic | None = state.topics.get(request.name)
    if topic is None:
        return no_such_topic(request.name)
    holders = {one for placed in topic.placements.values() for one in placed.replicas}
    dead = [one for one in sorted(holders) if one in state.nodes and state.nodes[one].standing is Standing.DEAD]
    return [
        TopicDeleted(request.name, topic.topic_id),
        *(TopicRemoved(request.name, topic.topic_id, one) for one in dead),
    ]


def plan_removed(state: ClusterState, name: str, node_id: str = "") -> Plan:
    """The records that say that a node's folder of a deleted topic is gone; the last one frees the name."""
    topic_id = state.removing.get(name)
    if topic_id is None:
        return no_such_topic(name)
    holders = state.holders.get(name, [])
    if holders and node_id not in holders:
        return []
    return [TopicRemoved(name, topic_id, node_id if holders else "")]


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


def deleted(topic: str) -> Refusal:
    """What whoever waits for something of a deleted topic is told."""
    return Refusal(Code.TOPIC_NOT_FOUND, f"topic {topic} was deleted", "topic")


def no_such_topic(name: str) -> Refusal:
    """The answer to whoever asks for a topic that is not there."""
    return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {name!r}", "name")


def _config_refusal(config: dict[str, object]) -> Refusal | None:
    problems = settings_problems(config)
    if not problems:
        return None
    key, problem = next(iter(problems.items()))
    return Refusal(Code.INVALID, f"config.{key}: {problem}", f"config.{key}")
