"""What some partitions hold, and whatever is added, on its way to one client.

Each source has one request at the broker: a fetch, which waits if need be. Its answer is queued within the turn, and
the next fetch follows unless the client is slow or has no credit left. Then the source rests until the client has taken
enough, or grants more. So there is no task for a source, and none for a reply. The batches of a reply are not copied:
they are queued as the view that was read.

Memory: a source that is behind, so that its fetch is answered at once, fetches only while the client takes something
and once there is room for the reply; until then it rests. One at the end of its partition waits without room, since
most replies of such are small and many clients share their bytes; they count once they are queued. What is queued for a
client passes the bound of its stream by at most one reply of each source, and so does what is held for credit. Whoever
has many sources keeps `reply_bytes` small by `reply_share`; a batch is never cut.

Invariants: a source that is not over has a request at the broker, or rests, or waits for its owner to begin it; it has
room only while it has a request.
"""

from collections.abc import Callable, Iterable
from functools import partial

from attrs import define, field

from goqueue.core.records.batch import read_header
from goqueue.core.records.varint import Readable
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.transports.broker import Broker
from goqueue.transports.exchange import Parking
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.services.reading import ROOM_BYTES_LEAST

REPLY_BYTES_MAX = 16 << 20
ANSWERS_BYTES_MAX = 16 << 20
REPLY_BYTES_LEAST = 16 << 10
_WAIT_NS = 300_000_000_000


