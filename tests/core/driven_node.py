"""A node in a test's hands: streams that open empty, and the turns of a driver whose disk does what it is told.

Time begins at `now == 0`, when the wall says WALL_MS.
"""

from collections.abc import Iterable

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Append, Effect, Sync, SyncToken
from goqueue.core.log.log import LogState
from goqueue.core.node import Node
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Fetching, Ready
from goqueue.core.records.batch import stamp
from goqueue.core.records.build import Entry as NewEntry
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic
from tests.core.log.batches import WALL_MS, beginning
from tests.core.seeded_secrets import seeded_secrets

CALLER = Caller("test")


class DrivenNode:
    """A node, and what it has said so far and was not looked at."""

    def __init__(
        self,
        records: Iterable[bytes] = (),
        *,
        partitions_default: int = 2,
        recent_bytes: int = 0,
        options: NodeOptions | None = None,
    ) -> None:
        self.now = 0
        options = options or NodeOptions("node-1", "1.0", partitions_default, recent_bytes)
        options.secrets = seeded_secrets()
        self.node = Node(options, Clock(0, WALL_MS), 0)
        self.opens = [one.stream for one in self.node.take(0).opens]
        entries = [Entry(at, 0, None, content) for at, content in enumerate(records)]
        self.node.opened(0, METADATA_STREAM, beginning(LogConfig(), len(entries)), entries)
        self._last_to = 0

    def ask(self, request: Request) -> int:
        """Hand over a request, and answer its number."""
        self._last_to += 1
        self.node.ask(self.now, self._last_to, CALLER, request)
        return self._last_to

    def take(self) -> Ready:
        """What the node wants done."""
        return self.node.take(self.now)

    def write(self) -> Ready:
        """Take, and let all writes succeed, but sync nothing."""
        ready = self.take()
        self.node.written(self.now)
        return ready

    def sync(self, effects: Iterable[Effect]) -> None:
        """Let the syncs among some effects be done."""
        for effect in effects:
            if isinstance(effect, Sync):
                self.node.synced(self.now, effect.stream, effect.token)

    def settle(self) -> dict[int, Reply]:
        """Turn until nothing happens any more: writes and syncs succeed, streams open empty; answers by request."""
        answers: dict[int, Reply] = {}
        while ready := self.write():
            for send in ready.sends:
                assert send.to not in answers, "answered twice"
                answers[send.to] = send.reply
            self.sync(ready.writes)
            for wanted in ready.opens:
                self.node.opened(self.now, wanted.stream, opened_empty(wanted.config))
            for removal in ready.removes:
                self.node.removed(self.now, removal.folder)
            self.node.check()
        return answers

    def answer(self, request: Request) -> Reply:
        """Ask and settle."""
        to = self.ask(request)
        return self.settle()[to]

    def with_topic(self, name: str = "orders", partitions: int = 1, **config: object) -> "DrivenNode":
        """The same node with one more topic."""
        self.answer(CreateTopic(name, partitions, 1, config))
        return self

    def reads(self) -> list[Fetching]:
        """The reads that the node wants."""
        return self.take().reads


def opened_empty(config: LogConfig | None = None) -> LogState:
    """A stream in which nothing was ever written."""
    return beginning(config or LogConfig())


def stored(offset: int, *entries: NewEntry, lane: int = 0) -> bytearray:
    """A batch of these messages as it lies in a partition's log."""
    batch = encode(entries, lane=lane)  # type: ignore[arg-type]
    stamp(batch, offset, 0)
    return batch


def values(effects: Iterable[Effect]) -> list[list[bytes]]:
    """The values in the batches of all appends, batch by batch."""
    batches = [buffer for effect in effects if isinstance(effect, Append) for buffer in effect.buffers]
    return [[bytes(record.value or b"") for record in iterate(batch)] for batch in batches]


def token_of(effects: Iterable[Effect]) -> SyncToken:
    """The one sync among some effects."""
    [token] = [effect.token for effect in effects if isinstance(effect, Sync)]
    return token
