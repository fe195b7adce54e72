"""The journal that groups stand on: a partition of the broker's own, in which the last record of a key counts.

Its topic is made when a group is first asked for. What it holds is read and written by a `StateLog`; compaction removes
what is superseded.
"""

from collections.abc import Callable, Iterable

from attrs import define, field

from goqueue.core.records.entries import Entry
from goqueue.core.requests.messages import Side
from goqueue.core.requests.metadata import MakeOwnTopic
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.state.state_log import Standing, StateLog

JOURNAL_TOPIC, JOURNAL_STREAM = "__groups", "logs/__groups/0"
# Small segments, so that what is superseded soon lies in one that compaction may touch.
JOURNAL_CONFIG: dict[str, object] = {
    "cleanup": "compact",
    "segment_bytes": 8 << 20,
    "max_message_bytes": 64 << 20,
    "retention_hours": -1,
}


@define(eq=False)
class Journal:
    """The journal of all groups."""

    _wishes: InternalRequests
    # Where ends what was written to its partition.
    _end: Callable[[], int]
    log: StateLog = field(init=False)
    # Whether the topic is there, or is being made; and why it could not be.
    _is_there: bool = False
    _why_not_made: str = ""
    _making: int = 0
    _loaded: dict[bytes, bytes] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.log = StateLog(JOURNAL_TOPIC, 0, Side.DATA, self, self._wishes.ask, self._end)

    # --- how it stands

    @property
    def is_absent(self) -> bool:
        """Whether there is no such topic, as far as is known."""
        return not self._is_there and self.log.standing is Standing.CLOSED

    @property
    def is_ready(self) -> bool:
        """Whether all that it holds is known, and may be changed."""
        return self.log.is_ready

    @property
    def is_loading(self) -> bool:
        """Whether it is being read."""
        return self.log.standing is Standing.LOADING

    @property
    def has_failed(self) -> bool:
        """Whether it cannot be read or written for now."""
        return self.log.standing is Standing.FAILED

    @property
    def why(self) -> str:
        """Why it cannot be used."""
        return self.log.why or self._why_not_made

    # --- getting ready

    def ensure(self) -> None:
        """Have the topic made, if there is none."""
        if self.is_absent:
            self._is_there = True
            self._making = self._wishes.ask(MakeOwnTopic(JOURNAL_TOPIC, 1, JOURNAL_CONFIG))

    def expected(self) -> None:
        """The topic is there, and its partition is about to be opened."""
        self._is_there = True

    def answered(self, now: int, number: int, reply: Reply) -> bool:
        """Take an answer; False when the topic could not be made, which may be another time."""
        if number != self._making:
            self.log.answered(now, number, reply)
            return True
        self._making = 0
        if not isinstance(reply, Refusal) or self.log.standing is not Standing.CLOSED:
            return True
        self._is_there, self._why_not_made = False, reply.message
        return False

    def take_loaded(self) -> dict[bytes, bytes]:
        """Return what the journal holds: the last value of each key."""
        loaded, self._loaded = self._loaded, {}
        return loaded

    def append(self, wall_ms: int, entries: Iterable[Entry]) -> None:
        """Write entries; see `StateLog`."""
        self.log.append(wall_ms, entries)

    # --- see `Machine`

    def forget(self) -> None:
        """Drop what was read."""
        self._loaded = {}

    def replay(self, _now: int, key: bytes, value: bytes | None) -> None:
        """Take the next entry."""
        if value is None:
            self._loaded.pop(key, None)
        else:
            self._loaded[key] = value

    def loaded(self) -> None:
        """Everything was read; whoever asked looks at `is_ready`."""

    def stirred(self) -> None:
        """The standing is another one; whoever asked looks at it."""
