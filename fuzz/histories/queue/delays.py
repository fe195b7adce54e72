"""Nothing comes before its time: neither what was published for later, nor what is to be tried again after a pause."""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.sightings import Sightings
from goqueue.fuzz.histories.operation import NS_PER_MS, End, Operation, Verb
from goqueue.fuzz.histories.queue.deliveries import Deliveries, Saying
from goqueue.fuzz.histories.verdict import Finding


def early_deliveries(found: Sightings, deliveries: Deliveries) -> Iterator[Finding]:
    """Messages that came too early, by more than clocks may differ; nothing where nobody knows by how much."""
    error_ms = found.history.terms.clock_error_ms
    if error_ms is None:
        return
    yield from _published(found, error_ms)
    for spot, sayings in deliveries.said.items():
        for saying in sayings:
            if saying.operation.verb is Verb.NACK and saying.end is End.OK:
                yield from _retried(deliveries, spot, saying, error_ms)


def _published(found: Sightings, error_ms: int) -> Iterator[Finding]:
    for slot, read in found.read.items():
        if not found.is_judged(slot[0]):
            continue
        for value, reading in read.values():
            senders = found.publishers.get(value, [])
            if not senders or any(one.verb is not Verb.PUBLISH_LATER for one in senders):
                continue
            due_ms = min(map(_due_ms, senders))
            early_ms = due_ms - error_ms - reading.ended_wall_ms
            if early_ms > 0:
                said = f"{value} was read {early_ms} ms before it was due, by more than clocks differ"
                yield Finding("early-delivery", said, [*senders, reading])


def _due_ms(later: Operation) -> int:
    """Not before when a message is due: a delay counts from when the broker takes it, which is after it was asked."""
    due_ms: int | None = later.asked["due_ms"]
    return later.wall_ms + int(later.asked["delay_ms"]) if due_ms is None else due_ms


def _retried(
    deliveries: Deliveries, spot: tuple[str, str, int, int], saying: Saying, error_ms: int
) -> Iterator[Finding]:
    delay_ms = saying.operation.asked["delay_ms"]
    nacked = [one for one in deliveries.given.get(spot, ()) if one.lease == saying.lease]
    if delay_ms is None or not nacked:
        return
    due_ns = saying.operation.asked_ns + (delay_ms - error_ms) * NS_PER_MS
    for delivery in deliveries.given[spot]:
        is_next = delivery.attempt > nacked[0].attempt and delivery.operation.ended_ns > saying.operation.ended_ns
        if is_next and delivery.operation.ended_ns < due_ns:
            said = f"{delivery.value} was to be tried again after {delay_ms} ms, and was given again before that"
            yield Finding("early-retry", said, [saying.operation, delivery.operation])
            return
