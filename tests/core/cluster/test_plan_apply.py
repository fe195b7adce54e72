"""Plans against an agreed state, and what applying their records makes of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.apply import ClusterState, Topic
from goqueue.core.cluster.plan import (
    NAME_BYTES_MAX,
    PARTITIONS_MAX,
    Plan,
    name_problem,
    plan_alter,
    plan_create,
    plan_delete,
    plan_removed,
)
from goqueue.core.cluster.records import MetadataRecord, TopicAltered, TopicCreated, TopicDeleted, TopicRemoved
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic

WALL_MS = 1_700_000_000_000


def applied(*records: MetadataRecord) -> ClusterState:
    """The state that some records add up to."""
    state = ClusterState()
    for record in records:
        state.apply(record)
        state.check()
    return state


def orders(config: str = "{}") -> TopicCreated:
    """The record of one topic."""
    return TopicCreated("orders", 1, 3, config, WALL_MS)


def create(state: ClusterState, request: CreateTopic) -> Plan:
    """A plan for a node whose topics have two partitions when nobody says otherwise."""
    return plan_create(state, request, 2, WALL_MS)


def refusal(plan: Plan) -> tuple[Code, str]:
    """Code and field of a refusal."""
    assert isinstance(plan, Refusal)
    assert plan.message
    return plan.code, plan.field


def test_a_topic_is_created_with_the_next_id_and_what_was_asked() -> None:
    request = CreateTopic("logs.eu-1", 5, 1, {"fsync": "none", "cleanup": "compact"})
    config = '{"cleanup": "compact", "fsync": "none"}'
    assert create(applied(orders()), request) == [TopicCreated("logs.eu-1", 2, 5, config, WALL_MS)]


def test_a_topic_without_a_number_of_partitions_gets_the_default() -> None:
    assert create(ClusterState(), CreateTopic("a")) == [TopicCreated("a", 1, 2, "{}", WALL_MS)]


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (CreateTopic(""), Code.INVALID, "name"),
        (CreateTopic("a/b"), Code.INVALID, "name"),
        (CreateTopic(".."), Code.INVALID, "name"),
        (CreateTopic("ä"), Code.INVALID, "name"),
        (CreateTopic("a\n"), Code.INVALID, "name"),
        (CreateTopic("a~gone"), Code.INVALID, "name"),
        (CreateTopic("__groups"), Code.INVALID, "name"),
        (CreateTopic("x" * (NAME_BYTES_MAX + 1)), Code.INVALID, "name"),
        (CreateTopic("a", -1), Code.INVALID, "num_partitions"),
        (CreateTopic("a", PARTITIONS_MAX + 1), Code.INVALID, "num_partitions"),
        (CreateTopic("a", 1, 2), Code.INVALID, "replication_factor"),
        (CreateTopic("a", 1, -1), Code.INVALID, "replication_factor"),
        (CreateTopic("a", 1, 1, {"colour": "red"}), Code.INVALID, "config.colour"),
        (CreateTopic("a", 1, 1, {"fsync": None}), Code.INVALID, "config.fsync"),
        (CreateTopic("a", 1, 1, {"segment_age": "0s"}), Code.INVALID, "config.segment_age"),
        (CreateTopic("orders"), Code.TOPIC_EXISTS, "name"),
        (CreateTopic("orders", -1), Code.INVALID, "num_partitions"),
    ],
)
def test_what_cannot_be_created_is_refused(request_: CreateTopic, code: Code, field: str) -> None:
    assert refusal(create(applied(orders()), request_)) == (code, field)


@given(st.text(max_size=210))
def test_a_name_that_is_allowed_is_a_plain_folder_name(name: str) -> None:
    if not name_problem(name):
        assert name.isascii()
        assert not set(name) & set("/\\\0~ \n")
        assert name not in (".", "..")
        assert 0 < len(name) <= NAME_BYTES_MAX


def test_settings_are_changed_one_by_one_and_taken_back_with_none() -> None:
    state = applied(orders('{"fsync": "none", "retention_hours": 5}'))
    plan = plan_alter(state, AlterTopic("orders", {"fsync": None, "retention_bytes": 10, "cleanup": "delete"}))
    assert plan == [TopicAltered("orders", '{"cleanup": "delete", "retention_bytes": 10, "retention_hours": 5}')]


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (AlterTopic("nowhere", {}), Code.TOPIC_NOT_FOUND, "name"),
        (AlterTopic("orders", {"fsync": "often"}), Code.INVALID, "config.fsync"),
        (AlterTopic("orders", {"colour": None}), Code.INVALID, "config.colour"),
    ],
)
def test_what_cannot_be_altered_is_refused(request_: AlterTopic, code: Code, field: str) -> None:
    assert refusal(plan_alter(applied(orders()), request_)) == (code, field)


def test_a_topic_is_deleted_by_its_id_and_remembered_until_its_folder_is_gone() -> None:
    state = applied(orders())
    assert plan_delete(state, DeleteTopic("orders")) == [TopicDeleted("orders", 1)]
    state.apply(TopicDeleted("orders", 1))
    assert (state.topics, state.removing) == ({}, {"orders": 1})
    assert refusal(plan_delete(state, DeleteTopic("orders"))) == (Code.TOPIC_NOT_FOUND, "name")
    assert refusal(create(state, CreateTopic("orders"))) == (Code.UNAVAILABLE, "name")
    assert plan_removed(state, "orders") == [TopicRemoved("orders", 1)]
    state.apply(TopicRemoved("orders", 1))
    assert create(state, CreateTopic("orders")) == [TopicCreated("orders", 2, 2, "{}", WALL_MS)]


def test_what_is_not_being_removed_cannot_be_finished() -> None:
    assert refusal(plan_removed(applied(orders()), "orders")) == (Code.TOPIC_NOT_FOUND, "name")


def test_planning_changes_nothing() -> None:
    state = applied(orders())
    create(state, CreateTopic("a"))
    plan_alter(state, AlterTopic("orders", {"fsync": "none"}))
    plan_delete(state, DeleteTopic("orders"))
    assert state == applied(orders())


def test_applying_gives_a_topic_as_it_was_planned() -> None:
    state = applied(orders('{"fsync": "none"}'), TopicAltered("orders", '{"cleanup": "compact"}'))
    assert state.topics == {"orders": Topic("orders", 1, 3, {"cleanup": "compact"}, WALL_MS, is_weak=True)}
    assert state.topics["orders"].stream(2) == "logs/orders/2"


changes = st.lists(
    st.tuples(st.sampled_from(["create", "alter", "delete", "remove"]), st.sampled_from(["a", "b", "c"])), max_size=30
)


@given(changes)
def test_a_snapshot_stands_for_all_before_it(asked: list[tuple[str, str]]) -> None:
    state = ClusterState()
    for verb, name in asked:
        plan: Plan = {
            "create": lambda name=name: create(state, CreateTopic(name)),
            "alter": lambda name=name: plan_alter(state, AlterTopic(name, {"retention_hours": 3})),
            "delete": lambda name=name: plan_delete(state, DeleteTopic(name)),
            "remove": lambda name=name: plan_removed(state, name),
        }[verb]()
        for record in [] if isinstance(plan, Refusal) else plan:
            state.apply(record)
            state.check()
    again = applied(state.snapshot())
    assert again == state
    assert json.dumps(list(again.topics)) == json.dumps(sorted(state.topics))
