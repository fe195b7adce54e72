"""Who led after whom: moments with known changes in, when each of their steps was out."""

from typing import Any

import pyarrow as pa
import pytest

from goqueue.spark.reports.failovers import CAUSES, section
from goqueue.spark.reports.succession import MOMENTS, succession
from tests.arrow.facts_made import BEGAN

Row = dict[str, Any]

ORDERS = {"topic": "orders", "topic_id": 7, "partition": 0}


def moment(what: str, at: int, **columns: object) -> Row:
    return {"what": what, "begin_us": at, "part": 0, **columns}


def process(node: str, begin: int, end: int, cause: str | None = None) -> Row:
    return moment("process", begin, node=node, run=begin, end_us=end, cause=cause)


def leads(node: str, epoch: int, at: int, run: int = 0) -> Row:
    return moment("leads", at, node=node, run=run, epoch=epoch, **ORDERS)


def placed(leader: str | None, epoch: int, at: int) -> Row:
    return moment("placed", at, peer=leader, epoch=epoch, **ORDERS)


def written(epoch: int, first: int, last: int) -> Row:
    return moment("written", first, end_us=last, epoch=epoch, **ORDERS)


def stands(node: str, cause: str, at: int) -> Row:
    return moment("standing", at, node="c", peer=node, cause=cause)


def changes(*moments: Row) -> list[Row]:
    """The rows that moments give, without what is null and without `_us`."""
    found = succession(pa.Table.from_pylist(list(moments), schema=MOMENTS))
    found.validate(full=True)
    return [
        {name.removesuffix("_us"): value for name, value in row.items() if value is not None}
        for row in found.to_pylist()
    ]


EVERYBODY = [process("a", 0, 900), process("b", 0, 900), process("c", 0, 900)]
BEFORE = [placed("a", 1, 10), leads("a", 1, 12), written(1, 20, 495)]


def test_a_process_that_ends_without_a_word_is_gone_with_its_last_fact() -> None:
    killed = [process("a", 0, 500), *EVERYBODY[1:]]
    after = [stands("a", "dead", 800), placed("b", 2, 801), leads("b", 2, 803), written(2, 810, 899)]
    assert changes(*killed, *BEFORE, *after) == [
        {
            "what": "partition", "topic": "orders", "partition": 0, "epoch": 2, "before": "a", "leader": "b",
            "cause": "killed", "since": 12, "last": 495, "gone": 500, "noticed": 800, "agreed": 801, "led": 803,
            "served": 810,
        }
    ]  # fmt: skip


@pytest.mark.parametrize("cause", ["died", "stopped"])
def test_a_process_that_said_how_it_ends_ended_like_that(cause: str) -> None:
    ended = [process("a", 0, 500, cause), *EVERYBODY[1:]]
    (found,) = changes(*ended, *BEFORE, placed("b", 2, 801), leads("b", 2, 803))
    assert (found["cause"], found["gone"]) == (cause, 500)
    assert "noticed" not in found


def test_who_lives_on_but_was_taken_for_dead_was_cut_off_since_the_first_lost_it_for_good() -> None:
    links = [
        moment("lost", 100, node="b", peer="a"),
        moment("met", 110, node="b", peer="a"),
        moment("lost", 505, node="c", peer="a"),
        moment("lost", 507, node="b", peer="a"),
    ]
    (found,) = changes(*EVERYBODY, *BEFORE, *links, stands("a", "dead", 700), placed("b", 2, 701), leads("b", 2, 702))
    assert (found["cause"], found["gone"], found["noticed"]) == ("cut_off", 505, 700)


def test_who_hands_over_leads_until_that_is_agreed() -> None:
    (moved,) = changes(*EVERYBODY, *BEFORE, placed("b", 2, 600), leads("b", 2, 604))
    assert (moved["cause"], moved["gone"], moved["led"]) == ("moved", 600, 604)
    (drained,) = changes(*EVERYBODY, *BEFORE, stands("a", "draining", 590), placed("b", 2, 600), leads("b", 2, 604))
    assert (drained["cause"], drained["gone"], drained["noticed"]) == ("draining", 600, 590)


def test_a_node_of_which_nothing_was_read_is_known_by_what_the_others_say() -> None:
    others = EVERYBODY[1:]
    (found,) = changes(*others, placed("a", 1, 10), stands("a", "dead", 700), placed("b", 2, 701), leads("b", 2, 702))
    assert (found["before"], found["cause"], found["since"]) == ("a", "dead", 10)
    assert "gone" not in found


