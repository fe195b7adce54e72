"""Work queues and delays after the trouble: workers behave, until everything is done with; then they fall silent."""

from collections.abc import Callable

from goqueue.core.requests.deadletters import BrowseDead, ListRedrives
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DescribePartitions, ListTopics, PartitionReply, TopicReply
from goqueue.fuzz.checkers.delays import Delays
from goqueue.fuzz.checkers.endings import Endings
from goqueue.fuzz.history import LETTERS_ENDING, Violation
from goqueue.fuzz.users.laborer import Laborer
from goqueue.fuzz.workloads.worker import Worker
from goqueue.fuzz.world import World

_LOOK_FIRST_NS, _LOOK_MOST_NS = 300_000_000, 3_000_000_000
# A message may be tried some times more, after pauses, and a member be missed for longer than its session.
_LETTERS_MAX = 1_000
_DRAINED_NS = 120_000_000_000


class Draining:
    """Brings the work of a world to its end; `ask` asks the node."""

    def __init__(self, world: World, ask: Callable[[Request], Reply]) -> None:
        self._world = world
        self._ask = ask
        self._workers = [client for client in world.clients if isinstance(client, Worker)]
        self._has_laborers = any(isinstance(user, Laborer) for user in world.users)
        self._endings = next(one for one in world.checkers if isinstance(one, Endings))
        self._delays = next(one for one in world.checkers if isinstance(one, Delays))

    def run(self) -> None:
        """Wait until nothing is left to be done or to come."""
        world, options = self._world, self._world.options
        if not (self._workers or self._has_laborers or options.p_delay):
            return
        for worker in self._workers:
            worker.calm()
        until, unrest, pause_ns = world.now + _DRAINED_NS, "nothing was asked", _LOOK_FIRST_NS
        while unrest and world.now < until:
            pause, pause_ns = world.now + pause_ns, min(pause_ns * 3 // 2, _LOOK_MOST_NS)
            while world.step(pause):
                pass
            unrest = self._unrest()
        if unrest:
            raise Violation(f"nothing fails, and {unrest}")
        for worker in self._workers:
            worker.goes_on = False

    def _unrest(self) -> str:
        """What is left, after another look at all that can be seen."""
        topics = self._ask(ListTopics())
        if not isinstance(topics, list):
            return f"there are no topics to be had: {topics}"
        # What was sent back or purged is not to be among the letters that are browsed next.
        self._ask(ListRedrives())
        for topic in topics:
            assert isinstance(topic, TopicReply)
            self._read(topic.name, is_letters=topic.name.endswith(LETTERS_ENDING))
        return self._endings.unsettled() or self._delays.overdue()

    def _read(self, topic: str, *, is_letters: bool) -> None:
        """Read a topic, since checkers look at what is read; messages only where some may come late."""
        if is_letters:
            self._ask(BrowseDead(topic, limit=_LETTERS_MAX))
        if not is_letters and not self._world.options.p_delay:
            return
        partitions = self._ask(DescribePartitions(topic))
        if isinstance(partitions, Refusal):
            return
        assert isinstance(partitions, list)
        for partition in partitions:
            assert isinstance(partition, PartitionReply)
            offset = partition.start_offset
            while offset < partition.high_watermark:
                reply = self._ask(Fetch(topic, partition.partition, offset, 1 << 20))
                if not isinstance(reply, Fetched) or reply.next_offset <= offset:
                    break
                offset = reply.next_offset
