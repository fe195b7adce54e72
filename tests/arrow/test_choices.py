"""Options of a read: what they come to, and which are refused in which words."""

from datetime import UTC, datetime

import pytest

from goqueue.spark.choices import choices_of
from goqueue.spark.live.cluster import Cluster
from goqueue.spark.records.edges import EARLIEST, LATEST, Moment, UnreadableError

LIVE = {"bootstrap": "localhost:9000", "topic": "orders"}
FILES = {"path": "/data", "topic": "orders,audit"}
NOON = "2026-03-01T12:00:00Z"


def test_options_come_to_what_they_say() -> None:
    given = {"BOOTSTRAP": "one:1, two:2", "topic": " orders , audit,orders", "timeout": "5", "TLS": "True"}
    choices = choices_of(given | {"partitions": "7, 0-2", "missing": "skip", "control": "true"})
    assert choices.topics == ("orders", "audit")
    assert choices.bootstrap is not None
    assert choices.bootstrap.addresses == ("one:1", "two:2")
    assert (choices.bootstrap.timeout_ns, choices.bootstrap.is_secure) == (5_000_000_000, True)
    assert choices.wanted.partitions == (0, 1, 2, 7)
    assert (choices.lenient.skip_missing, choices.lenient.skip_damaged, choices.control) == (True, False, True)


def test_edges_are_offsets_words_or_times_for_all_or_by_partition() -> None:
    choices = choices_of(LIVE | {"starting_offset": '{"0": 17, "1": "earliest"}', "ending_time": NOON})
    assert [choices.starting.of("orders", number) for number in range(3)] == [17, EARLIEST, EARLIEST]
    assert choices.ending.of("orders", 0) == Moment(int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp() * 1000))
    choices = choices_of(FILES | {"starting_time": "1772366400000", "ending_offset": '{"audit": {"1": "9"}}'})
    assert choices.starting.of("audit", 5) == Moment(1_772_366_400_000)
    assert [choices.ending.of("audit", 1), choices.ending.of("orders", 1)] == [9, LATEST]
    assert choices_of(LIVE, is_stream=True).starting.of("orders", 0) == LATEST
    assert choices_of(LIVE).starting.of("orders", 0) == EARLIEST


@pytest.mark.parametrize(
    ("options", "is_stream", "said"),
    [
        ({"path": "/data", "bootstrap": "one:1"}, False, "the option 'path' says nothing for reading a running clust"),
        (FILES | {"timeout": "5"}, False, "the option 'timeout' says nothing for reading a folder; its options are"),
        (FILES, True, r"a stream reads a running cluster: say option\('bootstrap', 'host:port'\)"),
        (LIVE | {"ending_offset": "5"}, True, "the option 'ending_offset' says nothing for a stream of records"),
        (LIVE | {"max_records_per_trigger": "5"}, False, "says nothing for reading a running cluster"),
        (LIVE | {"max_records_per_trigger": "0"}, True, "it may be a number from 1 on"),
        ({"read": "facts", "path": "/c", "topic": "t"}, False, "the option 'topic' says nothing for reading facts"),
        ({"read": "facts", "path": "/c"}, True, "facts come from captures, which are no stream"),
        ({"read": "fact", "path": "/c"}, False, "the option 'read' is 'fact'; it may be records or facts"),
        ({}, False, r"which folder\? Say load\(folder\)"),
        ({"bootstrap": " , "}, False, "the option 'bootstrap' is empty"),
        ({"bootstrap": "nowhere"}, False, "the option 'bootstrap': "),
        (LIVE | {"partitions": "2-1"}, False, "2-1 is no range of numbers below 10000"),
        (LIVE | {"partitions": "0-99999999"}, False, "0-99999999 is no range of numbers below 10000"),
        (LIVE | {"partitions": "0,x"}, False, "it may be numbers such as 0,2-5"),
        (LIVE | {"starting_offset": "latest"}, False, "says 'latest'; it may be an offset from 0 on or earliest"),
        (LIVE | {"starting_offset": "-1"}, False, "says '-1'; it may be an offset from 0 on or earliest"),
        (LIVE | {"starting_offset": "9" * 5000}, False, "it may be an offset from 0 on or earliest"),
        (LIVE | {"starting_offset": "{"}, False, "the option 'starting_offset' is no JSON"),
        (LIVE | {"starting_offset": '{"ordres": {"0": 1}}'}, False, "names the topic 'ordres', which is not read"),
        (LIVE | {"starting_offset": '{"orders": {"x": 1}}'}, False, "names a partition 'x'; they are numbers from 0"),
        (FILES | {"starting_offset": '{"0": 1}'}, False, "names partitions and no topic"),
        (LIVE | {"starting_time": "2026-03-01T12:00:00"}, False, "or a time with its zone such as"),
        (LIVE | {"starting_time": NOON, "starting_offset": "1"}, False, "say the same thing twice; say one of them"),
    ],
)
def test_what_means_nothing_or_something_else_is_refused(options: dict[str, str], is_stream: bool, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        choices_of(options, is_stream=is_stream)


def test_certificates_that_cannot_be_read_are_named() -> None:
    bootstrap = choices_of(LIVE | {"tls_ca": "/nowhere/ca.pem"}).bootstrap
    assert bootstrap is not None
    with pytest.raises(UnreadableError, match=r"the option 'tls_ca': /nowhere/ca\.pem holds no certificates"):
        Cluster(bootstrap)
