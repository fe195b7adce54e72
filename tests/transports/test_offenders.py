"""Who flooded lately is remembered for a minute, and no more addresses than the bound are."""

from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.offenders import OFFENDERS_MAX, REMEMBERED_NS, Offenders


def test_an_offender_is_remembered_for_a_minute_from_the_last_offence() -> None:
    offenders = Offenders()
    offenders.note(0, "192.0.2.1")
    offenders.note(10 * SECOND_NS, "192.0.2.1")
    assert offenders.has(9 * SECOND_NS + REMEMBERED_NS, "192.0.2.1")
    assert not offenders.has(9 * SECOND_NS, "192.0.2.2")
    assert not offenders.has(10 * SECOND_NS + REMEMBERED_NS, "192.0.2.1")
    assert len(offenders) == 0


def test_beyond_the_bound_the_oldest_offender_is_forgotten() -> None:
    offenders = Offenders()
    for number in range(OFFENDERS_MAX):
        offenders.note(number, f"host-{number}")
    offenders.note(OFFENDERS_MAX, "host-0")
    offenders.note(OFFENDERS_MAX, "one-more")
    assert len(offenders) == OFFENDERS_MAX
    assert offenders.has(OFFENDERS_MAX, "host-0")
    assert not offenders.has(OFFENDERS_MAX, "host-1")


def test_a_suspect_begins_with_less_of_each_allowance_and_earns_as_much() -> None:
    limits, less = Limits(), Limits().suspicious()
    for kind in ("resets", "demands", "overhead"):
        assert 0 < getattr(less, f"{kind}_burst") < getattr(limits, f"{kind}_burst") / 10
        assert getattr(less, f"{kind}_per_second") == getattr(limits, f"{kind}_per_second")
    assert less.streams_max == limits.streams_max
