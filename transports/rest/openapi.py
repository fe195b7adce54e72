"""The OpenAPI 3.1 document, made from the table of routes and the types of what goes in and out."""

import re
from functools import cache
from typing import Any

import msgspec

from goqueue import __version__
from goqueue.transports.rest.errors import ErrorReply
from goqueue.transports.rest.exchange import JSON
from goqueue.transports.rest.routes import PREFIX, ROUTES, Parameter, Route

REFERENCE = "#/components/schemas/{name}"
TEXT = {"type": "string"}
NAME = re.compile(r"\{(\w+)\}")
# Names in paths that stand for numbers.
NUMBERS = ("partition", "offset")
KINDS: dict[str, dict[str, str]] = {
    "integer": {"type": "integer"},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "date-time": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "pattern": "^([0-9]+(ms|s|m|h|d))+$"},
}
REFUSALS = {
    400: "The request is wrong; `field` says where.",
    404: "It is not there.",
    409: "It conflicts with what is there.",
    413: "It is too large.",
    422: "What is stored there cannot be read.",
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
        "components": {"schemas": components},
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [route.group],
        "responses": _responses(route),
    }
    parameters = [_path_parameter(name) for name in NAME.findall(route.path)]
    parameters += [_query_parameter(parameter) for parameter in route.query]
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
    for status in route.refusals:
        responses[str(status)] = {"description": REFUSALS[status], "content": _content(ErrorReply)}
    return responses


def _content(kind: type[Any]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": REFERENCE.format(name=kind.__name__)}}}


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0} if name in NUMBERS else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = dict(KINDS[parameter.kind])
    described = {"name": parameter.name, "in": "query", "description": parameter.meaning, "schema": schema}
    return {**described, "required": True} if parameter.is_required else described
