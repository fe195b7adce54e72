"""An operator who by mistake empties or removes the folder of one partition while its node is down.

The node does not notice. It leaves every ISR that has another member when it is found dead and when it begins, and
copies what it lacks before it joins again: so nothing is lost where another replica has everything. Where no other has,
the node leads with an empty log, and the others cut theirs. Nobody promises otherwise (`docs/operations.md`), and such
folders are spared: one goes only while the metadata says that its node is dead, and neither in sync nor eligible there.
"""

from random import Random
from typing import TYPE_CHECKING

from goqueue.core.requests.standing import Standing
from goqueue.fuzz.faults import Interruptions
from goqueue.fuzz.insight import agreed_state
from goqueue.storage.simulated import SimulatedDisk

if TYPE_CHECKING:
    from goqueue.fuzz.calamities import Calamity
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_LOOK_NS = 500_000_000
# How long a machine waits at most until a folder of it can go.
_PATIENCE_NS = 10_000_000_000


class Emptying:
    """Takes one machine at a time down, and a folder from it."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random
        self._victim: Process | None = None
        self._until = 0

    def strike(self, calamity: "Calamity", process: "Process") -> None:
        """Take a machine down, to empty one of its folders when that may be."""
        if self._victim is None and process.is_up:
            self._victim, self._until = process, self._world.now + _PATIENCE_NS
            process.die(crash=self._random.random() < 0.3, down_ns=_PATIENCE_NS)
            self._world.later(calamity.lasts_ns, self._look)

    def _look(self, _: object = None) -> None:
        process, world = self._victim, self._world
        assert process is not None
        if process.is_up or process.is_retired or world.is_healed or world.now >= self._until:
            self._victim = None
            return
        folders = self._spare_folders(process)
        if not folders:
            world.later(_LOOK_NS, self._look)
            return
        topic, folder = self._random.choice(folders)
        self._lose(process, topic, folder)
        self._victim = None
        process.down_until = world.now
        world.later(0, process.start)

    def _spare_folders(self, process: "Process") -> list[tuple[str, str]]:
        """The topics and folders of partitions of which a node has a replica that the cluster does not count on."""
        node = self._world.sight.node()
        if node is None:
            return []
        state, name = agreed_state(node), process.node_id
        known = state.nodes.get(name)
        if known is None or known.standing is not Standing.DEAD:
            return []
        placed = [
            (topic, f"logs/{topic}/{number}", place)
            for topic in sorted(state.topics)
            for number, place in sorted(state.topics[topic].placements.items())
        ]
        return [
            (topic, folder)
            for topic, folder, place in placed
            if name in place.replicas and place.eligible and name not in place.eligible
            and process.disk.is_folder(folder)
        ]  # fmt: skip

    def _lose(self, process: "Process", topic: str, folder: str) -> None:
        """Empty a folder, or remove it."""
        world, disk = self._world, process.disk
        # What fails on the machine fails its processes, and no operator.
        faults, disk.faults = disk.faults, Interruptions(Random(0))
        _empty(disk, folder)
        if self._random.random() < 0.5:
            disk.remove_folder(folder)
            disk.sync_folder(folder.rpartition("/")[0])
        disk.faults = faults
        world.note(process, "emptied", folder)
        world.count("folder that was emptied")
        world.void(process, topic)


def _empty(disk: SimulatedDisk, folder: str) -> None:
    for name in disk.names(folder):
        path = f"{folder}/{name}"
        if disk.is_folder(path):
            _empty(disk, path)
            disk.remove_folder(path)
        else:
            disk.remove(path)
    disk.sync_folder(folder)
