"""What followers and leaders say to each other; any letter may be lost, doubled, late or out of order.

A follower opens a session with each node that leads something it follows. It pulls in rounds: each `Pull` is answered
by one `Pulled` of the same round, at once or when there is news. A pull names the parts that have changed since the
pull before; round 1 names them all. Anything that is out of order ends in a session with a higher number.
"""

from enum import IntEnum

from attrs import define, field

from goqueue.core.log.effects import Buffer
from goqueue.core.requests.messages import Side

# The epoch of a part that the follower does not follow any more.
LEFT = -1


class Verdict(IntEnum):
    """What a leader finds when it compares a follower's log with its own."""

    # The follower's log is a beginning of the leader's.
    GOES_ON = 0
    # They differ: of `epoch` and all epochs before it, the leader has what lies below `at`.
    DIVERGED = 1
    # The leader has no longer, or never had, what would come next: the follower begins anew at `at`.
    RESTART = 2
    # The sender does not lead that in this epoch.
    NOT_LED = 3


@define
class PullPart:
    """One stream of a partition: how far the follower is, in what was written and in what is durable.

    `last_epoch` is that of its newest batch; -1 when it has none.
    """

    topic_id: int
    partition: int
    side: Side
    leader_epoch: int
    offset: int = 0
    last_epoch: int = -1
    kept_offset: int = 0


@define
class Pull:
    """Ask for what comes next of all parts of a session; those not named go on where the last answer left them."""

    incarnation: int
    session: int
    round: int
    # Numbers what the follower says in this session, so that what is late is known for late.
    stamp: int
    max_bytes: int
    wait_ns: int
    parts: list[PullPart] = field(factory=list)


@define
class PulledPart:
    """What is new of one stream: runs of whole batches, one behind the other, and how far all are.

    Nothing more comes of it until the follower has named it again, if there were batches or a verdict. `named` is the
    round in which it was named last: what rests on an earlier one is not for the log as it is since.
    """

    topic_id: int
    partition: int
    side: Side
    leader_epoch: int
    named: int
    verdict: Verdict
    high_watermark: int = 0
    start_offset: int = 0
    end_offset: int = 0
    epoch: int = -1
    at: int = 0
    runs: list[Buffer] = field(factory=list)


@define
class Pulled:
    """The answer to a pull; an unknown session is to be opened anew."""

    session: int
    round: int
    is_known: bool = True
    parts: list[PulledPart] = field(factory=list)


@define
class KeptPart:
    """One stream is durable up to there at the follower."""

    topic_id: int
    partition: int
    side: Side
    leader_epoch: int
    kept_offset: int


@define
class Kept:
    """A follower's disk is done with something; said at once, and again by the next pull in case this is lost."""

    incarnation: int
    session: int
    stamp: int
    parts: list[KeptPart]


ReplicationMessage = Pull | Pulled | Kept
