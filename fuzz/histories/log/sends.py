"""Messages lie in a partition in the order in which they were sent.

    disordered-batch        of one publish, a later message lies before an earlier one
    disordered-sends        a producer that keeps order sent one message after another, and it lies before that
    acknowledged-later      what was sent after an acknowledgement, by anybody, lies before what that was about

The second holds for producers that say that they keep order (`ordered`), for what is in one lane, also while several
messages are under way; the third for everybody.
"""

from collections.abc import Iterator
from itertools import pairwise

from goqueue.fuzz.histories.log.sightings import Sightings, Slot
from goqueue.fuzz.histories.operation import NEVER, Operation, Verb
from goqueue.fuzz.histories.verdict import Finding


def disordered_sends(found: Sightings) -> Iterator[Finding]:
    """All three kinds."""
    appended: dict[Slot, list[Operation]] = {}
    for one in found.history.of(Verb.PUBLISH):
        is_told = one.is_ok and one.asked["acks"] == "all" and found.is_judged(one.asked["topic"])
        if is_told and all(offset >= 0 for offset in one.told["offsets"]):
            if any(len(found.publishers[value]) > 1 for value in one.asked["values"]):
                continue
            appended.setdefault((one.asked["topic"], one.told["partition"]), []).append(one)
    for (topic, partition), sends in appended.items():
        place = f"{topic}/{partition}"
        yield from _within(sends, place)
        yield from _of_producers(sends, place)
        yield from _in_real_time(sends, place)


def _within(sends: list[Operation], place: str) -> Iterator[Finding]:
    for one in sends:
        for before, after in pairwise(one.told["offsets"]):
            if after <= before:
                said = f"of one publish, a message is at {place}@{after}, behind one at {before} that was before it"
                yield Finding("disordered-batch", said, [one])


def _of_producers(sends: list[Operation], place: str) -> Iterator[Finding]:
    last: dict[tuple[str, str], Operation] = {}
    for one in sends:
        if not one.asked["ordered"] or not one.told["offsets"]:
            continue
        key = one.process, one.asked["lane"]
        before = last.get(key)
        if before is not None and one.told["offsets"][0] <= before.told["offsets"][-1]:
            said = (
                f"{one.process} sent {one.asked['values'][0]} after {before.asked['values'][-1]}, and they are at"
                f" {one.told['offsets'][0]} and {before.told['offsets'][-1]} of {place}"
            )
            yield Finding("disordered-sends", said, [before, one])
        last[key] = one


def _in_real_time(sends: list[Operation], place: str) -> Iterator[Finding]:
    """Whoever was sent after another one was acknowledged lies behind it."""
    ended = sorted(
        (one for one in sends if one.ended_ns != NEVER and one.told["offsets"]), key=lambda one: one.ended_ns
    )
    highest: Operation | None = None
    at = 0
    for one in sends:
        while at < len(ended) and ended[at].ended_ns < one.asked_ns:
            if highest is None or ended[at].told["offsets"][-1] > highest.told["offsets"][-1]:
                highest = ended[at]
            at += 1
        if highest is not None and one.told["offsets"] and one.told["offsets"][0] <= highest.told["offsets"][-1]:
            said = (
                f"{one.asked['values'][0]} was sent after {highest.asked['values'][-1]} was acknowledged at"
                f" {place}@{highest.told['offsets'][-1]}, and is at {one.told['offsets'][0]}"
            )
            yield Finding("acknowledged-later", said, [highest, one])
