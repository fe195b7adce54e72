"""What a store has done since it was opened, as plain integers that whoever wants to know reads.

They are counted once a batch, a read or a sync, in the thread that drives the store.
"""

from attrs import define, field

from goqueue.core.requests.histogram import Histogram


@define
class StoreMeters:
    """The counters of one store."""

    bytes_written: int = 0
    bytes_read: int = 0
    syncs: int = 0
    sync_errors: int = 0
    sync_latency: Histogram = field(factory=Histogram)
    # Bytes of batches by stream, as long as the stream is there.
    appended_bytes: dict[str, int] = field(factory=dict)

    def appended(self, stream: str, size: int) -> None:
        """Batches were written."""
        self.bytes_written += size
        self.appended_bytes[stream] = self.appended_bytes.get(stream, 0) + size

    def synced(self, spans_ns: list[int], *, failed: bool) -> None:
        """Files were forced to the disk, each in such a time; with `failed` one more could not be."""
        self.syncs += len(spans_ns) + failed
        self.sync_errors += failed
        for span_ns in spans_ns:
            self.sync_latency.observe(span_ns)

    def forget(self, stream: str) -> None:
        """A stream is gone."""
        self.appended_bytes.pop(stream, None)
