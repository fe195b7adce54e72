"""The table of requests: one row a request, and what follows from the rows fits together."""

from importlib import import_module
from pkgutil import iter_modules
from typing import get_args, get_origin

import attrs
import pytest

from goqueue.core import requests
from goqueue.core.requests.cluster import AlterIsr
from goqueue.core.requests.groups import GroupsMeasured, ListGroups, MeasureGroups, PollGroup
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.messages import Fetch, NewRecord, Publish, PublishBatch
from goqueue.core.requests.replies import REPLY_NUMBERS, Reply
from goqueue.core.requests.row import NOTHING, Audience, Operation, Request, Route, Row, ServiceName
from goqueue.core.requests.table import (
    SENT,
    TABLE,
    changes_nothing,
    is_answer,
    is_idempotent,
    is_repeatable,
    of_service,
    weight,
)
from goqueue.core.requests.topics import TopicReply

_LOOKING = ("List", "Describe", "Get", "Find", "Fetch", "Measure", "Poll", "Watch", "Browse", "Count", "Init")


def _defined() -> set[type]:
    """Return every class of requests in the package, whether it has a row or not."""
    found = set()
    for module in iter_modules(requests.__path__, f"{requests.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Request) and value is not Request:
                found.add(value)
    return found


def test_each_request_has_one_row() -> None:
    areas = [import_module(module.name) for module in iter_modules(requests.__path__, f"{requests.__name__}.")]
    rows = [row for area in areas for row in getattr(area, "ROWS", ())]
    assert len({row.request for row in rows}) == len(rows)
    assert {row.request for row in rows} == TABLE.keys() == _defined()


def test_no_number_is_given_twice() -> None:
    assert len({*SENT.values(), *REPLY_NUMBERS.values()}) == len(SENT) + len(REPLY_NUMBERS)


def test_clients_and_peers_may_ask_only_what_has_a_number() -> None:
    for row in TABLE.values():
        assert (row.number is None) == (row.audience is Audience.INTERNAL), row.request


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.request.__name__)
def test_a_row_names_fields_that_its_request_has(row: Row) -> None:
    fields = {each.name for each in attrs.fields(row.request)}  # type: ignore[arg-type]
    assert not row.named_by or row.named_by in fields
    if row.route is Route.PARTITION:
        assert {"topic", "partition"} <= fields
    if row.route is Route.NODE:
        assert "node" in fields


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.request.__name__)
def test_every_answer_is_one_that_nodes_can_send(row: Row) -> None:
    replies = get_args(Reply)
    lists = {get_args(one)[0] for one in replies if get_origin(one) is list}
    if row.number is not None:
        assert row.answer in (lists if row.many else {*replies, NOTHING})
        assert row.answer is NOTHING or row.answer in REPLY_NUMBERS


@pytest.mark.parametrize("cls", [row.request for row in TABLE.values() if row.audience is not Audience.INTERNAL])
def test_a_request_changes_nothing_when_its_name_says_that_it_looks(cls: type) -> None:
    assert changes_nothing(cls) == cls.__name__.startswith(_LOOKING)


def test_what_changes_nothing_may_be_repeated_by_another_process() -> None:
    for row in TABLE.values():
        assert row.changes or is_repeatable(row.request.__new__(row.request)), row.request


def test_what_describes_changes_nothing() -> None:
    for row in TABLE.values():
        assert row.operation is not Operation.DESCRIBE or not row.changes, row.request


def test_a_numbered_batch_may_be_repeated_elsewhere_and_any_other_may_not() -> None:
    assert not is_repeatable(PublishBatch("t", 0, bytearray(b"short")))
    assert not is_idempotent(PublishBatch("t", 0, bytearray(b"short")))


def test_a_poll_is_repeated_by_another_process_only() -> None:
    assert is_repeatable(PollGroup("g", "m"))
    assert not is_idempotent(PollGroup("g", "m"))
    assert is_idempotent(AlterIsr("n", 1, []))


def test_every_request_that_is_carried_out_has_a_service() -> None:
    assert sum(len(of_service(service)) for service in ServiceName) == len(TABLE)


def test_a_request_weighs_the_bytes_that_it_holds() -> None:
    assert weight(PublishBatch("t", 0, bytearray(1000))) > 1000
    assert weight(Publish("t", [NewRecord(b"key", bytes(1000))] * 2)) > 2000
    assert weight(Fetch("t", 0, 0)) == 0


def test_an_answer_of_another_kind_is_none() -> None:
    topic = TopicReply("t", 1, {}, 0, {}, 0)
    assert not is_answer(ListGroups(), topic)
    assert not is_answer(ListGroups(), [topic])
    assert is_answer(ListGroups(), [])


def test_a_histogram_of_other_buckets_is_no_answer() -> None:
    measured = GroupsMeasured({}, [], {}, Histogram(), 0, 0, 0, 0)
    assert is_answer(MeasureGroups(), measured)
    measured.latency.counts.append(1)
    assert not is_answer(MeasureGroups(), measured)
