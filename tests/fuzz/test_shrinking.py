"""A world that breaks a promise becomes a smaller one that breaks the same one, and says so in a command."""

import pytest
from click.testing import CliRunner

from goqueue.cli.main import goqueue
from goqueue.core.partition.partition import Partition
from goqueue.fuzz.case import Case, live_through, read_spared, spelled
from goqueue.fuzz.shrinking import Shrinking
from goqueue.fuzz.sim import End, Verdict
from goqueue.fuzz.world import World


def broken_in_life(life: int) -> object:
    """A check that fails in the processes from that one on."""

    def check(world: World, process: object) -> None:
        if getattr(process, "life", 0) >= life:
            raise AssertionError("planted")

    return check


def shrunk(case: Case) -> tuple[Shrinking, Verdict, list[str]]:
    """A case made as small as can be, its verdict before that, and what was said meanwhile."""
    found, said = live_through(case), list[str]()
    shrinking = Shrinking(case, found, said.append)
    shrinking.run()
    return shrinking, found, said


def has_many_strikes(verdict: Verdict) -> bool:
    """Whether a world is broken in which much else struck as well."""
    return verdict.violation is not None and verdict.strikes > 10


def test_of_all_strikes_those_are_left_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "died", lambda _, process, silently: broken_in_life(3)(None, process))  # type: ignore[operator]
    case = next(case for case in (Case(seed, nodes=1) for seed in range(60)) if has_many_strikes(live_through(case)))
    shrinking, found, said = shrunk(case)
    assert said
    left = shrinking.found.strikes - len(shrinking.case.strikes)
    assert left < found.strikes
    assert len(shrinking.found.clients) < len(found.clients)
    again = live_through(shrinking.case)
    assert again.violation == shrinking.found.violation == "AssertionError: planted"


def test_what_a_cluster_does_without_is_left_out() -> None:
    shrinking, found, _ = shrunk(Case(0, plant="lost-with-its-node"))
    assert len(found.calamities) > 2
    assert len(shrinking.found.calamities) == 1
    assert len(shrinking.found.clients) == 2
    assert live_through(shrinking.case).violation == shrinking.found.violation


def test_nothing_is_tried_when_the_time_is_over() -> None:
    case = Case(0, plant="acknowledge-before-sync")
    shrinking = Shrinking(case, live_through(case), lambda _: None, budget_s=0.0, clock=lambda: 5.0)
    shrinking.run()
    assert shrinking.runs <= 1


def test_a_client_that_is_not_there_leaves_the_others_as_they_were() -> None:
    case = Case(3, nodes=1)
    clients = live_through(case).clients
    verdict = live_through(Case(3, nodes=1, without=(clients[-1],)))
    assert verdict.clients == clients[:-1]
    assert verdict.violation is None


def test_a_strike_that_is_spared_does_not_happen() -> None:
    seed = next(seed for seed in range(60) if live_through(Case(seed, nodes=1)).counts.get("crash", 0) > 1)
    strikes = live_through(Case(seed, nodes=1)).strikes
    spared = Case(seed, nodes=1, strikes=tuple(range(1, 20 * strikes)))
    assert "crash" not in live_through(spared).counts


def test_a_world_may_end_before_it_is_healed() -> None:
    whole = live_through(Case(3, nodes=1))
    part = live_through(Case(3, nodes=1), end=End(whole.simulated_ms * 1_000_000 // 4, is_healed=True))
    assert part.violation is None
    assert 0 < part.simulated_ms < whole.simulated_ms
    assert not live_through(Case(3, nodes=1), end=End(1_000_000, is_healed=False)).is_healed


@pytest.mark.parametrize(("calamities", "strikes"), [((), (7,)), ((3, 5), ()), ((1, 2, 3, 9), (4, 5))])
def test_what_is_spared_is_read_as_it_is_written(calamities: tuple[int, ...], strikes: tuple[int, ...]) -> None:
    assert read_spared(spelled(calamities, strikes)) == (calamities, strikes)


def test_spans_are_short() -> None:
    assert spelled((3, 5), (9, 1, 2, 3)) == "3,5,s1-3,s9"
    assert [read_spared(text) for text in ("x", "3,", "s", "4-x")] == [None] * 4


def said_by(*arguments: str) -> str:
    """What the command prints of a world that breaks a promise."""
    result = CliRunner().invoke(goqueue, ["sim", *arguments])
    assert result.exit_code == 1
    return result.output


def test_the_command_that_was_found_runs_the_smaller_world() -> None:
    case = Case(0, plant="acknowledge-before-sync", without=("c0",), spared=(1, 2), seconds=13, strikes=(1,))
    arguments = case.command().removeprefix("goqueue sim ").split()
    verdict = live_through(case)
    assert verdict.violation is not None
    assert f"at step {verdict.steps}: {verdict.violation}" in said_by(*arguments)


def test_a_world_is_told_in_order() -> None:
    told = said_by("explain", "--seed", "0", "--plant", "all-dropped-stay-eligible")
    lines = told.splitlines()
    assert "The promise (Placements): What is agreed on about a partition makes sense" in told
    places = [next(at for at, line in enumerate(lines) if words in line) for words in (
        "node-1 starts.", "is controller in term 1.", "t0/0 is made, on ", "Calamity #", "is killed", "no more.",
        "THE PROMISE BREAKS: Violation: t0/0 takes messages that its ELR may not have",
    )]  # fmt: skip
    assert places == sorted(places)
    times = [float(line.split()[1]) for line in lines[4:] if " s  " in line]
    assert times == sorted(times)


def test_of_a_lease_it_is_told_who_had_it() -> None:
    told = said_by("explain", "--seed", "0", "--plant", "lease-not-fenced")
    assert "It is about group w0, offset " in told
    assert told.count("leases offset ") >= 2


def test_a_world_that_keeps_its_promises_has_nothing_to_tell() -> None:
    result = CliRunner().invoke(goqueue, ["sim", "explain", "--seed", "3", "--nodes", "1"])
    assert result.exit_code == 0
    assert "there is nothing to tell" in result.output


def test_many_worlds_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "check", None)
    result = CliRunner().invoke(goqueue, ["sim", "explain", "--seeds", "3..9"])
    assert result.exit_code == 2
    assert "explain tells of one world" in result.output
