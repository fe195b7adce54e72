"""One thing that a client asked for, and what it was told: what histories are made of.

An operation is *ok* when the client was told that it was done, *failed* when nothing was done for certain, and of
*unknown* outcome otherwise: it may take effect at any time after it was asked for, however late, or never. An operation
that never ends is of unknown outcome.

Times are nanoseconds of one monotonic clock that all clients share, from the beginning of the history. Wall times are
milliseconds since 1970. What is asked and told is plain data, of the fields that `form.py` lists for each verb.
"""

from enum import StrEnum
from typing import Any

from attrs import define, field

# Later than anything that ends.
NEVER = 1 << 62
NO_OFFSET = -1
NS_PER_MS = 1_000_000


class Verb(StrEnum):
    """What a client can ask for, or say of itself."""

    PUBLISH = "publish"
    PUBLISH_LATER = "publish_later"
    CANCEL = "cancel"
    POLL = "poll"
    ASSIGN = "assign"
    COMMIT = "commit"
    COMMITTED = "committed"
    RESET = "reset"
    DELETE_GROUP = "delete_group"
    RECEIVE = "receive"
    ACK = "ack"
    NACK = "nack"
    REJECT = "reject"
    EXTEND = "extend"
    RELEASE = "release"
    LEAVE = "leave"
    LETTERS = "letters"
    CREATE = "create"
    ALTER = "alter"
    DELETE = "delete"
    DESCRIBE = "describe"
    DRAINED = "drained"


class End(StrEnum):
    """How an operation ended, as its client knows."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@define(eq=False)
class Operation:
    """See the module; `serial` is the place among all operations by when they were asked for.

    `ended_serial` is the place by when they ended: several can end at one moment, and still one after the other.
    """

    serial: int
    process: str
    verb: Verb
    asked: dict[str, Any]
    asked_ns: int
    wall_ms: int
    end: End = End.INFO
    ended_ns: int = NEVER
    ended_serial: int = 0
    told: dict[str, Any] = field(factory=dict)
    # Why it did not end well, as a word that programs compare.
    code: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it was done, and its client was told so."""
        return self.end is End.OK

    @property
    def is_failed(self) -> bool:
        """Whether nothing was done for certain."""
        return self.end is End.FAIL

    @property
    def ended_wall_ms(self) -> int:
        """When it ended by the wall clock, as far as the monotonic one says."""
        return self.wall_ms + (self.ended_ns - self.asked_ns) // NS_PER_MS


@define
class GroupTerms:
    """What a work queue promises beyond what all do: how often a message is tried, and whether keys go in order."""

    max_attempts: int = 0
    key_ordered: bool = False


@define
class Terms:
    """Under which circumstances a history came to be.

    `clock_error_ms` is by how much the wall clocks of clients and brokers may differ; None where that is not known, and
    then nothing is said of what came too early. With `power_cuts`, only topics that sync each message promise anything.
    With `damage`, bits may have rotted, and nothing is said of logs and queues. With `redrives`, dead letters may have
    been sent back to any topic, so messages may be there again.
    """

    about: dict[str, Any] = field(factory=dict)
    clock_error_ms: int | None = None
    power_cuts: bool = False
    damage: bool = False
    redrives: bool = False
    groups: dict[str, GroupTerms] = field(factory=dict)


@define
class History:
    """All operations, in the order in which they were asked for."""

    terms: Terms = field(factory=Terms)
    operations: list[Operation] = field(factory=list)
    ended_count: int = 0

    def end(self, operation: Operation, end: End, code: str, at_ns: int) -> None:
        """One has ended, after all that did before."""
        self.ended_count += 1
        operation.end, operation.code, operation.ended_serial = end, code, self.ended_count
        if end is not End.INFO:
            operation.ended_ns = at_ns

    def of(self, *verbs: Verb) -> list[Operation]:
        """The operations of some verbs, in order."""
        return [one for one in self.operations if one.verb in verbs]
