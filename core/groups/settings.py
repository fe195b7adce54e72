"""What may be set on a group: the known keys and what each accepts. They are stored as they were given."""

from goqueue.core.cluster.durations import format_duration, parse_duration_ms
from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.groups.assignment import Assignor
from goqueue.core.groups.beginnings import EARLIEST, start_problem
from goqueue.core.groups.bounds import RETENTION_MS_MAX

Value = int | str | bool

DEFAULTS: dict[str, Value] = {
    "assignor": Assignor.STICKY.value,
    "start": EARLIEST,
    "key_ordered": False,
    "visibility_timeout": "30s",
    "max_attempts": 4,
    "retry_backoff": "1s",
    "max_in_flight": 1000,
    "offsets_retention": "7d",
}
# The longest span of each key; the shortest is a millisecond.
SPANS_MS = {
    "visibility_timeout": SPAN_MS_MAX,
    "retry_backoff": DELAY_MS_MAX,
    "offsets_retention": RETENTION_MS_MAX,
}
NUMBERS = {"max_attempts": 1_000, "max_in_flight": 1_000_000}


def setting_problem(config: dict[str, object]) -> tuple[str, str] | None:
    """The first setting that cannot be used, and why; None takes a setting back and is always right."""
    for key, value in config.items():
        problem = _problem(key, value)
        if problem:
            return key, problem
    return None


def _problem(key: str, value: object) -> str:
    if key not in DEFAULTS:
        return f"no such setting; the known ones are {', '.join(DEFAULTS)}"
    if value is None:
        return ""
    if key == "assignor":
        return "" if value in tuple(Assignor) else f"expected one of {', '.join(Assignor)}, found {value!r}"
    if key == "start":
        return start_problem(value)
    if key == "key_ordered":
        return "" if isinstance(value, bool) else f"expected true or false, found {value!r}"
    if key in NUMBERS:
        within = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= NUMBERS[key]
        return "" if within else f"expected a whole number from 1 to {NUMBERS[key]}, found {value!r}"
    return _span_problem(value, SPANS_MS[key])


def _span_problem(value: object, most_ms: int) -> str:
    if not isinstance(value, str):
        return f"expected a span of time such as '30s', found {value!r}"
    try:
        span_ms = parse_duration_ms(value)
    except ValueError as error:
        return str(error)
    return "" if 1 <= span_ms <= most_ms else f"expected a span from 1ms to {format_duration(most_ms)}, found {value!r}"


def changed(config: dict[str, Value], given: dict[str, object]) -> dict[str, Value]:
    """Settings after a change that has no problem."""
    assert setting_problem(given) is None
    kept: dict[str, Value] = {key: value for key, value in config.items() if key not in given}
    kept.update((key, value) for key, value in given.items() if isinstance(value, int | str))
    return kept


def full(config: dict[str, Value]) -> dict[str, object]:
    """Every setting, defaults included."""
    return {key: config.get(key, default) for key, default in DEFAULTS.items()}
