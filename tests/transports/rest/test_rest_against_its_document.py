"""The OpenAPI document as someone else's tool reads it.

It asks the broker whatever the document allows, and what it does not. The answers must be those that are described, and
never a 500.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from goqueue.transports.rest.openapi import document
from tests.transports.rest.rest_client import Served, run
from tests.transports.serving import in_thread

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
DOCUMENT: dict[str, Any] = msgspec.json.decode(document())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
EXAMPLES = 15
TEXT = {"type": "string"}


def operations(tag: str, *, to_violate: bool) -> Iterator[tuple[str, str]]:
    """Paths and methods; what takes nothing but names in its path allows everything, and cannot be violated."""
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            if tag not in described["tags"]:
                continue
            bounded = [each for each in described.get("parameters", ()) if each.get("schema", TEXT) != TEXT]
            if not to_violate or bounded or "requestBody" in described:
                yield path, method.upper()


def explore(port: int, path: str, method: str, mode: GenerationMode, seen: set[int]) -> None:
    """Ask one operation with what the document allows, or does not."""

    @settings(
        max_examples=EXAMPLES, derandomize=True, deadline=None, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=SCHEMA[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:  # noqa: ANN401 - generic in the tool's own types
        if mode is GenerationMode.POSITIVE and "topic" in case.path_parameters:
            case.path_parameters["topic"] = "orders"
        if mode is GenerationMode.POSITIVE and "group" in case.path_parameters:
            case.path_parameters["group"] = "billing"
        if isinstance(case.body, dict) and isinstance(case.body.get("num_partitions"), int):
            # Thousands of partitions take their time.
            case.body["num_partitions"] = min(case.body["num_partitions"], 2)
        # Both would wait for messages that do not come.
        for name in ("follow", "wait", "timeout"):
            case.query.pop(name, None)
        response = case.call_and_validate(base_url=f"http://127.0.0.1:{port}", checks=CHECKS, timeout=20)
        seen.add(response.status_code)

    ask()


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("tag", [each["name"] for each in DOCUMENT["tags"]])
def test_every_operation_answers_as_its_document_says(tmp_path: Path, tag: str, mode: GenerationMode) -> None:
    seen: set[int] = set()
    asked = [*operations(tag, to_violate=mode is GenerationMode.NEGATIVE)]

    async def scenario(served: Served) -> None:
        async with served.client() as client:
            for path, method in asked:
                await client.post("/topics", json={"name": "orders", "num_partitions": 1})
                await client.post("/groups/billing/commit", json={"offsets": {"orders": {"0": 0}}})
                await in_thread(partial(explore, served.port, path, method, mode, seen))

    run(scenario, tmp_path)
    if mode is GenerationMode.POSITIVE:
        assert 200 in seen
    else:
        may_refuse = any("400" in DOCUMENT["paths"][path][method.lower()]["responses"] for path, method in asked)
        assert 400 in seen or not may_refuse
