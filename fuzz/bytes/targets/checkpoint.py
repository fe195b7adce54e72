"""The checkpoint: a line with a CRC and JSON, which an operator may have opened in an editor.

Invariants, for any bytes:
- they decode or raise CheckpointError;
- what decodes has integers where integers belong, segments that lie in order and leader epochs that rise;
- it encodes to what decodes to the same, and from then on to the same bytes.
"""

import json
from itertools import pairwise
from random import Random

from goqueue.core.log.checkpoint import Checkpoint, CheckpointError, decode_checkpoint, encode_checkpoint
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.segment import Segment
from goqueue.fuzz.bytes.sealing import seal_checkpoint
from goqueue.fuzz.bytes.target import Havoc, Target, attempt

_VALUES = (
    "null", "true", "-1", "0", "1.5", "1e999", "NaN", '""', '"1"', "[]", "[[]]", "[[1,2]]", "{}", "9" * 30, "-0",
    '[{"base":0}]', "\ud800", "[" * 2000,
)  # fmt: skip


def check(content: bytes) -> None:
    """All invariants, for `content` as a checkpoint."""
    checkpoint = attempt(CheckpointError, lambda: decode_checkpoint(content))
    if isinstance(checkpoint, CheckpointError):
        return
    _check_fields(checkpoint)
    encoded = encode_checkpoint(checkpoint)
    again = decode_checkpoint(encoded)
    assert again == checkpoint
    assert encode_checkpoint(again) == encoded


def _check_fields(checkpoint: Checkpoint) -> None:
    numbers = [checkpoint.incarnation, checkpoint.start_offset, checkpoint.cleaned_offset]
    for segment in checkpoint.segments:
        numbers += [segment.base, segment.generation, segment.size, segment.next_offset]
        assert type(segment.max_timestamp) is int
        assert type(segment.created_ms) is int
        segment.check()
    assert all(type(number) is int and number >= 0 for number in numbers), "a number that is none, or below zero"
    assert all(a.next_offset <= b.base for a, b in pairwise(checkpoint.segments)), "segments out of order"
    assert EpochCache(checkpoint.epochs).entries() == checkpoint.epochs, "leader epochs that do not rise"
    assert checkpoint.next_offset >= 0


def _seeds() -> list[bytes]:
    segments = [Segment(0, 0, 300, 40, 1_700_000_000_000, 1_700_000_000_000), Segment(40, 2, 0, 40, -1, 0)]
    checkpoints = [
        Checkpoint(),
        Checkpoint(1, 7, 3, segments[:1], [(0, 0)]),
        Checkpoint(2, 10, 40, segments, [(0, 0), (3, 17), (4, 40)]),
    ]
    return [encode_checkpoint(checkpoint) for checkpoint in checkpoints]


def _mutate(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    """Change bytes, or exchange one value of the JSON for another."""
    head, _, body = content.partition(b"\n")
    draw = random.random()
    if draw < 0.1:
        return havoc(content, size_max, random)
    changed = havoc(body, size_max, random) if draw < 0.5 else _with_value_exchanged(body, random)
    return seal_checkpoint(head + b"\n" + changed)[:size_max]


def _with_value_exchanged(body: bytes, random: Random) -> bytes:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return body
    marked = json.dumps(_with_mark(fields, random), separators=(",", ":"))
    return marked.replace('"@"', random.choice(_VALUES), 1).encode(errors="surrogatepass")


def _with_mark(value: object, random: Random) -> object:
    """The value with one of its parts, at any depth, marked or left out."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        if random.random() < 0.2:
            return {kept: value[kept] for kept in value if kept != name}
        return {**value, name: _with_mark(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        return [*value[:at], _with_mark(value[at], random), *value[at + 1 :]]
    return "@"


TARGET = Target("checkpoint", check, _seeds, _mutate)
