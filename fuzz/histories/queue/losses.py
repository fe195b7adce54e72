"""What was acknowledged is given to every group that works through its topic, or becomes a dead letter."""

from collections.abc import Iterator

from goqueue.fuzz.histories.log.losses import acknowledged_before
from goqueue.fuzz.histories.log.sightings import Sightings
from goqueue.fuzz.histories.operation import Verb
from goqueue.fuzz.histories.queue.deliveries import Deliveries
from goqueue.fuzz.histories.verdict import Finding


def lost_messages(found: Sightings, deliveries: Deliveries) -> Iterator[Finding]:
    """Messages that a group which has worked through everything was never given."""
    for drained in found.history.of(Verb.DRAINED):
        group, topic = drained.asked["group"], drained.asked["topic"]
        if group not in found.history.terms.groups or not found.keeps_all(topic):
            continue
        seen = {one.value for spot, given in deliveries.given.items() if spot[0] == group for one in given}
        for value, acknowledged in acknowledged_before(found, drained, topic):
            if value not in seen and (group, value) not in deliveries.letters and not acknowledged.asked["ttl"]:
                said = f"{value} was acknowledged, and {group} was never given it, nor is it a dead letter"
                yield Finding("lost-message", said, [acknowledged, drained])