def test_a_time_without_any_leader_belongs_to_the_change_that_ends_it() -> None:
    killed = [process("a", 0, 500), *EVERYBODY[1:]]
    (found,) = changes(*killed, *BEFORE, placed(None, 2, 800), placed("b", 3, 850), leads("b", 3, 851))
    assert (found["epoch"], found["noticed"], found["agreed"], found["led"]) == (3, 800, 850, 851)
    (never,) = changes(*killed, *BEFORE, placed(None, 2, 800))
    assert (never["before"], never["epoch"], never["agreed"]) == ("a", 2, 800)
    assert not never.keys() & {"leader", "led"}


def test_a_process_that_goes_on_leading_is_no_change_but_its_successor_is() -> None:
    assert changes(*EVERYBODY, *BEFORE, leads("a", 2, 300)) == []
    restarted = [process("a", 0, 500), process("a", 600, 900), *EVERYBODY[1:]]
    (found,) = changes(*restarted, *BEFORE, leads("a", 2, 610, run=600))
    assert (found["before"], found["leader"], found["cause"], found["gone"]) == ("a", "a", "killed", 500)


def test_what_a_node_applies_again_when_it_begins_is_no_change() -> None:
    again = [placed(leader, epoch, 5) for epoch, leader in enumerate(("a", "b", "a", "b"))]
    assert changes(*EVERYBODY, *again) == []
    (found,) = changes(*EVERYBODY, *again, moment("led", 6, node="b", run=0, epoch=3, **ORDERS), leads("a", 4, 400))
    assert (found["before"], found["leader"], found["epoch"]) == ("b", "a", 4)
    assert "since" not in found


def test_controllers_follow_one_another_by_term() -> None:
    killed = [process("a", 0, 500), *EVERYBODY[1:]]
    terms = [
        moment("elected", 3, node="a", run=0, epoch=1),
        moment("voted", 640, epoch=2),
        moment("elected", 650, node="b", run=0, epoch=2),
        moment("deposed", 700, node="b", run=0, epoch=2),
        moment("elected", 720, node="c", run=0, epoch=5),
    ]
    first, second = changes(*killed, *terms)
    assert first == {
        "what": "controller", "epoch": 2, "before": "a", "leader": "b", "cause": "killed", "since": 3, "gone": 500,
        "noticed": 640, "led": 650,
    }  # fmt: skip
    assert (second["cause"], second["gone"], second["led"]) == ("deposed", 700, 720)


def test_no_moments_are_no_changes() -> None:
    assert changes() == []


def answered(**columns: object) -> pa.Table:
    begin = int(BEGAN.timestamp() * 1_000_000)
    times = {"since": 0, "last": 5, "gone": 6, "noticed": 8, "agreed": 9, "led": 10, "served": 12}
    row = {
        "what": "partition", "topic": "orders", "partition": 3, "epoch": 2, "before": "a", "leader": "b",
        "cause": "killed", **{name: begin + at * 1_000_000 for name, at in times.items()}, "down_ns": 4 * 10**9,
        "still_ns": 7 * 10**9, **columns,
    }  # fmt: skip
    table = pa.Table.from_pylist([row])
    for name in times:
        index = table.schema.get_field_index(name)
        table = table.set_column(index, name, table.column(index).cast(pa.timestamp("us", tz="UTC")))
    return table


def test_a_section_says_how_often_why_and_for_how_long() -> None:
    found = section(answered())
    assert found.words[0] == "1 time a partition came to be led anew, 1 partition in all."
    assert found.words[1] == (
        "1 time its process ended without a word: nobody led for 4 s in the middle and 4 s "
        "at most, and writes stood still for 7 s in the middle and 7 s at most."
    )
    incident, longest = found.tables
    assert incident.rows == [
        ("12:00:06.000", "a", CAUSES["killed"], 1, "2 s", "3 s", "4 s", "6 s"),
    ]
    assert longest.rows == [("orders/3", 2, "a", "b", CAUSES["killed"], "4 s", "7 s")]
    assert "nobody, after a" in found.pictures[0]


def test_a_section_of_nothing_says_so() -> None:
    assert section(answered().slice(0, 0)).words == ["No other node came to lead anything in what was read."]
