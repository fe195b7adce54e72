"""What goes wrong in a world by chance, step by step, as its options allow.

What chance has hit is numbered, so that single strikes can be left out: that is how a smaller world is found which
breaks the same promise (`shrinking.py`). A strike that is left out was drawn all the same, and has its number.
"""

import errno
from random import Random
from typing import TYPE_CHECKING

from goqueue.core.log.checkpoint import decode_checkpoint
from goqueue.core.log.segment import Segment
from goqueue.fuzz.aiming import drawn_death
from goqueue.fuzz.faults import OTHER_OPERATIONS
from goqueue.storage.layout import CHECKPOINT_FILE, INDEX_ENDINGS, LOG_ENDING
from goqueue.storage.node_disk import Compaction

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_JUMPS_MS = (-86_400_000, -5_000, -1, 1, 5_000, 3_700_000, 86_400_000)
# A broker forgets a producer that was idle for a day; who was forgotten may not send again.
_SHORT_JUMPS_MS = (-5_000, -1, 1, 5_000, 3_700_000)
_PAUSES_NS = (50_000_000, 1_000_000_000, 16_000_000_000)
_P_ROT_BEFORE = 0.5
_ENDINGS = (LOG_ENDING, LOG_ENDING, *INDEX_ENDINGS.values())


class Trouble:
    """Strikes before a step, or does not."""

    def __init__(self, random: Random, world: "World") -> None:
        self._random = random
        self._world = world
        self._full_until = 0
        # How many strikes there were, those among them that were left out.
        self.strikes = 0
        options = world.options
        self._spared = frozenset(options.spared_strikes)
        disk_rates = (options.p_sync_error, options.p_write_error, options.p_read_error, options.p_other_error)
        self._breaks_disk = any(disk_rates) or options.p_full > 0.0
        self._breaks_links = any((options.p_cut, options.p_hang_up, options.p_half_open, options.p_stall))

    def strikes_home(self) -> bool:
        """Whether what chance has hit upon happens, or is one of those that are left out."""
        self.strikes += 1
        return self.strikes not in self._spared

    def strike(self, process: "Process") -> None:
        """Decide what goes wrong at this moment, with this process above all."""
        world, random, options = self._world, self._random, self._world.options
        if self._breaks_disk:
            self._break_disk(process)
        if self._breaks_links:
            world.network.trouble()
        if random.random() < options.p_clock_jump:
            numbers = options.sequenced or options.library or options.publishers
            jump_ms = random.choice(_SHORT_JUMPS_MS if numbers else _JUMPS_MS)
            if self.strikes_home():
                world.count("clock jump")
                process.wall_skew_ms += jump_ms
        if random.random() < options.p_pause:
            pause_ns = random.choice(_PAUSES_NS)
            if self.strikes_home():
                world.count("pause")
                world.now += pause_ns
        if random.random() < options.p_rot:
            self._rot(process)
        if random.random() < options.p_cut_inside:
            operations = random.randint(0, 60)
            if self.strikes_home():
                process.faults.operations_left = operations
        if options.p_aimed and random.random() < options.p_aimed:
            death = drawn_death(random)
            if self.strikes_home():
                world.aiming.arm(death, process)
        if process.is_up:
            self._end(process)

    def _end(self, process: "Process") -> None:
        """End the process, or let it be."""
        random, options = self._random, self._world.options
        if random.random() < options.p_stop:
            if self.strikes_home():
                process.survive(lambda _: process.stop(), None)
        elif random.random() < options.p_kill:
            if self.strikes_home():
                process.die(crash=False)
        elif random.random() < options.p_crash and self.strikes_home():
            process.die(crash=True)

    def _break_disk(self, process: "Process") -> None:
        world, random, options = self._world, self._random, self._world.options
        disk = process.disk
        for operation, probability in (
            ("sync", options.p_sync_error),
            ("write", options.p_write_error),
            ("read", options.p_read_error),
            (random.choice(OTHER_OPERATIONS), options.p_other_error),
        ):
            if random.random() < probability:
                prefix = random.choice(("", "", "logs/", "logs/t0", "meta/"))
                after = random.choice((0, 0, 3))
                if self.strikes_home():
                    disk.fail_next(operation, errno.EIO, prefix, after)
        if random.random() < options.p_full:
            room, lasts_ns = random.choice((0, 100, 5_000)), random.randint(1_000_000, 60_000_000)
            if self.strikes_home():
                world.count("disk full")
                disk.conditions.capacity_bytes = disk.used_bytes + room
                self._full_until = world.now + lasts_ns
        if disk.conditions.capacity_bytes is not None and world.now >= self._full_until:
            disk.conditions.capacity_bytes = None

    def before_work(self, process: "Process", work: object) -> None:
        """Let a bit rot in what is about to be compacted, which must not be taken for sound and be sealed anew."""
        if self._world.options.p_rot and isinstance(work, Compaction) and self._random.random() < _P_ROT_BEFORE:
            self._rot(process, work.stream)

    def _rot(self, process: "Process", stream: str = "") -> None:
        """Flip a bit of a segment that its durable checkpoint vouches for: of its batches, which are lost, or an index.

        What no checkpoint names yet may be torn as well as rotten, once a crash has taken the synced mark, and nothing
        tells these apart.
        """
        world, random = self._world, self._random
        cold = [
            (topic_id, partition, segment)
            for topic_id, partition in world.sight.partitions()
            for segment in self._checkpointed(process, partition.log.stream)
            if stream in ("", partition.log.stream)
        ]
        if not cold:
            return
        topic_id, partition, segment = random.choice(cold)
        path = f"{partition.log.stream}/{segment.name}{LOG_ENDING if stream else random.choice(_ENDINGS)}"
        durable = self._durable(process, path)
        if durable:
            position, bit = random.randrange(len(durable)), random.randrange(8)
            if not self.strikes_home():
                return
            if path.endswith(LOG_ENDING):
                world.history.rotten.add((topic_id, partition.number))
            world.count("bit rot")
            process.disk.rot(path, position, bit)

    def _checkpointed(self, process: "Process", stream: str) -> list[Segment]:
        """The sealed segments that a crash at this moment would leave vouched for."""
        content = self._durable(process, f"{stream}/{CHECKPOINT_FILE}")
        return decode_checkpoint(content).segments[:-1] if content else []

    def _durable(self, process: "Process", path: str) -> bytes:
        """What a crash would leave of a file; nothing where there would be none, or where its name leads elsewhere."""
        try:
            return process.disk.durable_bytes(path) if path in process.disk.paths() else b""
        except OSError:
            return b""
