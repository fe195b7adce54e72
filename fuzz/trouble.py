"""What goes wrong in a world, step by step, as its options allow."""

import errno
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

_JUMPS_MS = (-86_400_000, -5_000, -1, 1, 5_000, 3_700_000, 86_400_000)
_OTHERS = ("open", "create", "truncate", "names", "rename", "remove", "remove_folder", "sync_folder", "make_folder")


class Trouble:
    """Strikes before a step, or does not."""

    def __init__(self, random: Random, world: "World") -> None:
        self._random = random
        self._world = world
        self._full_until = 0

    def strike(self) -> None:
        """Decide what goes wrong at this moment."""
        world, random, options = self._world, self._random, self._world.options
        self._break_disk()
        if random.random() < options.p_clock_jump:
            world.wall_skew_ms += random.choice(_JUMPS_MS)
        if random.random() < options.p_cut_inside:
            world.faults.operations_left = random.randint(0, 60)
        if world.sight.node is None:
            return
        if random.random() < options.p_stop:
            world.survive(lambda _: world.stop(), None)
        elif random.random() < options.p_kill:
            world.die(crash=False)
        elif random.random() < options.p_crash:
            world.die(crash=True)

    def _break_disk(self) -> None:
        world, random, options = self._world, self._random, self._world.options
        disk = world.disk
        for operation, probability in (
            ("sync", options.p_sync_error),
            ("write", options.p_write_error),
            ("read", options.p_read_error),
            (random.choice(_OTHERS), options.p_other_error),
        ):
            if random.random() < probability:
                prefix = random.choice(("", "", "logs/", "logs/t0", "meta/"))
                disk.fail_next(operation, errno.EIO, prefix, random.choice((0, 0, 3)))
        if random.random() < options.p_full:
            disk.conditions.capacity_bytes = disk.used_bytes + random.choice((0, 100, 5_000))
            self._full_until = world.now + random.randint(1_000_000, 60_000_000)
        if disk.conditions.capacity_bytes is not None and world.now >= self._full_until:
            disk.conditions.capacity_bytes = None
