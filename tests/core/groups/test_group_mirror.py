"""The copy of the groups that a node keeps which does not coordinate them."""

from goqueue.core.groups.mirror import Mirror
from goqueue.core.groups.records import OffsetRecord, group_key
from goqueue.core.groups.shared import Departure
from goqueue.core.groups.state import Group, GroupStands, Member, OffsetStands, entry_of
from goqueue.core.records.batch import stamp
from goqueue.core.records.entries import Entry, batches_of
from goqueue.core.requests.groups import GroupMode
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from tests.core.log.batches import WALL_MS

S = 1_000_000_000
GONE = Refusal(Code.OFFSET_OUT_OF_RANGE, "gone")
AWAY = Refusal(Code.UNAVAILABLE, "away", retry_after_ms=100)


def group(name: str, *members: str, lost: str = "", mode: GroupMode = GroupMode.SHARED) -> Entry:
    """A group as the journal has it."""
    made = Group(name, mode, {}).next(
        {each: Member(each, "", "", ["orders"], "", 30_000, False, {}, {}) for each in members}
    )
    made.lost = lost
    return entry_of(GroupStands(name, made))


class Read:
    """A mirror, the journal it reads, and the read that is under way."""

    def __init__(self) -> None:
        self.now = 0
        self.wishes = InternalRequests(ServiceName.GROUPS)
        self.mirror = Mirror(self.wishes)
        self.batches: list[bytearray] = []
        self.number, self.offset = 0, 0
        self.mirror.start(0)

    def write(self, *entries: Entry) -> "Read":
        """One batch of entries more."""
        [batch] = batches_of(WALL_MS, entries)
        stamp(batch, len(self.batches), 0)
        self.batches.append(batch)
        return self

    def asked(self) -> Fetch:
        """The read that is wanted."""
        [(asked, wish)] = self.wishes.take()
        self.number = asked.number
        assert isinstance(wish, Fetch)
        self.offset = wish.offset
        return wish

    def answer(self, count: int = 1 << 20) -> None:
        """Answer a read with so many batches at most."""
        self.asked()
        found = self.batches[self.offset : self.offset + count]
        end = self.offset + len(found)
        self.mirror.answered(self.now, self.number, Fetched(b"".join(found), end, len(self.batches), 0))
        self.mirror.check()

    def refuse(self, refusal: Refusal) -> None:
        """Refuse a read."""
        self.asked()
        self.mirror.answered(self.now, self.number, refusal)
        self.mirror.check()

    def is_whole(self) -> bool:
        """Whether all is known."""
        return self.mirror.is_whole

    def members(self) -> dict[str, list[str]]:
        """Who is a member of what, as far as is known."""
        return {name: [*known.members] for name, known in self.mirror.groups.items()}


def test_it_is_whole_when_it_has_come_to_the_end() -> None:
    read = Read().write(group("g", "a"), group("h", "b")).write(group("g", "a", "c"), (group_key("h"), None))
    read.answer(1)
    assert not read.is_whole()
    assert read.members() == {}
    read.answer(1)
    assert read.is_whole()
    assert read.members() == {"g": ["a", "c"]}
    assert read.mirror.take_news().all_differ


def test_what_was_durable_when_a_read_was_asked_for_is_known_after_it() -> None:
    read = Read().write(group("g", "a"))
    read.answer()
    assert read.mirror.fresh_at == 0
    read.now = 5
    read.answer()
    assert read.mirror.fresh_at == 0
    read.now = 9
    read.answer()
    assert read.mirror.fresh_at == 5


def test_it_tells_what_has_happened() -> None:
    read = Read().write(group("g", "a", "b", "c"), group("x", "m", mode=GroupMode.EXCLUSIVE))
    read.answer()
    read.mirror.take_news()
    read.write(group("g", "a", "b", lost="c"), group("x", mode=GroupMode.EXCLUSIVE)).write(group("g", "a"))
    read.answer()
    news = read.mirror.take_news()
    assert [*news.stood] == ["g"]
    assert news.departures == [Departure("g", "c", lost=True), Departure("g", "b", lost=False)]
    read.write((group_key("g"), None), group("g", "d"))
    read.answer()
    news = read.mirror.take_news()
    assert [*news.gone] == ["g"]
    assert news.departures == [Departure("g", "a", lost=False)]
    assert read.members()["g"] == ["d"]


def test_committed_offsets_are_passed_over() -> None:
    offset = entry_of(OffsetStands("g", "orders", 0, OffsetRecord(7, 1, WALL_MS)))
    read = Read().write(offset, group("g", "a"), offset)
    read.answer()
    assert read.members() == {"g": ["a"]}


def test_it_reads_on_where_it_was_when_the_journal_was_away() -> None:
    read = Read().write(group("g", "a"))
    read.answer()
    read.refuse(AWAY)
    due = read.mirror.deadline()
    assert due is not None
    assert read.wishes.take() == []
    read.now = due
    read.mirror.wake(due)
    read.write(group("g", "a", "b"))
    read.answer()
    assert read.offset == 1
    assert read.members() == {"g": ["a", "b"]}


def test_it_begins_again_when_it_was_cut_off_for_long_or_its_place_is_gone() -> None:
    for refusal, after in ((GONE, 0), (AWAY, 601 * S)):
        read = Read().write(group("g", "a"), group("h", "b"))
        read.answer()
        read.mirror.take_news()
        # The end of one group was compacted away.
        read.batches = []
        read.write(group("g", "c"))
        read.now += after
        read.refuse(refusal)
        assert read.members() == {"g": ["a"], "h": ["b"]}
        read.now = read.mirror.deadline() or 0
        read.mirror.wake(read.now)
        read.answer()
        assert read.offset == 0
        assert read.members() == {"g": ["c"]}
        assert read.mirror.take_news().all_differ


def test_it_is_asked_again_at_once_when_another_node_leads_the_journal() -> None:
    read = Read()
    for _ in range(10):
        read.refuse(AWAY)
        read.now = read.mirror.deadline() or 0
        read.mirror.wake(read.now)
    read.refuse(AWAY)
    late = read.mirror.deadline() or 0
    assert late - read.now == 2 * S
    read.mirror.renew(read.now)
    assert read.mirror.deadline() == read.now


def test_a_damaged_batch_is_read_again_from_the_start() -> None:
    read = Read().write(group("g", "a"))
    read.batches[0][-1] ^= 1
    read.answer()
    assert not read.is_whole()
    read.batches[0][-1] ^= 1
    read.now = read.mirror.deadline() or 0
    read.mirror.wake(read.now)
    read.answer()
    assert read.members() == {"g": ["a"]}


def test_nothing_is_kept_once_this_node_coordinates() -> None:
    read = Read().write(group("g", "a"))
    read.answer()
    read.asked()
    read.mirror.stop()
    read.mirror.answered(0, read.number, Fetched(bytes(read.batches[0]), 1, 1, 0))
    assert (read.members(), read.is_whole(), read.mirror.deadline()) == ({}, False, None)
    read.mirror.check()
    assert read.wishes.take() == []
