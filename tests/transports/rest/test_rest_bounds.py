"""Each bound that the OpenAPI document states is enforced: a value beyond it is a 400 that names the field.

The document is walked: for each field of a query or a body, values beyond and at its bounds are made from its schema
and sent, all else being as it should be. Those at a bound are not refused for that field.
"""

import copy
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from attrs import define

from goqueue.transports.rest.openapi import document
from tests.transports.rest.rest_client import Served, run

DOCUMENT: dict[str, Any] = msgspec.json.decode(document())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
NAMES = {"topic": "orders", "group": "billing", "partition": "0", "offset": "0", "node": "n", "id": "orders-0"}
# What each kind of body needs at least.
LEAST: dict[str, dict[str, Any]] = {
    "TopicDraft": {"name": "more"},
    "ConfigDraft": {"config": {}},
    "OneMessageDraft": {"value": "a"},
    "MessagesDraft": {"messages": [{"value": "a"}]},
    "JoinDraft": {"client_id": "a", "topics": ["orders"]},
    "CooperativeJoinDraft": {"client_id": "a", "topics": ["orders"]},
    "BeatDraft": {"member_id": "a", "generation": 1},
    "MemberDraft": {"member_id": "a"},
    "CommitDraft": {"offsets": {"orders": {"0": 0}}},
    "ResetDraft": {"topic": "orders"},
    "RevokedDraft": {"member_id": "a", "generation": 1, "revoked_partitions": [{"topic": "orders", "partition": 0}]},
    "ReceiptsDraft": {},
    "NackDraft": {},
    "RejectDraft": {},
    "VisibilityDraft": {"timeout": "1s"},
    "DelayDraft": {},
    "PartitionsDraft": {"count": 2},
    "ReassignDraft": {"partitions": [{"topic": "orders", "partition": 0, "new_replicas": ["n"]}]},
    "ElectionDraft": {"topic": "orders"},
    "SettingsDraft": {},
    "RedriveDraft": {},
    "PurgeDraft": {},
}
# Fields at whose bounds something else is in the way, and what.
HINDERED = {
    ("TopicDraft", "num_partitions"): "ten thousand partitions take their time",
    ("TopicDraft", "partitions"): "ten thousand partitions take their time",
    ("TopicDraft", "replication_factor"): "there are not so many nodes",
    ("PartitionsDraft", "count"): "ten thousand partitions take their time, and none can be taken away",
    ("ResetDraft", "to"): "two of its words want another field",
    ("ConfigDraft", "config.min_insync_replicas"): "there are not so many replicas",
}
NAME = SCHEMAS["TopicDraft"]["properties"]["name"]["pattern"]
# The shortest span that every field takes, written at the length that each may have.
LONG_SPAN = "1s" * 20
SHORT_SPAN = "1ms" * 13


