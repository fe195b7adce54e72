"""Has a storm happen: each fault in its time, at a node that nothing else has befallen, and over again when it is over.

What needs the whole cluster waits until nothing else is wrong and all is in sync, and nothing begins beside it. Faults
that come due meanwhile come a little later. A fault that could not be brought about is noted and is no verdict on
anything; a cluster that does not get well in time is.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import trio
from attrs import define, field

from goqueue.cli.bench.local_cluster import LocalBroker
from goqueue.cli.bench.workbench import BenchError
from goqueue.fuzz.chaos.stage import Stage
from goqueue.fuzz.chaos.storm import ALONE, Fault

_LOOK_S = 0.1
_PAUSED_S, _RUNNING_S = 0.2, 0.15

Tell = Callable[[str], None]


@define(eq=False)
class Weather:
    """See the module; `tell` is given a line for each fault."""

    stage: Stage
    tell: Tell
    # What is wrong, by the node that it has befallen.
    active: dict[str, str] = field(factory=dict)
    done: int = 0
    _cuts: Counter[tuple[int, int]] = field(factory=Counter)
    _calmed: trio.Event = field(factory=trio.Event)

    async def rage(self, faults: list[Fault]) -> None:
        """Have all of it happen; returns when nothing is wrong any more."""
        begun = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            async with trio.open_nursery() as faulty:
                for fault in faults:
                    await trio.sleep_until(begun + fault.at_s)
                    if fault.kind in ALONE:
                        if await self._is_well(fault):
                            await self._strike(fault, await self._victim(fault))
                    else:
                        victim = await self._victim(fault)
                        self.active[victim.node_id] = fault.kind
                        faulty.start_soon(self._strike, fault, victim)
            nursery.cancel_scope.cancel()

    async def _watch(self) -> None:
        while True:
            self.stage.look()
            await trio.sleep(_LOOK_S)

    async def _victim(self, fault: Fault) -> LocalBroker:
        """The first of the nodes that were drawn that nothing has befallen."""
        while True:
            brokers = self.stage.brokers
            for number in fault.nodes:
                if number < len(brokers) and brokers[number].node_id not in self.active:
                    return brokers[number]
            await self._calmed.wait()

    async def _is_well(self, fault: Fault) -> bool:
        """Wait until nothing is wrong and all is in sync; a cluster of which that does not come true is at fault."""
        while self.active:
            await self._calmed.wait()
        try:
            await _wait(self.stage.settle)
        except BenchError as error:
            self.stage.defects.append(f"the cluster did not get well for a {fault.kind}: {error}")
            return False
        return True

    async def _strike(self, fault: Fault, victim: LocalBroker) -> None:
        name = victim.node_id
        self.active[name] = fault.kind
        self.tell(f"{fault.kind}{f' ({fault.cut})' if fault.cut else ''} {name} for {fault.lasts_s:.1f} s")
        try:
            await getattr(self, f"_{fault.kind}")(fault, victim)
        except BenchError as error:
            self.stage.defects.append(f"{fault.kind} of {name}: {error}")
            self.stage.start(victim)
        finally:
            del self.active[name]
            self.done += 1
            self._calmed.set()
            self._calmed = trio.Event()

    # --- kinds

    async def _kill(self, fault: Fault, victim: LocalBroker) -> None:
        await trio.to_thread.run_sync(self.stage.kill, victim)
        await trio.sleep(fault.lasts_s)
        self.stage.start(victim)

    async def _term(self, fault: Fault, victim: LocalBroker) -> None:
        await trio.to_thread.run_sync(self.stage.term, victim)
        await trio.sleep(fault.lasts_s)
        self.stage.start(victim)

    async def _stop(self, fault: Fault, victim: LocalBroker) -> None:
        victim.pause()
        try:
            await trio.sleep(fault.lasts_s)
        finally:
            victim.resume()

    async def _pause(self, fault: Fault, victim: LocalBroker) -> None:
        until = trio.current_time() + fault.lasts_s
        while trio.current_time() < until:
            victim.pause()
            try:
                await trio.sleep(_PAUSED_S)
            finally:
                victim.resume()
            await trio.sleep(_RUNNING_S)

    async def _cut(self, fault: Fault, victim: LocalBroker) -> None:
        net, place = self.stage.net, self.stage.brokers.index(victim)
        others = [number for number in range(len(self.stage.brokers)) if number != place]
        if fault.cut == "isolated":
            net.isolate(place)
            try:
                await trio.sleep(fault.lasts_s)
            finally:
                net.rejoin(place)
            return
        pairs = [(other, place) for other in others]
        if fault.cut == "rift":
            pairs = [(others[0], place), (place, others[0])]
        for pair in pairs:
            self._cut_once(pair)
        try:
            await trio.sleep(fault.lasts_s)
        finally:
            for pair in pairs:
                self._mend_once(pair)

    def _cut_once(self, pair: tuple[int, int]) -> None:
        """Two faults may cut the same direction: it is cut by the first, and mended with the last."""
        self._cuts[pair] += 1
        if self._cuts[pair] == 1:
            self.stage.net.cut(*pair)

    def _mend_once(self, pair: tuple[int, int]) -> None:
        self._cuts[pair] -= 1
        if self._cuts[pair] == 0:
            self.stage.net.mend(*pair)

    async def _wipe(self, fault: Fault, victim: LocalBroker) -> None:
        await trio.to_thread.run_sync(self.stage.empty, victim)
        await trio.sleep(fault.lasts_s)
        self.stage.start(victim)
        await _wait(partial(self.stage.readmit, victim))
        await _wait(self.stage.settle)

    async def _grow(self, _fault: Fault, _victim: LocalBroker) -> None:
        newcomer = self.stage.begin_another()
        await _wait(partial(self.stage.give_replicas, newcomer))
        await _wait(self.stage.settle)


async def _wait(until: Callable[[], object]) -> None:
    """Wait in a thread for something that starts and ends nothing, and that is left alone when everything ends."""
    await trio.to_thread.run_sync(until, abandon_on_cancel=True)
