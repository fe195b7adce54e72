"""An operation in plain words, as one line."""

from goqueue.fuzz.histories.operation import NEVER, Operation, Verb

_SHOWN_MAX = 6


def narrate(operation: Operation) -> str:
    """Who asked for what, from when to when, and what it was told."""
    until = "" if operation.ended_ns == NEVER else f" to {operation.ended_ns / 1e9:.3f}"
    span = f"{operation.asked_ns / 1e9:.3f}{until} s"
    said = f"#{operation.serial} {operation.process}, {span}: {_asked(operation)}"
    if operation.is_ok:
        told = _told(operation)
        return f"{said} -> {told}" if told else f"{said} -> ok"
    how = "not done" if operation.is_failed else "outcome unknown"
    return f"{said} -> {how}{f' ({operation.code})' if operation.code else ''}"


def _asked(operation: Operation) -> str:
    asked, verb = operation.asked, operation.verb
    if verb in (Verb.PUBLISH, Verb.PUBLISH_LATER):
        later = f", due after {asked['delay_ms']} ms" if verb is Verb.PUBLISH_LATER else ""
        key = "" if asked["key"] is None else f" under key {asked['key']}"
        return f"publish {_list(asked['values'])} to {asked['topic']}{key}{later}"
    words = [str(verb)]
    for name, given in asked.items():
        if given in ("", None) or given == []:
            continue
        if name == "messages":
            words.append(_list([f"{topic}/{partition}@{offset}" for topic, partition, offset, _ in given]))
        elif name == "offsets":
            words.append(_list([f"{topic}/{partition}: {offset}" for topic, partition, offset in given]))
        elif name == "partitions":
            words.append(_list([f"{topic}/{partition}" for topic, partition in given]))
        else:
            words.append(str(given) if name == "topic" else f"{name} {given}")
    return " ".join(words)


def _told(operation: Operation) -> str:
    told, verb = operation.told, operation.verb
    if verb in (Verb.PUBLISH, Verb.PUBLISH_LATER):
        return f"partition {told['partition']}, offsets {_list(told['offsets'])}"
    if verb is Verb.POLL:
        return _list([
            f"{part['topic']}/{part['partition']}: {_list([f'{offset} {value}' for offset, value in part['messages']])}"
            f" up to {part['position']}"
            for part in told["parts"]
        ])  # fmt: skip
    if verb is Verb.RECEIVE:
        return _list([
            f"{one['topic']}/{one['partition']}@{one['offset']} {one['value']}, attempt {one['attempt']},"
            f" leased for {one['left_ms']} ms"
            for one in told["messages"]
        ])  # fmt: skip
    if verb is Verb.COMMITTED:
        return _list([f"{topic}/{partition}: {offset}" for topic, partition, offset in told["offsets"]])
    if verb is Verb.DESCRIBE:
        return str(told["config"])
    refused = told.get("refused")
    return f"refused for {_list([' '.join(map(str, one)) for one in refused])}" if refused else ""


def _list(items: list[object] | list[str] | list[int]) -> str:
    if not items:
        return "nothing"
    shown = ", ".join(map(str, items[:_SHOWN_MAX]))
    return shown if len(items) <= _SHOWN_MAX else f"{shown} and {len(items) - _SHOWN_MAX} more"
