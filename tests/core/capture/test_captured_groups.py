"""What groups do is told again like everything else, though they look at what reads bring and others do not."""

from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.replay import Divergence, Replayer
from goqueue.core.log.effects import Append, Read, ReadResult
from goqueue.core.ready import Fetching, Ready
from goqueue.core.records.batch import read_header
from goqueue.core.requests.groups import DescribeGroup, GroupReply, Joined, JoinGroup, Polled, PollGroup
from goqueue.core.requests.messages import NewRecord, Publish
from goqueue.core.requests.replies import Reply
from tests.core.capture.traffic import VOCABULARY
from tests.core.driven_node import DrivenNode, opened_empty

JOURNAL = "logs/__groups/0"


class RecordedNode(DrivenNode):
    """A driven node with a recorder before it from the start, and a disk that remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: dict[str, list[bytes]] = {}
        self.files: list[tuple[int, bytes, bytes]] = []
        self.recorder = Recorder(self.node, VOCABULARY)
        self.node = self.recorder
        self.begin_file()

    def begin_file(self) -> None:
        """The next file of the capture, with all that was noted for the last one in that."""
        if self.files:
            first, content, _ = self.files.pop()
            self.files.append((first, content, self.recorder.take_block()))
        self.files.append((self.recorder.event_count, self.recorder.begin_file(), b""))

    def take(self) -> Ready:
        """What the node wants done, remembered as far as it is written."""
        ready = super().take()
        for effect in ready.writes:
            if isinstance(effect, Append):
                self.batches.setdefault(effect.stream, []).extend(bytes(buffer) for buffer in effect.buffers)
        return ready

    def served(self, files: int = 0) -> dict[int, Reply]:
        """Turn until nothing happens any more; the first reads are answered in files of their own."""
        answers: dict[int, Reply] = {}
        while ready := self.write():
            answers |= {send.to: send.reply for send in ready.sends}
            self.sync(ready.writes)
            for fetching in ready.reads:
                if files:
                    self.begin_file()
                    files -= 1
                self.read(fetching)
            self.node.check()
        return answers

    def read(self, fetching: Fetching) -> None:
        """Answer a read with what was written."""
        assert isinstance(fetching.request, Read)
        found = [
            batch
            for batch in self.batches[fetching.request.stream]
            if read_header(batch).next_offset > fetching.request.offset
        ]
        whole = b"".join(found)
        self.node.read_done(
            self.now, fetching.token, ReadResult(memoryview(whole), read_header(found[-1]).next_offset, len(whole))
        )

    def replayed(self) -> Divergence | None:
        """The first difference when all of it is told again."""
        self.begin_file()
        replayer = Replayer(VOCABULARY)
        for first, content, block in self.files:
            found = replayer.begin(content, first) or (replayer.feed(block) if block else None)
            if found is not None:
                return found
        return None


def joined(driven: RecordedNode) -> str:
    answer = driven.answer(JoinGroup("g", ["orders"]))
    assert isinstance(answer, Joined)
    return answer.member_id


def test_polls_from_the_disk_are_told_again_though_their_messages_are_not_kept() -> None:
    driven = RecordedNode()
    driven.with_topic(partitions=2)
    member = joined(driven)
    for partition in (0, 1):
        driven.answer(Publish("orders", [NewRecord(None, b"x" * 500, partition=partition)] * 20))
    given = 0
    while given < 40:
        to = driven.ask(PollGroup("g", member, 30))
        polled = driven.served(files=2)[to]
        assert isinstance(polled, Polled)
        given += sum(part.end_offset - part.first_offset for part in polled.parts)
    assert driven.replayed() is None


def test_a_journal_that_is_read_from_the_disk_is_told_again() -> None:
    driven = RecordedNode()
    driven.with_topic()
    member = joined(driven)
    driven.node.disk_failed(driven.now, JOURNAL, "gone for a moment")
    driven.settle()
    state = opened_empty()
    for batch in driven.batches[JOURNAL]:
        header = read_header(batch)
        state.tail.add(header.base_offset, header.next_offset, header.max_timestamp, header.size)
    driven.node.opened(driven.now, JOURNAL, state)
    to = driven.ask(DescribeGroup("g"))
    reply = driven.served()[to]
    assert isinstance(reply, GroupReply)
    assert [one.member_id for one in reply.members] == [member]
    assert driven.replayed() is None
