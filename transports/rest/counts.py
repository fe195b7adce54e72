"""The endpoints that say work queues, lanes and delayed messages in numbers."""

from goqueue.core.cluster.durations import format_duration
from goqueue.core.requests.deadletters import DeadTopic, ListDeadTopics
from goqueue.core.requests.delays import DelaysMeasured, MeasureDelays
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.queues import LaneMeasure, LanesMeasured, MeasureLanes, MeasureWork, WorkMeasured
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import PRIORITIES
from goqueue.transports.rest.delay_bodies import DelayView, WheelView
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.work_bodies import (
    LanesByPartition,
    LaneSpans,
    LanesView,
    LaneTotals,
    PriorityView,
    ReliabilityView,
)


async def reliability(call: Call) -> Answer:
    """GET /reliability/stats."""
    work = await call.ask(MeasureWork(everywhere=True), WorkMeasured)
    topics: list[DeadTopic] = await call.ask(ListDeadTopics(), list)
    return answer(ReliabilityView(
        work.acked, work.nacked, work.rejected, sum(topic.letters for topic in topics), work.extended,
        sum(queue.in_flight for queue in work.queues), work.timed_out, work.expired, work.buried, work.delivered,
    ))  # fmt: skip


async def priority(call: Call) -> Answer:
    """GET /priority/stats."""
    asked = MeasureLanes(call.query.get("topic", ""), everywhere=True)
    measured = await call.ask(asked, LanesMeasured)
    totals, spans = LaneTotals(), LaneSpans()
    for lanes in _by_lane(measured).values():
        name = PRIORITIES[lanes[0].lane]
        setattr(totals, name, sum(lane.ready + lane.in_flight for lane in lanes))
        setattr(spans, name, _mean_wait(lanes))
    topics = {
        topic: LanesByPartition({str(number): _lanes_view(lanes) for number, lanes in partitions.items()})
        for topic, partitions in measured.topics.items()
    }
    return answer(PriorityView(topics, totals, spans))


def _by_lane(measured: LanesMeasured) -> dict[int, list[LaneMeasure]]:
    found: dict[int, list[LaneMeasure]] = {}
    for partitions in measured.topics.values():
        for lanes in partitions.values():
            for lane in lanes:
                found.setdefault(lane.lane, []).append(lane)
    return found


def _mean_wait(lanes: list[LaneMeasure]) -> str:
    """The mean of the partitions' waits, by how much each gives out; those that give out nothing say nothing."""
    weight = sum(lane.dequeue_rate for lane in lanes)
    waited = sum(lane.waited_ms * lane.dequeue_rate for lane in lanes)
    return format_duration(round(waited / weight)) if weight else "0ms"


def _lanes_view(lanes: list[LaneMeasure]) -> LanesView:
    return LanesView(
        [lane.ready for lane in lanes], [lane.in_flight for lane in lanes],
        [round(lane.enqueue_rate, 3) for lane in lanes], [round(lane.dequeue_rate, 3) for lane in lanes],
    )  # fmt: skip


async def delay(call: Call) -> Answer:
    """GET /delay/stats."""
    measured = await call.ask(MeasureDelays(), DelaysMeasured)
    mean_ms = measured.delay_ms_total // measured.delivered if measured.delivered else 0
    return answer(DelayView(
        sum(measured.pending.values()), measured.pending, measured.delivered, measured.cancelled,
        measured.rescheduled, format_duration(mean_ms), format_duration(_mean_ms(measured.lateness)),
        WheelView(measured.timers),
    ))  # fmt: skip


def _mean_ms(spans: Histogram) -> int:
    count = sum(spans.counts)
    return spans.sum_ns // count // 1_000_000 if count else 0
