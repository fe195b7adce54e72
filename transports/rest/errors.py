"""Refusals as HTTP says them: a status, and `{"error", "code", "field", "outcome"}` for people, programs and forms."""

from msgspec import Struct, json

from goqueue.core.requests.refusals import Code, Outcome, Refusal

STATUS = {
    Code.INVALID: 400,
    Code.TOPIC_NOT_FOUND: 404,
    Code.PARTITION_NOT_FOUND: 404,
    Code.TOPIC_EXISTS: 409,
    Code.TOPIC_REPLACED: 409,
    Code.OFFSET_OUT_OF_RANGE: 404,
    Code.CORRUPT_BATCH: 400,
    Code.INVALID_TIMESTAMP: 400,
    Code.TOO_LARGE: 413,
    Code.OUT_OF_ORDER: 409,
    Code.DUPLICATE: 409,
    Code.FENCED: 409,
    Code.GROUP_NOT_FOUND: 404,
    Code.GROUP_NOT_EMPTY: 409,
    Code.WRONG_MODE: 409,
    Code.UNKNOWN_MEMBER: 404,
    Code.FENCED_INSTANCE: 409,
    Code.FENCED_GENERATION: 409,
    Code.RECEIPT_INVALID: 400,
    Code.RECEIPT_EXPIRED: 409,
    Code.ALREADY_SETTLED: 409,
    Code.DELAYED_NOT_FOUND: 404,
    Code.NO_DEAD_LETTERS: 404,
    Code.REDRIVE_NOT_FOUND: 404,
    Code.UNAVAILABLE: 503,
    Code.DAMAGED: 503,
    Code.SHUTTING_DOWN: 503,
    Code.NOT_LEADER: 503,
    Code.NOT_CONTROLLER: 503,
    Code.NOT_COORDINATOR: 503,
    Code.NOT_ENOUGH_REPLICAS: 503,
    Code.OUTCOME_UNKNOWN: 504,
    Code.NODE_NOT_FOUND: 404,
    Code.DISK_FULL: 507,
    Code.QUOTA_EXCEEDED: 429,
}
RETRY_AFTER_S = 1
INTERNAL = "internal_error"
_OUTCOMES: dict[str, Outcome] = {INTERNAL: Outcome.UNKNOWN, **{str(code): code.outcome for code in Code}}


class ErrorReply(Struct, omit_defaults=True):
    """What every refused request is answered with; `next_offset` is behind what cannot be read."""

    error: str
    code: str
    field: str
    outcome: Outcome
    next_offset: int | None = None


class RestError(Exception):
    """A request that is refused, with all that its answer says."""

    def __init__(self, status: int, code: str, message: str, field: str = "", retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        # Where to go on reading, if the error is about what is stored.
        self.next_offset: int | None = None
        self.retry_after_s = retry_after_s or (RETRY_AFTER_S if status in (429, 503) else 0)


def refused(refusal: Refusal) -> RestError:
    """The error that says what the node refused."""
    retry_after_s = -(-refusal.retry_after_ms // 1000)
    return RestError(STATUS[refusal.code], refusal.code, refusal.message, refusal.field, retry_after_s)


def respelled(error: RestError, names: dict[str, str]) -> RestError:
    """The error with its field as its user wrote it, for the node has names of its own; so has its sentence."""
    written = names.get(error.field)
    if written is not None:
        if "_" in error.field:
            error.message = error.message.replace(error.field, written)
        error.field = written
    return error


def invalid(message: str, field: str) -> RestError:
    """The error for a field that cannot be meant."""
    return RestError(400, Code.INVALID, message, field)


def outcome_of(code: str) -> Outcome:
    """What the request has done that is refused with this code; codes of HTTP's own refuse what was not begun."""
    return _OUTCOMES.get(code, Outcome.NONE)


def error_body(code: str, message: str, field: str = "", next_offset: int | None = None) -> bytes:
    """The JSON of an error."""
    return json.encode(ErrorReply(message, code, field, outcome_of(code), next_offset))
