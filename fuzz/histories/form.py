"""Histories as JSON lines: the first line is a header, every other one the beginning or the end of an operation.

    {"form": "goqueue-history", "version": 1, "about": {...}, "clock_error_ms": 50, "power_cuts": false, ...}
    {"type": "invoke", "op": 0, "process": "p1", "verb": "publish", "time": 1200, "wall": 1700000000000, "asked": {...}}
    {"type": "ok", "op": 0, "time": 9000, "told": {"partition": 0, "offsets": [17]}}
    {"type": "fail", "op": 1, "time": 9100, "error": "not_leader"}
    {"type": "info", "op": 2, "time": 9200, "error": "connection_lost"}

Lines are in the order in which things happened, so a history can be written while it is made and read as a stream. An
operation without an end is of unknown outcome. What a verb asks and is told is in `ASKED` and `TOLD`; fields that are
not listed are refused, and so is a field of another type: a history that is misread would be judged wrongly.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from goqueue.core.errors import GoQueueError
from goqueue.fuzz.histories.operation import End, GroupTerms, History, Operation, Terms, Verb

FORM, VERSION = "goqueue-history", 1
INVOKE = "invoke"

Check = Callable[[object], bool]


class HistoryError(GoQueueError):
    """A history that cannot be read, and where."""


def _text(given: object) -> bool:
    return isinstance(given, str)


def _number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _flag(given: object) -> bool:
    return isinstance(given, bool)


def _config(given: object) -> bool:
    return isinstance(given, Mapping) and all(isinstance(key, str) for key in given)


def _or_none(check: Check) -> Check:
    return lambda given: given is None or check(given)


def _list(check: Check) -> Check:
    return lambda given: isinstance(given, list | tuple) and all(check(one) for one in given)


def _row(*checks: Check) -> Check:
    return lambda given: (
        isinstance(given, list | tuple)
        and len(given) == len(checks)
        and all(check(one) for check, one in zip(checks, given, strict=True))
    )


def _fields(**checks: Check) -> Check:
    return lambda given: (
        isinstance(given, Mapping) and given.keys() == checks.keys() and all(checks[key](given[key]) for key in checks)
    )


_SLOT = _row(_text, _number)
_OFFSET = _row(_text, _number, _number)
_LEASE = _row(_text, _number, _number, _text)
_REFUSED_LEASE = _row(_text, _number, _number, _text, _text)
_SEEN = _row(_number, _text)
_SETTLE: dict[str, Check] = {"group": _text, "messages": _list(_LEASE)}

# What is asked, by verb; each field has to be there.
ASKED: dict[Verb, dict[str, Check]] = {
    Verb.PUBLISH: {
        "topic": _text, "values": _list(_text), "key": _or_none(_text), "lane": _text, "acks": _text,
        "atomic": _flag, "numbered": _flag, "ordered": _flag, "ttl": _flag,
    },
    Verb.PUBLISH_LATER: {
        "topic": _text, "values": _list(_text), "key": _or_none(_text), "numbered": _flag, "ttl": _flag,
        "delay_ms": _number, "due_ms": _or_none(_number),
    },
    Verb.CANCEL: {"topic": _text, "partition": _number, "offset": _number, "value": _text},
    Verb.POLL: {"group": _text},
    Verb.ASSIGN: {"group": _text, "partitions": _list(_SLOT)},
    Verb.COMMIT: {"group": _text, "offsets": _list(_OFFSET)},
    Verb.COMMITTED: {"group": _text},
    Verb.RESET: {"group": _text, "topic": _text},
    Verb.DELETE_GROUP: {"group": _text},
    Verb.RECEIVE: {"group": _text},
    Verb.ACK: _SETTLE,
    Verb.NACK: {**_SETTLE, "delay_ms": _or_none(_number)},
    Verb.REJECT: _SETTLE,
    Verb.EXTEND: {**_SETTLE, "span_ms": _number},
    Verb.RELEASE: _SETTLE,
    Verb.LEAVE: {"group": _text},
    Verb.LETTERS: {"topic": _text},
    Verb.CREATE: {"topic": _text, "config": _config},
    Verb.ALTER: {"topic": _text, "config": _config},
    Verb.DELETE: {"topic": _text},
    Verb.DESCRIBE: {"topic": _text},
    Verb.DRAINED: {"topic": _text, "group": _text},
}  # fmt: skip

_REFUSED: dict[str, Check] = {"refused": _list(_REFUSED_LEASE)}

# What is told, by verb, where the operation was ok.
TOLD: dict[Verb, dict[str, Check]] = {
    Verb.PUBLISH: {"partition": _number, "offsets": _list(_number)},
    Verb.PUBLISH_LATER: {"partition": _number, "offsets": _list(_number), "due_ms": _number},
    Verb.POLL: {
        "parts": _list(_fields(
            topic=_text, partition=_number, begin=_or_none(_number), position=_number, messages=_list(_SEEN)
        ))
    },
    Verb.COMMIT: {"refused": _list(_row(_text, _number, _text))},
    Verb.COMMITTED: {"offsets": _list(_OFFSET)},
    Verb.RESET: {"offsets": _list(_row(_number, _number))},
    Verb.RECEIVE: {
        "messages": _list(_fields(
            topic=_text, partition=_number, offset=_number, value=_text, key=_or_none(_text), attempt=_number,
            lease=_text, age_ms=_number, left_ms=_number,
        ))
    },
    Verb.ACK: _REFUSED,
    Verb.NACK: _REFUSED,
    Verb.REJECT: _REFUSED,
    Verb.EXTEND: _REFUSED,
    Verb.RELEASE: _REFUSED,
    Verb.LETTERS: {"messages": _list(_row(_text, _text))},
    Verb.DESCRIBE: {"config": _config},
}  # fmt: skip


# --- writing


def header_line(terms: Terms) -> str:
    """The first line of a history."""
    return json.dumps({"form": FORM, "version": VERSION, **attrs.asdict(terms)}, separators=(",", ":"))


def begin_line(operation: Operation) -> str:
    """The line that says that an operation was asked for."""
    return json.dumps(
        {
            "type": INVOKE, "op": operation.serial, "process": operation.process, "verb": operation.verb,
            "time": operation.asked_ns, "wall": operation.wall_ms, "asked": operation.asked,
        },
        separators=(",", ":"),
    )  # fmt: skip


def end_line(operation: Operation, at_ns: int) -> str:
    """The line that says how it ended."""
    line: dict[str, object] = {"type": operation.end, "op": operation.serial, "time": at_ns}
    if operation.code:
        line["error"] = operation.code
    if operation.is_ok:
        line["told"] = operation.told
    return json.dumps(line, separators=(",", ":"))


def lines_of(history: History) -> Iterator[str]:
    """A whole history as lines, in the order in which things happened."""
    yield header_line(history.terms)
    events = [(one.asked_ns, 0, one.serial, begin_line(one)) for one in history.operations]
    events += [
        (one.ended_ns, 1, one.ended_serial, end_line(one, one.ended_ns))
        for one in history.operations
        if one.end is not End.INFO
    ]
    for *_, line in sorted(events):
        yield line


# --- reading


def read_history(lines: Iterable[str]) -> History:
    """The history that lines say; raises HistoryError, which names the line and what is wrong with it."""
    history, open_operations = None, dict[int, Operation]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except ValueError as error:
            raise HistoryError(f"line {number} is not JSON: {error}") from None
        if not isinstance(said, dict):
            raise HistoryError(f"line {number} is no JSON object")
        try:
            if history is None:
                history = History(_read_terms(said))
            else:
                _read_event(history, open_operations, said)
        except _Wrong as wrong:
            raise HistoryError(f"line {number}: {wrong}") from None
    if history is None:
        raise HistoryError("the history is empty: not even a header is there")
    return history


class _Wrong(Exception):
    """What is wrong with a line."""


def _read_terms(said: dict[str, Any]) -> Terms:
    if said.get("form") != FORM:
        raise _Wrong(f"expected the header of a history, with the form {FORM!r}, found {said.get('form')!r}")
    if said.get("version") != VERSION:
        raise _Wrong(f"the history is of version {said.get('version')!r}, and only {VERSION} is known")
    clock_error_ms, groups = _get(said, "clock_error_ms", _or_none(_number)), _get(said, "groups", _config)
    found: dict[str, GroupTerms] = {}
    for name, given in groups.items():
        if not _fields(max_attempts=_number, key_ordered=_flag)(given):
            raise _Wrong(f"the group {name!r} has max_attempts, a number, and key_ordered, true or false, not {given}")
        found[name] = GroupTerms(**given)
    cuts, damage, redrives = (_get(said, name, _flag) for name in ("power_cuts", "damage", "redrives"))
    return Terms(_get(said, "about", _config), clock_error_ms, cuts, damage, redrives, found)


def _get(said: dict[str, Any], name: str, check: Check) -> Any:  # noqa: ANN401 - what the check allows
    if name not in said:
        raise _Wrong(f"there is no {name!r}")
    if not check(said[name]):
        raise _Wrong(f"{name!r} cannot be {said[name]!r}")
    return said[name]


def _read_event(history: History, open_operations: dict[int, Operation], said: dict[str, Any]) -> None:
    kind, serial, time = _get(said, "type", _text), _get(said, "op", _number), _get(said, "time", _number)
    if kind == INVOKE:
        if serial in open_operations or (history.operations and serial <= history.operations[-1].serial):
            raise _Wrong(f"operations are numbered in order, and {serial} does not come next")
        operation = _read_begin(said, serial, time)
        open_operations[serial] = operation
        history.operations.append(operation)
        return
    ended = open_operations.pop(serial, None)
    if ended is None:
        raise _Wrong(f"operation {serial} ends, and was not begun or has ended before")
    if kind not in [*End]:
        raise _Wrong(
            f"a line begins an operation ({INVOKE}) or ends it (ok, fail, info), and {kind!r} is none of these"
        )
    if time < ended.asked_ns:
        raise _Wrong(f"operation {serial} ends before it was begun")
    history.end(ended, End(kind), str(said.get("error", "")), time)
    if ended.is_ok:
        ended.told = _checked(said.get("told", {}), TOLD.get(ended.verb, {}), f"{ended.verb} is told")


def _read_begin(said: dict[str, Any], serial: int, time: int) -> Operation:
    verb = _get(said, "verb", _text)
    if verb not in [*Verb]:
        raise _Wrong(f"there is no verb {verb!r}")
    asked = _checked(said.get("asked"), ASKED[Verb(verb)], f"{verb} asks")
    return Operation(serial, _get(said, "process", _text), Verb(verb), asked, time, _get(said, "wall", _number))


def _checked(given: object, fields: dict[str, Check], what: str) -> dict[str, Any]:
    """Plain data with exactly these fields."""
    if not isinstance(given, dict):
        raise _Wrong(f"{what} an object, not {given!r}")
    if given.keys() != fields.keys():
        raise _Wrong(f"{what} {', '.join(fields) or 'nothing'}; found {', '.join(given) or 'nothing'}")
    for name, check in fields.items():
        if not check(given[name]):
            raise _Wrong(f"{what} {name!r}, which cannot be {given[name]!r}")
    return given
