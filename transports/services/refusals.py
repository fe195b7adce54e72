"""Refusals as gRPC says them: a status for the kind, and the Refusal itself in the details for programs."""

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.requests.refusals import Code, Refusal
from goqueue.proto import translate
from goqueue.transports.grpc.status import Detail

TYPE_NAME = "goqueue.v1.Refusal"
STATUS = {
    Code.INVALID: Status.INVALID_ARGUMENT,
    Code.TOPIC_NOT_FOUND: Status.NOT_FOUND,
    Code.PARTITION_NOT_FOUND: Status.NOT_FOUND,
    Code.TOPIC_EXISTS: Status.ALREADY_EXISTS,
    Code.TOPIC_REPLACED: Status.FAILED_PRECONDITION,
    Code.OFFSET_OUT_OF_RANGE: Status.OUT_OF_RANGE,
    Code.CORRUPT_BATCH: Status.INVALID_ARGUMENT,
    Code.INVALID_TIMESTAMP: Status.INVALID_ARGUMENT,
    Code.TOO_LARGE: Status.RESOURCE_EXHAUSTED,
    # Who was fenced has been replaced and must not try again; who is out of order may, from where the broker stands.
    Code.FENCED: Status.FAILED_PRECONDITION,
    Code.OUT_OF_ORDER: Status.ABORTED,
    Code.DUPLICATE: Status.ALREADY_EXISTS,
    Code.GROUP_NOT_FOUND: Status.NOT_FOUND,
    Code.GROUP_NOT_EMPTY: Status.FAILED_PRECONDITION,
    Code.WRONG_MODE: Status.FAILED_PRECONDITION,
    Code.UNKNOWN_MEMBER: Status.NOT_FOUND,
    Code.FENCED_INSTANCE: Status.FAILED_PRECONDITION,
    Code.FENCED_GENERATION: Status.FAILED_PRECONDITION,
    Code.RECEIPT_INVALID: Status.INVALID_ARGUMENT,
    # What it was the receipt of is not the caller's any more, and no repetition changes that.
    Code.RECEIPT_EXPIRED: Status.FAILED_PRECONDITION,
    Code.ALREADY_SETTLED: Status.FAILED_PRECONDITION,
    Code.DELAYED_NOT_FOUND: Status.NOT_FOUND,
    Code.NO_DEAD_LETTERS: Status.NOT_FOUND,
    Code.REDRIVE_NOT_FOUND: Status.NOT_FOUND,
    Code.UNAVAILABLE: Status.UNAVAILABLE,
    Code.DAMAGED: Status.DATA_LOSS,
    Code.SHUTTING_DOWN: Status.UNAVAILABLE,
    Code.NOT_LEADER: Status.UNAVAILABLE,
    Code.NOT_CONTROLLER: Status.UNAVAILABLE,
    Code.NOT_COORDINATOR: Status.UNAVAILABLE,
    Code.NOT_ENOUGH_REPLICAS: Status.UNAVAILABLE,
    # The one status that says that a request may have been carried out.
    Code.OUTCOME_UNKNOWN: Status.DEADLINE_EXCEEDED,
    Code.NODE_NOT_FOUND: Status.NOT_FOUND,
    Code.DISK_FULL: Status.RESOURCE_EXHAUSTED,
    Code.QUOTA_EXCEEDED: Status.RESOURCE_EXHAUSTED,
}
LEAVING = Refusal(Code.SHUTTING_DOWN, "the node is about to stop", retry_after_ms=1000)


def refused(refusal: Refusal) -> GRPCError:
    """The error that ends a call for a refusal."""
    return GRPCError(STATUS[refusal.code], refusal.message, [detail(refusal)])


def detail(refusal: Refusal) -> Detail:
    """A refusal as programs read it among the details of an error."""
    return Detail.of(TYPE_NAME, translate.refusal(refusal))
