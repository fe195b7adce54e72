"""What a recorder notes is enough to tell another node the same; the first thing that comes out otherwise is shown."""

import inspect
from collections import Counter

import pytest

from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.events import Event, EventReader, EventWriter
from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.replay import Divergence, Replayer
from goqueue.core.log.effects import ReadResult
from goqueue.core.node import Node
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetch, NewRecord, Publish, PublishBatch
from tests.core.capture.traffic import VOCABULARY, Traffic, fresh_node
from tests.core.driven_node import stored

QUERIES = {"peers", "is_started", "looks_into", "check"}


class Recorded:
    """Traffic through a recorder: the files that it would have made, as (first event, snapshot, blocks)."""

    def __init__(self, seed: int, turns: int, *, keeps_records: bool = False, turns_a_file: int = 25) -> None:
        self.recorder = Recorder(fresh_node(), VOCABULARY, keeps_records=keeps_records)
        self.files: list[tuple[int, bytes, list[bytes]]] = []
        self._begin()
        self.traffic = Traffic(seed, self.recorder)
        for turn in range(1, turns + 1):
            self.traffic.turn()
            if turn % 3 == 0:
                self.files[-1][2].append(self.recorder.take_block())
            if turn % turns_a_file == 0:
                self._begin()
        self.files[-1][2].append(self.recorder.take_block())

    def _begin(self) -> None:
        if self.files:
            self.files[-1][2].append(self.recorder.take_block())
        first = self.recorder.event_count
        self.files.append((first, self.recorder.begin_file(), []))

    def replayed(self) -> tuple[Replayer, Divergence | None]:
        """All of it told to one node."""
        replayer = Replayer(VOCABULARY)
        for first, content, blocks in self.files:
            found = replayer.begin(content, first)
            for block in blocks:
                found = found or replayer.feed(block)
            if found is not None:
                return replayer, found
        return replayer, None

    def events(self) -> list[Event]:
        """Everything that was noted."""
        noted: list[Event] = []
        for first, _, blocks in self.files:
            reader = EventReader(VOCABULARY, first)
            for block in blocks:
                noted += reader.events(block)
        return noted


def public(cls: type) -> set[str]:
    """The methods that a driver may call."""
    return {name for name, value in vars(cls).items() if inspect.isfunction(value) and not name.startswith("_")}


def test_every_verb_of_a_node_is_noted() -> None:
    assert public(Node) <= public(Recorder), "a verb of the node would pass its recorder by"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("keeps_records", [False, True])
def test_what_was_recorded_is_identical_when_it_is_told_again(seed: int, keeps_records: bool) -> None:
    recorded = Recorded(seed, 150, keeps_records=keeps_records)
    replayer, found = recorded.replayed()
    assert found is None
    assert replayer.events == recorded.recorder.event_count
    assert len(recorded.files) > 5


# What only a node among others is told: tests/core/capture/test_captured_clusters.py.
AMONG_OTHERS = {"leave", "peer_gone", "peer_lost", "peer_met", "receive", "vote_saved"}


def test_the_traffic_of_these_tests_tells_a_node_everything_there_is() -> None:
    verbs = Counter(event.verb for seed in range(8) for event in Recorded(seed, 150).events())
    missing = public(Node) - QUERIES - set(verbs) - {"close", "compacted", "compaction_failed"} - AMONG_OTHERS
    assert not missing


@pytest.mark.parametrize("keeps_records", [False, True])
def test_every_file_can_be_replayed_alone(keeps_records: bool) -> None:
    recorded = Recorded(4, 150, keeps_records=keeps_records)
    events = 0
    for first, content, blocks in recorded.files:
        replayer = Replayer(VOCABULARY)
        assert replayer.begin(content, first) is None
        for block in blocks:
            assert replayer.feed(block) is None
        events += replayer.events
    assert events == recorded.recorder.event_count


