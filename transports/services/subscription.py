"""One Subscribe: what partitions hold from given positions on, and whatever is added, until the client goes.

The reading is a `Feed`, with a source for each position. A position that is refused ends alone. When the broker leaves,
each position is told where to go on.
"""

from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.messages import Fetched
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.proto import translate, v1
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.services.envelopes import bytes_field, number_field
from goqueue.transports.services.feed import Feed, Source, reply_share

# Before every record, and after every one.
EARLIEST_MS, LATEST_MS = -1, INT64_MAX


class Subscription:
    """The state of one call."""

    def __init__(self, call: ServerCall, broker: Broker, wanted: translate.Subscription) -> None:
        self._call = call
        self._starts = wanted.starts
        self._sources = [Source(start.topic, start.partition, number) for number, start in enumerate(wanted.starts)]
        self._live = len(wanted.starts)
        share = reply_share(wanted.max_bytes, len(wanted.starts))
        self._feed = Feed(call, broker, call.caller, share, self._send, self._end)

    async def serve(self) -> None:
        """Serve the call until every position has ended, or the broker leaves."""
        self._call.send_headers()
        try:
            goes_on = await self._call.until_leaving(self._follow)
        finally:
            self._feed.close(self._sources)
        if not goes_on:
            self._take_leave()

    async def _follow(self) -> None:
        for source, start in zip(self._sources, self._starts, strict=True):
            self._begin(source, start)
        while self._live:
            await self._feed.stirred.wait()
            await self._feed.resume()

    def _begin(self, source: Source, start: translate.Start) -> None:
        if start.offset is not None:
            self._feed.begin_at(source, start.offset)
            return
        timestamp = start.timestamp
        if timestamp is None:
            timestamp = LATEST_MS if start.latest else EARLIEST_MS
        self._feed.begin(source, timestamp)

    def _send(self, source: Source, fetched: Fetched) -> None:
        head = (
            number_field(1, source.number)
            + number_field(3, fetched.next_offset)
            + number_field(4, fetched.high_watermark)
            + number_field(5, fetched.start_offset)
            + bytes_field(2, len(fetched.batches))
        )
        self._feed.put(head, fetched.batches)

    def _end(self, source: Source, refusal: Refusal) -> None:
        self._live -= 1
        self._feed.stop(source)
        self._feed.stirred.wake()
        if refusal.code is Code.SHUTTING_DOWN:
            self._say(translate.leaving(source.number, source.next_offset))
        else:
            self._say(translate.subscribe_reply(source.number, refusal))

    def _take_leave(self) -> None:
        for source in self._sources:
            if not source.is_over:
                self._say(translate.leaving(source.number, source.next_offset))

    def _say(self, reply: v1.SubscribeReply) -> None:
        self._call.put(self._call.codec.encode(reply))
