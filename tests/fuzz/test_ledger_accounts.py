"""What an invariant makes of the entries of a ledger, one after another."""

from goqueue.core.queues.records import Cut, Delivered, Restarted, Settled, packed_runs, packed_triples
from goqueue.fuzz.invariants.ledgers import Account


def test_what_lies_below_a_new_beginning_is_settled() -> None:
    """Retention may take what a member still has, and an acknowledgement of that is right without an entry."""
    account = Account()
    assert account.take(Restarted(1)) == ""
    assert account.take(Delivered(7, "m", 1_000, 3, packed_runs([(1, 3)]), b"", b"", b"")) == ""
    assert (account.floor, account.settled, sorted(account.open)) == (1, set(), [1, 2])
    assert account.take(Restarted(4)) == ""
    assert (account.floor, account.settled, account.open) == (4, set(), {})


def test_a_group_that_is_set_back_has_less_behind_it() -> None:
    account = Account()
    account.take(Restarted(4))
    account.take(Settled(packed_triples([(7, 4, 6)])))
    account.take(Cut(5))
    assert (account.floor, account.settled) == (4, {4})
    account.take(Restarted(2))
    assert (account.floor, account.settled) == (2, set())
