"""Partitioners, against the libraries that others use, and the turns of messages without a key."""

import warnings
import zlib

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.partition.partitioners import Partitioner, crc32, murmur2, murmur3

with warnings.catch_warnings():
    # It reads its own files in a way that Python would rather not have.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.partitioner.default import murmur2 as kafka_murmur2


@given(st.binary(max_size=64))
def test_murmur2_is_kafkas(key: bytes) -> None:
    assert murmur2(key) == kafka_murmur2(key) & 0x7FFFFFFF


@pytest.mark.parametrize(("key", "hashed"), [(b"21", 1173551340), (b"foobar", 1357151166), (b"", 275646681)])
def test_murmur2_is_as_it_was(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed


@given(st.binary(max_size=64))
def test_murmur3_and_crc32_are_everybodys(key: bytes) -> None:
    assert murmur3(key) == mmh3.hash(key, signed=False)
    assert crc32(key) == zlib.crc32(key)


@given(st.binary(), st.integers(1, 1000), st.sampled_from(["murmur2", "murmur3", "crc32"]))
def test_a_key_has_one_partition_whatever_its_bytes_are_kept_in(key: bytes, count: int, name: str) -> None:
    chosen = Partitioner(name, count).choose(key)
    assert 0 <= chosen < count
    assert Partitioner(name, count).choose(memoryview(key)) == Partitioner(name, count).choose(bytearray(key)) == chosen


@pytest.mark.parametrize("name", ["murmur2", "murmur3", "crc32"])
def test_messages_without_a_key_stay_together_until_the_batch_is_written(name: str) -> None:
    partitioner = Partitioner(name, 3)
    seen = []
    for _ in range(4):
        seen.append([partitioner.choose(None), partitioner.choose(None)])
        partitioner.turn()
    assert seen == [[0, 0], [1, 1], [2, 2], [0, 0]]


def test_a_turn_without_such_messages_moves_nothing() -> None:
    partitioner = Partitioner("murmur3", 3)
    partitioner.choose(b"a")
    partitioner.turn()
    assert partitioner.choose(None) == 0


def test_round_robin_deals_out_one_by_one_and_looks_at_no_key() -> None:
    partitioner = Partitioner("round_robin", 3)
    seen = [partitioner.choose(key) for key in (None, b"a", b"a", None)]
    partitioner.turn()
    assert [*seen, partitioner.choose(None)] == [0, 1, 2, 0, 1]
