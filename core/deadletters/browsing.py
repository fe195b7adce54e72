"""Looking through dead letters, a page at a time; it changes nothing.

A page ends when it is full or when enough was read for it, so a sieve that lets nothing through costs no request more
than any other. Then it says from where on the next page is to look, by partition. Where another node leads a partition,
that node is asked for as much as the page has room for.
"""

from attrs import define, field

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.letters import fits, read_letter
from goqueue.core.deadletters.picking import opened
from goqueue.core.deadletters.reading import Reading
from goqueue.core.queues.gone import Gone
from goqueue.core.records.varint import Readable
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.requests.call import Call
from goqueue.core.requests.deadletters import BrowseDead, DeadLetter, DeadLetters, Sieve
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

LIMIT_MAX = 1000
_PAGE_BYTES = 4 << 20
_SCANNED_BYTES_MAX = 32 << 20


@define(eq=False)
class Page:
    """The letters of one page; a pick of one partition after another."""

    sieve: Sieve
    limit: int
    letters: list[DeadLetter] = field(factory=list)
    offset: int = 0
    is_full: bool = False
    _number: int = 0
    _gone: Gone = field(factory=Gone)
    _end: int = 0
    _size: int = 0
    _scanned: int = 0

    def begin(self, number: int, offset: int, gone: Gone) -> None:
        """Look into a partition, from an offset on."""
        self._number, self.offset, self._gone, self._end = number, offset, gone, 1 << 62

    @property
    def position(self) -> int | None:
        """Where to read on; None when there is nothing more to look for."""
        return None if self.is_full or self.offset >= self._end else self.offset

    def within(self, start: int, end: int) -> None:
        """The partition holds what is between these offsets, and nothing else."""
        self._end = end
        self.offset = max(self.offset, start, min(self._gone.floor, end))

    def read(self, batches: Readable, next_offset: int) -> None:
        """Look through what was read from the position on."""
        self._scanned += len(batches)
        for batch in opened(batches):
            for record in batch.records:
                if record.offset < self.offset or record.offset in self._gone:
                    continue
                letter = read_letter(self._number, record)
                if not fits(self.sieve, letter):
                    continue
                size = len(letter.key or b"") + len(letter.value or b"")
                if self.letters and self._size + size > _PAGE_BYTES:
                    self.is_full = True
                    self.offset = record.offset
                    return
                self.letters.append(letter)
                self._size += size
                if len(self.letters) >= self.limit:
                    self.is_full = True
                    self.offset = record.offset + 1
                    return
        self.offset = max(self.offset, next_offset)
        self.is_full = self._scanned >= _SCANNED_BYTES_MAX

    def put(self, found: DeadLetters) -> None:
        """Take in what another node has found in the partition."""
        self.letters += found.letters
        self._size += sum(len(letter.key or b"") + len(letter.value or b"") for letter in found.letters)
        self.offset = max(self.offset, found.reached)
        is_full = self._size > _PAGE_BYTES or len(self.letters) >= self.limit
        self.is_full = is_full or found.after is not None


@define(eq=False)
class Browsing:
    """A page under way; `answer` is there when it is done."""

    call: Call
    topic: str
    _yard: MoverContext
    _partitions: int
    _request: BrowseDead
    answer: DeadLetters | Refusal | None = None
    _after: dict[int, int] = field(init=False)
    _at: int = 0
    _page: Page = field(init=False)
    _reading: Reading | None = None
    # The question under way to another node.
    _asked: int = 0

    def __attrs_post_init__(self) -> None:
        self._page = Page(self._request.sieve, self._request.limit)
        self._after = dict(self._request.after)
        if self._request.only >= 0:
            self._at, self._partitions = self._request.only, self._request.only + 1

    def go(self) -> None:
        """Read until the page is done, or a read is under way."""
        while self.answer is None:
            if self._page.is_full or self._at >= self._partitions:
                is_all = self._at >= self._partitions
                reached = -1 if self._request.only < 0 else self._page.offset
                self.answer = DeadLetters(self._page.letters, None if is_all else self._after, reached)
                return
            book = self._yard.book((self.topic, self._at))
            gone = Gone() if book is None else book.moves.gone
            self._page.begin(self._at, self._after.get(self._at, 0), gone)
            away = elsewhere(self._yard.led, self.topic, self._at)
            if away is not None and self._request.only < 0:
                self._ask(away.leader)
                return
            self._reading = Reading(self._yard.errands, self._yard.led, self, self.topic, self._at, self._page)
            self._reading.go()
            if not self._reading.has_ended:
                return
            self._looked()

    def _ask(self, node: str) -> None:
        """Have another node look into the partition."""
        if not node:
            message = f"partition {self._at} of {self.topic} has no leader at the moment"
            self.answer = Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)
            return
        limit = self._request.limit - len(self._page.letters)
        after = {self._at: self._after.get(self._at, 0)}
        request = BrowseDead(self.topic, self._request.sieve, limit, after, self._at)
        self._asked = self._yard.errands.ask(self, AskNode(node, request))

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a read, which may be of no use any more."""
        if number == self._asked:
            self._asked = 0
            if isinstance(reply, DeadLetters):
                self._page.put(reply)
                self._move_on()
                self.go()
            else:
                assert isinstance(reply, Refusal)
                self.answer = reply
        elif self._reading is not None and number == self._reading.asked:
            self._reading.answered(reply)
            if self._reading.has_ended:
                self._looked()
                self.go()

    def _looked(self) -> None:
        """A partition was looked through, or the page is full."""
        assert self._reading is not None
        refusal, self._reading = self._reading.refusal, None
        if refusal is not None:
            self.answer = refusal
        else:
            self._move_on()

    def _move_on(self) -> None:
        """Go to the next partition, unless the page ends in this one."""
        self._after[self._at] = self._page.offset
        if not self._page.is_full:
            self._at += 1
