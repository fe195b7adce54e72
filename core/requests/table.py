"""The table of requests: the rows of all areas, and what follows from them."""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import attrs

from goqueue.core.records.batch import HEADER_BYTES, NO_PRODUCER, read_header
from goqueue.core.requests import (
    cluster,
    deadletters,
    delays,
    groups,
    internal,
    messages,
    metadata,
    nodes,
    queues,
    topics,
    voters,
)
from goqueue.core.requests.histogram import BOUNDS_S, Histogram
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Repeat, Request, Row, ServiceName

_AREAS = (topics, nodes, messages, groups, queues, delays, deadletters, cluster, voters, metadata, internal)

TABLE: MappingProxyType[type[Request], Row] = MappingProxyType(
    {row.request: row for area in _AREAS for row in area.ROWS}
)
"""The row of each request."""

SENT: MappingProxyType[type[Request], int] = MappingProxyType(
    {row.request: row.number for row in TABLE.values() if row.number is not None}
)
"""The requests that one node passes on to another, and their numbers."""

MEASURED = frozenset(row.request for row in TABLE.values() if row.measured)
"""The requests whose rates and latencies are metrics of their own."""

ABOUT_PEERS = frozenset(row.request for row in TABLE.values() if row.about_peers)
"""The requests about other nodes, which a node answers or refuses also while it does not know what is agreed."""

_BEGINS = re.compile(r"(?<!^)(?=[A-Z])")

_WEIGHTS: dict[type, Callable[[Any], int]] = {
    row.request: row.weight for row in TABLE.values() if row.weight is not None
}


def name(kind: type[Request]) -> str:
    """Return the name of a request as people read it: `publish_batch`."""
    return _BEGINS.sub("_", kind.__name__).lower()


def of_service(service: ServiceName) -> tuple[type[Request], ...]:
    """Return the requests that a service carries out."""
    return tuple(row.request for row in TABLE.values() if row.service is service)


def weight(request: Request) -> int:
    """Return the bytes that a request holds until it is answered."""
    weigh = _WEIGHTS.get(type(request))
    return 0 if weigh is None else weigh(request)


# --- whether a request may be carried out twice


def changes_nothing(kind: type) -> bool:
    """Whether nothing is lost or done twice, whatever became of a request of this class that had no answer."""
    return not TABLE[kind].changes


def is_idempotent(request: Request) -> bool:
    """Whether the process that may have carried out a request may do so again, and its second answer is as good.

    A batch with numbers is stored once however often it comes. But its first answer may be lost, and then the process
    may refuse the batch, as one that it cannot store any more: whoever asked would hear that nothing was stored.
    """
    return TABLE[type(request)].repeat is Repeat.ALWAYS


def is_repeatable(request: Request) -> bool:
    """Whether a process may carry out a request that another one may have carried out, which is gone."""
    repeat = TABLE[type(request)].repeat
    if repeat is Repeat.NUMBERED:
        # A producer that numbers its records has them stored once, and is answered as at first.
        assert isinstance(request, messages.PublishBatch)
        return len(request.batch) >= HEADER_BYTES and read_header(request.batch).producer_id != NO_PRODUCER
    return repeat is not Repeat.NEVER


# --- what a request is answered with


def is_answer(request: Request, reply: Reply) -> bool:
    """Whether a reply is of the kind that a request is answered with; any other of another node is no answer."""
    if isinstance(reply, Refusal):
        return True
    row = TABLE[type(request)]
    if row.many:
        return isinstance(reply, list) and all(type(one) is row.answer for one in reply)
    return type(reply) is row.answer and _is_countable(reply)


_HISTOGRAMS: dict[type, tuple[str, ...]] = {
    row.answer: tuple(each.name for each in attrs.fields(row.answer) if each.type is Histogram)
    for row in TABLE.values()
    if attrs.has(row.answer)
}


def _is_countable(reply: Reply) -> bool:
    """Whether what a reply counts can be added up with what others have counted."""
    for name in _HISTOGRAMS.get(type(reply), ()):
        histogram: Histogram = getattr(reply, name)
        if len(histogram.counts) != len(BOUNDS_S) + 1:
            return False
    return True
