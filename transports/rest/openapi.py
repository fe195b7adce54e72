"""The OpenAPI 3.1 document, made from the table of routes and the types of what goes in and out."""

import re
from functools import cache
from typing import Any

import msgspec

from goqueue import __version__
from goqueue.transports.rest.call import PARTITION_MAX
from goqueue.transports.rest.decoding import INT64_MAX
from goqueue.transports.rest.errors import ErrorReply
from goqueue.transports.rest.exchange import JSON
from goqueue.transports.rest.parameters import Parameter
from goqueue.transports.rest.routes import PREFIX, ROUTES, Route

REFERENCE = "#/components/schemas/{name}"
TEXT = {"type": "string"}
NAME = re.compile(r"\{(\w+)\}")
# Names in paths that stand for numbers, and how large they get.
NUMBERS = {"partition": PARTITION_MAX, "offset": INT64_MAX}
LENIENT = "Lenient"
REFUSALS = {
    400: "The request is wrong; `field` says where.",
    403: "A web page of another origin asks.",
    404: "It is not there.",
    409: "It conflicts with what is there.",
    413: "It is too large.",
    415: "The body is not sent as JSON.",
    421: "The host is none of the broker's names.",
    422: "What is stored there cannot be read.",
    431: "The target or a header is too long.",
    503: "Not at the moment; Retry-After says when.",
}


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.format(msgspec.json.encode(described()), indent=1)


@cache
def described() -> dict[str, Any]:
    """The document."""
    types = list(
        dict.fromkeys(kind for route in ROUTES for kind in (route.body, route.reply) if kind not in (None, str))
    )
    _, components = msgspec.json.schema_components([*types, ErrorReply], ref_template=REFERENCE)
    for schema in components.values():
        _allow_nulls(schema)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GoQueue",
            "version": __version__,
            "summary": "A distributed, persistent message queue.",
            "description": "Every path is also served under /v1. Times are RFC 3339 in UTC, spans such as `1h30m`.",
        },
        "servers": [{"url": "/"}, {"url": f"/{PREFIX}"}],
        "tags": [{"name": group} for group in dict.fromkeys(route.group for route in ROUTES)],
        "paths": paths,
        "components": {
            "schemas": components,
            "parameters": {
                LENIENT: {
                    "name": "X-Lenient",
                    "in": "header",
                    "description": "Ignore fields of the body and of the query that are not known.",
                    "schema": {"type": "string", "enum": ["1", "true"]},
                }
            },
        },
    }


def _allow_nulls(schema: dict[str, Any]) -> None:
    """Say that optional fields of what comes in may be null, which leaves them out: they alone know all of theirs."""
    if schema.get("additionalProperties") is not False:
        return
    for name, field in schema["properties"].items():
        if name not in schema.get("required", ()) and {"type": "null"} not in field.get("anyOf", ()):
            default = {"default": field.pop("default")} if "default" in field else {}
            schema["properties"][name] = {"anyOf": [field, {"type": "null"}], **default}


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [route.group],
        "responses": _responses(route),
    }
    parameters = [_path_parameter(name) for name in NAME.findall(route.path)]
    parameters += [_query_parameter(parameter) for parameter in route.query]
    if route.body is not None or route.query:
        parameters.append({"$ref": f"#/components/parameters/{LENIENT}"})
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(route.body)}
    return operation


def operation_id(route: Route) -> str:
    """A name for a route that no other has."""
    words = re.findall(r"\w+", route.path)
    return "_".join((route.method.lower(), *words))


def _responses(route: Route) -> dict[str, Any]:
    content = _content(route.reply) if route.content_type == JSON else {route.content_type: {"schema": TEXT}}
    if route.streams:
        content |= {"application/x-ndjson": {}, "text/event-stream": {}}
    responses: dict[str, Any] = {str(route.status): {"description": route.summary, "content": content}}
    if route.other_status is not None:
        responses[str(route.other_status)] = responses[str(route.status)]
    everywhere = {400, 403, 421, 431} | ({415} if route.body is not None else set())
    for status in sorted({*route.refusals, *everywhere}):
        responses[str(status)] = {"description": REFUSALS[status], "content": _content(ErrorReply)}
    return responses


def _content(kind: type[Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REFERENCE.format(name=kind.__name__)}}}


def _path_parameter(name: str) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0, "maximum": NUMBERS.get(name)}
    schema = number if name in NUMBERS else TEXT
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema = parameter.kind.schema
    if parameter.is_repeated:
        schema = {"type": "array", "items": schema}
    described = {"name": parameter.name, "in": "query", "description": parameter.meaning, "schema": schema}
    return {**described, "required": True} if parameter.is_required else described
