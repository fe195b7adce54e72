"""Values, digests, stand-ins and frames: each form that a capture is made of, by itself."""

import subprocess
import sys
from array import array
from collections import OrderedDict, defaultdict, deque
from io import BytesIO
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goqueue.core.capture.digest import _learn, digest, flatten, readable
from goqueue.core.capture.errors import CaptureError, DamagedCapture, TruncatedCapture
from goqueue.core.capture.frames import (
    BlockKind,
    Heading,
    decode_heading,
    encode_beginning,
    encode_frame,
    read_blocks,
)
from goqueue.core.capture.reading import ValueReader
from goqueue.core.capture.skeleton import WORTH_BYTES, can_stand_for, stand_in
from goqueue.core.capture.values import ValueWriter
from goqueue.core.log.config import Fsync
from goqueue.core.log.effects import Append, Sync, SyncToken
from goqueue.core.ready import Ready, Send
from goqueue.core.records.batch import Codec, Lane, validate_exact
from goqueue.core.records.build import encode
from goqueue.core.records.claims import check_claims
from goqueue.core.records.record import RecordCheck
from goqueue.core.requests.messages import Acks, Fetched, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.fuzz.bytes.sealing import seal_batch
from tests.architecture.tree import ROOT
from tests.core.capture.traffic import VOCABULARY

HEADING = Heading(1_700_000_000_000, 3, 77, "node-1", "1.2.3", "3.11.7", 1_700_000_000_500, 12_345, False, "A: b")


def written(value: Any) -> bytes:
    """A value as bytes."""
    out = bytearray()
    ValueWriter(VOCABULARY, out).write(value)
    return bytes(out)


def there_and_back(value: Any) -> Any:
    """A value by way of its bytes, which are the same when it is written again."""
    content = written(value)
    reader = ValueReader(VOCABULARY, content)
    again = reader.read()
    assert reader.is_done()
    assert written(again) == content
    return again