def test_events_come_back_with_their_times_and_arguments() -> None:
    writer = EventWriter(VOCABULARY)
    batch = stored(0, (1, None, b"value" * 100, ()))
    batch_was, caller = bytes(batch), Caller("a", "http", "ann", "acme", "t")
    result = ReadResult(memoryview(batch), 7, 999)
    writer.ask(5, 1, caller, PublishBatch("orders", 3, batch))
    batch[0:12] = bytes(12)
    writer.ask(5, 2, Caller("a", "http", "ann", "acme", "t"), Publish("orders", [NewRecord(None, b"v")]))
    writer.ask(9_000_000_000, 3, Caller(), Fetch("orders", 0, 5))
    writer.read_done(9_000_000_001, 4, result)
    writer.clock_moved(9_000_000_001, 1_700_000_000_000)
    writer.clock_moved(9_500_000_001, 1_700_000_000_501)
    writer.deadline(None)
    writer.deadline(1 << 70)
    events = list(EventReader(VOCABULARY, 100).events(bytes(writer.out)))
    assert [event.number for event in events] == list(range(100, 108))
    assert [event.now for event in events] == [5, 5, 9_000_000_000, 9_000_000_001, 9_000_000_001] + [9_500_000_001] * 3
    asked = events[0].args[2]
    assert events[0].args[:2] == (1, caller)
    assert (asked.topic, asked.partition, len(asked.batch)) == ("orders", 3, len(batch_was))
    assert asked.batch[:61] == batch_was[:61]
    assert asked.batch[61:-4] == bytes(len(batch) - 65)
    assert events[1].args == (2, caller, Publish("orders", [NewRecord(None, b"v")]))
    assert events[2].args == (3, Caller(), Fetch("orders", 0, 5))
    assert events[3].args[0] == 4
    assert (events[3].args[1].next_offset, events[3].args[1].next_position) == (7, 999)
    assert len(events[3].args[1].batches) == len(batch)
    assert [event.args for event in events[4:6]] == [(1_700_000_000_000,), (1_700_000_000_501,)]
    assert [event.said for event in events[6:]] == [None, 1 << 70]


def test_the_bytes_of_events_are_what_the_format_says() -> None:
    writer = EventWriter(VOCABULARY)
    writer.plain(300, 2)
    writer.plain(300, 4)
    writer.taken(300, "sends: 1 Send", 0x01020304)
    writer.taken(301, "sends: 1 Send", 0x01020304)
    writer.clock_moved(1_000_301, 43)
    writer.deadline(None)
    writer.deadline(5)
    writer.forget(-1)
    shape = b"sends: 1 Send"
    assert bytes(writer.out) == b"".join(
        [
            bytes([1, 0xD8, 0x04, 2, 4, 5, 0, 2 * len(shape)]), shape, bytes([4, 3, 2, 1]),
            bytes([1, 2, 5, 2, 4, 3, 2, 1]),
            bytes([1, 0x80, 0x89, 0x7A, 9, 84]),
            bytes([7, 8, 3, 10, 10, 1]),
        ]
    )  # fmt: skip


def test_records_are_kept_when_that_is_asked_for_or_their_batch_is_not_sound() -> None:
    sound = stored(0, (1, None, b"value" * 100, ()))
    broken = bytearray(sound)
    broken[-1] ^= 1
    for keeps_records, batch in ((True, sound), (False, broken)):
        writer = EventWriter(VOCABULARY, keeps_records=keeps_records)
        writer.ask(0, 1, Caller(), PublishBatch("orders", 0, batch))
        [event] = EventReader(VOCABULARY).events(bytes(writer.out))
        assert event.args[2].batch == batch


def test_a_batch_costs_about_a_hundred_bytes_whatever_is_in_it() -> None:
    writer = EventWriter(VOCABULARY)
    for to in range(100):
        writer.ask(to * 300_000, to, Caller("c"), PublishBatch("orders", 0, stored(0, (1, None, bytes(100_000), ()))))
        writer.plain(to * 300_000 + 1000, 2)
    assert len(writer.out) / 200 - 61 / 2 < 25


