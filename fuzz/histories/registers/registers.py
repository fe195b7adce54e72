"""The registers of a history: each group's offset of each partition, and each topic.

An answer about a topic's settings may be as old as the node that gave it is behind: so such a reading counts from the
beginning of the history, and only must not be of what never was. That a topic is there already, or is not there, is
what the controller says of a change, and counts like the change. Offsets are the coordinator's, and never old.

A topic that is made and deleted before its maker is answered is answered as one that is not there. So a refusal of that
kind leaves open whether it was made.

An offset of a group that was deleted, or reset with an unknown outcome, is not judged, and neither are the offsets of a
topic that was deleted: nobody outside can tell which one they were of.
"""

from collections.abc import Iterator

from attrs import define, field

from goqueue.core.requests.refusals import Code
from goqueue.fuzz.histories.log.commits import Key, rows
from goqueue.fuzz.histories.operation import NEVER, NO_OFFSET, End, History, Operation, Verb
from goqueue.fuzz.histories.registers.models import Event, Model, OffsetModel, TopicModel
from goqueue.fuzz.histories.registers.search import TRIED_MAX, Answer, search, smallest
from goqueue.fuzz.histories.verdict import Finding


@define
class Registers:
    """What was found of all registers: anomalies, and registers for which the search was too long."""

    findings: list[Finding] = field(factory=list)
    doubts: list[str] = field(factory=list)
    judged: int = 0


def judge_registers(history: History, tried_max: int = TRIED_MAX) -> Registers:
    """Search an order for each register."""
    found = Registers()
    for (group, topic, partition), events in _offsets(history).items():
        _judge(found, OffsetModel(), events, f"the offset of {topic}/{partition} of group {group}", tried_max)
    for topic, events in _topics(history).items():
        _judge(found, TopicModel(), events, f"topic {topic}", tried_max)
    return found


def _judge(found: Registers, model: Model, events: list[Event], name: str, tried_max: int) -> None:
    found.judged += 1
    answer = search(model, events, tried_max)
    if answer is Answer.TIRED:
        found.doubts.append(f"{name}: no order of its {len(events)} operations was found in {tried_max} tries")
    elif answer is Answer.NO:
        said = f"of {name}, these operations cannot have happened one after another, each while it was under way"
        shown = [one.operation for one in smallest(model, events, tried_max)]
        found.findings.append(Finding("not-linearizable", said, shown))


def _event(kind: str, value: object, one: Operation, end: End, *, may_be_old: bool = False) -> Event:
    is_certain = end is not End.INFO
    return Event(kind, value, 0 if may_be_old else one.asked_ns, one.ended_ns if is_certain else NEVER, is_certain, one)


# --- offsets


def _offsets(history: History) -> dict[Key, list[Event]]:
    deleted = {one.asked["topic"] for one in history.of(Verb.DELETE) if not one.is_failed}
    gone = {one.asked["group"] for one in history.of(Verb.DELETE_GROUP) if not one.is_failed}
    resets = history.of(Verb.RESET)
    doubtful = {(one.asked["group"], one.asked["topic"]) for one in resets if one.end is End.INFO}
    found: dict[Key, list[Event]] = {}
    for one in history.of(Verb.COMMIT, Verb.COMMITTED, Verb.RESET):
        group = one.asked["group"]
        for key, event in _of_offsets(one, group):
            if group not in gone and key[1] not in deleted and key[:2] not in doubtful:
                found.setdefault(key, []).append(event)
    return found


def _of_offsets(one: Operation, group: str) -> Iterator[tuple[Key, Event]]:
    if one.verb is Verb.RESET:
        for partition, offset in one.told.get("offsets", ()):
            yield (group, one.asked["topic"], partition), _event("reset", offset, one, one.end)
        return
    kind = "commit" if one.verb is Verb.COMMIT else "read"
    for topic, partition, offset, end in rows(one):
        if end is not End.FAIL and offset >= NO_OFFSET:
            yield (group, topic, partition), _event(kind, offset, one, end)


# --- topics


def _topics(history: History) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for one in history.of(Verb.CREATE, Verb.ALTER, Verb.DELETE, Verb.DESCRIBE):
        event = _of_topic(one)
        if event is not None:
            found.setdefault(one.asked["topic"], []).append(event)
    # What is only described was there before the history began.
    return {topic: events for topic, events in found.items() if any(one.kind == "create" for one in events)}


def _of_topic(one: Operation) -> Event | None:
    is_description = one.verb is Verb.DESCRIBE
    is_made_and_gone = one.verb is Verb.CREATE and one.code == Code.TOPIC_NOT_FOUND
    if one.end is End.FAIL and not is_made_and_gone:
        said = {str(Code.TOPIC_NOT_FOUND): "not there", str(Code.TOPIC_EXISTS): "there"}.get(one.code)
        return None if said is None else _event(said, None, one, one.end, may_be_old=is_description)
    if is_description:
        if not one.is_ok:
            return None
        seen = {name: str(value) for name, value in one.told["config"].items()}
        return _event("see", seen, one, one.end, may_be_old=True)
    if one.verb is Verb.DELETE:
        return _event("delete", None, one, one.end)
    given = {name: None if value is None else str(value) for name, value in one.asked["config"].items()}
    if one.verb is Verb.ALTER:
        return _event("alter", given, one, one.end)
    settings = frozenset((name, value) for name, value in given.items() if value is not None)
    return _event("create", settings, one, End.INFO if is_made_and_gone else one.end)
