"""A process has ended when its side ended the link and its host refuses for a while; nothing less is enough."""

from goqueue.transports.peers.parting import CALLED_AFTER_S, CALLED_OFTEN_S, REFUSALS, REFUSED_FOR_S, Parting

PLACE, HOST = "b:7000", "10.0.0.2"


def parting(*, is_ended_there: bool = True) -> Parting:
    """A link that has ended at second 10."""
    return Parting(PLACE, HOST, 10.0, is_ended_there)


def verdicts(one: Parting, times_s: list[float], place: str = PLACE, *hosts: str) -> list[bool]:
    """What each refusal amounts to."""
    return [one.refused(10.0 + at, place, set(hosts) or {HOST}) for at in times_s]


def test_refusals_over_a_while_after_an_end_at_the_other_side_are_the_end_of_the_process() -> None:
    assert verdicts(parting(), [0.0, 0.1, 0.2, REFUSED_FOR_S]) == [False, False, False, True]


def test_refusals_that_are_over_too_soon_are_not() -> None:
    assert not any(verdicts(parting(), [REFUSED_FOR_S / 100 * at for at in range(99)]))


def test_too_few_refusals_are_not() -> None:
    assert verdicts(parting(), [REFUSED_FOR_S + at for at in range(REFUSALS)]) == [False, False, True]


def test_after_a_link_that_this_side_gave_up_they_are_not() -> None:
    assert not any(verdicts(parting(is_ended_there=False), [0.5 * at for at in range(20)]))


def test_refusals_of_another_place_or_another_host_are_not() -> None:
    times = [0.5 * at for at in range(20)]
    assert not any(verdicts(parting(), times, "c:7000"))
    assert not any(verdicts(parting(), times, PLACE, "10.0.0.9"))
    assert not any(verdicts(parting(), times, PLACE, HOST, "10.0.0.9"))


def test_a_peer_whose_link_has_just_ended_is_called_often() -> None:
    assert parting().pause_s(10.0, 1.0) == CALLED_AFTER_S
    assert parting().pause_s(10.0, 0.01) == 0.01
    assert parting().pause_s(10.0 + CALLED_OFTEN_S, 1.0) == 1.0