@define
class Field:
    """One field of a request, at its place; `schema` is what the document says of it."""

    kind: str
    path: str
    schema: dict[str, Any]


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """What a value may be, null left aside."""
    found = []
    for each in schema.get("anyOf", [schema]):
        resolved = SCHEMAS[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if resolved.get("type") != "null":
            found.append(resolved)
    return found


def fields(kind: str, schema: dict[str, Any], path: str = "") -> Iterator[Field]:
    """The fields below an object, those of objects in lists and of settings included."""
    for name, field in schema.get("properties", {}).items():
        place = f"{path}{name}"
        yield Field(kind, place, field)
        for each in alternatives(field):
            if "properties" in each:
                yield from fields(kind, each, f"{place}.")
            for item in alternatives(each["items"]) if "items" in each else []:
                if "properties" in item:
                    yield from fields(kind, item, f"{place}[0].")


def beyond(schema: dict[str, Any]) -> Iterator[Any]:
    """Values that a schema forbids, each for one reason."""
    found = alternatives(schema)
    kinds = {each.get("type") for each in found}
    for each in found:
        if "enum" in each:
            yield "no-such-word"
        if len(found) == 1 or kinds == {"integer"}:
            yield from (each[name] + step for name, step in (("minimum", -1), ("maximum", 1)) if name in each)
        if "maxLength" in each:
            yield ("1s" if "(ms|" in each.get("pattern", "") else "a") * (each["maxLength"] + 1)
        if each.get("minLength"):
            yield ""
        if "pattern" in each and len(found) == 1:
            yield "!"
        if each.get("format") == "date-time":
            yield "yesterday"
        if "not" in each:
            yield each["not"]["const"]
        if "minItems" in each:
            yield []
        if "maxItems" in each:
            yield [sample(each["items"])] * (each["maxItems"] + 1)
        if "maxProperties" in each:
            yield {f"h{at}": sample(each["additionalProperties"]) for at in range(each["maxProperties"] + 1)}
        if "properties" in each:
            yield {"no_such_field": 1}


def at_bounds(schema: dict[str, Any], name: str) -> Iterator[Any]:
    """Values that a schema just allows."""
    for each in alternatives(schema):
        yield from each.get("enum", ())
        yield from (each[name] for name in ("minimum", "maximum") if name in each)
        if "(ms|" in each.get("pattern", ""):
            yield LONG_SPAN if name == "session_timeout" else SHORT_SPAN
        elif "maxLength" in each and (each.get("pattern") or NAME) == NAME:
            yield "a" * each["maxLength"]
        if each.get("format") == "date-time":
            yield "2026-01-31T12:00:00Z"
        yield from ([sample(each["items"])] * each[name] for name in ("minItems", "maxItems") if name in each)
        if "maxProperties" in each:
            yield {f"h{at}": sample(each["additionalProperties"]) for at in range(each["maxProperties"])}


def sample(schema: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Some value that fits."""
    (each, *_) = alternatives(schema)
    if each.get("type") == "integer":
        return each.get("minimum", 0)
    if each.get("type") == "object":
        return {name: sample(each["properties"][name]) for name in each.get("required", ())}
    return [] if each.get("type") == "array" else "orders"


def placed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A body with a value at a path."""
    changed: Any = copy.deepcopy(body)
    *steps, last = path.replace("[0]", ".0").split(".")
    below = changed
    for step in steps:
        below = below[int(step)] if isinstance(below, list) else below.setdefault(step, {})
    below[int(last) if isinstance(below, list) else last] = value
    return dict(changed)


def is_about(response: httpx.Response, path: str) -> bool:
    """Whether it is refused for what stands in the field, or below it."""
    field = response.json()["field"] if response.status_code == 400 else None
    return field is not None and (field == path or field.startswith((f"{path}.", f"{path}[")))


def test_bounds_are_stated_of_queries_bodies_and_settings() -> None:
    assert SCHEMAS["TopicDraft"]["properties"]["num_partitions"]["anyOf"][0] == {
        "type": "integer", "minimum": 1, "maximum": 10_000
    }  # fmt: skip
    assert any(field.path == "config.retry_backoff" for field in fields("ConfigDraft", SCHEMAS["ConfigDraft"]))
    stated = [value for kind in LEAST for field in fields(kind, SCHEMAS[kind]) for value in beyond(field.schema)]
    assert len(stated) > 100


def operations(tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and what is described of each operation of a kind."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield method.upper(), path, operation


async def prepare(client: httpx.AsyncClient) -> None:
    """Make the topic `orders` and the group `billing`, where they are not there."""
    await client.post("/topics", json={"name": "orders", "num_partitions": 1, "if_not_exists": True})
    await client.post("/groups/billing/commit", json={"offsets": {"orders": {"0": 0}}})


Ask = Callable[[Any], Awaitable[httpx.Response]]


async def problems(name: str, schema: dict[str, Any], ask: Ask, *, is_hindered: bool) -> list[str]:
    """How answers differ from what the schema of a field says."""
    found: list[str] = []
    for value in beyond(schema):
        response = await ask(value)
        if not is_about(response, name):
            found.append(f"{name}: {repr(value)[:60]} is let through: {response.status_code} {response.text[:200]}")
    for value in [] if is_hindered else at_bounds(schema, name.rpartition(".")[2]):
        response = await ask(value)
        if response.status_code == 400 and response.json()["field"] == name:
            found.append(f"{name}: {repr(value)[:60]} is refused: {response.text[:200]}")
    return found


@pytest.mark.parametrize("tag", [each["name"] for each in DOCUMENT["tags"]])
def test_every_bound_of_a_body_is_enforced(tmp_path: Path, tag: str) -> None:
    found: list[str] = []

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for method, path, operation in operations(tag):
                if "requestBody" not in operation:
                    continue
                kind = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                for field in fields(kind, SCHEMAS[kind]):
                    target, place = path.format(**NAMES), field.path

                    async def ask(
                        value: object, kind: str = kind, place: str = place, method: str = method, target: str = target
                    ) -> httpx.Response:
                        # With the shortest retention that there is a group is forgotten soon.
                        await prepare(client)
                        return await client.request(method, target, json=placed(LEAST[kind], place, value))

                    is_hindered = (kind, place) in HINDERED
                    for each in await problems(place, field.schema, ask, is_hindered=is_hindered):
                        found.append(f"{method} {path}: {each}")  # noqa: PERF401 - a comprehension cannot await twice

    run(scenario, tmp_path)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("tag", [each["name"] for each in DOCUMENT["tags"]])
def test_every_bound_of_a_path_and_a_query_is_enforced(tmp_path: Path, tag: str) -> None:
    found: list[str] = []

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for method, path, operation in operations(tag):
                for field in operation.get("parameters", ()):
                    if "in" not in field:
                        continue
                    await prepare(client)

                    async def ask(
                        value: Any,  # noqa: ANN401 - JSON
                        field: dict[str, Any] = field,
                        method: str = method,
                        path: str = path,
                        operation: dict[str, Any] = operation,
                    ) -> httpx.Response:
                        if field["in"] == "path":
                            body = {"delay": "1s"} if "requestBody" in operation else None
                            target = path.format(**{**NAMES, field["name"]: value})
                            return await client.request(method, target, json=body)
                        needed = {"member_id": "a"} if path.endswith("/poll") else {}
                        asked = {**needed, field["name"]: value}
                        return await client.request(method, path.format(**NAMES), params=asked)

                    for each in await problems(field["name"], field["schema"], ask, is_hindered=False):
                        found.append(f"{method} {path}: {each}")  # noqa: PERF401 - a comprehension cannot await twice

    run(scenario, tmp_path)
    assert not found, "\n".join(found)
