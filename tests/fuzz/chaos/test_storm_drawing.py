"""Storms are drawn from the seed, and contain what they were asked to."""

from goqueue.fuzz.chaos.storm import CUTS, KINDS, draw_storm

ALL = tuple(KINDS)


def test_the_same_seed_draws_the_same_storm() -> None:
    assert draw_storm(7, 120, 3, ALL) == draw_storm(7, 120, 3, ALL)
    assert draw_storm(7, 120, 3, ALL) != draw_storm(8, 120, 3, ALL)


def test_a_storm_has_the_kinds_that_were_asked_for_and_no_others() -> None:
    assert draw_storm(7, 120, 3, ()) == []
    for kind in KINDS:
        assert {fault.kind for fault in draw_storm(7, 120, 3, (kind,))} == {kind}
    assert {fault.kind for fault in draw_storm(7, 1_200, 3, ALL)} == {*ALL}


def test_a_storm_begins_in_calm_and_ends_in_time() -> None:
    faults = draw_storm(3, 300, 3, ALL)
    assert all(2.0 <= fault.at_s < 300 for fault in faults)
    assert [fault.at_s for fault in faults] == sorted(fault.at_s for fault in faults)
    assert all(bool(fault.cut in CUTS) == (fault.kind == "cut") for fault in faults)


def test_a_cluster_grows_once_and_the_newcomer_suffers_like_others() -> None:
    faults = draw_storm(3, 1_200, 3, ALL)
    assert [fault.kind for fault in faults].count("grow") == 1
    at = next(place for place, fault in enumerate(faults) if fault.kind == "grow")
    assert all(sorted(fault.nodes) == [0, 1, 2] for fault in faults[: at + 1])
    assert all(sorted(fault.nodes) == [0, 1, 2, 3] for fault in faults[at + 1 :])
