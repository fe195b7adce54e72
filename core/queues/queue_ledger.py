"""The ledger of one partition: the stream in which all groups' work queues on it are kept, and moves of dead letters.

Records of a queue lie under the name of its group, those of the moves under an empty key, and the secret of receipts
under a key of its own; a name without a value is a queue that ended. All that a turn changed is one batch. A page has a
snapshot of each queue, which stands for itself. How the stream is read, written and shortened is the business of
`StateLog`; each load has a number, since a lease that was lost with the memory must not share its number with a later
one.

Invariant: nothing is in `queues` that was not replayed or begun here.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.errors import ProtocolError
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Errands, Turn
from goqueue.core.queues.feed import LaneFeed
from goqueue.core.queues.moves import Moves
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.receipts import Seal
from goqueue.core.queues.records import WORK_CODEC, Restarted, Snapshot
from goqueue.core.records.entries import Entry
from goqueue.core.requests.messages import Side
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.services.secret_names import SECRET_BYTES, SECRET_KEY
from goqueue.core.services.secrets import Key
from goqueue.core.services.service import ServiceContext
from goqueue.core.state.state_log import Standing, StateLog

MOVES_KEY = b""
# Lease numbers have 31 bits for the epoch.
_EPOCHS_END = 1 << 31


@define(eq=False)
class QueueLedger:
    """The queues of one partition."""

    topic: str
    partition: int
    _site: ServiceContext
    _errands: Errands
    _turn: Turn
    # The settings of a group on a topic.
    _settings: Callable[[str, str], WorkSettings]
    queues: dict[str, WorkQueue] = field(factory=dict)
    moves: Moves = field(factory=Moves)
    lanes: LaneFeed = field(init=False)
    log: StateLog = field(init=False)
    _secret: Key | None = None
    # Whether the secret is yet to be written.
    _has_drawn: bool = False
    # Queues that may have something to write, and entries that are none of a queue's.
    _touched: dict[str, None] = field(factory=dict)
    _entries: list[Entry] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.lanes = LaneFeed(self, self._errands, self._turn)
        self.log = StateLog(self.topic, self.partition, Side.LEDGER, self, self._ask, self._end, is_numbered=True)

    def _ask(self, request: Request) -> int:
        return self._errands.ask(self, request)

    def _end(self) -> int:
        partition = self._site.led.partition(*self.slot, Side.LEDGER)
        return partition.log.next_offset if isinstance(partition, Partition) else 0

    @property
    def slot(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition

    # --- how the log stands

    @property
    def is_ready(self) -> bool:
        """Whether its queues can be used."""
        return self.log.is_ready

    @property
    def has_failed(self) -> bool:
        """Whether it cannot be read or written for now."""
        return self.log.standing is Standing.FAILED

    @property
    def why(self) -> str:
        """Why it cannot be used."""
        return self.log.why

    @property
    def load(self) -> int:
        """How often the log was read: with each time, all that was in memory is void."""
        return self.log.load

    @property
    def appended(self) -> int:
        """How many writes there were since the last load."""
        return self.log.appended

    @property
    def durable(self) -> int:
        """How many of them will last."""
        return self.log.durable

    def opened(self, partition: Partition) -> None:
        """The stream can be used: for the first time, or again and with other contents."""
        assert partition.side is Side.LEDGER
        self.log.opened(partition.log.start_offset)

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to an internal request, which may be of no use any more."""
        self.log.answered(now, number, reply)

    # --- see `Machine`

    def forget(self) -> None:
        """Drop all queues."""
        self.queues, self.moves, self._secret, self._has_drawn = {}, Moves(), None, False
        self.lanes = LaneFeed(self, self._errands, self._turn)
        self._touched, self._entries = {}, []

    def replay(self, now: int, key: bytes, value: bytes | None) -> None:
        """Take the next entry."""
        if key == SECRET_KEY:
            if value is None or len(value) != SECRET_BYTES:
                raise ProtocolError(
                    f"the ledger of {self.topic}-{self.partition} has no secret of {SECRET_BYTES} bytes"
                )
            self._secret = self._site.secrets.key(value)
        elif key == MOVES_KEY:
            self.moves.replay(now, value or b"")
        elif value is None:
            self.queues.pop(key.decode(), None)
        else:
            queue = self.queues.get(key.decode())
            if queue is None:
                if not isinstance(WORK_CODEC.decode(value), Restarted | Snapshot):
                    # Its snapshot comes: a queue that ended, or one that was never begun, has nothing to change.
                    return
                queue = self._make(key.decode())
            queue.replay(now, value)

    def loaded(self) -> None:
        """Everything was read."""
        self._turn.touch(self)
        if self._secret is None:
            self._secret, self._has_drawn = self._site.secrets.fresh(), True

    def stirred(self) -> None:
        """The standing is another one, or more is durable."""
        self._turn.stir(self)

    # --- queues

    def _make(self, group: str) -> WorkQueue:
        if self._secret is None:
            raise ProtocolError(f"the ledger of {self.topic}-{self.partition} has a queue and no secret before it")
        site, settings = self._site, self._settings(self.topic, group)
        topic_id = site.led.topics[self.topic].topic.topic_id
        seal = Seal(site.secrets, self._secret, group, self.topic, self.partition, topic_id)
        index, epoch = self.lanes.index, self.log.epoch
        assert 0 < epoch < _EPOCHS_END
        queue = self.queues[group] = WorkQueue(site.clock, site.random, seal, epoch, settings, index)
        return queue

    def begin(self, now: int, group: str, floor: int) -> WorkQueue:
        """A queue for a group that had none, from an offset on."""
        assert self.is_ready
        assert group not in self.queues
        queue = self._make(group)
        queue.restart(now, floor)
        self.touch(group)
        return queue

    def feed_anew(self) -> None:
        """Find out about lanes from further back than it was begun with."""
        self.lanes = LaneFeed(self, self._errands, self._turn)
        for queue in self.queues.values():
            queue.deal_by(self.lanes.index)

    def end(self, group: str) -> None:
        """A group is no more."""
        if self.queues.pop(group, None) is not None:
            self._touched.pop(group, None)
            self._entries.append((group.encode(), None))
            self._turn.touch(self)

    def touch(self, group: str) -> None:
        """A queue may have something to write."""
        self._touched[group] = None
        self._turn.touch(self)

    # --- writing

    def write(self, now: int) -> list[str]:
        """Write all that the queues and the moves have changed; it is durable with what `appended` is then.

        Answers the groups whose queues were touched.
        """
        assert self.is_ready
        entries, self._entries = self._entries, []
        if self._has_drawn:
            self._has_drawn, entries = False, [self._secret_entry(), *entries]
        touched, self._touched = self._touched, {}
        for group in touched:
            key = group.encode()
            entries += [(key, content) for content in self.queues[group].take()]
        entries += [(MOVES_KEY, content) for content in self.moves.take()]
        wall_ms = self._site.clock.wall_ms(now)
        self.log.append(wall_ms, entries)
        if self.log.wants_page(self._site.led.thresholds.ledger_page_bytes):
            self._turn_page(now, wall_ms)
        return [*touched]

    def _secret_entry(self) -> Entry:
        assert self._secret is not None
        return SECRET_KEY, self._secret.content or self._secret.name

    def _turn_page(self, now: int, wall_ms: int) -> None:
        """Write everything once more."""
        for queue in self.queues.values():
            assert not queue.take(), "a queue was changed and not touched"
        entries: list[Entry] = [self._secret_entry()]
        entries += [(group.encode(), queue.snapshot(now)) for group, queue in self.queues.items()]
        entries.append((MOVES_KEY, self.moves.snapshot(now)))
        self.log.append_page(wall_ms, entries)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        assert not self.queues or not self.has_failed
        assert self._touched.keys() <= self.queues.keys()
        self.moves.check()
        for queue in self.queues.values():
            queue.check()
