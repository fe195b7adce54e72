"""A storm from its beginning to its verdict.

The brokers start, the topics are made, and the clients begin. Then everything that was drawn happens. When nothing is
wrong any more, all brokers must become ready and all replicas be in sync within a bound; then producers stop, readers
are given time to be given everything, and the logs are read once more as a whole. What clients saw is judged.

A cluster that does not get well, and a broker that ends without being told to, are findings like any other.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import trio
from attrs import define, field

from goqueue.cli.bench.workbench import BenchError
from goqueue.fuzz.chaos.clients.crew import JOBS, KEYED, LOG, READERS, WORKERS, Crew, value_of
from goqueue.fuzz.chaos.clients.officers import officers
from goqueue.fuzz.chaos.clients.producers import publishers
from goqueue.fuzz.chaos.clients.readers import Follower, Member, PlainReader
from goqueue.fuzz.chaos.clients.workers import ATTEMPTS_MAX, CLOCK_ERROR_MS, Worker
from goqueue.fuzz.chaos.stage import Stage, staged
from goqueue.fuzz.chaos.storm import Fault, draw_storm
from goqueue.fuzz.chaos.weather import Weather
from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.operation import GroupTerms, Terms, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.histories.verdict import Finding, Verdict
from goqueue.transports.client.errors import ClientError, NoDeadLetters

_PARTITIONS = {LOG: 4, JOBS: 3}
_FSYNCS = ("every", "interval", "none")
_LETTERS = f"{JOBS}.dlq"
# How long a cluster that nothing befalls may take until all is well, and readers may be given nothing that is missing.
SETTLED_S, DRAINED_S = 90.0, 60.0
_FINAL = "final"


@define
class Plan:
    """What a storm is to be."""

    seed: int
    seconds: float
    nodes: int
    kinds: tuple[str, ...]
    rate: float
    folder: Path
    by_proxies: bool = False

    def faults(self) -> list[Fault]:
        """All that goes wrong."""
        return draw_storm(self.seed, self.seconds, self.nodes, self.kinds)


@define
class Outcome:
    """What came of a storm."""

    plan: Plan
    verdict: Verdict
    network: str = ""
    faults: list[str] = field(factory=list)
    # Where the client library gave up what it should have gone on with; no verdict, but worth a look.
    trouble: list[str] = field(factory=list)


@define(eq=False)
class Storm:
    """One storm under way; `tell` is given a line for what happens, `write` each line of the history."""

    plan: Plan
    tell: Callable[[str], None]
    write: Callable[[str], None]
    stage: Stage = field(init=False)
    crew: Crew = field(init=False)
    weather: Weather = field(init=False)
    recorder: Recorder = field(init=False)
    faults: list[str] = field(factory=list)
    phase: str = field(default="starting", init=False)
    began: float = field(factory=time.monotonic, init=False)

    def __attrs_post_init__(self) -> None:
        plan, origin = self.plan, time.monotonic_ns()
        about = {"made_by": "goqueue chaos", "seed": plan.seed, "seconds": plan.seconds, "nodes": plan.nodes,
                 "faults": [*plan.kinds], "rate": plan.rate}  # fmt: skip
        terms = Terms(about, CLOCK_ERROR_MS)
        terms.groups = {WORKERS: GroupTerms(ATTEMPTS_MAX, False), KEYED: GroupTerms(ATTEMPTS_MAX, True)}
        self.recorder = Recorder(
            terms, lambda: time.monotonic_ns() - origin, lambda: time.time_ns() // 1_000_000, self.write
        )

    def run(self) -> Outcome:
        """All of it; whatever was started has ended when this returns or raises."""
        plan = self.plan
        with staged(plan.folder, plan.nodes, by_proxies=plan.by_proxies) as self.stage:
            self.stage.factor = min(3, plan.nodes)
            self.crew = Crew(self.stage.cluster.addresses, self.recorder, plan.seed, plan.rate)
            self.weather = Weather(self.stage, self._befell)
            with _plainly():
                trio.run(self._live)
        self.phase = "judging"
        self.tell("judging the history")
        verdict = judge(self.recorder.history)
        verdict.findings = [Finding("defect", one) for one in self.stage.defects] + verdict.findings
        return Outcome(plan, verdict, self.stage.network, self.faults, self.crew.trouble)

    def _befell(self, line: str) -> None:
        self.faults.append(f"{self.recorder.clock_ns() / 1e9:.1f} s: {line}")
        self.tell(line)

    def status(self) -> str:
        """How it stands, in one line."""
        operations = len(self.recorder.history.operations)
        line = f"{time.monotonic() - self.began:.0f} s, {self.phase}: {operations:,} operations"
        line += f", {self.recorder.unknown_count} of unknown outcome"
        if self.phase == "starting":
            return line
        wrong = ", ".join(f"{kind} {node}" for node, kind in sorted(self.weather.active.items()))
        return f"{line}; {self.weather.done} faults over{f'; now: {wrong}' if wrong else ''}"

    # --- its course

    async def _live(self) -> None:
        self.tell(f"starting {self.plan.nodes} brokers; cuts are made by {self.stage.network}")
        await trio.to_thread.run_sync(self._found)
        self.phase, ends = "storm", trio.current_time() + self.plan.seconds
        async with trio.open_nursery() as readers:
            for reader in self._readers():
                readers.start_soon(reader.run)
            async with trio.open_nursery() as producers:
                for publisher in publishers(self.crew):
                    producers.start_soon(publisher.run)
                for officer in officers(self.crew):
                    producers.start_soon(officer.run)
                await self.weather.rage(self.plan.faults())
                await trio.sleep_until(ends)
                await self._heal()
                self.crew.stopping.set()
                self.phase = "waiting for answers"
            self.phase = "draining"
            await self._drain()
            self.crew.ending.set()
        self.phase = "reading everything once more"
        await self._read_whole()

    def _found(self) -> None:
        cluster, random, factor = self.stage.cluster, Random(f"{self.plan.seed}/topics"), self.stage.factor
        cluster.start()
        for topic, partitions in _PARTITIONS.items():
            fsync = random.choice(_FSYNCS)
            cluster.create(topic, partitions, factor, fsync=fsync, min_insync_replicas=min(2, factor))
            self.stage.topics.append(topic)
            self.tell(f"made topic {topic}: {partitions} partitions, {factor} replicas, fsync {fsync}")

    def _readers(self) -> list[PlainReader | Member | Worker]:
        crew = self.crew
        members = [Member(crew, f"m{number}") for number in range(3)]
        workers = [Worker(crew, f"w{number}", WORKERS) for number in range(3)]
        keyed = [Worker(crew, f"k{number}", KEYED) for number in range(2)]
        plain = [PlainReader(crew, "r0"), PlainReader(crew, "r1"), PlainReader(crew, "r2", JOBS)]
        return [*plain, *members, *workers, *keyed]

    async def _heal(self) -> None:
        """Nothing is wrong any more: everything has to become well."""
        self.phase = "healing"
        self.tell("the storm is over; waiting until all is in sync")
        try:
            with trio.fail_after(SETTLED_S):
                await trio.to_thread.run_sync(self.stage.settle, abandon_on_cancel=True)
        except (BenchError, trio.TooSlowError) as error:
            self.stage.defects.append(f"the cluster was not well {SETTLED_S:.0f} s after the storm: {error}")
        self.stage.look()

    async def _drain(self) -> None:
        """Let readers be given everything, as long as they are given anything, and note that they should have been."""
        crew = self.crew
        readers = [("r0", LOG), ("r1", LOG), ("r2", JOBS), (READERS, LOG), (WORKERS, JOBS), (KEYED, JOBS)]
        while any(crew.missing(topic, reader) for reader, topic in readers):
            with trio.move_on_after(DRAINED_S) as patience:
                await crew.news.wait()
            if patience.cancelled_caught:
                break
        await self._read_letters()
        for reader, topic in readers:
            group = reader if reader in (READERS, WORKERS, KEYED) else ""
            crew.recorder.note(reader, Verb.DRAINED, topic=topic, group=group)

    async def _read_letters(self) -> None:
        recorder = self.recorder
        operation = recorder.begin(_FINAL, Verb.LETTERS, topic=_LETTERS)
        try:
            async with self.crew.connection(_FINAL) as gq:
                letters = [(value_of(one.value), one.group) async for one in gq.dlq.all(_LETTERS)]
        except NoDeadLetters:
            letters = []
        except ClientError as error:
            self.crew.conclude(operation, error)
            return
        recorder.ok(operation, messages=letters)

    async def _read_whole(self) -> None:
        """Everything that is there, by a reader that has nothing else to do."""
        for topic in self.stage.topics:
            follower, is_read = Follower(self.crew, _FINAL, _FINAL), trio.Event()
            with trio.move_on_after(DRAINED_S):
                await self.crew.persist(_FINAL, is_read, partial(self._read_one, follower, topic, is_read))
            self.recorder.note(_FINAL, Verb.DRAINED, topic=topic, group="")

    async def _read_one(self, follower: Follower, topic: str, is_read: trio.Event) -> None:
        async with self.crew.connection(_FINAL) as gq:
            partitions = await gq.topics.partitions(topic)
            follower.begin([(topic, each.partition) for each in partitions])
            follower.positions = {(topic, each.partition): 0 for each in partitions}
            async with gq.consumer(topic, start="earliest", stop="latest") as consumer:
                async for batch in consumer.batches():
                    follower.take(batch)
        is_read.set()


@contextmanager
def _plainly() -> Iterator[None]:
    """What ends everything is raised by itself, and not in the groups of all that it has ended."""
    try:
        yield
    except BaseExceptionGroup as group:
        for kind in (KeyboardInterrupt, BenchError):
            found = group.subgroup(kind)
            if found is not None:
                raise _first(found) from None
        raise


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
