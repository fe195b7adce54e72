"""Groups after the trouble: their members behave, and each group has to come to rest; then they fall silent, and go."""

from collections import Counter
from collections.abc import Callable

from goqueue.core.requests.groups import FetchOffsets, ListGroups, WatchGroup
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.checkers.forgetting import Forgetting
from goqueue.fuzz.checkers.rebalances import Rebalances
from goqueue.fuzz.workloads.member import GroupClient
from goqueue.fuzz.world import World

_LOOK_FIRST_NS, _LOOK_MOST_NS = 300_000_000, 3_000_000_000
# No watch lasts longer.
_WATCHED_NS = 20_000_000_000
# A member that is gone is given up after its session, and one that lets go of nothing after a minute.
_SETTLED_NS = 300_000_000_000
# Leaders come back to first replicas up to 45 s after the last node, and then another is coordinator.
_RETURNED_NS = 45_000_000_000
# The session of a visitor, and time to look.
_VISIT_NS = 5_000_000_000


class Settling:
    """Brings the groups of a world to rest; `ask` asks the node."""

    def __init__(self, world: World, ask: Callable[[Request], Reply]) -> None:
        self._world = world
        self._ask = ask
        self._members = [client for client in world.clients if isinstance(client, GroupClient)]
        self._rebalances = next(one for one in world.checkers if isinstance(one, Rebalances))

    def run(self) -> None:
        """Wait until all is read; whoever is a member then asks no more."""
        if not self._members:
            return
        world = self._world
        for member in self._members:
            member.calm()
        counts = dict(sorted(Counter(member.group for member in self._members).items()))
        until = world.now + _SETTLED_NS
        unrest, pause_ns = "nothing was asked", _LOOK_FIRST_NS
        while unrest and world.now < until:
            pause, pause_ns = world.now + pause_ns, min(pause_ns * 3 // 2, _LOOK_MOST_NS)
            while world.step(pause):
                pass
            self._ask(ListGroups())
            for group in counts:
                self._ask(FetchOffsets(group))
            unrest = self._rebalances.unrest(counts)
        self._rebalances.refuse(unrest)
        for member in self._members:
            member.goes_on = False
        until = world.now + _WATCHED_NS
        while any(isinstance(one.request, WatchGroup) for one in world.history.open.values()) and world.step(until):
            pass

    def see_end(self) -> None:
        """The sessions are over, save where the world had no patience for that.

        A coordinator that takes over gives every member a whole session.
        """
        world = self._world
        if not self._members or world.history.rotten:
            return
        again_ns = _RETURNED_NS + world.options.session_ms_max * 1_000_000 if world.sight.is_cluster else 0
        until = world.now + again_ns
        self._ask(ListGroups())
        while self._rebalances.are_any_left() and world.now < until:
            pause = world.now + _LOOK_MOST_NS
            while world.step(pause):
                pass
            self._ask(ListGroups())
        self._rebalances.see_empty()

    def see_forgotten(self) -> None:
        """Groups that nobody uses any more are forgotten in their time, where clocks tell the time."""
        world, options = self._world, self._world.options
        are_true = not (options.skew_ms_max or options.drift_ppm_max or options.p_clock_jump)
        if not options.visitors or not are_true or "clock" in options.calamities or world.history.rotten:
            return
        checker = next(one for one in world.checkers if isinstance(one, Forgetting))
        # Sessions of members that are gone begin anew with each coordinator.
        again_ns = _RETURNED_NS + _VISIT_NS if world.sight.is_cluster else _VISIT_NS
        until = world.now + options.visit_ms * 1_000_000 + again_ns
        self._ask(ListGroups())
        while checker.left and world.now < until:
            pause = world.now + _LOOK_FIRST_NS
            while world.step(pause):
                pass
            self._ask(ListGroups())
        checker.see_gone()
