"""What members send that cannot be meant, over REST: each is refused with a status, a code and the field."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from goqueue.transports.rest.decoding import decode_body
from goqueue.transports.rest.errors import RestError
from goqueue.transports.rest.group_bodies import (
    BeatDraft,
    CommitDraft,
    JoinDraft,
    ResetDraft,
    RevokedDraft,
    SettingsDraft,
)
from tests.transports.rest.group_client import GROUP, get, identity, join, refused, topic
from tests.transports.rest.rest_client import Served, run

WORDS = {"client_id": "app", "topics": ["orders"]}
LONG = "x" * 201
FIELDS = st.sampled_from(
    ["client_id", "topics", "member_id", "generation", "offsets", "revoked_partitions", "topic", "to", "config", "0"]
)
SCALARS = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=8
)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"client_id": None}, "client_id"),
        ({"client_id": 5}, "client_id"),
        ({"client_id": LONG}, "client_id"),
        ({"client_id": "a\nb"}, "client_id"),
        ({"topics": None}, "topics"),
        ({"topics": "orders"}, "topics"),
        ({"topics": []}, "topics"),
        ({"topics": ["orders", 5]}, "topics[1]"),
        ({"topics": ["a/b"]}, "topics"),
        ({"topics": [""]}, "topics"),
        ({"topics": [LONG]}, "topics"),
        ({"topics": [f"t{number}" for number in range(1001)]}, "topics"),
        ({"instance_id": LONG}, "instance_id"),
        ({"instance_id": 5}, "instance_id"),
        ({"member_id": 5}, "member_id"),
        ({"session_timeout": 30}, "session_timeout"),
        ({"session_timeout": "soon"}, "session_timeout"),
        ({"session_timeout": "0s"}, "session_timeout"),
        ({"session_timeout": "999ms"}, "session_timeout"),
        ({"session_timeout": "31m"}, "session_timeout"),
        ({"session_timeout": "9" * 18 + "d"}, "session_timeout"),
        ({"mode": "both"}, "mode"),
        ({"assignor": "random"}, "assignor"),
        ({"protocol": "range"}, "protocol"),
        ({"config": []}, "config"),
        ({"config": {"colour": "red"}}, "config.colour"),
        ({"config": {"start": "time"}}, "config.start"),
        ({"config": {"assignor": "random"}}, "config.assignor"),
        ({"start": "middle"}, "start"),
        ({"start": -1}, "start"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": "4"}, "max_attempts"),
        ({"max_attempts": 1 << 70}, "max_attempts"),
        ({"max_in_flight": 0}, "max_in_flight"),
        ({"key_ordered": "yes"}, "key_ordered"),
        ({"visibility_timeout": "long"}, "visibility_timeout"),
        ({"retry_backoff": 1}, "retry_backoff"),
    ],
)
def test_a_join_that_cannot_be_is_refused_with_the_field_and_makes_no_group(
    tmp_path: Path, more: dict[str, Any], field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            body = {key: value for key, value in {**WORDS, **more}.items() if value is not None}
            for face in ("join", "join/cooperative"):
                assert await refused(client.post(f"{GROUP}/{face}", json=body)) == (400, "invalid_request", field)
            assert (await client.get("/groups")).json() == {"groups": []}

    run(scenario, tmp_path)


def test_an_eager_member_does_not_join_as_a_cooperative_one(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            answered = await refused(client.post(f"{GROUP}/join/cooperative", json={**WORDS, "protocol": "eager"}))
            assert answered == (400, "invalid_request", "protocol")

    run(scenario, tmp_path)


@pytest.mark.parametrize("name", ["a%20b", LONG, "%2F", "%C3%A9"])
def test_a_group_needs_a_name_that_can_be_one(tmp_path: Path, name: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            assert await refused(client.post(f"/groups/{name}/join", json=WORDS)) == (400, "invalid_request", "group")

    run(scenario, tmp_path)


STRANGER = {"member_id": "app-0000000000000000", "generation": 1}


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("join", {**WORDS, "member_id": STRANGER["member_id"]}),
        ("heartbeat", STRANGER),
        ("heartbeat/cooperative", STRANGER),
        ("leave", STRANGER),
        ("leave/cooperative", STRANGER),
        ("revoke", STRANGER),
        ("commit", {**STRANGER, "offsets": {"orders": {"0": 0}}}),
        ("commit", {"member_id": STRANGER["member_id"], "offsets": {"orders": {"0": 0}}}),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_who_is_no_member_is_404(tmp_path: Path, call: str, body: dict[str, Any], there: bool) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            if there:
                await join(client)
            answered = await refused(client.post(f"{GROUP}/{call}", json=body))
            assert answered == (404, "unknown_member", "member_id")

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("call", "more", "status", "code", "field"),
    [
        ("heartbeat", {"generation": 2}, 409, "fenced_generation", "generation"),
        ("heartbeat", {"generation": None}, 400, "invalid_request", "generation"),
        ("heartbeat", {"generation": "1"}, 400, "invalid_request", "generation"),
        ("heartbeat", {"generation": -1}, 400, "invalid_request", "generation"),
        ("heartbeat", {"generation": 1 << 63}, 400, "invalid_request", "generation"),
        ("heartbeat", {"member_id": None}, 400, "invalid_request", "member_id"),
        ("heartbeat/cooperative", {"generation": 2}, 409, "fenced_generation", "generation"),
        ("heartbeat/cooperative", {"member_id": 7}, 400, "invalid_request", "member_id"),
        ("leave", {"member_id": None}, 400, "invalid_request", "member_id"),
        ("leave/cooperative", {"member_id": []}, 400, "invalid_request", "member_id"),
        ("revoke", {"generation": 2}, 409, "fenced_generation", "generation"),
        ("revoke", {"generation": None}, 400, "invalid_request", "generation"),
        ("revoke", {"revoked_partitions": "orders-0"}, 400, "invalid_request", "revoked_partitions"),
        ("revoke", {"revoked_partitions": ["orders-0", "orders"]}, 400, "invalid_request", "revoked_partitions[1]"),
        ("revoke", {"revoked_partitions": ["orders-x"]}, 400, "invalid_request", "revoked_partitions[0]"),
        ("revoke", {"revoked_partitions": ["-0"]}, 400, "invalid_request", "revoked_partitions[0]"),
        ("revoke", {"revoked_partitions": [{"topic": "t"}]}, 400, "invalid_request", "revoked_partitions[0].partition"),
        ("revoke", {"revoked_partitions": [5]}, 400, "invalid_request", "revoked_partitions[0]"),
        ("commit", {}, 400, "invalid_request", "offsets"),
        ("commit", {"offsets": []}, 400, "invalid_request", "offsets"),
        ("commit", {"offsets": {"orders": 1}}, 400, "invalid_request", "offsets[...]"),
        ("commit", {"offsets": {"orders": {"0": "1"}}}, 400, "invalid_request", "offsets[...][...]"),
        ("commit", {"offsets": {"orders": {"0": -1}}}, 400, "invalid_request", "offsets[...][...]"),
        ("commit", {"offsets": {"orders": {"x": 1}}}, 400, "invalid_request", "offsets.orders.x"),
        ("commit", {"offsets": {"orders": {"9": 0}}}, 404, "partition_not_found", "offsets"),
        ("commit", {"offsets": {"none": {"0": 0}}}, 404, "partition_not_found", "offsets"),
        ("commit", {"offsets": {"orders": {"0": 1}}}, 404, "offset_out_of_range", "offsets"),
        ("commit", {"generation": 9, "offsets": {"orders": {"0": 0}}}, 409, "fenced_generation", "generation"),
        ("commit", {"generation": 0, "offsets": {"orders": {"0": 0}}}, 409, "fenced_generation", "generation"),
    ],
)
def test_a_members_call_that_cannot_be_is_refused_with_the_field(
    tmp_path: Path, call: str, more: dict[str, Any], status: int, code: str, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await join(client)
            body = {key: value for key, value in {**identity(member), **more}.items() if value is not None}
            assert await refused(client.post(f"{GROUP}/{call}", json=body)) == (status, code, field)
            assert (await get(client))["members"][0]["assigned_partitions"] == member["assigned_partitions"]

    run(scenario, tmp_path)


def test_a_commit_of_more_partitions_than_can_be_is_refused(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            offsets = {"orders": {str(number): 0 for number in range(100_001)}}
            answered = await refused(client.post(f"{GROUP}/commit", json={"offsets": offsets}))
            assert answered == (400, "invalid_request", "offsets")

    run(scenario, tmp_path)


def test_an_instance_id_belongs_to_a_member_for_good(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            member = await join(client, instance_id="till-1")
            body = {**WORDS, "member_id": member["member_id"], "instance_id": "till-2"}
            assert await refused(client.post(f"{GROUP}/join", json=body)) == (400, "invalid_request", "instance_id")

    run(scenario, tmp_path)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"config": {"colour": "red"}}, "config.colour"),
        ({"config": {"max_attempts": "many"}}, "config.max_attempts"),
        ({"max_attempts": -1}, "max_attempts"),
        ({"start": "middle"}, "start"),
        ({"mode": "both"}, "mode"),
        ({"config": 5}, "config"),
        ([], "body"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_field_and_change_nothing(
    tmp_path: Path, body: object, field: str
) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await topic(client)
            await join(client)
            before = (await get(client))["config"]
            assert await refused(client.patch(GROUP, json=body)) == (400, "invalid_request", field)
            assert (await get(client))["config"] == before

    run(scenario, tmp_path)


@pytest.mark.parametrize("kind", [SettingsDraft, JoinDraft, BeatDraft, RevokedDraft, CommitDraft, ResetDraft])
@given(written=JSON)
def test_any_json_is_a_body_or_refused_with_a_field(kind: type[Struct], written: object) -> None:
    body = msgspec.json.encode(written)
    try:
        outcome: Struct | RestError = decode_body(body, kind)
    except RestError as error:
        outcome = error
    if isinstance(outcome, RestError):
        assert (outcome.status, bool(outcome.field)) == (400, True)
    else:
        assert isinstance(outcome, kind)
