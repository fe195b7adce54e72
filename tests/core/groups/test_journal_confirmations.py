"""The journal of groups where replicas confirm what was written, or do not in time."""

from goqueue.core.groups.journal import Journal, Standing
from goqueue.core.requests.messages import Fetch, Fetched, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from goqueue.core.services.internal_requests import InternalRequests

S = 1_000_000_000
LATE = Refusal(Code.OUTCOME_UNKNOWN, "not confirmed in time", retry_after_ms=100)


def ready() -> tuple[Journal, InternalRequests]:
    """A journal in which there is nothing yet."""
    wishes = InternalRequests(ServiceName.GROUPS)
    journal = Journal(wishes)
    journal.opened()
    [(asked, _)] = wishes.take()
    assert journal.fetched(0, asked.number, Fetched(b"", 0, 0, 0), 0)
    return journal, wishes


def standing(journal: Journal) -> Standing:
    """How far it is."""
    journal.check()
    return journal.standing


def test_what_was_not_confirmed_in_time_is_read_once_it_is() -> None:
    journal, wishes = ready()
    journal.append(0, [(b"group/g", b"late")])
    [(asked, wish)] = wishes.take()
    assert isinstance(wish, PublishBatch)
    journal.published(0, asked.number, LATE)
    assert standing(journal) is Standing.FAILED
    due = journal.deadline()
    assert due is not None
    journal.wake(due)
    [(asked, fetch)] = wishes.take()
    assert isinstance(fetch, Fetch)
    # The batch is written and nobody may read it: what the journal holds is not known.
    assert not journal.fetched(due, asked.number, Fetched(b"", 0, 0, 0), 1)
    assert standing(journal) is Standing.LOADING
    [(asked, fetch)] = wishes.take()
    assert isinstance(fetch, Fetch)
    assert fetch.wait_ns > 0
    assert not journal.fetched(due, asked.number, Fetched(bytes(wish.batch), 1, 1, 0), 1)
    [(asked, _)] = wishes.take()
    assert journal.fetched(due, asked.number, Fetched(b"", 1, 1, 0), 1)
    assert standing(journal) is Standing.READY
    assert journal.take_loaded() == {b"group/g": b"late"}


def test_a_refused_append_is_tried_again_soon_each_time() -> None:
    journal, wishes = ready()
    now = 0
    for _ in range(5):
        journal.append(0, [(b"group/g", b"x")])
        [(asked, _)] = wishes.take()
        journal.published(now, asked.number, Refusal(Code.NOT_ENOUGH_REPLICAS, "too few", retry_after_ms=100))
        due = journal.deadline()
        assert due is not None
        assert due - now <= S
        now = due
        journal.wake(now)
        [(asked, _)] = wishes.take()
        assert journal.fetched(now, asked.number, Fetched(b"", 0, 0, 0), 0)
        assert standing(journal) is Standing.READY
    journal.append(0, [(b"group/g", b"x")])
    [(asked, _)] = wishes.take()
    journal.published(now, asked.number, PublishReply([Published(0, 0)]))
    assert (journal.appended, journal.durable) == (1, 1)
