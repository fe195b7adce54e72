"""What goes into one batch: by name or by sieve, of one kind, within bounds, and never past what was left behind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.apply import Topic
from goqueue.core.deadletters.letters import buried
from goqueue.core.deadletters.picking import Bounds, Named, Sifted
from goqueue.core.queues.gone import Gone
from goqueue.core.queues.move_records import Tally
from goqueue.core.queues.targets import Targets
from goqueue.core.records.batch import Codec, Lane, read_header, stamp
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import Record, iterate
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.deadletters import Sieve

WIDE = Bounds()


def batches(*parts: tuple[list[Entry], Lane]) -> bytes:
    """Batches one behind the other, from offset 0 on."""
    whole, offset = b"", 0
    for entries, lane in parts:
        batch = encode(entries, lane=lane)
        stamp(batch, offset, 0)
        whole += batch
        offset += len(entries)
    return whole


def plain(count: int, size: int = 1) -> list[Entry]:
    return [(0, b"k", b"v" * size, ()) for _ in range(count)]


def named(offsets: list[int], bounds: Bounds = WIDE, **options: bool) -> Named:
    deaths = dict.fromkeys(offsets, ("max_attempts", 4))
    return Named("orders", 0, "billing", ("orders.dlq", 0), 9, deaths, bounds, **options)


def letter(topic: str, number: int, reason: str = "expired") -> Entry:
    return buried(Record(0, 0, b"k", b"v"), "billing", (reason, 1), (topic, number), 9)


def targets(to: str = "") -> Targets:
    led = ReplicaSet("node")
    for name, partitions in (("orders", 4), ("audit", 2), ("orders.dlq", 4), ("__groups", 1)):
        led.topics[name] = HostedTopic(Topic(name, 1, partitions, {}, 0), "node", is_alone=True)
    return Targets(led, "orders.dlq", to)


def sifted(where: Targets | None, *, end: int = 100, sieve: Sieve | None = None, gone: Gone | None = None) -> Sifted:
    return Sifted(0, sieve or Sieve(), where, 9, end, gone or Gone(), Tally(), 1 << 62, Bounds())


def test_what_is_named_is_found_and_what_is_not_there_is_missing() -> None:
    pick = named([1, 3, 4, 9])
    pick.within(2, 9)
    positions = [pick.position]
    pick.read(batches((plain(4), Lane.NORMAL)), 4)
    positions.append(pick.position)
    pick.read(b"", 6)
    assert [*positions, pick.position] == [3, 4, None]
    assert pick.consignment.offsets == [3]
    assert sorted(pick.missing) == [1, 4, 9]


def test_a_batch_has_one_lane_and_the_others_stay_for_the_next() -> None:
    read = batches((plain(2), Lane.HIGH), (plain(2), Lane.NORMAL), (plain(2), Lane.HIGH))
    pick = named([0, 1, 2, 3, 4, 5])
    pick.read(read, 6)
    assert pick.consignment.offsets == [0, 1, 4, 5]
    assert pick.missing == []
    header = read_header(pick.consignment.batch(7, 5))
    assert (header.lane, header.producer_id, header.base_sequence, header.record_count) == (Lane.HIGH, 7, 5, 4)


def test_a_batch_keeps_the_codec_that_its_messages_came_in() -> None:
    batch = encode(plain(3, 500), codec=Codec.ZSTD)
    pick = named([0, 2])
    pick.read(batch, 3)
    made = pick.consignment.batch(7, 0)
    assert read_header(made).codec is Codec.ZSTD
    assert len(made) < 700
    assert [record.headers[-1] for record in iterate(made)] == [
        ("goqueue.dlq.offset", b"0"),
        ("goqueue.dlq.offset", b"2"),
    ]


def test_a_batch_is_bounded_by_count_and_bytes_but_takes_one_of_any_size() -> None:
    read = batches((plain(5, 1000), Lane.NORMAL))
    by_count, by_bytes, large = (
        named([0, 1, 2, 3, 4], Bounds(2)),
        named([0, 1, 2, 4], Bounds(9, 3000)),
        named([0], Bounds(9, 5)),
    )
    for pick in (by_count, by_bytes, large):
        pick.read(read, 5)
    assert by_count.consignment.offsets == [0, 1]
    assert by_bytes.consignment.offsets == [0, 1]
    assert large.consignment.offsets == [0]
    assert by_count.position is None
    assert by_count.missing == by_bytes.missing == large.missing == []


def test_letters_go_by_where_they_came_from_and_the_position_stays_before_the_first_that_was_left() -> None:
    entries = [letter("orders", 1), letter("audit", 1), letter("orders", 1), letter("audit", 0)]
    read = batches((entries, Lane.NORMAL))
    gone, pick = Gone(), sifted(targets())
    found: list[tuple[object, list[int], int]] = []
    for _ in range(3):
        pick = Sifted(0, Sieve(), targets(), 9, 4, gone, pick.tally, 1 << 62, Bounds())
        pick.read(read, 4)
        found.append((pick.consignment.kind, pick.consignment.offsets, pick.tally.position))
        for offset in pick.consignment.offsets:
            gone.add(offset, offset + 1)
    assert found == [
        (("orders", 1, 0, 0), [0, 2], 1),
        (("audit", 1, 0, 0), [1], 3),
        (("audit", 0, 0, 0), [3], 4),
    ]
    assert (pick.tally.looked, pick.tally.matched) == (4, 4)


@given(
    st.lists(st.tuples(st.sampled_from(["orders", "audit"]), st.integers(0, 1), st.booleans()), max_size=30),
    st.integers(1, 4),
    st.integers(0, 12),
)
def test_every_letter_that_is_meant_is_taken_once_and_each_is_looked_at_once(
    letters: list[tuple[str, int, bool]], most: int, limit: int
) -> None:
    entries = [letter(topic, number, "expired" if is_meant else "rejected") for topic, number, is_meant in letters]
    read = batches((entries, Lane.LOW)) if letters else b""
    gone, tally, taken = Gone(), Tally(), list[int]()
    room = limit or 1 << 62
    while tally.position < len(letters) and len(taken) < room:
        left = room - len(taken)
        pick = Sifted(0, Sieve(reason="expired"), targets(), 9, len(letters), gone, tally, left, Bounds(most))
        pick.read(read, len(letters))
        tally = pick.tally
        kinds = {letters[offset][:2] for offset in pick.consignment.offsets}
        assert len(kinds) <= 1
        taken += pick.consignment.offsets
        for offset in pick.consignment.offsets:
            gone.add(offset, offset + 1)
    meant = [offset for offset, (_, _, is_meant) in enumerate(letters) if is_meant]
    assert len(taken) == len({*taken}) == min(len(meant), room) == tally.matched
    assert {*taken} <= {*meant}
    if limit == 0:
        assert tally.looked == len(letters)


def test_letters_that_go_nowhere_are_counted_and_named_in_runs() -> None:
    entries = [letter("orders", 0, reason) for reason in ("expired", "expired", "rejected", "expired")]
    gone = Gone()
    gone.add(0, 1)
    pick = sifted(None, end=4, sieve=Sieve(reason="expired"), gone=gone)
    pick.read(batches((entries, Lane.NORMAL)), 4)
    assert pick.passed == [(1, 2), (3, 4)]
    assert (pick.tally.looked, pick.tally.matched, pick.tally.position) == (3, 2, 4)


def test_a_redrive_is_over_where_the_partition_has_lost_its_end() -> None:
    pick = sifted(targets(), end=100)
    pick.within(0, 1)
    pick.read(batches(([letter("orders", 0)], Lane.NORMAL)), 1)
    assert pick.position is None
    assert pick.tally.position == 100


@pytest.mark.parametrize(
    ("source", "to", "said"),
    [
        ("nothing", "", "belongs to topic nothing, which is not there"),
        ("__groups", "", "topic __groups, which is the broker's own"),
        ("orders.dlq", "", "does not say where it came from"),
        ("orders", "nowhere", "belongs to topic nowhere, which is not there"),
    ],
)
def test_a_letter_that_has_nowhere_to_go_says_why(source: str, to: str, said: str) -> None:
    pick = sifted(targets(to))
    pick.read(batches(([letter(source, 0)], Lane.NORMAL)), 1)
    assert said in pick.why
    assert pick.consignment.offsets == []
    assert pick.tally.position == 0


def test_a_letter_goes_to_a_partition_that_its_target_has() -> None:
    entries = [letter("orders", 3)]
    for to, expected in (("", ("orders", 3)), ("audit", ("audit", 1))):
        pick = sifted(targets(to))
        pick.read(batches((entries, Lane.NORMAL)), 1)
        assert pick.consignment.kind is not None
        assert pick.consignment.kind[:2] == expected


def test_a_message_that_was_put_there_by_hand_goes_to_the_topic_that_the_name_says() -> None:
    pick = sifted(targets())
    pick.read(batches((plain(1), Lane.NORMAL)), 1)
    assert pick.consignment.kind == ("orders", 0, 0, 0)
