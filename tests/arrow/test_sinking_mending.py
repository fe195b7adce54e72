"""What a refused batch is divided into."""

from goqueue.core.records.batch import Codec, Lane, read_header
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import INT32_MAX
from goqueue.spark.sinking.mending import divided
from goqueue.spark.sinking.packing import Packed

ROWS = [(number, b"k", b"value %d" % number, (("h", None),)) for number in range(6)]


def batch(sequence: int, codec: Codec = Codec.NONE) -> Packed:
    """Six rows, numbered from somewhere on."""
    content = encode(ROWS, codec=codec, lane=Lane.LOW, producer_id=7, producer_epoch=3, base_sequence=sequence)
    return Packed("orders", 1, content, len(ROWS), 10, has_times=True)


def test_sequences_go_on_behind_the_largest() -> None:
    front, back = divided(batch(INT32_MAX - 1), 3)
    assert [read_header(one.content).base_sequence for one in (front, back)] == [INT32_MAX - 1, 1]


def test_both_parts_together_are_the_batch() -> None:
    for codec in (Codec.NONE, Codec.ZSTD):
        whole = batch(100, codec)
        parts = divided(whole, 2)
        assert [(one.topic, one.partition, one.count, one.has_times) for one in parts] == [
            ("orders", 1, 2, True), ("orders", 1, 4, True),
        ]  # fmt: skip
        headers = [read_header(one.content) for one in parts]
        assert {(one.producer_id, one.producer_epoch, one.lane, one.codec) for one in headers} == {
            (7, 3, Lane.LOW, codec)
        }
        rows = [row for one in parts for row in iterate(one.content)]
        assert [(row.timestamp, bytes(row.key or b""), bytes(row.value or b""), row.headers) for row in rows] == ROWS
