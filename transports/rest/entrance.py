"""What stands at `/`: which release this is, and where to go on, as JSON for programs and as a page for people."""

from functools import cache
from html import escape

from msgspec import Struct, json

from goqueue import __version__
from goqueue.transports.rest.page import STYLE

PLACES = {
    "/docs": "every call of the REST API, with examples",
    "/openapi.json": "the same for programs, as OpenAPI 3.1",
    "/healthz": "whether the node is alive",
    "/readyz": "whether it takes requests",
    "/metrics": "what it has counted, for Prometheus",
    "/topics": "its topics",
}


class EntranceView(Struct):
    """The name and the release of what answers, and paths with what is there."""

    name: str
    version: str
    paths: dict[str, str]


@cache
def entrance() -> bytes:
    """The view as JSON."""
    return json.encode(EntranceView("goqueue", __version__, PLACES))


@cache
def entrance_page() -> bytes:
    """The same as HTML."""
    rows = "".join(
        f'<tr><td><a href="{escape(path[1:])}">{escape(path)}</a></td><td>{escape(said)}</td></tr>'
        for path, said in PLACES.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>GoQueue</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>GoQueue <small>{escape(__version__)}</small></h1>"
        f"<p>A broker answers here. Where to go on:</p><table>{rows}</table></body></html>"
    ).encode()
