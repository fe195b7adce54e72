"""Work queues in numbers: what was counted since the node began, and what there is by group, topic and lane.

Queues of one group and topic count into one tally, which outlives them: it goes with the topic or the group, and what
it had counted by then stays in the sums. So totals never fall, and as many numbers are kept as there are groups and
topics.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from attrs import define, field

from goqueue.core.partition.lane_runs import LANES
from goqueue.core.queues.counts import Tally
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.polling import Polls
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.reader import QueueReader
from goqueue.core.queues.shares import PRECEDENCE
from goqueue.core.records.batch import Lane
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.queues import (
    LaneMeasure,
    LanesMeasured,
    MeasureLanes,
    MeasureWork,
    QueueMeasure,
    WorkMeasured,
)
from goqueue.core.requests.refusals import Code, Refusal

# So many queues are looked at, and no more: looking holds up everybody else.
_QUEUES_MAX = 20_000


@define(eq=False)
class Measures:
    """The tallies by group and topic; `buried_by` is counted by whoever moves dead letters."""

    buried_by: dict[str, int] = field(factory=dict)
    _tallies: dict[tuple[str, str], Tally] = field(factory=dict)
    # What was counted of groups and topics that are gone; by topic what gone groups acknowledged of one that is there.
    _past: Tally = field(factory=Tally)
    _past_acked_by: dict[str, int] = field(factory=dict)
    _past_buried: int = 0

    def tally(self, group: str, topic: str) -> Tally:
        """What the queues of a group on a topic count into."""
        return self._tallies.setdefault((group, topic), Tally())

    def end_topic(self, topic: str) -> None:
        """A topic is no more."""
        for key in [key for key in self._tallies if key[1] == topic]:
            _add(self._past, self._tallies.pop(key))
        self._past_acked_by.pop(topic, None)

    def end_group(self, group: str) -> None:
        """A group is no more."""
        for key in [key for key in self._tallies if key[0] == group]:
            tally, topic = self._tallies.pop(key), key[1]
            _add(self._past, tally)
            self._past_acked_by[topic] = self._past_acked_by.get(topic, 0) + tally.acked
        self._past_buried += self.buried_by.pop(group, 0)

    def work(self, request: MeasureWork, polls: Polls) -> WorkMeasured:
        """The answer to a `MeasureWork`."""
        total = Tally()
        _add(total, self._past)
        acked_by = dict(self._past_acked_by)
        timed_out_by: dict[str, int] = {}
        for (group, topic), tally in self._tallies.items():
            _add(total, tally)
            acked_by[topic] = acked_by.get(topic, 0) + tally.acked
            timed_out_by[group] = timed_out_by.get(group, 0) + tally.timed_out
        return WorkMeasured(
            _queues(islice(_readers(polls), _QUEUES_MAX), request.pairs_max),
            acked=total.acked,
            nacked=total.nacked,
            rejected=total.rejected,
            extended=total.extended,
            timed_out=total.timed_out,
            expired=total.expired,
            buried=self._past_buried + sum(self.buried_by.values()),
            delivered=total.delivered,
            polls=polls.count,
            polls_empty=polls.empty_count,
            ack_latency=total.ack_latency,
            acked_by=acked_by,
            buried_by=dict(self.buried_by),
            timed_out_by=timed_out_by,
        )


def added_up(parts: list[WorkMeasured], pairs_max: int) -> WorkMeasured:
    """What several nodes have counted, as if one had."""
    total, queues = WorkMeasured([]), dict[tuple[str, str], QueueMeasure]()
    for part in parts:
        for name in _COUNTS:
            setattr(total, name, getattr(total, name) + getattr(part, name))
        for by_name, more in ((total.acked_by, part.acked_by), (total.buried_by, part.buried_by)):
            _add_by(by_name, more)
        _add_by(total.timed_out_by, part.timed_out_by)
        _merge(total.ack_latency, part.ack_latency)
        for queue in part.queues:
            whole = queues.setdefault((queue.group, queue.topic), QueueMeasure(queue.group, queue.topic, 0, 0, 0, 0, 0))
            for name in _QUEUE_COUNTS:
                setattr(whole, name, getattr(whole, name) + getattr(queue, name))
    total.queues = [queues[pair] for pair in sorted(queues)[:pairs_max]]
    return total


_COUNTS = (
    *("acked", "nacked", "rejected", "extended", "timed_out", "expired", "buried", "delivered"),
    *("polls", "polls_empty"),
)
_QUEUE_COUNTS = ("in_flight", "ready", "waiting", "held", "dead")


def _add_by(total: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def put_together(parts: list[LanesMeasured]) -> LanesMeasured:
    """The lanes of partitions that several nodes lead."""
    found: dict[str, dict[int, list[LaneMeasure]]] = {}
    for part in parts:
        for topic, partitions in part.topics.items():
            found.setdefault(topic, {}).update(partitions)
    return LanesMeasured({topic: dict(sorted(found[topic].items())) for topic in sorted(found)})


def _add(total: Tally, tally: Tally) -> None:
    total.delivered += tally.delivered
    total.acked += tally.acked
    total.nacked += tally.nacked
    total.rejected += tally.rejected
    total.extended += tally.extended
    total.released += tally.released
    total.timed_out += tally.timed_out
    total.expired += tally.expired
    _merge(total.ack_latency, tally.ack_latency)


def _merge(histogram: Histogram, other: Histogram) -> None:
    histogram.counts = [one + more for one, more in zip(histogram.counts, other.counts, strict=True)]
    histogram.sum_ns += other.sum_ns


def _readers(polls: Polls) -> Iterator[QueueReader]:
    """The readers of all queues, by group and topic."""
    for name in sorted(polls.dispatchers):
        readers = polls.dispatchers[name].readers
        yield from (readers[slot] for slot in sorted(readers))


def _queues(readers: Iterable[QueueReader], pairs_max: int) -> list[QueueMeasure]:
    """Queues added up by group and topic, of so many of these."""
    found: dict[tuple[str, str], QueueMeasure] = {}
    for reader in readers:
        pair = reader.group, reader.slot[0]
        if pair not in found and len(found) >= pairs_max:
            break
        measure = found.setdefault(pair, QueueMeasure(*pair, 0, 0, 0, 0, 0))
        counts = reader.queue.counts()
        measure.in_flight += counts.in_flight
        measure.waiting += counts.waiting
        measure.held += counts.held
        measure.dead += counts.doomed
        # What lies beyond the reach of the queue is there to be had as well.
        measure.ready += reader.left - counts.in_flight - counts.waiting - counts.held - counts.doomed
    return [*found.values()]


def measured_lanes(
    now: int, request: MeasureLanes, topics: dict[str, HostedTopic], books: dict[Slot, QueueLedger]
) -> LanesMeasured | Refusal:
    """The answer to a `MeasureLanes`."""
    if request.topic and request.topic not in topics:
        return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {request.topic!r}", "topic")
    found: dict[str, dict[int, list[LaneMeasure]]] = {}
    left = min(request.partitions_max, _QUEUES_MAX)
    for topic in [request.topic] if request.topic else sorted(topics):
        for number in range(topics[topic].topic.partitions):
            book = books.get((topic, number))
            if left > 0 and book is not None and book.is_ready and book.queues:
                found.setdefault(topic, {})[number] = _lanes(now, book)
                left -= 1
    return LanesMeasured(found)


def _lanes(now: int, book: QueueLedger) -> list[LaneMeasure]:
    """The lanes of a partition in their order of precedence, all groups added up."""
    flow = book.lanes.index.flow
    came, went, waits_ms = flow.came.rates(now), flow.went.rates(now), flow.waits_ms(now)
    counts = [queue.lane_counts() for queue in book.queues.values()]
    ready = [sum(lanes[lane][0] for lanes in counts) for lane in range(LANES)]
    in_flight = [sum(lanes[lane][1] for lanes in counts) for lane in range(LANES)]
    return [
        LaneMeasure(Lane(lane), ready[lane], in_flight[lane], came[lane], went[lane], waits_ms[lane])
        for lane in PRECEDENCE
    ]
