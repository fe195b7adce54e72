"""Where partitions begin and end that other nodes lead."""

from goqueue.core.groups.offset_lookup import OffsetLookup
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from tests.core.far_topics import led_by, move

FAR, OTHER = ("orders", 0), ("orders", 1)
AWAY = Refusal(Code.UNAVAILABLE, "away", retry_after_ms=100)


def reached() -> tuple[OffsetLookup, InternalRequests]:
    """Two partitions led elsewhere, and one that is led here."""
    wishes = InternalRequests(ServiceName.GROUPS)
    return OffsetLookup(led_by(orders=["n2", "n3", "n1"]), wishes), wishes


def sounded(reach: OffsetLookup, wishes: InternalRequests, start: int, end: int) -> None:
    """Find out where a partition begins and ends."""
    assert reach.sound(FAR)
    (first, one), (last, other) = wishes.take()
    assert isinstance(one, FindOffset)
    assert isinstance(other, FindOffset)
    assert one.timestamp < other.timestamp
    assert reach.answered(0, last.number, FoundOffset(end, -1)) is None
    assert reach.answered(0, first.number, FoundOffset(start, 0)) == FAR
    reach.check()


def test_a_partition_is_sounded_once_for_everybody() -> None:
    reach, wishes = reached()
    assert reach.is_far(FAR)
    assert not reach.is_far(("orders", 2))
    assert not reach.is_far(("orders", 3))
    assert not reach.is_far(("nothing", 0))
    assert reach.ends(*FAR) is None
    assert reach.sound(FAR)
    assert reach.sound(FAR)
    assert len(wishes.asked) == 2
    wishes.take()
    reach, wishes = reached()
    sounded(reach, wishes, 3, 9)
    assert reach.ends(*FAR) == reach.about(*FAR) == (3, 9)


def test_another_leader_is_asked_anew() -> None:
    wishes = InternalRequests(ServiceName.GROUPS)
    led = led_by(orders=["n2"])
    reach = OffsetLookup(led, wishes)
    sounded(reach, wishes, 3, 9)
    move(led, "orders", 0, "n2")
    assert reach.ends(*FAR) is None
    sounded(reach, wishes, 3, 8)
    assert reach.ends(*FAR) == (3, 8)
    move(led, "orders", 0, "n1")
    assert reach.ends(*FAR) is None
    reach.topics_changed()
    assert not reach.is_far(FAR)


def test_what_could_not_be_asked_is_left_alone_for_a_while() -> None:
    reach, wishes = reached()
    assert reach.sound(FAR)
    (first, _), (last, _) = wishes.take()
    assert reach.answered(10, first.number, AWAY) == FAR
    assert reach.answered(10, last.number, FoundOffset(9, -1)) is None
    assert reach.is_paused(FAR)
    assert not reach.sound(FAR)
    assert reach.sound(OTHER)
    due = reach.deadline()
    assert due is not None
    assert reach.due(due - 1) == []
    assert reach.due(due) == [FAR]
    assert reach.sound(FAR)
    reach.check()


def test_a_scout_waits_at_the_known_end_and_brings_the_next() -> None:
    reach, wishes = reached()
    reach.watch(FAR)
    assert wishes.take() == []
    sounded(reach, wishes, 0, 5)
    reach.watch(FAR)
    reach.watch(FAR)
    [(asked, wish)] = wishes.take()
    assert isinstance(wish, Fetch)
    assert (wish.offset, wish.wait_ns > 0) == (5, True)
    assert reach.answered(0, asked.number, Fetched(b"some", 7, 8, 1)) == FAR
    assert reach.ends(*FAR) == (1, 8)
    assert reach.answered(0, asked.number, Fetched(b"", 7, 9, 1)) is None
    reach.check()


def test_a_scout_that_is_refused_makes_the_end_unknown() -> None:
    for refusal, is_paused in ((AWAY, True), (Refusal(Code.OFFSET_OUT_OF_RANGE, "beyond"), False)):
        reach, wishes = reached()
        sounded(reach, wishes, 0, 5)
        reach.watch(FAR)
        [(asked, _)] = wishes.take()
        assert reach.answered(0, asked.number, refusal) == FAR
        assert reach.ends(*FAR) is None
        assert reach.is_paused(FAR) is is_paused
