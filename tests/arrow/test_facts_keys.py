"""The sketch of keys: what comes often is in it, and a count is too high by at most what is said."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Publish
from goqueue.spark.facts.keys import Sketch
from goqueue.storage.capture_files import list_captures
from tests.arrow.test_sinking_recorded import Onlooker
from tests.arrow.told_worlds import rows_of


def filled(keys: list[int], kept_max: int) -> Sketch:
    """A sketch that has seen messages of ten bytes with these keys, in that order."""
    sketch = Sketch(kept_max)
    for key in keys:
        sketch.add("t", str(key).encode(), 10)
    return sketch


@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 10))
def test_counts_are_right_but_for_their_errors_and_few_are_kept(keys: list[int], kept_max: int) -> None:
    true = Counter(keys)
    most = filled(keys, kept_max).most()
    assert len(most) <= kept_max
    for _, key, count, error, size in most:
        assert count - error <= true[int(key)] <= count
        assert size == 10 * (count - error)


@given(st.lists(st.integers(0, 400), max_size=300))
def test_a_key_that_comes_more_often_than_all_others_together_is_the_first(others: list[int]) -> None:
    keys = [key for other in others for key in (other, 1_000)] + [1_000]
    assert filled(keys, 8).most()[0][1] == b"1000"


def test_few_keys_are_counted_exactly_by_topic() -> None:
    sketch = Sketch(4)
    for topic, key in (("a", b"x"), ("b", b"x"), ("a", b"x")):
        sketch.add(topic, key, 3)
    assert sketch.most() == [("a", b"x", 2, 0, 6), ("b", b"x", 1, 0, 3)]


@pytest.mark.parametrize("keeps_records", [True, False])
def test_keys_are_those_of_all_messages_whose_bytes_the_capture_has(tmp_path: Path, keeps_records: bool) -> None:
    seen = Onlooker(tmp_path, keeps_records=keeps_records)
    every: Counter[str] = Counter()
    keyed: Counter[tuple[str, str]] = Counter()
    for request in seen.asked.values():
        if isinstance(request, Publish):
            found = [record.key for record in request.records]
        else:
            try:
                found = [record.key for record in iterate(request.batch)]
            except BatchError:
                # What is no batch has no messages.
                continue
        every[request.topic] += len(found)
        keyed.update((request.topic, bytes(key).decode()) for key in found if key is not None)
    rows = [row for one in list_captures(str(tmp_path)) for row in rows_of(one.path)]
    looked = [row for row in rows if row["kind"] == "looked"]
    sums: Counter[str] = Counter()
    for row in looked:
        sums[row["topic"]] += row["value"]
    assert sums == every
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row["kind"] == "keyed":
            counts[row["topic"], row["detail"]] += row["count"]
    if keeps_records:
        assert counts == keyed
        assert all(row["count"] == row["value"] for row in looked)
    else:
        assert counts <= keyed
        assert any(row["count"] < row["value"] for row in looked)
