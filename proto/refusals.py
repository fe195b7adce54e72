"""Refusals on their way out, and those that arise on the way in: requests that cannot be meant as they stand."""

from typing import TypeAlias

from goqueue.core.requests.messages import Acks, Due
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made

_ACKS: dict[int, Acks] = {v1.Acks.ALL: Acks.ALL, v1.Acks.LEADER: Acks.LEADER, v1.Acks.NONE: Acks.NONE}
OUTCOMES: dict[int, Outcome] = {
    v1.Outcome.NONE: Outcome.NONE,
    v1.Outcome.UNKNOWN: Outcome.UNKNOWN,
    v1.Outcome.DONE: Outcome.DONE,
}
_OUTCOME_NUMBERS = {outcome: number for number, outcome in OUTCOMES.items()}
# What a code counts as that is not known here, by the outcome that was told with it.
_UNHEARD_OF = {Outcome.NONE: Code.UNAVAILABLE, Outcome.UNKNOWN: Code.OUTCOME_UNKNOWN, Outcome.DONE: Code.DUPLICATE}
_DUES: dict[int, Due] = {v1.Due.NOW: Due.NOW, v1.Due.AT: Due.AT, v1.Due.AFTER: Due.AFTER}
_UINT32_MAX = (1 << 32) - 1
# What the core calls otherwise than the messages do.
_FIELDS = {"due_ms": "deliver_at_ms", "visibility_ms": "visibility_timeout_ms"}

# A problem with a request: the sentence for a person, and the field.
Problem: TypeAlias = tuple[str, str]


def refusal(refused: Refusal) -> v1.Refusal:
    """A refusal as a message."""
    retry_after_ms = min(refused.retry_after_ms, _UINT32_MAX)
    return made(
        v1.Refusal,
        code=str(refused.code),
        message=refused.message,
        field=field_name(refused.field),
        retry_after_ms=retry_after_ms,
        divide_at=refused.divide_at,
        outcome=_OUTCOME_NUMBERS[refused.outcome],
    )


def field_name(field: str) -> str:
    """The place of a field in a message, where the core told it in its own words."""
    place, dot, name = field.rpartition(".")
    return f"{place}{dot}{_FIELDS.get(name, name)}"


def read_refusal(message: v1.Refusal) -> Refusal:
    """A refusal as it was before it travelled; where the code is not known here, one with the same outcome."""
    fields = contents(message)
    try:
        code = Code(fields["code"])
    except ValueError:
        code = _UNHEARD_OF[OUTCOMES.get(fields["outcome"], Outcome.UNKNOWN)]
    return Refusal(code, fields["message"], fields["field"], fields["retry_after_ms"], divide_at=fields["divide_at"])


def invalid(message: str, field: str) -> Refusal:
    """The refusal of a request for a field that cannot be meant."""
    return Refusal(Code.INVALID, message, field)


def missing(field: str) -> Refusal:
    """The refusal of a request that leaves out what it needs."""
    return invalid(f"{field} is required", field)


def negative(field: str, number: int) -> Refusal:
    """The refusal of a number below zero."""
    return invalid(f"{field} must not be negative, and is {number}", field)


def acks(number: int) -> Acks | Refusal:
    """What a publish waits for."""
    known = _ACKS.get(number)
    if known is None:
        return invalid(f"acks must be one of {', '.join(_named(v1.Acks))}, not {int(number)}", "acks")
    return known


def due(number: int) -> Due | Refusal:
    """When the messages of a batch are delivered."""
    known = _DUES.get(number)
    if known is None:
        return invalid(f"due must be one of {', '.join(_named(v1.Due))}, not {int(number)}", "due")
    return known


def _named(enum: type[v1.Acks | v1.Due]) -> list[str]:
    return [f"{each.value} ({each.name})" for each in enum]
