"""One message of a key at a time: who is first, who waits, and who goes by itself."""

from goqueue.core.queues.chains import Chains


def chained(*offsets: int, key: int = 7) -> Chains:
    """Offsets of one key, in this order."""
    chains = Chains()
    for offset in offsets:
        chains.add(offset, key)
        chains.check()
    return chains


def test_whoever_leaves_frees_the_next_of_its_key() -> None:
    chains = chained(0, 2, 5)
    assert chains.heads() == {0}
    assert chains.leave(0, 1) == [2]
    assert chains.leave(5, 6) == []
    assert chains.leave(2, 3) == []
    assert 7 not in chains


def test_one_that_turns_out_to_be_of_a_key_when_later_ones_are_known_goes_by_itself() -> None:
    chains = chained(0, 2, 1)
    assert chains.all() == [(0, 7), (2, 7)]
    assert chains.key(1) is None
    assert chains.leave(0, 2) == [2]
    chains.check()
