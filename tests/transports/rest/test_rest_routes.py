"""The table of routes, and what is made of it."""

import re

import msgspec
import pytest

from goqueue.transports.rest.errors import RestError
from goqueue.transports.rest.openapi import document, operation_id
from goqueue.transports.rest.page import page
from goqueue.transports.rest.routes import ROUTES, MethodNotAllowed, Route, allowed, match

READ = msgspec.json.decode(document())


@pytest.mark.parametrize("prefix", ["", "/v1"])
@pytest.mark.parametrize("route", ROUTES, ids=operation_id)
def test_every_route_is_found_bare_and_under_v1(route: Route, prefix: str) -> None:
    path = prefix + re.sub(r"\{(\w+)\}", r"a%20\1", route.path)
    found, names = match(route.method, path)
    assert found is route
    assert names == {name: f"a {name}" for name in re.findall(r"\{(\w+)\}", route.path)}


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/v1/topics", "/topics/", "/topics//publish", "/Topics", "*", "/a/b/c/d/e/f"]
)
def test_nothing_is_found_elsewhere(path: str) -> None:
    with pytest.raises(RestError) as caught:
        match("GET", path)
    assert (caught.value.status, caught.value.field) == (404, "path")
    assert allowed(path) == ()


def test_a_wrong_method_is_told_the_right_ones() -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        match("PUT", "/topics/orders")
    assert (caught.value.status, caught.value.methods) == (405, ("GET", "PATCH", "DELETE"))


def test_a_name_that_is_no_utf_8_is_refused() -> None:
    with pytest.raises(RestError, match="UTF-8"):
        match("GET", "/topics/%ff")


def references(node: object) -> set[str]:
    """Every schema that a part of the document refers to."""
    if isinstance(node, dict):
        own = {node["$ref"]} if "$ref" in node else set()
        return own.union(*(references(child) for child in node.values()))
    return set().union(*(references(child) for child in node)) if isinstance(node, list) else set()


def test_the_document_describes_every_route_and_refers_to_nothing_missing() -> None:
    assert READ["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, methods in READ["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    parts = READ["components"]
    assert references(READ) == {f"#/components/{kind}/{name}" for kind in parts for name in parts[kind]}


def test_the_document_names_each_operation_and_each_parameter_of_a_path() -> None:
    names = [operation["operationId"] for methods in READ["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    for path, methods in READ["paths"].items():
        for operation in methods.values():
            stated = {field["name"] for field in operation.get("parameters", ()) if field.get("in") == "path"}
            assert stated == set(re.findall(r"\{(\w+)\}", path))


def test_required_fields_are_required_in_the_document() -> None:
    schemas = READ["components"]["schemas"]
    assert schemas["MessageDraft"]["required"] == ["value"]
    assert schemas["TopicDraft"]["required"] == ["name"]
    assert schemas["ErrorReply"]["required"] == ["error", "code", "field", "outcome"]


def test_the_page_shows_every_route_and_fetches_nothing() -> None:
    shown = page().decode()
    for route in ROUTES:
        assert f'id="{operation_id(route)}"' in shown
        assert route.path in shown
    assert not re.search(r"<script|<link|<img|https?://|url\(", shown)
