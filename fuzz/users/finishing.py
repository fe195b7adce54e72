"""Programs after the trouble: publishers are told of all that they sent, readers read all there is, and all leave.

Each of these has a bound: nothing fails any more, so nobody waits for longer than the library's own time-outs say.
"""

from collections.abc import Callable

from goqueue.core.requests.groups import FetchOffsets, GroupOffset
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.history import Violation
from goqueue.fuzz.users.laborer import Laborer
from goqueue.fuzz.users.program import Program
from goqueue.fuzz.users.publisher import Publisher
from goqueue.fuzz.users.reader import GROUP, Reader
from goqueue.fuzz.world import World

_S = 1_000_000_000
_LOOK_NS = _S // 2
# Members that are gone are given up after their sessions, leaders come back to first replicas.
_READ_NS = 120 * _S
_OVER_NS = 60 * _S
# How long publishers go on.
_CALM_NS = 2 * _S


class Finishing:
    """Brings the programs of a world to their ends; `ask` asks the node."""

    def __init__(self, world: World, ask: Callable[[Request], Reply]) -> None:
        self._world = world
        self._ask = ask

    def run(self) -> None:
        """Let publishers and readers come to their ends."""
        for user in self._world.users:
            user.calm()
        until = self._world.now + _CALM_NS
        while self._world.users and self._world.now < until:
            self._wait()
        self._finish(Publisher)
        if any(isinstance(user, Reader) for user in self._world.users):
            self._read()
            self._finish(Reader)

    def end(self) -> None:
        """Let all others come to their ends: nothing is left to be done."""
        self._finish(Laborer)

    def _finish(self, kind: type[Program]) -> None:
        users = [user for user in self._world.users if isinstance(user, kind)]
        for user in users:
            user.finish()
        until = self._world.now + _OVER_NS
        while (waiting := [user.name for user in users if not user.is_over]) and self._world.now < until:
            self._wait()
        # A partition that is damaged for good takes nothing, for which a producer waits as long as it may.
        if waiting and not self._world.history.rotten:
            raise Violation(f"nothing fails, and after {_OVER_NS // _S} s the library has not let go of {waiting}")

    def _read(self) -> None:
        until, unread = self._world.now + (_OVER_NS if self._world.history.rotten else _READ_NS), "nothing was asked"
        while (unread := self._unread()) and self._world.now < until:
            self._wait()
        # Where one partition is damaged for good, the library ends the reading of all that its member has.
        if unread and not self._world.history.rotten:
            raise Violation(f"nothing fails, and readers of the library do not come to the end: {unread}"[:600])

    def _unread(self) -> str:
        reply = self._ask(FetchOffsets(GROUP))
        if not isinstance(reply, list):
            return str(reply)
        topics, rotten = self._world.sight.topic_ids(), self._world.history.rotten
        found = [one for one in reply if isinstance(one, GroupOffset)]
        behind = [one for one in found if one.lag and (topics.get(one.topic), one.partition) not in rotten]
        known = {(one.topic, one.partition) for one in found}
        unknown = [
            (partition.topic, partition.number)
            for topic_id, partition in self._world.sight.partitions()
            if partition.high_watermark > partition.log.start_offset
            and (partition.topic, partition.number) not in known
            and (topic_id, partition.number) not in rotten
        ]
        return str(behind or unknown or "")

    def _wait(self) -> None:
        until = self._world.now + _LOOK_NS
        while self._world.step(until):
            pass
