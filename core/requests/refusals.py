"""Why a request is refused: codes for programs, sentences for people."""

from enum import StrEnum

from attrs import define


class Outcome(StrEnum):
    """What a request that was refused has done: nothing, nobody knows, or all of it when it was sent before."""

    NONE = "none"
    UNKNOWN = "unknown"
    DONE = "done"


class Code(StrEnum):
    """Why a request was refused; stable words that programs may compare.

    `outcome` says what the refused request has done: nothing, unless the code says otherwise. It speaks of this one
    request: when an earlier attempt at the same thing has an unknown outcome, a later refusal does not settle it.
    """

    outcome: Outcome

    def __new__(cls, word: str, outcome: Outcome = Outcome.NONE) -> "Code":
        code = str.__new__(cls, word)
        code._value_ = word
        code.outcome = outcome
        return code

    INVALID = "invalid_request"
    TOPIC_NOT_FOUND = "topic_not_found"
    PARTITION_NOT_FOUND = "partition_not_found"
    TOPIC_EXISTS = "topic_exists"
    # Under the name that was asked for there is another topic, which was made after the first was deleted.
    TOPIC_REPLACED = "topic_replaced"
    OFFSET_OUT_OF_RANGE = "offset_out_of_range"
    CORRUPT_BATCH = "corrupt_batch"
    INVALID_TIMESTAMP = "invalid_timestamp"
    TOO_LARGE = "too_large"
    OUT_OF_ORDER = "out_of_order_sequence"
    # The batch was stored before; its offset is not remembered.
    DUPLICATE = "duplicate_sequence", Outcome.DONE
    FENCED = "producer_fenced"
    GROUP_NOT_FOUND = "group_not_found"
    GROUP_NOT_EMPTY = "group_not_empty"
    WRONG_MODE = "wrong_mode"
    UNKNOWN_MEMBER = "unknown_member"
    FENCED_INSTANCE = "fenced_instance"
    FENCED_GENERATION = "fenced_generation"
    RECEIPT_INVALID = "receipt_invalid"
    RECEIPT_EXPIRED = "receipt_expired"
    ALREADY_SETTLED = "already_settled"
    DELAYED_NOT_FOUND = "delayed_not_found"
    NO_DEAD_LETTERS = "no_dead_letters"
    REDRIVE_NOT_FOUND = "redrive_not_found"
    NODE_NOT_FOUND = "node_not_found"
    # There is as much of it as is kept, or it was asked for too often.
    QUOTA_EXCEEDED = "quota_exceeded"
    DAMAGED = "damaged"
    # Nothing was done, and the same request can succeed later.
    UNAVAILABLE = "unavailable"
    SHUTTING_DOWN = "shutting_down"
    NOT_ENOUGH_REPLICAS = "not_enough_replicas"
    # The disk of the leader has no room for messages.
    DISK_FULL = "disk_full"
    # Nothing was done, and another node is to be asked.
    NOT_LEADER = "not_leader"
    NOT_CONTROLLER = "not_controller"
    NOT_COORDINATOR = "not_coordinator"
    # The request was begun, and whoever answers does not know whether it came or will come to its end.
    OUTCOME_UNKNOWN = "outcome_unknown", Outcome.UNKNOWN


@define
class Refusal:
    """A request that is not granted: a code for programs, a sentence for a person, and the field it is about."""

    code: Code
    message: str
    field: str = ""
    retry_after_ms: int = 0
    # The node to be asked instead, if it is known.
    leader: str = ""
    # Of a numbered batch that was refused: after how many records it may be divided, so that what is stored of it is
    # recognised.
    divide_at: int = 0

    @property
    def outcome(self) -> Outcome:
        """What the request has done that is refused."""
        return self.code.outcome

    def undone(self) -> "Refusal":
        """The refusal of a request that was not begun, since one that it depends on was refused with this.

        Whether that one was carried out may be unknown; nothing was done for the other.
        """
        if self.outcome is Outcome.NONE:
            return self
        return Refusal(Code.UNAVAILABLE, self.message, self.field, self.retry_after_ms or 200)

    def in_doubt(self) -> "Refusal":
        """The refusal of a request that may have been carried out before it was refused with this."""
        return Refusal(Code.OUTCOME_UNKNOWN, self.message, self.field, self.retry_after_ms)
