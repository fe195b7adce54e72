"""A replicated counter: the smallest machine on the runtime, and the stream that it is kept in, in a test's hands."""

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.records.batch import read_header, split, stamp
from goqueue.core.requests.call import Call
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import (
    Fetch,
    Fetched,
    InitProducer,
    ProducerReply,
    PublishBatch,
    Published,
    PublishReply,
    Side,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.state.state_log import StateLog

NO = Refusal(Code.UNAVAILABLE, "not now", retry_after_ms=100)


@define(eq=False)
class Counter:
    """A number that grows; `promised` is what it was when an addition was answered."""

    requests: InternalRequests
    stream: "Stream"
    value: int = 0
    log: StateLog = field(init=False)
    # Answers that are held back: the count of writes that each rests on, and the number that it tells.
    held: list[tuple[int, int]] = field(factory=list)
    told: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.log = StateLog("counter", 0, Side.LEDGER, self, self.requests.ask, self.stream.end, is_numbered=True)

    def add(self, amount: int) -> None:
        """Add to the number, and answer with it once that will last."""
        self.value += amount
        self.log.append(0, [(b"add", b"%d" % amount)])
        self.held.append((self.log.appended, self.value))
        if self.log.wants_page(200):
            self.log.append_page(0, [(b"is", b"%d" % self.value)])

    # --- see `Machine`

    def forget(self) -> None:
        """Nothing is known."""
        self.value, self.held = 0, []

    def replay(self, _now: int, key: bytes, value: bytes | None) -> None:
        """Take an entry."""
        if value is None or key not in (b"add", b"is"):
            raise ProtocolError("this is no entry of a counter")
        self.value = int(value) + (self.value if key == b"add" else 0)

    def loaded(self) -> None:
        """Everything is known."""

    def stirred(self) -> None:
        """Give the answers that hold by now."""
        while self.held and self.held[0][0] <= self.log.durable:
            self.told.append(self.held.pop(0)[1])


@define(eq=False)
class Stream:
    """What is written, and up to where it is confirmed; requests are answered when the test says so."""

    batches: list[bytearray] = field(factory=list)
    confirmed: int = 0
    start: int = 0
    next_id: int = 0
    asked: list[tuple[Call, Request]] = field(factory=list)
    # Batches that were taken and are not answered: whose each is, and where it ends.
    taken: list[tuple[int, int]] = field(factory=list)

    def end(self) -> int:
        """Where the last batch ends."""
        return read_header(self.batches[-1]).next_offset if self.batches else self.start

    def answer(self, request: Request) -> Reply:
        """Answer anything but a batch."""
        if isinstance(request, InitProducer):
            self.next_id += 1
            return ProducerReply(self.next_id, 0)
        if isinstance(request, RollSide):
            return None
        if isinstance(request, TrimSide):
            self.start = max(self.start, request.offset)
            self.batches = [batch for batch in self.batches if read_header(batch).next_offset > self.start]
            return None
        assert isinstance(request, Fetch)
        shown = [batch for batch in self.batches if request.offset < read_header(batch).next_offset <= self.confirmed]
        end = read_header(shown[-1]).next_offset if shown else request.offset
        return Fetched(b"".join(bytes(batch) for batch in shown), end, self.confirmed, self.start)

    def take(self, number: int, request: PublishBatch) -> None:
        """Write a batch, which is confirmed later."""
        [batch] = split(request.batch)
        own = bytearray(batch)
        stamp(own, self.end(), 0)
        self.batches.append(own)
        self.taken.append((number, self.end()))

    def confirm(self) -> tuple[int, Reply]:
        """The oldest batch that is not answered will last."""
        number, end = self.taken.pop(0)
        self.confirmed = max(self.confirmed, end)
        [batch] = [one for one in self.batches if read_header(one).next_offset == end]
        return number, PublishReply([Published(0, read_header(batch).base_offset)])


def counter() -> Counter:
    """Return a counter whose stream was not opened yet."""
    return Counter(InternalRequests(ServiceName.GROUPS), Stream())
