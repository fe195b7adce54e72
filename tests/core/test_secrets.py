"""Secrets: drawn from outside, proved by tags, and replaced by their names wherever a capture has them."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.batch import validate
from goqueue.core.records.entries import batches_of, entries_in
from goqueue.core.services.secret_names import SECRET_BYTES, SECRET_KEY, name_of, without_secrets
from goqueue.core.services.secrets import Notes, Secrets
from tests.core.seeded_secrets import seeded_secrets

contents = st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES)


@given(contents)
def test_a_name_has_the_length_and_the_crc_of_its_secret_and_none_of_its_bytes(content: bytes) -> None:
    name = name_of(content)
    assert name != content
    assert (len(name), crc32c(name)) == (len(content), crc32c(content))
    assert name == name_of(content)


@given(contents, st.binary(max_size=40), st.binary(max_size=40))
def test_a_batch_with_the_name_of_a_secret_is_as_sound_as_with_the_secret(
    content: bytes, before: bytes, after: bytes
) -> None:
    [batch] = batches_of(7, [(b"before", before), (SECRET_KEY, content), (b"after", after)])
    written = without_secrets(b"head" + bytes(batch) + b"tail")[4:-4]
    assert validate(written, 0).size == len(batch)
    assert written[:61] == batch[:61]
    assert [*entries_in(written)] == [(b"before", before), (SECRET_KEY, name_of(content)), (b"after", after)]


def test_a_node_without_a_source_of_secrets_draws_none() -> None:
    with pytest.raises(AssertionError, match="no source of secrets"):
        Secrets().fresh()


def test_each_secret_is_another_one_and_comes_from_the_source() -> None:
    drawn = [bytes([number]) * SECRET_BYTES for number in (1, 2)]
    secrets = Secrets(lambda size: drawn.pop(0)[:size])
    assert [secrets.fresh().content[0], secrets.fresh().content[0]] == [1, 2]


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_a_tag_is_right_for_its_own_text_and_secret_alone(text: bytes, other: bytes) -> None:
    secrets = seeded_secrets()
    key, stranger = secrets.fresh(), secrets.fresh()
    tag = secrets.tag(key, text)
    assert len(tag) == 16
    assert secrets.is_right(key, text, tag)
    assert secrets.is_right(key, other, tag) == (other == text)
    assert not secrets.is_right(stranger, text, tag)
    assert not secrets.is_right(key, text, tag[:-1])


def test_what_came_of_secrets_comes_of_their_names_when_it_was_noted() -> None:
    secrets, again = seeded_secrets(), Secrets()
    secrets.begin_notes()
    key = secrets.fresh()
    tag = secrets.tag(key, b"text")
    assert not secrets.is_right(key, b"other", bytes(16))
    notes = secrets.take_notes()
    assert notes is not None
    assert notes.drawn == [key.name]
    assert len(notes.tags) == 1, "the right tag of what was made up is noted nowhere"
    assert secrets.take_notes() is None
    again.recall(notes)
    known = again.fresh()
    assert (known.name, known.content) == (key.name, b"")
    assert again.tag(known, b"text") == tag
    assert again.is_right(known, b"text", tag)
    assert not again.is_right(known, b"other", secrets.tag(key, b"other"))
    assert again.key(key.name).name == key.name == secrets.key(key.content).name


def test_notes_end_and_are_not_taken_before_they_begin() -> None:
    secrets = seeded_secrets()
    key = secrets.fresh()
    assert secrets.take_notes() is None
    secrets.begin_notes()
    secrets.end_notes()
    secrets.tag(key, b"text")
    assert secrets.take_notes() is None
    secrets.begin_notes()
    secrets.recall(Notes())
    assert secrets.is_right(key, b"text", secrets.tag(key, b"text"))
    assert secrets.take_notes() is not None
