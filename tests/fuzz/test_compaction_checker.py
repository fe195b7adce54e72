"""What the checker of compaction makes of a key that is gone to the end."""

from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.checkers.compaction import Compaction
from goqueue.fuzz.history import History, Message, Violation

PLACE = (1, 0)


def message(name: bytes, value: bytes | None) -> Message:
    """A message of one key that was sent once."""
    return Message(name, "p", 1, 0, b"key", value, topic_ids=[1], sends=1)


def may_go(tombstone: Message) -> bool:
    """Whether a promised message may be gone, where there was this tombstone."""
    history = History()
    value = message(b"p:1", b"value")
    history.acknowledged(value, PLACE, 7, is_strong=True)
    for one in (value, tombstone):
        history.messages[one.name] = one
    try:
        Compaction(Sight(history))._check_last(PLACE, {}, 0)
    except Violation:
        return False
    return True


def lost(offset: int, place: tuple[int, int] = PLACE) -> Message:
    """A tombstone that was acknowledged there and is promised no more."""
    history, gone = History(), message(b"p:2", None)
    history.acknowledged(gone, place, offset, is_strong=False, holders=frozenset("a"))
    history.power_lost("a")
    assert gone.place is None
    return gone


def test_a_tombstone_that_is_promised_no_more_takes_what_lies_before_it() -> None:
    assert may_go(lost(8))
    assert not may_go(lost(6))
    assert not may_go(lost(8, (1, 1)))


def test_a_tombstone_without_an_answer_may_be_there_and_one_that_was_refused_is_not() -> None:
    assert may_go(message(b"p:2", None))
    refused = message(b"p:2", None)
    refused.undone = 1
    assert not may_go(refused)


def test_a_later_value_is_no_reason_that_the_key_is_gone() -> None:
    assert not may_go(message(b"p:2", b"other"))
