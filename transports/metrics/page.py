"""The page that Prometheus reads: its text format, version 0.0.4, written from the table of metrics."""

from collections.abc import Callable, Iterator

from goqueue.core.requests.cluster import ClusterFigures
from goqueue.core.requests.delays import DelaysMeasured
from goqueue.core.requests.groups import GroupsMeasured
from goqueue.core.requests.histogram import BOUNDS_S, Histogram
from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.queues import WorkMeasured
from goqueue.storage.meters import StoreMeters
from goqueue.transports.buffer_budget import BufferBudget
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.table import METRICS, PREFIX, Metric, Sample, Sources
from goqueue.transports.peers.meters import PeerMeters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class MetricsPage:
    """Writes the page; `connections` tells how many there are, `buffers` what they hold.

    A broker alone leaves out `peers`.
    """

    def __init__(
        self,
        broker: BrokerMeters,
        store: StoreMeters,
        connections: Callable[[], int],
        peers: PeerMeters | None = None,
        buffers: Callable[[], BufferBudget] = lambda: BufferBudget(1),
    ) -> None:
        self.broker = broker
        self._store = store
        self._connections = connections
        self._peers = peers or PeerMeters()
        self._buffers = buffers

    def written(
        self,
        node: NodeReply,
        groups: GroupsMeasured,
        work: WorkMeasured,
        delays: DelaysMeasured,
        cluster: ClusterFigures,
    ) -> bytes:
        """The page for a node as it describes itself, its groups, their work queues, delays, and its cluster."""
        there = {topic.name for topic in node.streams}
        for gone in [topic for topic in self.broker.consumed if topic not in there]:
            del self.broker.consumed[gone]
        sources = Sources(
            node, groups, work, delays, self.broker, self._store, self._connections(), self._buffers(), cluster,
            self._peers,
        )  # fmt: skip
        lines = [line for metric in METRICS for line in _lines(metric, sources)]
        return "".join(lines).encode()


def _lines(metric: Metric, sources: Sources) -> Iterator[str]:
    name = PREFIX + metric.name
    yield f"# HELP {name} {metric.meaning}\n# TYPE {name} {metric.kind}\n"
    found = metric.read(sources)
    if isinstance(found, Histogram):
        yield from _distribution(name, found)
    else:
        for sample in found:
            yield _sample(name, sample)


def _sample(name: str, sample: Sample) -> str:
    labels, number = sample
    if not labels:
        return f"{name} {number}\n"
    written = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels)
    return f"{name}{{{written}}} {number}\n"


def _distribution(name: str, histogram: Histogram) -> Iterator[str]:
    total = 0
    for bound, count in zip(BOUNDS_S, histogram.counts, strict=False):
        total += count
        yield f'{name}_bucket{{le="{bound:g}"}} {total}\n'
    total += histogram.counts[-1]
    yield f'{name}_bucket{{le="+Inf"}} {total}\n{name}_sum {histogram.sum_ns / 1e9}\n{name}_count {total}\n'