# --- what does not come out the same


def test_a_node_that_does_otherwise_diverges_where_it_first_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = [Recorded(seed, 100) for seed in range(8)]
    monkeypatch.setattr("goqueue.core.broker.reads._WAIT_NS_MAX", 5)
    found = [one.replayed()[1] for one in recorded]
    divergences = [one for one in found if one is not None]
    assert divergences, "no fetch has waited"
    assert {one.verb for one in divergences} <= {"deadline", "take"}
    assert all(one.expected != one.actual for one in divergences)


def test_an_output_that_differs_is_shown_as_it_was_and_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(1, 100)
    monkeypatch.setattr("goqueue.core.cluster.plan.PARTITIONS_MAX", 0)
    _, found = recorded.replayed()
    assert found is not None
    assert found.verb == "take"
    assert "writes: 1 Append" in found.expected
    assert "num_partitions must be" in found.actual


def test_where_outputs_are_kept_a_divergence_shows_both_sides_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(1, 100, keeps_records=True)
    monkeypatch.setattr("goqueue.core.cluster.plan.PARTITIONS_MAX", 0)
    _, found = recorded.replayed()
    assert found is not None
    assert "Append(stream=meta/cluster" in found.expected.replace("'", "")
    assert "num_partitions must be" in found.actual


def test_a_state_that_differs_is_found_before_any_output_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(2, 100)
    original = Node.clock_moved

    def moved(node: Node, now: int, wall_ms: int) -> None:
        original(node, now, wall_ms)
        node._armed_at_ms += 1

    monkeypatch.setattr(Node, "clock_moved", moved)
    _, found = recorded.replayed()
    assert found is not None
    assert found.verb == "snapshot"
    assert "node._armed_at_ms" in found.input
    assert int(found.actual) - int(found.expected) >= 1


def test_a_node_that_dies_where_it_lived_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(2, 50)

    def wake(node: Node, now: int) -> None:
        raise AssertionError("no more")

    monkeypatch.setattr(Node, "wake", wake)
    _, found = recorded.replayed()
    assert found is not None
    assert (found.verb, found.expected, found.actual) == ("wake", "the node lives", "it dies: AssertionError: no more")


def test_the_verb_that_a_node_died_of_is_the_last_in_its_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(2, 10)
    with monkeypatch.context() as patched:
        patched.setattr(Node, "take", lambda node, now: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            recorded.recorder.take(5)
        recorded.files[-1][2].append(recorded.recorder.take_block())
        _, found = recorded.replayed()
        assert found is not None
        assert "ZeroDivisionError" in found.actual
    assert recorded.events()[-1].died
    _, found = recorded.replayed()
    assert found is not None
    assert found.expected == "the node died"


def test_a_verb_that_this_release_does_not_have_is_named() -> None:
    recorded = Recorded(2, 1)
    recorded.recorder._notes.call(3, "teleport", ())
    recorded.files[-1][2].append(recorded.recorder.take_block())
    _, found = recorded.replayed()
    assert found is not None
    assert (found.input, found.actual) == ("teleport()", "this release has no such verb")


def test_private_parts_of_a_node_cannot_be_called_from_a_capture() -> None:
    recorded = Recorded(2, 1)
    recorded.recorder._notes.call(3, "_send", (1, None))
    recorded.files[-1][2].append(recorded.recorder.take_block())
    _, found = recorded.replayed()
    assert found is not None
    assert found.actual == "this release has no such verb"


def test_events_that_are_garbage_are_refused_and_nothing_else() -> None:
    recorded = Recorded(6, 40)
    body = recorded.files[0][2][0]
    refused = 0
    for at in range(0, len(body), 7):
        reader = EventReader(VOCABULARY)
        try:
            list(reader.events(body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :]))
        except CaptureError:
            refused += 1
    assert refused