# --- values

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
values = st.recursive(
    plain | st.sampled_from([Acks.ALL, Fsync.EVERY, Lane.HIGH, Code.DAMAGED]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(values)
def test_any_value_comes_back(value: object) -> None:
    again = there_and_back(value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "value",
    [
        {3, 1, 2},
        frozenset({"a"}),
        deque([1, [2]], maxlen=5),
        deque([1]),
        OrderedDict([("b", 1), ("a", 2)]),
        defaultdict(list, {"a": [1]}),
        array("q", [1, -1]),
        range(7, 1 << 70, 3),
        bytearray(b"abc"),
        Published(1, 2, 3),
        [int, SyncToken],
        {Acks.NONE: 1, "x": {Fsync.NONE: 2}},
        "\ud800",
        1 << 63,
        -(1 << 63),
    ],
)
def test_what_a_node_may_hold_comes_back(value: object) -> None:
    again = there_and_back(value)
    assert again == value
    assert type(again) is type(value)


def test_equal_members_of_two_enumerations_stay_apart() -> None:
    assert [type(one) for one in there_and_back([Acks.NONE, Fsync.NONE, Acks.NONE])] == [Acks, Fsync, Acks]


def test_a_generator_goes_on_where_it_was() -> None:
    generator = Random(5)
    generator.random()
    again = there_and_back(generator)
    assert [again.random() for _ in range(5)] == [generator.random() for _ in range(5)]


def test_what_is_one_thing_stays_one_thing_even_in_a_circle() -> None:
    shared: list[Any] = [1]
    circle: dict[str, Any] = {"a": shared, "b": shared, "equal": [1], "append": shared.append}
    circle["self"] = circle
    again = there_and_back(circle)
    assert again["a"] is again["b"]
    assert again["a"] is not again["equal"]
    assert again["self"] is again
    again["append"](2)
    assert again["b"] == [1, 2]


@pytest.mark.parametrize("value", [lambda: 1, object(), open, sys, iter(()), ValueError("x"), Random.random])
def test_what_cannot_come_back_is_refused(value: object) -> None:
    with pytest.raises(CaptureError, match="cannot be captured"):
        written([value])


def test_texts_beyond_the_table_are_written_whole_every_time() -> None:
    many = [f"text-{number}" for number in range(5000)] * 2
    assert there_and_back(many) == many


# --- digests


@pytest.mark.parametrize("number", [0, 5, -1])
def test_the_quick_form_of_an_answer_is_the_general_one(number: int) -> None:
    results: list[Published | Refusal] = [Published(1, number, 3), Refusal(Code.TOO_LARGE, "much")] * 2
    send = Send(7, PublishReply(results))
    quick: list[int] = []
    general: list[int] = []
    flatten(send, quick)
    _learn(Send)(send, general)
    assert quick == general


def test_a_digest_tells_outputs_apart() -> None:
    batch = encode([(1, None, b"v", ())])
    other = encode([(1, None, b"w", ())])
    outputs = [
        Ready(),
        Ready(writes=[Append("s", "0", 0, [batch])]),
        Ready(writes=[Append("s", "0", 0, [other])]),
        Ready(writes=[Append("s", "0", 1, [batch])]),
        Ready(writes=[Append("s", "0", 0, [batch, batch])]),
        Ready(writes=[Sync("s", SyncToken(0, 1, "0", 1 << 63))]),
        Ready(writes=[Sync("s", SyncToken(0, 1, "0", (1 << 63) + 1))]),
        Ready(sends=[Send(1, None)]),
        Ready(sends=[Send(1, PublishReply([Published(0, 0)]))]),
        Ready(sends=[Send(1, Fetched(b"abc", 1, 2, 3))]),
        Ready(sends=[Send(1, Refusal(Code.INVALID, "ü"))]),
    ]
    assert len({digest(output) for output in outputs}) == len(outputs)


def test_a_digest_does_not_depend_on_the_process() -> None:
    code = (
        "from goqueue.core.capture.digest import digest\n"
        "from goqueue.core.requests.refusals import *\n"
        "print(digest([Refusal(Code.INVALID, 'no'), {'b': 1, 'a': None}, 1.5, b'x' * 100, (True, 1 << 70)]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT, env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }  # fmt: skip
    assert len(said) == 1


def test_a_value_is_readable_without_its_bytes() -> None:
    said = readable(Ready(sends=[Send(1, Fetched(memoryview(bytes(5000)), 1, 2, 3)), Send(2, {"a": (Acks.ALL, 1)})]))  # type: ignore[arg-type]
    assert "batches=<5000 bytes, head " in said
    assert "{'a': (all, 1)}" in said


# --- stand-ins


@given(st.randoms(use_true_random=False), st.integers(0, 1 << 40), st.sampled_from(Codec))
def test_a_stand_in_is_judged_as_the_batch_itself(random: Random, timestamp: int, codec: Codec) -> None:
    values = [random.randbytes(random.randint(WORTH_BYTES, 1000)) for _ in range(random.randint(1, 3))]
    batch = encode([(timestamp, b"key", value, ()) for value in values], codec=codec)
    # Values of one byte over and over become a few bytes.
    assume(len(batch) >= WORTH_BYTES)
    assert can_stand_for(batch, checks_records=True)
    instead = stand_in(bytes(batch[:61]), len(batch))
    header = validate_exact(instead)
    assert header == validate_exact(batch)
    check_claims(instead, header)
    for content in (instead, memoryview(instead)):
        checks = [RecordCheck(one, header) for one in (batch, content)]
        assert [check.advance(1) for check in checks] == [len(values) == 1] * 2
        assert [check.advance(2) for check in checks if len(values) > 1] in ([True] * 2, [])


def test_nothing_stands_in_for_a_batch_whose_records_are_refused_where_they_are_looked_at() -> None:
    batch = encode([(1, None, bytes(500), ())])
    spoilt = seal_batch(bytes(batch[:-1]) + b"\x7f")
    assert can_stand_for(spoilt)
    assert not can_stand_for(spoilt, checks_records=True)


def test_nothing_stands_in_for_a_batch_that_is_to_be_refused() -> None:
    batch = encode([(1, None, bytes(500), ())])
    for at in (8, 17, 30, len(batch) - 1):
        changed = bytearray(batch)
        changed[at] ^= 1
        assert not can_stand_for(changed)
    assert not can_stand_for(batch[:-1])
    assert not can_stand_for(b"")
    assert not can_stand_for(bytes(500))


# --- frames


def blocks(content: bytes) -> list[tuple[BlockKind, bytes]]:
    """All blocks of a file."""
    return list(read_blocks(BytesIO(content).read))


def a_file() -> bytes:
    """A file with two blocks of events."""
    events = [encode_frame(BlockKind.EVENTS, block) + block for block in (b"some events", b"and more")]
    return encode_beginning(HEADING, b"state" * 100) + b"".join(events)


def test_a_file_says_what_was_put_into_it() -> None:
    found = blocks(a_file())
    kinds = [kind for kind, _ in found]
    assert kinds == [BlockKind.HEADING, BlockKind.SNAPSHOT, BlockKind.EVENTS, BlockKind.EVENTS]
    assert decode_heading(found[0][1]) == HEADING
    assert [block for _, block in found[1:]] == [b"state" * 100, b"some events", b"and more"]


def test_a_file_that_ends_anywhere_within_a_block_is_truncated_and_what_is_before_counts() -> None:
    content = a_file()
    whole = blocks(content)
    ends = 0
    for size in range(len(content)):
        read: list[tuple[BlockKind, bytes]] = []
        try:
            read.extend(read_blocks(BytesIO(content[:size]).read))
        except TruncatedCapture:
            continue
        assert read == whole[: len(read)]
        ends += 1
    assert ends == len(whole)
    with pytest.raises(TruncatedCapture):
        blocks(content + bytes(30))


def test_a_bit_that_was_flipped_anywhere_is_damage_and_never_a_wrong_answer() -> None:
    content = a_file()
    line = content.index(b"\n") + 1
    for at in range(len(content)):
        changed = content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]
        with pytest.raises(DamagedCapture if at >= line else CaptureError) as raised:
            blocks(changed)
        assert not isinstance(raised.value, TruncatedCapture)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"goqueue-capture 2\n", "format version 2, this release reads version 1"),
        (b"PK\x03\x04" + bytes(50), "it is no capture"),
    ],
)
def test_what_is_no_capture_of_this_version_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(CaptureError, match=said):
        blocks(content)


@pytest.mark.parametrize("block", [b"", b"[]", b"{}", b'{"run": "1"}', b"\xff"])
def test_a_heading_that_says_nonsense_is_refused(block: bytes) -> None:
    with pytest.raises(CaptureError, match="heading"):
        decode_heading(block)
