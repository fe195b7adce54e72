"""Messages out of captures are those that were published, and what is left out is counted."""

from collections import Counter
from pathlib import Path
from typing import Any

from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Publish, PublishBatch, Published, PublishReply
from goqueue.fuzz.options import Options
from goqueue.spark.captures.files import find_captures
from goqueue.spark.sinking.recorded import NO_RECORDS, SCHEMA, gleaned
from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.storage.capture_files import list_captures
from tests.arrow.delivery_worlds import live
from tests.core.capture.traffic import Traffic, fresh_node
from tests.core.log.batches import WALL_MS

LIMITS = CaptureLimits(file_bytes=20_000, total_bytes=1 << 30)
Message = tuple[Any, ...]


class Onlooker:
    """Sees what a node is asked and what it answers, without any capture."""

    def __init__(self, folder: Path, *, keeps_records: bool) -> None:
        self.asked: dict[int, Publish | PublishBatch] = {}
        capture = Capture(str(folder), LIMITS, in_place=True, keeps_records=keeps_records)
        self.traffic = Traffic(8, capture.start(fresh_node(), 0, WALL_MS), self.told)
        for _ in range(250):
            self.traffic.turn()
            capture.turn(self.traffic.now, WALL_MS + self.traffic.now // 1_000_000)
        capture.close()
        capture.wait()

    def told(self, verb: str, given: tuple[Any, ...]) -> None:
        """A call of the driver."""
        if verb == "ask" and isinstance(given[0][2], Publish | PublishBatch):
            self.asked[given[0][0]] = given[0][2]

    def answers(self) -> list[tuple[Publish | PublishBatch, PublishReply]]:
        """Publishes with their answers."""
        sends = [send for ready in self.traffic.outputs for send in ready.sends]
        return [(self.asked[send.to], send.reply) for send in sends if isinstance(send.reply, PublishReply)]


def published(seen: Onlooker, kind: type[object] = object) -> Counter[Message]:
    """Each message that has a place, of requests of a kind."""
    found: Counter[Message] = Counter()
    for request, reply in seen.answers():
        placed = [one for one in reply.results if isinstance(one, Published) and one.offset >= 0]
        if not isinstance(request, kind) or not placed:
            continue
        if isinstance(request, PublishBatch):
            for number, stored in enumerate(iterate(request.batch)):
                found[request.topic, request.partition, placed[0].offset + number, bytes(stored.value or b"")] += 1
        else:
            for record, one in zip(request.records, placed, strict=True):
                found[request.topic, one.partition, one.offset, bytes(record.value or b"")] += 1
    return found


def taken(folder: Path, topic: str = "") -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The messages that come out of a capture, and what is left out."""
    batches = [*gleaned(list_captures(str(folder)), topic)]
    assert all(batch.schema == SCHEMA for batch in batches)
    rows = [row for batch in batches for row in batch.to_pylist()]
    left_out = {row["left_out"]: row["offset"] for row in rows if row["left_out"] is not None}
    return [row for row in rows if row["left_out"] is None], left_out


def counted(rows: list[dict[str, Any]]) -> Counter[Message]:
    return Counter((row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def test_every_message_that_got_a_place_comes_out(tmp_path: Path) -> None:
    seen = Onlooker(tmp_path, keeps_records=True)
    rows, left_out = taken(tmp_path)
    assert len(list_captures(str(tmp_path))) > 3
    assert counted(rows) == published(seen)
    assert len(rows) > 30
    assert NO_RECORDS not in left_out
    assert {(row["headers"][0]["key"], row["lane"]) for row in rows if row["headers"]} == {("name", 0), ("h", 0)}
    assert all(row["timestamp"] is not None for row in rows)


def test_batches_without_their_records_are_counted(tmp_path: Path) -> None:
    seen = Onlooker(tmp_path, keeps_records=False)
    rows, left_out = taken(tmp_path)
    # Where the node looks at records the capture has them all the same.
    assert published(seen, Publish) <= counted(rows) < published(seen)
    assert len(rows) + left_out[NO_RECORDS] == published(seen).total()


def test_one_topic_alone_may_be_asked_for(tmp_path: Path) -> None:
    seen = Onlooker(tmp_path, keeps_records=False)
    rows, left_out = taken(tmp_path, "orders")
    expected = sum(count for message, count in published(seen).items() if message[0] == "orders")
    assert len(rows) + left_out.get(NO_RECORDS, 0) == expected
    assert {row["topic"] for row in rows} == {"orders"}


def test_what_is_missing_of_a_capture_is_told(tmp_path: Path) -> None:
    Onlooker(tmp_path, keeps_records=True)
    files = [Path(one.path) for one in list_captures(str(tmp_path))]
    whole = counted(taken(tmp_path)[0])
    files[1].unlink()
    with files[2].open("r+b") as opened:
        opened.truncate(files[2].stat().st_size - 10)
    rows, left_out = taken(tmp_path)
    assert f"{files[2].name}: 1 files are missing before it" in left_out
    assert [reason for reason in left_out if reason.startswith(f"{files[2].name}: ")][1:]
    assert counted(rows) < whole


def test_messages_of_a_topic_that_was_made_again_are_of_another_source(tmp_path: Path) -> None:
    live(tmp_path, 4, Options(steps=600, p_topic_change=0.1))
    (folder,) = {find.node_dir for find in find_captures([str(tmp_path)])}
    rows, _ = taken(Path(folder))
    assert len({(row["topic"], row["partition"], row["offset"]) for row in rows}) < len(rows)
    places = [(row["source"], row["offset"]) for row in rows]
    assert len({*places}) == len(places)
    assert all(row["source"].split("/")[::2] == [row["topic"], str(row["partition"])] for row in rows)
