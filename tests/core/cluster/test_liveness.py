"""Who lives, by when it was heard of last."""

from goqueue.core.cluster.liveness import Liveness

SUSPECT, DEAD = 3, 10


def listening(*nodes: str) -> Liveness:
    """Somebody who waits for nodes from the moment 0 on."""
    liveness = Liveness(SUSPECT, DEAD)
    liveness.begin(0, nodes)
    return liveness


def test_who_is_not_heard_of_for_so_long_is_dead_once() -> None:
    liveness = listening("a", "b")
    liveness.heard(5, "b")
    assert liveness.deadline() == 10
    assert liveness.dead(9) == []
    assert liveness.dead(10) == ["a"]
    assert liveness.dead(14) == []
    assert liveness.dead(15) == ["b"]
    liveness.check()


def test_who_is_heard_again_may_die_again() -> None:
    liveness = listening("a")
    assert liveness.dead(10) == ["a"]
    liveness.heard(11, "a")
    assert liveness.dead(20) == []
    assert liveness.dead(21) == ["a"]


def test_who_may_still_be_taken_for_dead_is_looked_at_once_more() -> None:
    liveness = listening("a")
    assert liveness.dead(10) == ["a"]
    liveness.expect("a", 12)
    assert liveness.dead(11) == []
    assert liveness.dead(12) == ["a"]


def test_who_is_overdue_is_suspect() -> None:
    liveness = listening("a")
    assert not liveness.is_suspect(3, "a")
    assert liveness.is_suspect(4, "a")
    assert not liveness.is_suspect(4, "b")
    assert (liveness.silent_ns(4, "a"), liveness.silent_ns(4, "b")) == (4, None)


def test_a_gap_ends_the_time_for_which_a_node_has_lived() -> None:
    liveness = listening("a")
    liveness.heard(3, "a")
    assert liveness.steady_ns(5, "a") == 5
    assert liveness.steady_ns(7, "a") == 0
    liveness.heard(7, "a")
    assert liveness.steady_ns(8, "a") == 1


def test_who_is_forgotten_is_not_waited_for() -> None:
    liveness = listening("a", "b")
    liveness.forget("a")
    assert liveness.nodes() == ["b"]
    assert liveness.dead(50) == ["b"]
    liveness.begin(60, [])
    assert (liveness.nodes(), liveness.deadline()) == ([], None)
    liveness.check()
