"""Markers that end a transaction survive the way through a batch; everything else is no marker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.batch import Codec, validate_exact
from goqueue.core.records.build import encode
from goqueue.core.records.control import ControlMarker, encode_marker, read_marker
from goqueue.core.records.record import validate_records
from tests.core.records.samples import NOW_MS, refused

COMMIT_KEY = bytes([0, 0, 0, 1])
VALUE = bytes([0, 0, 0, 0, 0, 5])


@given(st.booleans(), st.integers(-1, (1 << 31) - 1), st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 15) - 1))
def test_a_marker_comes_back_as_it_went(commit: bool, epoch: int, producer_id: int, producer_epoch: int) -> None:
    batch = encode_marker(ControlMarker(commit, epoch), NOW_MS, producer_id, producer_epoch)
    assert read_marker(batch) == ControlMarker(commit, epoch)
    header = validate_records(batch)
    assert header.is_control
    assert header.is_transactional
    assert header.codec == Codec.NONE
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (producer_id, producer_epoch, -1)


def test_messages_are_no_marker() -> None:
    with refused("control"):
        read_marker(encode([(NOW_MS, COMMIT_KEY, VALUE, ())], transactional=True, producer_id=1))


def test_two_control_records_are_no_marker() -> None:
    with refused("control"):
        read_marker(encode([(NOW_MS, COMMIT_KEY, VALUE, ())] * 2, control=True))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, VALUE),
        (b"", VALUE),
        (COMMIT_KEY + b"\x00", VALUE),
        (COMMIT_KEY, None),
        (COMMIT_KEY, VALUE[:-1]),
        (COMMIT_KEY, VALUE + b"\x00"),
        (bytes([0, 1, 0, 1]), VALUE),  # a newer key
        (COMMIT_KEY, bytes([0, 1, 0, 0, 0, 5])),  # a newer value
        (bytes([0, 0, 0, 2]), VALUE),  # a change of Raft leader
        (bytes([0, 0, 255, 255]), VALUE),
    ],
)
def test_another_control_record_is_no_marker(key: bytes | None, value: bytes | None) -> None:
    batch = encode([(NOW_MS, key, value, ())], control=True)
    assert validate_exact(batch).is_control
    with refused("control"):
        read_marker(batch)
