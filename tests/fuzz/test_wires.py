"""Worlds with transports inside: bytes through simulated sockets, the same for the same seed."""

import os
import signal
import subprocess
import sys
from random import Random

import pytest

from goqueue.core.requests.messages import Fetched, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import ListTopics
from goqueue.fuzz.history import Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import Verdict, run_world
from goqueue.fuzz.wires.comparison import Comparison, meaning_of
from goqueue.fuzz.wires.pipe import Pipe
from goqueue.fuzz.world import World

DIGEST = """
from goqueue.fuzz.sim import run_world
from tests.fuzz.test_wires import calling, writing
print(run_world(3, options=calling()).digest, run_world(3, options=writing()).digest)
"""


def calling() -> Options:
    """Clients that ask one node by gRPC, while links break and the node dies."""
    return Options(
        wire="grpc",
        steps=60,
        p_cut=0.02,
        p_half_open=0.02,
        p_stall=0.02,
        p_kill=0.02,
        p_crash=0.02,
        delay_ns_max=100_000,
    )


def writing() -> Options:
    """Three nodes that write to each other on connections of peers."""
    return Options(
        steps=0, nodes=3, seconds=5, replicas_max=3, patience_ns=1_000_000_000,
        calamities=("kill", "isolate", "refuse"),
        calamity_ns=1_000_000_000, think_ns=100_000_000, wait_ns_max=100_000_000, wire="grpc", peer_bytes=True,
    )  # fmt: skip


def kept(verdict: Verdict) -> Verdict:
    """One whose world has broken no promise."""
    assert verdict.violation is None, verdict.violation
    return verdict


@pytest.mark.parametrize("seed", range(3))
def test_clients_are_served_through_bytes(seed: int) -> None:
    verdict = kept(run_world(seed, options=calling()))
    assert verdict.counts["request over the wire"] > 0


def test_nodes_write_to_each_other_through_bytes() -> None:
    verdict = kept(run_world(1, options=writing()))
    assert verdict.counts["link between nodes"] >= 6
    assert verdict.acknowledged > 0


def test_the_same_seed_gives_the_same_digest_with_other_hashes_and_after_other_worlds() -> None:
    # Many objects were made and are gone here, so that addresses differ from those of a fresh process.
    kept(run_world(2, options=calling()))
    here = f"{run_world(3, options=calling()).digest} {run_world(3, options=writing()).digest}"
    ran = [sys.executable, "-c", DIGEST]
    there = subprocess.run(ran, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


def test_signals_to_the_process_change_nothing_in_a_world(monkeypatch: pytest.MonkeyPatch) -> None:
    # The watchdog's ticks of the processor's clock come at other moments in each run.
    quiet = run_world(3, options=calling()).digest
    step, steps = World.step, iter(range(1 << 60))

    def signalled(world: World, until: int | None = None) -> bool:
        if next(steps) % 7 == 0:
            signal.raise_signal(signal.SIGPROF)
        return step(world, until)

    monkeypatch.setattr(World, "step", signalled)
    assert run_world(3, options=calling()).digest == quiet


def test_a_world_that_ends_early_leaves_no_loop_behind() -> None:
    for _ in range(2):
        world = World(1, calling())
        world.begin()
        for _ in range(50):
            world.step()
        world.close()


# --- the pipe


class Straight:
    """A way that is always open."""

    name = "here>there"

    def delay_ns(self) -> int:
        """A microsecond."""
        return 1_000

    def p_damage(self) -> float:
        """Nothing changes."""
        return 0.0

    def open_at(self) -> int | None:
        """Always."""
        return 0

    def park(self, pipe: Pipe) -> None:
        """It never has to wait."""


def test_bytes_arrive_in_order_in_other_pieces_and_no_more_than_there_is_room_for() -> None:
    world = World(1, Options())
    pipe = Pipe(world, Random("pieces"), Straight(), 100)
    sent, come, sizes = bytes(range(256)) * 4, bytearray(), []
    rest = memoryview(sent)
    while len(come) < len(sent):
        if rest and pipe.room:
            rest = rest[pipe.write([rest[:70], rest[70:90]]) :]
        world.step()
        content = pipe.read(64)
        assert len(content) <= 64
        sizes.append(len(content))
        come += content
    assert come == sent
    assert len(set(sizes)) > 5
    world.close()


def test_a_reset_overtakes_what_is_on_its_way() -> None:
    world = World(1, Options())
    pipe = Pipe(world, Random("reset"), Straight(), 100)
    pipe.write([b"never read"])
    pipe.reset()
    while world.step():
        pass
    assert pipe.has_end
    assert not pipe.read(100)
    world.close()


# --- what arrives


def test_an_answer_that_the_node_gave_to_another_is_missed() -> None:
    first, second = PublishBatch("t", 0, bytearray(b"first")), PublishBatch("t", 0, bytearray(b"second"))
    comparison = Comparison()
    for offset, request in enumerate((first, second)):
        comparison.answered(meaning_of(request), request, PublishReply([Published(0, offset)]))
    comparison.arrived(second, PublishReply([Published(0, 1)]))
    with pytest.raises(Violation, match="was answered"):
        comparison.arrived(first, PublishReply([Published(0, 1)]))


def test_a_refusal_without_asking_the_node_is_one_of_a_broker_that_goes() -> None:
    comparison = Comparison()
    comparison.arrived(ListTopics(), Refusal(Code.SHUTTING_DOWN, "the broker is about to stop"))
    with pytest.raises(Violation):
        comparison.arrived(ListTopics(), Fetched(b"", 0, 0, 0))


def test_who_is_cut_off_is_known_where_letters_go_as_bytes() -> None:
    world = World(1, writing())
    one, two = world.processes[:2]
    links = [(one.node_id, two.node_id)]
    world.post.cut(links)
    assert world.post.is_cut(one, two)
    assert not world.post.is_cut(two, one)
    world.post.mend(links)
    assert not world.post.is_cut(one, two)
    world.close()
