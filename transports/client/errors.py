"""What goes wrong between a client and its broker, as exceptions: one class for each thing a program may want to catch.

Each has the broker's `code`, the `field` of the request that it is about, and `retry_after` if the broker said when to
try again. `outcome` says what was done: nothing, nobody knows (`is_outcome_unknown`), or all of it before. The sentence
is for a person, and names the topic. All of them are GoQueueErrors. What is wrong with a call itself, and known before
anything is sent, is a ValueError or a TypeError like anywhere else in Python.
"""

from datetime import timedelta

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.client.failure import (
    BAD_REPLY,
    CONNECTION_LOST,
    DEADLINE_EXCEEDED,
    DELIVERY_TIMEOUT,
    DROPPED,
    Failure,
    outcome_of,
)
from goqueue.core.errors import GoQueueError
from goqueue.core.requests.refusals import Code, Outcome
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.proto.refusals import OUTCOMES
from goqueue.transports.client import lost

REFUSAL = "goqueue.v1.Refusal"
CODEC = StrictCodec()


class ClientError(GoQueueError):
    """What a client asked for did not happen, or nobody knows whether it did."""

    def __init__(
        self,
        message: str,
        code: str,
        field: str = "",
        retry_after: timedelta | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.retry_after = retry_after
        self.outcome = outcome_of(code) if outcome is None else outcome

    @property
    def is_outcome_unknown(self) -> bool:
        """Whether the request may have been carried out: to send it again may do it twice."""
        return self.outcome is Outcome.UNKNOWN


class InvalidRequest(ClientError):
    """The broker does not understand the request, or a value in it is out of bounds."""


class TopicNotFound(ClientError):
    """There is no such topic."""


class PartitionNotFound(ClientError):
    """The topic has no such partition."""


class TopicExists(ClientError):
    """There is a topic of that name."""


class TopicReplaced(ClientError):
    """The topic that was meant was deleted, and another one of its name was made."""


class OffsetOutOfRange(ClientError):
    """What is asked for was deleted, or is not there yet."""


class CorruptBatch(ClientError):
    """A batch that nobody can read: its producer wrote it so, or bytes changed on their way or on a disk.

    A consumer says which records these are: of `topic` and `partition`, from `offset` on and below `next_offset`. Its
    `skip` goes on behind them. Where a publish was refused these are None.
    """

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    next_offset: int | None = None


class InvalidTimestamp(ClientError):
    """A message's timestamp lies too far from the broker's clock for its topic."""


class TooLarge(ClientError):
    """A message is larger than its topic allows."""


class OutOfOrder(ClientError):
    """The broker misses what came before."""


class Duplicate(ClientError):
    """The broker has taken it before, and does not remember where it went."""


class Fenced(ClientError):
    """Somebody else goes on under this producer's number."""


class GroupNotFound(ClientError):
    """There is no such group."""


class GroupNotEmpty(ClientError):
    """The group has members, or one of them reads the partition: it can be done once nobody does."""


class WrongMode(ClientError):
    """The group divides partitions among its members, or messages, and not the other way."""


class UnknownMember(ClientError):
    """The group does not know this member, or not any more."""


class FencedInstance(ClientError):
    """Another member has joined under this instance id since."""


class FencedGeneration(ClientError):
    """The partition is not this member's any more."""


class ReceiptInvalid(ClientError):
    """What was shown for a message is no receipt, or one of another group."""


class ReceiptExpired(ClientError):
    """The lease was over: somebody else has the message, or will have it."""


class AlreadySettled(ClientError):
    """The message was settled before, in another way."""


class DelayedNotFound(ClientError):
    """There is no such delayed message: it was delivered or cancelled, or never there."""


class NoDeadLetters(ClientError):
    """That is no topic of dead letters, and has none."""


class RedriveNotFound(ClientError):
    """There is no such redrive."""


class Unavailable(ClientError):
    """It cannot be done for the time being, and trying again did not help; what was done says `outcome`."""


class NotEnoughReplicas(Unavailable):
    """Too few replicas are in sync for what the topic asks for: nothing was stored."""


class OutcomeUnknown(Unavailable):
    """The brokers began it and do not know its end: it may have been carried out or not."""


class NodeNotFound(ClientError):
    """There is no such node."""


class DiskFull(ClientError):
    """The leader's disk has no room for messages: nothing was stored."""


class QuotaExceeded(ClientError):
    """There is as much of it as the broker keeps: nothing was done."""


class Damaged(ClientError):
    """What is stored there cannot be read any more."""


class ConnectionLost(Unavailable):
    """There is no connection to the broker."""


class DeliveryTimeout(ClientError):
    """There was no answer in time: whether the message may have arrived says `outcome`."""


class BadReply(ClientError):
    """What the broker said cannot be decoded: it is of another version, or is no broker."""


class Dropped(ClientError):
    """The producer was left before the message was sent, or before its answer came."""


class Unsupported(ClientError):
    """The broker does not offer this."""


class Unpublished(ClientError):
    """Messages were not published, and nobody had looked at their results: how many, and what it was at first."""

    def __init__(self, count: int, first: ClientError) -> None:
        messages = "1 message was" if count == 1 else f"{count} messages were"
        said = f"{messages} not published, and nobody looked at the results; the first: {first}"
        super().__init__(said, first.code, first.field, first.retry_after, first.outcome)
        self.count = count
        self.first = first


class Unsettled(ClientError):
    """What was said of messages was refused, and nobody had looked: of how many, and why it was at first."""

    def __init__(self, count: int, first: ClientError) -> None:
        if count == 1:
            said = f"what was said of 1 message was refused, and nobody looked at the result: {first}"
        else:
            said = (
                f"what was said of {count} messages was refused, and nobody looked at the results; the first: {first}"
            )
        super().__init__(said, first.code, first.field, first.retry_after, first.outcome)
        self.count = count
        self.first = first


class CommitFailed(ClientError):
    """Offsets were not committed: for which partitions, and why; the others of the same commit were."""

    def __init__(self, failures: dict[tuple[str, int], ClientError]) -> None:
        (topic, partition), first = next(iter(failures.items()))
        others = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
        said = f"partition {partition} of {topic} was not committed ({first.code}){others}: {first}"
        super().__init__(said, first.code, first.field, first.retry_after, first.outcome)
        self.failures = failures


def unreadable(topic: str, partition: int, offset: int, next_offset: int, why: Exception) -> CorruptBatch:
    """The error that says which records a consumer cannot read."""
    said = f"{topic}: partition {partition} cannot be read from offset {offset} to {next_offset}: {why}"
    error = CorruptBatch(said, str(Code.CORRUPT_BATCH))
    error.topic, error.partition, error.offset, error.next_offset = topic, partition, offset, next_offset
    return error


CLASSES: dict[str, type[ClientError]] = {
    Code.INVALID: InvalidRequest,
    Code.TOPIC_NOT_FOUND: TopicNotFound,
    Code.PARTITION_NOT_FOUND: PartitionNotFound,
    Code.TOPIC_EXISTS: TopicExists,
    Code.TOPIC_REPLACED: TopicReplaced,
    Code.OFFSET_OUT_OF_RANGE: OffsetOutOfRange,
    Code.CORRUPT_BATCH: CorruptBatch,
    Code.INVALID_TIMESTAMP: InvalidTimestamp,
    Code.TOO_LARGE: TooLarge,
    Code.OUT_OF_ORDER: OutOfOrder,
    Code.DUPLICATE: Duplicate,
    Code.FENCED: Fenced,
    Code.GROUP_NOT_FOUND: GroupNotFound,
    Code.GROUP_NOT_EMPTY: GroupNotEmpty,
    Code.WRONG_MODE: WrongMode,
    Code.UNKNOWN_MEMBER: UnknownMember,
    Code.FENCED_INSTANCE: FencedInstance,
    Code.FENCED_GENERATION: FencedGeneration,
    Code.RECEIPT_INVALID: ReceiptInvalid,
    Code.RECEIPT_EXPIRED: ReceiptExpired,
    Code.ALREADY_SETTLED: AlreadySettled,
    Code.DELAYED_NOT_FOUND: DelayedNotFound,
    Code.NO_DEAD_LETTERS: NoDeadLetters,
    Code.REDRIVE_NOT_FOUND: RedriveNotFound,
    Code.UNAVAILABLE: Unavailable,
    Code.SHUTTING_DOWN: Unavailable,
    Code.NOT_LEADER: Unavailable,
    Code.NOT_CONTROLLER: Unavailable,
    Code.NOT_COORDINATOR: Unavailable,
    Code.NOT_ENOUGH_REPLICAS: NotEnoughReplicas,
    Code.OUTCOME_UNKNOWN: OutcomeUnknown,
    Code.NODE_NOT_FOUND: NodeNotFound,
    Code.DISK_FULL: DiskFull,
    Code.QUOTA_EXCEEDED: QuotaExceeded,
    Code.DAMAGED: Damaged,
    CONNECTION_LOST: ConnectionLost,
    DELIVERY_TIMEOUT: DeliveryTimeout,
    DROPPED: Dropped,
    BAD_REPLY: BadReply,
    DEADLINE_EXCEEDED: Unavailable,
    "unimplemented": Unsupported,
}

# What a status says that comes without a Refusal: from something in between, or from gRPC itself. Whoever is in between
# may have passed the request on.
_CODES = {
    Status.UNAVAILABLE: str(Code.OUTCOME_UNKNOWN),
    Status.ABORTED: str(Code.OUTCOME_UNKNOWN),
    Status.CANCELLED: str(Code.OUTCOME_UNKNOWN),
    Status.DEADLINE_EXCEEDED: DEADLINE_EXCEEDED,
    Status.UNIMPLEMENTED: "unimplemented",
    Status.INVALID_ARGUMENT: str(Code.INVALID),
    Status.RESOURCE_EXHAUSTED: str(Code.TOO_LARGE),
}


def error_of(failure: Failure, topic: str = "") -> ClientError:
    """The exception for a failure, with the topic's name in it."""
    message = failure.message
    if topic and topic not in message:
        message = f"{topic}: {message}"
    retry_after = timedelta(milliseconds=failure.retry_after_ms) if failure.retry_after_ms else None
    kind = CLASSES.get(failure.code, ClientError)
    return kind(message, failure.code, failure.field, retry_after, failure.what_happened)


def failure_of(error: GRPCError | lost.ConnectionLost) -> Failure:
    """What the end of a call comes down to: the Refusal in its details, or else its status."""
    if isinstance(error, lost.ConnectionLost):
        failure = Failure(CONNECTION_LOST, str(error))
        return failure.undone() if error.unseen else failure
    for detail in error.details or ():
        if getattr(detail, "type_name", "") == REFUSAL:
            try:
                return refusal_failure(CODEC.decode(v1.Refusal, detail.message))
            except ValueError:
                break
    return Failure(_CODES.get(error.status, error.status.name.lower()), error.message or error.status.name.lower())


def bad_reply(kind: str, why: object, topic: str = "") -> ClientError:
    """The error for a reply of this kind that cannot be decoded."""
    return error_of(Failure(BAD_REPLY, f"the broker sent a {kind} that cannot be decoded: {why}"), topic)


def refusal_failure(refusal: v1.Refusal) -> Failure:
    """A Refusal of the wire as a failure."""
    return Failure(
        refusal.code,
        refusal.message,
        refusal.field,
        refusal.retry_after_ms,
        refusal.divide_at,
        OUTCOMES.get(refusal.outcome),
    )
