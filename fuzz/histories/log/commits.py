"""An offset that was committed is there for whoever asks later, and commits never take it back.

A group's offset of a partition only goes up, save by resets. So whoever asks after a commit was acknowledged, or after
somebody was told an offset, is told that much or more; and nobody is told an offset that nobody committed.
`registers/` asks for more; this names the plain cases at any length of a history.
"""

from collections.abc import Iterator

from goqueue.core.client.failure import outcome_of
from goqueue.core.requests.refusals import Outcome
from goqueue.fuzz.histories.operation import NEVER, NO_OFFSET, End, History, Operation, Verb
from goqueue.fuzz.histories.verdict import Finding

Key = tuple[str, str, int]
"""A group, a topic and a partition."""

_Known = tuple[int, Operation]


def stale_commits(history: History) -> Iterator[Finding]:
    """Offsets that went back, and offsets out of nowhere."""
    shaken = {one.asked["group"] for one in history.of(Verb.RESET, Verb.DELETE_GROUP)}
    deleted = {one.asked["topic"] for one in history.of(Verb.DELETE) if not one.is_failed}
    told: dict[Key, list[tuple[int, int, Operation]]] = {}
    asked: dict[Key, dict[int, Operation]] = {}
    reads: list[tuple[Key, int, Operation]] = []
    for one in history.of(Verb.COMMIT, Verb.COMMITTED):
        group = one.asked["group"]
        if group in shaken:
            continue
        for topic, partition, offset, end in rows(one):
            key = group, topic, partition
            if topic in deleted or end is End.FAIL:
                continue
            if one.verb is Verb.COMMIT:
                asked.setdefault(key, {}).setdefault(offset, one)
            else:
                reads.append((key, offset, one))
            if end is End.OK and one.ended_ns != NEVER:
                told.setdefault(key, []).append((one.ended_ns, offset, one))
    highest = {key: _rising(known) for key, known in told.items()}
    places = dict.fromkeys(highest, 0)
    for key, offset, read in reads:
        if offset != NO_OFFSET and offset not in asked.get(key, {}):
            said = f"{_name(key)} was said to be committed at {offset}, which nobody committed"
            yield Finding("commit-out-of-nowhere", said, [read])
        rising = highest[key]
        while places[key] < len(rising) and rising[places[key]][0] < read.asked_ns:
            places[key] += 1
        if places[key]:
            _, least, earlier = rising[places[key] - 1]
            if offset < least:
                said = f"{_name(key)} was committed at {least}, and then {read.process} was told {offset}"
                yield Finding("stale-commit", said, [earlier, read])


def rows(one: Operation) -> Iterator[tuple[str, int, int, End]]:
    """Topic, partition and offset of each part of a commit or of an answer about offsets, and what became of it."""
    if one.verb is Verb.COMMITTED:
        for topic, partition, offset in one.told.get("offsets", ()):
            yield topic, partition, offset, one.end
        return
    refused = {(topic, partition): code for topic, partition, code in one.told.get("refused", ())}
    for topic, partition, offset in one.asked["offsets"]:
        yield topic, partition, offset, ended(one, refused.get((topic, partition)))


def ended(one: Operation, refused: str | None) -> End:
    """How a part of an operation ended, of which single parts may be refused, with a code."""
    if refused is None:
        return one.end
    return End.INFO if outcome_of(refused) is Outcome.UNKNOWN else End.FAIL


def _rising(known: list[tuple[int, int, Operation]]) -> list[tuple[int, int, Operation]]:
    """From when on an offset was at least how high."""
    rising: list[tuple[int, int, Operation]] = []
    for each in sorted(known, key=lambda one: (one[0], one[1])):
        if not rising or each[1] > rising[-1][1]:
            rising.append(each)
    return rising


def _name(key: Key) -> str:
    return f"{key[1]}/{key[2]} of group {key[0]}"
