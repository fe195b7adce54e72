"""Who gets room for answers, and who loses it: the budget alone, without a connection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.buffer_budget import PROVEN_BYTES, WAITING_MAX, BufferBudget, BufferShare, Ticket

KIB = 1 << 10
MIB = 1 << 20
LARGE = 1 << 40


def proven(budget: BufferBudget, bytes_max: int = LARGE) -> BufferShare:
    """A connection whose client has taken something."""
    share = BufferShare(budget, bytes_max)
    share.add(PROVEN_BYTES)
    share.taken(PROVEN_BYTES)
    return share


def asked(share: BufferShare, size: int) -> tuple[Ticket, list[int]]:
    """A connection that waits for room, and a list that grows when it gets some."""
    told: list[int] = []
    ticket = share.ask(size, size, lambda: told.append(1))
    assert ticket is not None
    return ticket, told


def test_an_answer_is_begun_only_while_there_is_room_for_it() -> None:
    budget = BufferBudget(10 * MIB)
    share = proven(budget)
    assert share.take(8 * MIB, MIB) == 8 * MIB
    assert share.take(4 * MIB, MIB) == MIB
    assert share.take(4 * MIB, MIB) == MIB
    assert share.take(4 * MIB, MIB) == 0
    share.give(8 * MIB)
    assert share.take(4 * MIB, MIB) == 4 * MIB


def test_no_connection_has_more_than_its_own_bound() -> None:
    budget = BufferBudget(64 * MIB)
    greedy, modest = proven(budget, 2 * MIB), proven(budget, 2 * MIB)
    assert [greedy.take(MIB, MIB) for _ in range(3)] == [MIB, MIB, 0]
    assert modest.take(MIB, MIB) == MIB


def test_connections_that_have_taken_nothing_share_a_quarter() -> None:
    budget = BufferBudget(16 * MIB)
    newcomers = [BufferShare(budget, LARGE) for _ in range(6)]
    assert [share.take(MIB, MIB) for share in newcomers] == [MIB] * 4 + [0, 0]
    assert proven(budget).take(8 * MIB, MIB) == 8 * MIB


def test_a_client_that_takes_what_it_is_sent_leaves_the_newcomers_room() -> None:
    budget = BufferBudget(16 * MIB)
    first, second = BufferShare(budget, LARGE), BufferShare(budget, LARGE)
    assert first.take(4 * MIB, MIB) == 4 * MIB
    assert second.take(MIB, MIB) == 0
    first.taken(PROVEN_BYTES)
    assert (budget.newcomer_bytes, second.take(MIB, MIB)) == (0, MIB)
    first.doubt()
    assert budget.newcomer_bytes == budget.held_bytes


def test_who_reads_is_served_before_who_has_read_nothing_and_in_order() -> None:
    budget = BufferBudget(4 * MIB)
    holder = proven(budget)
    holder.add(4 * MIB)
    stranger, early, late = BufferShare(budget, LARGE), proven(budget), proven(budget)
    waiting = [asked(share, MIB) for share in (stranger, early, late)]
    served = []
    for _ in range(3):
        holder.give(MIB)
        served.append([bool(told) for _, told in waiting])
    assert served == [[False, True, False], [False, True, True], [True, True, True]]


def test_of_those_who_have_read_nothing_the_last_goes_first() -> None:
    budget = BufferBudget(16 * MIB)
    holder = BufferShare(budget, LARGE)
    holder.add(4 * MIB)
    first, second = (asked(BufferShare(budget, LARGE), MIB) for _ in range(2))
    holder.give(MIB)
    assert (first[1], second[1]) == ([], [1])


def test_one_connection_at_its_bound_holds_up_no_other_that_waits() -> None:
    budget = BufferBudget(4 * MIB)
    holder, full = proven(budget), proven(budget, MIB)
    holder.add(3 * MIB)
    full.add(MIB)
    (_, blocked), (_, free) = asked(full, MIB), asked(proven(budget), MIB)
    holder.give(MIB)
    assert (blocked, free) == ([], [1])


def test_who_waits_no_longer_gives_back_what_it_was_granted_meanwhile() -> None:
    budget = BufferBudget(4 * MIB)
    holder, share = proven(budget), proven(budget)
    holder.add(4 * MIB)
    granted, waiting = asked(share, MIB)[0], asked(share, MIB)[0]
    holder.give(MIB)
    for ticket in (granted, waiting):
        budget.forget(ticket)
    assert (budget.held_bytes, budget.waiting_count, share.held_bytes) == (3 * MIB, 0, 0)


def test_no_more_wait_than_a_bound() -> None:
    budget = BufferBudget(MIB)
    share = proven(budget)
    share.add(MIB)
    tickets = [share.ask(MIB, MIB, lambda: None) for _ in range(WAITING_MAX + 1)]
    assert tickets[-1] is None
    assert budget.waiting_count == WAITING_MAX


def test_a_connection_that_ends_takes_all_that_it_held_and_asked_for_with_it() -> None:
    budget = BufferBudget(4 * MIB)
    share, other = proven(budget), proven(budget)
    share.add(4 * MIB)
    asked(share, MIB)
    _, told = asked(other, MIB)
    share.close()
    share.give(MIB)
    share.add(MIB)
    assert (told, budget.held_bytes, budget.waiting_count) == ([1], MIB, 0)


def test_the_budget_is_pressed_while_somebody_waits_or_too_much_is_held() -> None:
    pressed: list[int] = []
    budget = BufferBudget(MIB, lambda: pressed.append(1))
    share = proven(budget)
    share.add(MIB)
    assert (budget.is_pressed, pressed) == (False, [])
    share.add(1)
    assert (budget.is_pressed, pressed) == (True, [1])
    share.give(2)
    assert not budget.is_pressed
    ticket, _ = asked(share, MIB)
    assert (budget.is_pressed, pressed) == (True, [1, 1])
    budget.forget(ticket)
    assert not budget.is_pressed


def test_a_sweep_asks_those_who_hold_something_and_counts_what_was_cut() -> None:
    budget = BufferBudget(MIB)
    idle, holding = BufferShare(budget, LARGE, lambda: 5), BufferShare(budget, LARGE, lambda: 2)
    holding.add(1)
    budget.sweep()
    assert budget.cut_count == 2
    idle.close()


@given(st.lists(st.tuples(st.sampled_from(["take", "add", "give", "taken", "doubt", "ask", "close"]),
                          st.integers(0, 3), st.integers(1, 40))))  # fmt: skip
def test_what_is_held_is_the_sum_of_the_shares_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    budget = BufferBudget(100 * KIB)
    shares = [BufferShare(budget, 60 * KIB) for _ in range(4)]
    for step, which, size in steps:
        share, octets = shares[which], min(size * KIB, shares[which].held_bytes)
        if step == "take":
            share.take(size * KIB, KIB)
        elif step == "add":
            share.add(size * KIB)
        elif step in ("give", "taken"):
            getattr(share, step)(octets)
        elif step == "doubt":
            share.doubt()
        elif step == "ask":
            share.ask(size * KIB, KIB, lambda: None)
        else:
            share.close()
            shares[which] = BufferShare(budget, 60 * KIB)
        assert budget.held_bytes == sum(one.held_bytes for one in shares)
        assert budget.newcomer_bytes == sum(one.held_bytes for one in shares if not one.is_proven)


@pytest.mark.parametrize("size", [1, 10 * MIB])
def test_even_a_small_budget_lets_one_large_answer_be_made(size: int) -> None:
    share = BufferShare(BufferBudget(KIB), LARGE)
    assert share.take(size, size) > 0
