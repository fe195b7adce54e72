"""What a dead letter says of its past, and by what it is found."""

import pytest

from goqueue.core.cluster.moments import moment_text, parse_moment_ms
from goqueue.core.deadletters.letters import bare, buried, fits, read_letter, revived
from goqueue.core.records.build import Entry
from goqueue.core.records.headers import Headers
from goqueue.core.records.record import Record
from goqueue.core.requests.deadletters import Sieve

AT_MS = 1_700_000_000_123


def record(*headers: tuple[str, bytes | None], offset: int = 7, value: bytes | None = b"v") -> Record:
    return Record(offset, 5, b"k", value, headers)


def as_record(entry: Entry, offset: int = 0) -> Record:
    at_ms, key, value, headers = entry
    return Record(offset, at_ms, key, value, tuple(headers))


def dead(reason: str = "max_attempts", headers: Headers = ()) -> Record:
    return as_record(buried(record(*headers), "billing", (reason, 4), ("orders", 2), AT_MS), 9)


def test_a_letter_says_where_it_is_from_and_what_it_died_of_beside_what_it_was() -> None:
    letter = read_letter(3, dead("rejected: no such customer", (("trace", b"1"), ("trace", None))))
    assert (letter.partition, letter.offset, letter.key, letter.value) == (3, 9, b"k", b"v")
    assert letter.headers == (
        ("trace", b"1"),
        ("trace", None),
        ("goqueue.dlq.reason", b"rejected"),
        ("goqueue.dlq.detail", b"no such customer"),
        ("goqueue.dlq.group", b"billing"),
        ("goqueue.dlq.attempts", b"4"),
        ("goqueue.dlq.time", b"2023-11-14T22:13:20.123Z"),
        ("goqueue.dlq.topic", b"orders"),
        ("goqueue.dlq.partition", b"2"),
        ("goqueue.dlq.offset", b"7"),
    )
    assert (letter.reason, letter.group, letter.attempts, letter.died_ms) == ("rejected", "billing", 4, AT_MS)
    assert (letter.source_topic, letter.source_partition, letter.source_offset) == ("orders", 2, 7)


def test_a_letter_does_not_expire_and_bears_the_time_of_its_death() -> None:
    entry = buried(record(("goqueue.expires", b"99")), "billing", ("expired", 0), ("orders", 0), AT_MS)
    assert entry[0] == AT_MS
    assert all(name != "goqueue.expires" for name, _ in entry[3])


def test_one_that_dies_again_says_what_it_died_of_last() -> None:
    again = as_record(revived(dead("rejected: why"), AT_MS + 1))
    assert dict(again.headers) == {"goqueue.dlq.redriven": b"1"}
    second = read_letter(0, as_record(buried(again, "audit", ("max_attempts", 2), ("orders", 1), AT_MS + 2)))
    said = dict(second.headers)
    assert "goqueue.dlq.detail" not in said
    assert (second.reason, second.group, said["goqueue.dlq.redriven"]) == ("max_attempts", "audit", b"1")
    third = revived(as_record(revived(as_record(buried(again, "g", ("expired", 1), ("o", 0), 1)), 2)), 3)
    assert dict(third[3])["goqueue.dlq.redriven"] == b"3"


def test_a_letter_without_room_for_its_value_says_how_large_it_was() -> None:
    entry = bare(buried(record(value=b"x" * 500), "billing", ("max_attempts", 4), ("orders", 0), AT_MS))
    assert entry[2] is None
    assert dict(entry[3])["goqueue.dlq.value_bytes"] == b"500"


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("goqueue.dlq.attempts", b"many"), ("goqueue.dlq.time", b"\xff"), ("goqueue.dlq.offset", b"9" * 40)),
        (("goqueue.dlq.partition", b"-1"), ("goqueue.dlq.topic", None), ("goqueue.dlq.reason", b"\xc3(")),
    ],
)
def test_whatever_stands_in_a_topic_of_dead_letters_can_be_read(headers: Headers) -> None:
    letter = read_letter(0, record(*headers))
    assert (letter.attempts, letter.died_ms, letter.source_partition, letter.source_offset) == (0, 5, -1, -1)
    assert letter.source_topic == ""


@pytest.mark.parametrize(
    ("sieve", "is_meant"),
    [
        (Sieve(), True),
        (Sieve(reason="rejected"), True),
        (Sieve(reason="expired"), False),
        (Sieve(group="billing"), True),
        (Sieve(group="audit"), False),
        (Sieve(key=b"k"), True),
        (Sieve(key=b""), False),
        (Sieve(headers={"trace": b"1"}), True),
        (Sieve(headers={"trace": b"1", "other": b"2"}), False),
        (Sieve(died_from_ms=AT_MS), True),
        (Sieve(died_from_ms=AT_MS + 1), False),
        (Sieve(died_until_ms=AT_MS + 1), True),
        (Sieve(died_until_ms=AT_MS), False),
        (Sieve(reason="rejected", group="audit"), False),
    ],
)
def test_a_sieve_lets_through_what_fits_all_of_it(sieve: Sieve, is_meant: bool) -> None:
    assert fits(sieve, read_letter(0, dead("rejected: why", (("trace", b"1"),)))) is is_meant


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_704_067_199_000, "2023-12-31T23:59:59.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ],
)
def test_moments_are_written_as_they_are_read(at_ms: int, text: str) -> None:
    assert moment_text(at_ms) == text
    assert parse_moment_ms(text) == at_ms
