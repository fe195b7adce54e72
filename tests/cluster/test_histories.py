"""The checkers of what clients saw: each finds what it is for, and none complains of what may be."""

from collections.abc import Callable

import pytest

from goqueue.cli.bench.cluster_history import WHOLE, Acknowledged, History, Seen, violations


def _good() -> History:
    """Two keys in a partition each, three messages of each, all acknowledged and read twice."""
    history = History()
    for partition, key in enumerate(("a", "b")):
        for number in range(3):
            name, seen = (key, number), Seen(partition, 10 + number, (key, number))
            history.sent[name] = number
            history.acknowledged[name] = Acknowledged(partition, 10 + number, number, number + 1)
            for reader in ("reader", WHOLE):
                history.readings.setdefault(reader, []).append(seen)
    return history


def _lose(history: History) -> None:
    history.readings = {reader: messages[:-1] for reader, messages in history.readings.items()}


def _invent(history: History) -> None:
    history.readings[WHOLE].append(Seen(0, 13, ("c", 0)))


def _duplicate(history: History) -> None:
    history.readings[WHOLE].append(Seen(0, 13, ("a", 2)))


def _reorder(history: History) -> None:
    messages = history.readings[WHOLE]
    messages[0].name, messages[1].name = messages[1].name, messages[0].name


def _misplace(history: History) -> None:
    history.acknowledged["b", 1].offset = 17


def _repeat(history: History) -> None:
    history.readings["reader"].append(Seen(1, 11, ("b", 1)))


def _replace(history: History) -> None:
    history.readings["reader"][4] = Seen(1, 11, ("b", 7))


def _take_back(history: History) -> None:
    history.readings["reader"].append(Seen(1, 13, ("b", 3)))


def _pass_over(history: History) -> None:
    del history.readings["reader"][1]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_lose, "lost: number 2 of key b, acknowledged at 12 of partition 1"),
        (_invent, "invented: number 0 of key c at 13 of partition 0"),
        (_duplicate, "duplicated: number 2 of key a at 12 of partition 0, and at 13 of partition 0"),
        (_reorder, "reordered: number 0 of key a at 11 of partition 0, behind number 1"),
        (_misplace, "misplaced: number 1 of key b at 11 of partition 1, acknowledged at 17 of partition 1"),
        (_repeat, "backwards: reader was given number 1 of key b at 11 of partition 1, after 12"),
        (
            _replace,
            "changed: reader was given number 7 of key b at 11 of partition 1, where there is number 1 of key b",
        ),
        (_take_back, "changed: reader was given number 3 of key b at 13 of partition 1, where there is nothing"),
        (_pass_over, "unseen: reader passed over number 1 of key a at 11 of partition 0"),
    ],
)
def test_what_should_not_be_is_found(spoil: Callable[[History], None], said: str) -> None:
    history = _good()
    assert violations(history) == []
    spoil(history)
    assert any(line.startswith(said) for line in violations(history))


def test_what_was_refused_may_be_there_or_not() -> None:
    history = _good()
    for name in (("a", 3), ("b", 3)):
        history.sent[name], history.refused[name] = 9, "timed out"
    history.readings[WHOLE].append(Seen(0, 13, ("a", 3)))
    assert violations(history) == []


def test_of_each_kind_the_first_few_are_shown_and_the_others_counted() -> None:
    history = _good()
    for number in range(3, 30):
        history.sent["a", number] = number
        history.acknowledged["a", number] = Acknowledged(0, 10 + number, number, number + 1)
    found = violations(history)
    assert len(found) == 11
    assert found[-1] == "and 17 more are lost"


def test_a_silence_counts_from_the_beginning_of_the_span_to_its_end() -> None:
    history = History(acknowledged={("a", at): Acknowledged(0, at, at, at) for at in (10, 14, 20)})
    assert history.longest_silence(9, 22, 0) == 6
    assert history.longest_silence(0, 22, 0) == 10
    assert history.longest_silence(9, 40, 0) == 20
    assert history.longest_silence(9, 40, 1) == 31


def test_the_first_after_a_moment_was_sent_after_it() -> None:
    history = History(
        acknowledged={
            ("a", 0): Acknowledged(0, 0, 5, 30),
            ("a", 1): Acknowledged(0, 1, 12, 40),
            ("b", 0): Acknowledged(1, 0, 11, 20),
        }
    )
    assert history.first_after(10) == 20
    assert history.first_after(10, 0) == 40
    assert history.first_after(12) is None
