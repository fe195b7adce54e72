"""The page at /docs: the OpenAPI document for people, without a script or anything from elsewhere."""

from functools import cache
from html import escape
from itertools import groupby
from typing import Any

from goqueue import __version__
from goqueue.transports.rest.exchange import JSON
from goqueue.transports.rest.openapi import described, operation_id
from goqueue.transports.rest.routes import ROUTES, Route

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #2563eb; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 6rem; }
h1 small { font-weight: normal; opacity: .6; font-size: 1rem; } h2 { margin-top: 2.5rem; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
summary { padding: .5rem .8rem; cursor: pointer; } summary span { opacity: .75; margin-left: .8rem; }
details > div { padding: .2rem 1rem 1rem; border-top: 1px solid var(--line); overflow-x: auto; }
code, pre { font: 14px/1.45 ui-monospace, monospace; } b.method { display: inline-block; width: 4.2rem; }
b.method { color: var(--accent); font: bold 14px ui-monospace, monospace; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .9rem .2rem 0; vertical-align: top; }
pre { background: var(--soft); border-radius: .4rem; padding: .7rem; overflow-x: auto; }
"""
EXAMPLES = """
curl localhost:8080/topics --json '{"name": "orders", "num_partitions": 3}'
curl localhost:8080/topics/orders/publish --json '{"key": "k1", "value": "hello"}'
curl 'localhost:8080/topics/orders/partitions/0/messages?wait=5s'
curl -N 'localhost:8080/topics/orders/partitions/0/messages?follow=true'
curl localhost:8080/topics/orders/publish --json '{"value": "later", "delay": "30s", "priority": "high"}'
curl localhost:8080/groups/mail/join --json '{"client_id": "a", "topics": ["orders"], "mode": "shared"}'
curl 'localhost:8080/groups/mail/poll?member_id=MEMBER&timeout=5s'
curl localhost:8080/messages/ack --json '{"receipt_handle": "RECEIPT"}'
"""


@cache
def page() -> bytes:
    """The page as HTML."""
    groups = groupby(ROUTES, lambda route: route.group)
    sections = "".join(f"<h2>{escape(group)}</h2>{''.join(map(_call, routes))}" for group, routes in groups)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>GoQueue: the REST API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>GoQueue <small>REST API, {escape(__version__)}</small></h1>"
        f"<p>{escape(described()['info']['description'])} The same for programs: "
        '<a href="openapi.json">openapi.json</a>.</p>'
        "<p>An error is <code>{&quot;error&quot;, &quot;code&quot;, &quot;field&quot;}</code>: a sentence for you, "
        "a word for your program, and where in the request it applies.</p>"
        f"<pre>{escape(EXAMPLES.strip())}</pre>{sections}</body></html>"
    ).encode()


def _call(route: Route) -> str:
    inside = ""
    if route.query:
        rows = "".join(
            f"<tr><td><code>{escape(field.name)}</code></td><td>{escape(field.kind.name)}</td>"
            f"<td>{escape(field.meaning)}</td></tr>"
            for field in route.query
        )
        inside += f"<h4>Query</h4><table>{rows}</table>"
    if route.body is not None:
        inside += f"<h4>Body</h4>{_fields(route.body.__name__)}"
    inside += f"<h4>Answer {route.status}</h4>{_reply(route)}"
    if route.refusals:
        inside += f"<p>Refused with {', '.join(map(str, route.refusals))}.</p>"
    return (
        f'<details id="{operation_id(route)}"><summary><b class="method">{route.method}</b>'
        f"<code>{escape(route.path)}</code><span>{escape(route.summary)}</span></summary>"
        f"<div>{inside}</div></details>"
    )


def _reply(route: Route) -> str:
    if route.content_type != JSON:
        return f"<p>{escape(route.content_type)}</p>"
    return _fields(route.reply.__name__)


def _fields(name: str) -> str:
    schema = described()["components"]["schemas"][name]
    required = set(schema.get("required", ()))
    rows = "".join(
        f"<tr><td><code>{escape(field)}{'*' if field in required else ''}</code></td>"
        f"<td>{escape(_kind(kind))}</td></tr>"
        for field, kind in schema["properties"].items()
    )
    return f"<p>{escape(schema.get('description', ''))}</p><table>{rows}</table>"


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(kind) for kind in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(str(word) for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    return str(schema.get("type", "anything"))
