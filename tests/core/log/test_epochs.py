"""Which leader wrote what, against a list that says it of every offset; and how a follower finds where to cut."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from goqueue.core.log.epochs import EpochCache


def cache_of(*entries: tuple[int, int]) -> EpochCache:
    return EpochCache(list(entries))


class EpochsMachine(RuleBasedStateMachine):
    """The cache next to a list with the epoch of every offset from `start` on."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = EpochCache()
        self.start = 0
        self.writers: list[int] = []
        # What is known of the epoch when no offset is left to tell.
        self.last = -1

    @property
    def end(self) -> int:
        return self.start + len(self.writers)

    @rule(step=st.integers(0, 3), count=st.integers(1, 4))
    def write(self, step: int, count: int) -> None:
        epoch = max(self.last, 0) + step
        assert self.cache.assign(epoch, self.end) is (epoch > self.last)
        self.writers += [epoch] * count
        self.last = epoch

    @rule(back=st.integers(1, 3))
    def an_older_leader_is_not_heard(self, back: int) -> None:
        before = self.cache.entries()
        assert self.cache.assign(self.last - back, self.end) is False
        assert self.cache.entries() == before

    @rule(part=st.floats(0, 1))
    def cut_from(self, part: float) -> None:
        offset = self.start + int(part * len(self.writers))
        self.cache.cut_from(offset)
        if offset < self.end or not self.writers:
            self.writers = self.writers[: offset - self.start]
            self.last = self.writers[-1] if self.writers else -1

    @rule(part=st.floats(0, 1))
    def cut_before(self, part: float) -> None:
        offset = self.start + int(part * len(self.writers))
        self.cache.cut_before(offset)
        self.writers = self.writers[offset - self.start :]
        self.start = offset

    @invariant()
    def it_says_what_the_list_says(self) -> None:
        self.cache.check()
        assert self.cache.latest == self.last
        known = sorted(set(self.writers)) or ([self.last] if self.last >= 0 else [])
        assert [epoch for epoch, _ in self.cache.entries()] == known
        for offset, epoch in enumerate(self.writers, self.start):
            assert self.cache.epoch_at(offset) == epoch
        for asked in range(-1, self.last + 3):
            found = self.cache.end_offset(asked, self.end)
            below = [epoch for epoch in known if epoch <= asked]
            if not below:
                assert found is None
                continue
            after = [offset for offset, epoch in enumerate(self.writers, self.start) if epoch > below[-1]]
            assert found == (below[-1], after[0] if after else self.end)


TestEpochs = EpochsMachine.TestCase
TestEpochs.settings = settings(max_examples=40, stateful_step_count=25)


def test_nothing_is_known_of_an_empty_log() -> None:
    cache = EpochCache()
    assert (cache.latest, cache.entries(), cache.epoch_at(0), cache.end_offset(5, 0)) == (-1, [], -1, None)


def test_an_epoch_ends_where_the_next_one_begins_and_the_last_at_the_end_of_the_log() -> None:
    cache = cache_of((1, 0), (4, 10), (6, 25))
    assert cache.end_offset(1, 40) == (1, 10)
    assert cache.end_offset(4, 40) == (4, 25)
    assert cache.end_offset(6, 40) == (6, 40)


def test_for_an_epoch_in_which_nothing_was_written_the_one_before_it_answers() -> None:
    cache = cache_of((1, 0), (4, 10), (6, 25))
    assert cache.end_offset(3, 40) == (1, 10)
    assert cache.end_offset(9, 40) == (6, 40)


def test_for_an_epoch_older_than_all_that_is_left_nobody_answers() -> None:
    cache = cache_of((4, 10), (6, 25))
    assert cache.end_offset(3, 40) is None
    assert cache.epoch_at(9) == -1


def test_a_follower_cuts_what_a_leader_that_nobody_followed_had_written() -> None:
    """KIP-101, scenario 2: after two failures at once the same offset holds different batches on two nodes.

    1. A leads epoch 0 and writes offsets 0 and 1; B has 0 only. Both lose power.
    2. B comes back, leads epoch 1 and writes its own offset 1, and 2.
    3. A comes back as B's follower. Its log is not longer than B's, so an offset alone would not make it cut.
    """
    ours, theirs = cache_of((0, 0)), cache_of((0, 0), (1, 1))
    answer = theirs.end_offset(ours.latest, 3)
    assert answer == (0, 1)
    ours.cut_from(answer[1])
    assert ours.entries() == [(0, 0)]
    assert ours.assign(1, 1) is True
    assert ours.entries() == theirs.entries()


def test_a_follower_whose_epoch_the_leader_never_saw_asks_once_more() -> None:
    """Ours wrote epochs 2 and 3, which the leader has never heard of: the answer names 1, and 1 is asked for next."""
    ours, theirs = cache_of((1, 0), (2, 10), (3, 20)), cache_of((1, 0), (5, 15))
    assert theirs.end_offset(ours.latest, 40) == (1, 15)
    assert ours.end_offset(1, 30) == (1, 10), "ours ends earlier, so it is ours that decides"


def test_a_leader_that_wrote_nothing_leaves_no_trace() -> None:
    cache = cache_of((1, 0), (2, 10))
    assert cache.assign(3, 10) is True
    assert cache.entries() == [(1, 0), (3, 10)]


def test_an_epoch_is_never_assigned_twice_and_none_below_zero() -> None:
    cache = cache_of((1, 0))
    assert cache.assign(1, 10) is False
    assert cache.assign(0, 10) is False
    assert EpochCache().assign(-1, 0) is False
    assert cache.entries() == [(1, 0)]


def test_cutting_before_keeps_the_epoch_that_is_in_force_there() -> None:
    cache = cache_of((1, 0), (4, 10), (6, 25))
    cache.cut_before(12)
    assert cache.entries() == [(4, 12), (6, 25)]
    cache.cut_before(25)
    assert cache.entries() == [(6, 25)]
    cache.cut_before(99)
    assert cache.entries() == [(6, 99)]


def test_cutting_before_everything_changes_nothing() -> None:
    cache = cache_of((4, 10), (6, 25))
    cache.cut_before(5)
    assert cache.entries() == [(4, 10), (6, 25)]


def test_cutting_from_an_offset_forgets_the_epochs_that_began_there_or_later() -> None:
    cache = cache_of((1, 0), (4, 10), (6, 25))
    cache.cut_from(26)
    assert cache.entries() == [(1, 0), (4, 10), (6, 25)]
    cache.cut_from(25)
    assert cache.entries() == [(1, 0), (4, 10)]
    cache.cut_from(0)
    assert cache.entries() == []