def reply_share(wanted: int, count: int) -> int:
    """How much each of so many sources may answer at a time."""
    return min(wanted, REPLY_BYTES_MAX, max(ANSWERS_BYTES_MAX // max(count, 1), REPLY_BYTES_LEAST))


@define
class Credit:
    """How much more a client can take; None is not limited, and less than nothing is owed for a batch not cut."""

    messages: int | None = None
    octets: int | None = None

    def grant(self, messages: int, octets: int) -> None:
        """The client can take so much more."""
        if messages:
            self.messages = (self.messages or 0) + messages
        if octets:
            self.octets = (self.octets or 0) + octets

    @property
    def is_limited(self) -> bool:
        """Whether the client ever granted any."""
        return self.messages is not None or self.octets is not None

    @property
    def is_used_up(self) -> bool:
        """Whether no further batch may go."""
        return (self.messages is not None and self.messages <= 0) or (self.octets is not None and self.octets <= 0)

    def take(self, run: Readable) -> tuple[int, int]:
        """Pay for as many whole batches as may go: how many bytes they are, and the offset after them."""
        at, next_offset = 0, 0
        while at < len(run) and not self.is_used_up:
            header = read_header(run, at)
            at, next_offset = at + header.size, header.next_offset
            if self.messages is not None:
                self.messages -= header.record_count
            if self.octets is not None:
                self.octets -= header.size
        return at, next_offset


@define(eq=False)
class Source:
    """One partition; `to` is its request at the broker, if it has one, and `held` what it has no credit for.

    `room` is what is reserved for the answer; `is_behind` says that there may be messages which it has not read.
    """

    topic: str
    partition: int
    number: int = 0
    next_offset: int = 0
    to: int = 0
    held: Fetched | None = None
    room: int = 0
    is_behind: bool = True
    is_resting: bool = False
    is_over: bool = False


_Receive = Callable[[Source, Reply], None]


@define(eq=False)
class Feed:
    """The sources of one call; `send` writes a reply of one, `end` is told why one cannot go on."""

    _call: ServerCall
    _broker: Broker
    _caller: Caller
    reply_bytes: int
    _send: Callable[[Source, Fetched], None]
    _end: Callable[[Source, Refusal], None]
    credit: Credit = field(factory=Credit)
    is_roomy: bool = True
    # Whether somebody rests because there is no room for more, or the client takes nothing.
    is_starved: bool = False
    stirred: Parking = field(init=False)
    # Room that `resume` has waited for, for the first who takes some.
    _spare: int = 0
    _resting: list[Source] = field(factory=list)
    is_over: bool = False

    def __attrs_post_init__(self) -> None:
        self.stirred = self._call.parking()

    def begin_at(self, source: Source, offset: int) -> None:
        """Read a partition from an offset on, wherever it was before."""
        assert not source.is_over
        self._take_back(source)
        source.next_offset, source.is_behind = offset, True
        if not source.is_resting:
            self._go_on(source)

    def begin(self, source: Source, timestamp: int) -> None:
        """Read a partition from the first record at or after a time on."""
        assert not source.is_over
        self.post(source, FindOffset(source.topic, source.partition, timestamp), self._found)

    def post(self, source: Source, request: FindOffset | Fetch, receive: _Receive) -> None:
        """Ask the broker on a source's behalf; an answer that nobody is there for any more is dropped."""
        self._take_back(source)
        source.to = self._broker.post(self._caller, request, partial(self._receive, source, receive))

    def stop(self, source: Source) -> None:
        """Read a partition no longer."""
        self._take_back(source)
        source.is_over = True

    def close(self, sources: Iterable[Source]) -> None:
        """The call is over."""
        self.is_over = True
        for source in sources:
            self._take_back(source)

    def take_room(self, size: int) -> int:
        """Room for a reply of that size, or a smaller one; 0 if there is none, which `resume` then waits for."""
        if self._spare:
            room, self._spare = self._spare, 0
            return room
        room = self._call.take_room(max(size, 1), min(max(size, 1), ROOM_BYTES_LEAST))
        if not room:
            self.is_starved = True
            self.stirred.wake()
        return room

    def give_room(self, size: int) -> None:
        """The reply is here, or nobody waits for it."""
        if size:
            self._call.give_room(size)

    def put(self, body: bytes, rest: Readable = b"") -> None:
        """Queue a reply."""
        self.is_roomy = self._call.put(body, rest)
        if not self.is_roomy:
            self.stirred.wake()

    async def resume(self, then: Callable[[], None] = lambda: None) -> None:
        """Once the client has taken enough, and has credit, go on with the sources that rest, and with `then`.

        Room that was waited for is kept until then: given back at once it would go to the next who waits, and of many
        who wait none would ever have any.
        """
        if not self.is_roomy:
            await self._call.relieved()
            self.is_roomy = True
        if self.is_starved:
            self._spare = await self._call.room(self.reply_bytes, min(self.reply_bytes, ROOM_BYTES_LEAST))
            self.is_starved = False
        try:
            self._resume_sources()
            then()
        finally:
            spare, self._spare = self._spare, 0
            self.give_room(spare)

    def _resume_sources(self) -> None:
        if not self._resting or self.credit.is_used_up:
            return
        resting, self._resting = self._resting, []
        for source in resting:
            source.is_resting = False
            if not source.is_over:
                self._go_on(source)

    def _take_back(self, source: Source) -> None:
        if source.to:
            self._broker.forget(source.to)
        source.to, source.held = 0, None
        self._leave_room(source)

    def _leave_room(self, source: Source) -> None:
        room, source.room = source.room, 0
        self.give_room(room)

    def _receive(self, source: Source, receive: _Receive, reply: Reply) -> None:
        source.to = 0
        self._leave_room(source)
        if self.is_over or source.is_over:
            return
        try:
            receive(source, reply)
        except StreamGone:
            self.is_over = True

    def _found(self, source: Source, reply: Reply) -> None:
        if isinstance(reply, FoundOffset):
            self.begin_at(source, reply.offset)
        else:
            assert isinstance(reply, Refusal)
            self._end(source, reply)

    def _go_on(self, source: Source) -> None:
        """Send what is held, or fetch what follows, or rest."""
        if not self.is_roomy or self.credit.is_used_up:
            self._rest(source)
        elif source.held is not None:
            held, source.held = source.held, None
            self._give(source, held)
        else:
            octets = self.credit.octets
            size = self.reply_bytes if octets is None else min(self.reply_bytes, octets)
            self._fetch(source, size)

    def _fetch(self, source: Source, size: int) -> None:
        """Fetch what is there once there is room for it, or wait for what comes."""
        if source.is_behind:
            source.room = self.take_room(size)
            if not source.room:
                self._rest(source)
                return
            fetch = Fetch(source.topic, source.partition, source.next_offset, min(size, source.room), 0)
        else:
            size = min(size, ROOM_BYTES_LEAST)
            fetch = Fetch(source.topic, source.partition, source.next_offset, size, _WAIT_NS)
        source.to = self._broker.post(self._caller, fetch, partial(self._receive, source, self._fetched))

    def _rest(self, source: Source) -> None:
        assert not source.is_resting
        source.is_resting = True
        self._resting.append(source)
        self.stirred.wake()

    def _fetched(self, source: Source, reply: Reply) -> None:
        if type(reply) is Fetched:
            self._give(source, reply)
        else:
            assert isinstance(reply, Refusal)
            self._end(source, reply)

    def _give(self, source: Source, fetched: Fetched) -> None:
        """Send what there is credit for, hold the rest, and go on."""
        size = len(fetched.batches)
        source.is_behind = size > 0 and fetched.next_offset < fetched.high_watermark
        if size and self.credit.is_limited:
            taken, next_offset = self.credit.take(fetched.batches)
            if taken < size:
                fetched, source.held = _divided(fetched, taken, next_offset)
        if len(fetched.batches):
            self._send(source, fetched)
            source.next_offset = fetched.next_offset
        elif source.held is None:
            source.next_offset = fetched.next_offset
        self._go_on(source)


def _divided(fetched: Fetched, size: int, next_offset: int) -> tuple[Fetched, Fetched]:
    """The first batches of a reply, and the others."""
    run = memoryview(fetched.batches)
    last = fetched.next_offset, fetched.high_watermark, fetched.start_offset
    return Fetched(run[:size], next_offset, *last[1:]), Fetched(run[size:], *last)
