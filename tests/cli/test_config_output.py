"""YAML as commands print it is read back as what it was, by a reader of YAML 1.1."""

import json

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from goqueue import __version__
from goqueue.cli.main import goqueue
from goqueue.cli.output import print_structure

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=10),
    st.sampled_from(
        ["no", "On", "1:30", "0o7", "1e3", "null", "~", "a: b", "# a", "-", "2026-03-01", "é", "a\n", "=", "<<"]
    ),
)
STRUCTURES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=8,
)


def printed(form: str, found: object) -> str:
    """What is printed of a structure."""
    runner = CliRunner()
    with runner.isolation() as (out, *_):
        print_structure(form, found)
        return out.getvalue().decode()


@given(STRUCTURES)
def test_yaml_and_json_are_read_as_what_was_printed(found: object) -> None:
    assert yaml.safe_load(printed("yaml", found)) == found
    assert json.loads(printed("json", found)) == found


def test_plain_text_stands_as_it_is_in_yaml() -> None:
    topic = {"name": "orders", "config": {"fsync": "every", "retention_hours": 168, "segment_age": "7d"}, "isr": []}
    assert printed("yaml", topic).splitlines() == [
        "name: orders", "config:", "  fsync: every", "  retention_hours: 168", '  segment_age: "7d"', "isr: []",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_version_may_be_asked_for_by_programs(form: str) -> None:
    said = CliRunner().invoke(goqueue, ["version", "-o", form]).output
    found = json.loads(said) if form == "json" else yaml.safe_load(said)
    assert set(found) == {"goqueue", "python", "system", "machine"}
    assert found["goqueue"] == __version__
