"""The broker's file: what it may say, and what is said about it when it is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from goqueue.cli.settings.document import FILE_BYTES_MAX, Document, read_document, read_file
from goqueue.cli.settings.keys import FLAGGED, HTTP, KEYS, NODE, PARTITIONS, SEGMENT_SIZE
from goqueue.cli.settings.kinds import host
from goqueue.cli.settings.sources import DEFAULT, FILE, FLAG, VARIABLE, Given, Settings

EXAMPLE = Path(__file__).parents[2] / "docs" / "goqueue.yaml"
NAMES = [key.name for key in KEYS]


def read(text: str | bytes, environment: Mapping[str, str] | None = None, **given: Given) -> Settings:
    """Settings from a file of this text."""
    content = text.encode() if isinstance(text, str) else text
    document = read_document(Document("f.yaml"), content, NAMES, environment or {})
    return Settings({name.replace("_", "."): each for name, each in given.items()}, document)


def problems(text: str | bytes, environment: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with a file."""
    return read(text, environment).problems


def value(text: str, name: str, environment: Mapping[str, str] | None = None) -> object:
    """What one key of a sound file means."""
    settings = read(text, environment)
    assert settings.problems == []
    return next(each.value for each in settings.all() if each.key.name == name)


def test_the_example_names_every_key_with_its_default() -> None:
    document = read_file(str(EXAMPLE), NAMES, {})
    settings = Settings({}, document)
    assert settings.problems == []
    assert {each.key.name for each in settings.all() if each.source == FILE} == set(NAMES)
    defaults = Settings({}, None)
    assert [each.value for each in settings.all()] == [each.value for each in defaults.all()]


def test_defaults_can_be_meant() -> None:
    for key in KEYS:
        key.kind.parse(key.default)
    assert {key.name for key in FLAGGED} <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


def test_an_empty_file_and_empty_sections_say_nothing() -> None:
    for text in ("", "# nothing\n", "broker:\nstorage: ~\n", "---\nbroker: {}\n...\n"):
        assert problems(text) == [], text
        assert {each.source for each in read(text).all()} == {DEFAULT}


def test_a_flag_goes_before_a_variable_before_the_file_before_a_default() -> None:
    text = "broker: {nodeId: filed}"
    for given_, expected, source in (
        (Given("typed", FLAG), "typed", FLAG),
        (Given("set", VARIABLE), "set", VARIABLE),
        (None, "filed", FILE),
    ):
        settings = read(text, broker_nodeId=given_) if given_ else read(text)
        assert (settings[NODE], settings.of(NODE).source) == (expected, source)
    assert (read("")[NODE], read("").of(NODE).source) == ("node-1", DEFAULT)
    assert [read(text, broker_nodeId=Given("x", each)).of(NODE).place for each in (FLAG, VARIABLE)] == [
        "--node-id", "GOQUEUE_NODE_ID",
    ]  # fmt: skip
    assert read(text).of(NODE).place == "f.yaml:1"


def test_a_mistake_in_the_file_is_one_also_where_a_flag_overrides_it() -> None:
    settings = read("broker: {nodeId: a b}", broker_nodeId=Given("typed", FLAG))
    assert settings[NODE] == "typed"
    assert [each.partition(": ")[0] for each in settings.problems] == ["f.yaml:1"]


def test_everything_wrong_is_said_at_once_with_line_and_key() -> None:
    text = """\
broker: {nodeid: x, dataDir: 7, listeners: 5}
storge: {}
storage:
  segmentSize: "1 gig"
  segmentSize: 3
  fsync: {mode: ${MODE}, intervalMs: ${X:fast}}
metrics: {enabled: yes}
partitions: 3
cluster: {peers: [a@b:1, b@c], quorum: all, discovery: !x dns}
defaults: {topic: {replicationFactor: 0, retention: 7d}}
producer: {acks: [all], lingerMs: 1.5, batchSize:}
"""
    assert problems(text) == [
        "f.yaml:1: broker.nodeid: there is no such key; did you mean broker.nodeId?",
        "f.yaml:1: broker.listeners: found '5', expected a section with http, grpc, internal",
        "f.yaml:1: broker.dataDir: found the number 7, expected a path",
        "f.yaml:2: storge: there is no such key; did you mean storage?",
        "f.yaml:4: storage.segmentSize: '1 gig' is no size from 64 KiB to 2 GiB; write it like 1GiB",
        "f.yaml:5: storage.segmentSize: it is given twice, first in line 4",
        "f.yaml:6: storage.fsync.mode: the variable MODE is not set, and the file has no default for it",
        "f.yaml:6: storage.fsync.intervalMs: found 'fast', expected a whole number from 1 to 86400000",
        "f.yaml:7: metrics.enabled: found the text 'yes', expected true or false",
        "f.yaml:8: partitions: there is no such key here; did you mean defaults.topic.partitions?",
        "f.yaml:9: cluster.discovery: tags such as '!x' are not read",
        "f.yaml:9: cluster.peers: 'b@c' is no address of a peer; write it like node-2@10.0.0.2:7000",
        "f.yaml:9: cluster.quorum: found 'all', expected majority: a majority decides",
        "f.yaml:10: defaults.topic.retention: found '7d', expected a section with hours, bytes",
        "f.yaml:10: defaults.topic.replicationFactor: found '0', expected a whole number from 1 to 100, or auto",
        "f.yaml:11: producer.batchSize: found nothing, expected a size from 0 to 1 GiB such as 16KiB",
        "f.yaml:11: producer.lingerMs: found '1.5', expected a whole number from 0 to 60000",
        "f.yaml:11: producer.acks: found a list, expected one of none, leader, all",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b: c", "f.yaml:1: this is no YAML: mapping values are not allowed here"),
        ("broker:\n\t- x", "f.yaml:2: this is no YAML"),
        ("{broker", "f.yaml:1: this is no YAML"),
        ("[" * 3000, "f.yaml: this is nested too deeply"),
        ("- broker", "f.yaml:1: found a list, expected a file with the sections broker, "),
        ("broker", "f.yaml:1: found 'broker', expected a file"),
        ("broker: {}\n---\nbroker: {}", "this is no YAML: expected a single document"),
        (b"# a\nbroker: \xff", "f.yaml:2: byte 12 is no UTF-8"),
        (b"#" * (FILE_BYTES_MAX + 1), "f.yaml: is larger than 256 KiB"),
        ("broker: \ue000", "f.yaml: holds a private character"),
        ("broker: \x00", "f.yaml: this is no YAML"),
        ('broker: {nodeId: "\\UFFFFFFFF"}', "this is no YAML"),
        ("? [a]\n: b", "f.yaml:1: expected a key"),
        ("<<: {}", "f.yaml:1: <<: there is no such key; known here are broker"),
        ("metrics: {listen: {}}", "f.yaml:1: metrics.listen: found a section, expected a value"),
        ("cluster: {peers: [[a]]}", "f.yaml:1: cluster.peers: found a list in a list of values"),
        ("broker: &b {tls: *b}", "f.yaml:1: broker.tls.tls: there is no such key"),
    ],
)
def test_what_is_no_such_file_is_one_sentence_with_its_line(text: str | bytes, said: str) -> None:
    assert problems(text)[0].startswith(said) or said in problems(text)[0]


def test_a_file_that_cannot_be_read_is_a_problem_like_others(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        [said] = read_file(str(path), NAMES, {}).problems
        assert said.startswith(f"{path}: cannot be read: ")


def test_anchors_work() -> None:
    assert value("metrics: {listen: &port ':8080'}\nbroker: {listeners: {http: *port}}", HTTP.name) == (
        "127.0.0.1", 8080,
    )  # fmt: skip


# --- variables


def test_a_variable_or_its_default_stands_in_any_value() -> None:
    text = """
broker: {nodeId: "${A:one}-${B:two}", listeners: {http: ${HTTP::8080}}}
defaults: {topic: {partitions: ${N:6}}}
"""
    assert value(text, NODE.name) == "one-two"
    assert value(text, NODE.name, {"B": "2"}) == "one-2"
    assert value(text, HTTP.name) == ("127.0.0.1", 8080)
    assert value(text, HTTP.name, {"HTTP": "0.0.0.0:1"}) == ("0.0.0.0", 1)
    assert value(text, PARTITIONS.name, {"N": "12"}) == 12
    assert read(text, {"B": "2"}).of(NODE).place == "f.yaml:2 (B)"


def test_quotes_around_a_variable_say_nothing_about_what_it_is() -> None:
    assert value('defaults: {topic: {partitions: "${N:6}"}}', PARTITIONS.name) == 6
    assert value("broker: {nodeId: ${ID:7}}", NODE.name) == "7"
    assert problems('defaults: {topic: {partitions: "6"}}') == [
        "f.yaml:1: defaults.topic.partitions: found the text '6', expected a whole number from 1 to 10000"
    ]


def test_a_variable_changes_nothing_but_its_value() -> None:
    for content in ("x\nbroker: {}", "a: b", "# c", "'", "{", "*x", "!y"):
        [said] = problems("broker:\n  nodeId: ${ID}\n  dataDir: here\n", {"ID": content})
        assert said.startswith("f.yaml:2: broker.nodeId: ")
        assert repr(content) in said


def test_a_variable_set_to_nothing_counts_as_unset() -> None:
    assert value("broker: {nodeId: ${ID:one}}", NODE.name, {"ID": ""}) == "one"
    assert "the variable ID is not set" in problems("broker: {nodeId: ${ID}}", {"ID": ""})[0]
    assert value("capture: {folder: ${F:}}", "capture.folder") == ""


def test_two_dollars_write_the_characters_themselves() -> None:
    assert value("broker: {dataDir: 'a$${HOME}$x'}", "broker.dataDir", {"HOME": "h"}) == "a${HOME}$x"


@pytest.mark.parametrize("text", ["${", "${}", "${A B}", "${1}", "${-x:1}", "${A:${B:c}}", "a${b"])
def test_what_is_no_variable_is_a_problem_of_its_key(text: str) -> None:
    [said] = problems(f"broker:\n  nodeId: '{text}'\n")
    assert said.startswith("f.yaml:2: broker.nodeId: ")


def test_a_comment_may_name_any_variable() -> None:
    assert problems("broker: {} # ${UNSET} and ${\n") == []


# --- whatever it is


@given(st.binary(max_size=200))
@example(b"&a [*a]")
@example(b"%YAML 9.9\n---\n")
@example(b"? ? ?")
def test_any_bytes_are_read_or_have_problems(content: bytes) -> None:
    settings = read(content)
    assert settings[NODE]
    assert all(problem.startswith("f.yaml") and problem.isprintable() for problem in settings.problems)


SCALARS = st.one_of(
    st.sampled_from(
        ["${A}", "${B:x}", "$${", "1", "-1", "1e3", "off", "true", "30s", "64MiB", ":80", "null", "[]", "{}"]
    ),
    st.text(max_size=10),
    st.integers(),
    st.booleans(),
    st.floats(),
    st.lists(st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from(NAMES), SCALARS))
def test_any_values_are_read_or_have_problems(values: dict[str, object]) -> None:
    tree: dict[str, object] = {}
    for name, each in values.items():
        *sections, last = name.split(".")
        place = tree
        for section in sections:
            below = place.setdefault(section, {})
            assert isinstance(below, dict)
            place = below
        place[last] = each
    settings = read(yaml.safe_dump(tree))
    wrong = {each.split(": ")[1] for each in settings.problems}
    assert wrong <= set(values)
    assert {each.key.name for each in settings.all() if each.source == FILE} == set(values) - wrong


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[https://Console.example.com/, http://a:80, https://a:443, http://a:81]",
         ["https://console.example.com", "http://a", "https://a", "http://a:81"]),
        ('"*"', ["*"]),
        ('"http://[::1]:3000, chrome-extension://abc"', ["http://[::1]:3000", "chrome-extension://abc"]),
        ("[]", []),
    ],
)  # fmt: skip
def test_origins_are_written_as_browsers_write_them(written: str, meant: list[str]) -> None:
    assert value(f"http: {{corsOrigins: {written}}}", "http.corsOrigins") == meant


@pytest.mark.parametrize("written", ["console.example.com", "https://a/b", "https://", "https://a b", "null", "//a"])
def test_what_is_no_origin_is_a_problem(written: str) -> None:
    (said,) = problems(f'http: {{corsOrigins: "{written}"}}')
    assert said.endswith("is no origin; write it like https://console.example.com")


@pytest.mark.parametrize("written", ["http://a", "a:80", "a b", "a/b", "*.example.com", "..a"])
def test_what_is_no_host_is_a_problem(written: str) -> None:
    (said,) = problems(f'http: {{allowedHosts: "{written}"}}')
    assert said.endswith("write it like mq.example.com, without a port")


def test_hosts_are_names_addresses_and_ends_of_names() -> None:
    found = value('http: {allowedHosts: [mq, .example.com, 10.0.0.5, "[2001:db8::1]", "*"]}', "http.allowedHosts")
    assert found == ["mq", ".example.com", "10.0.0.5", "2001:db8::1", "*"]


def test_sizes_may_have_units() -> None:
    assert value("storage: {segmentSize: 64MiB}", SEGMENT_SIZE.name) == 64 << 20
    assert value("storage: {segmentSize: 65536}", SEGMENT_SIZE.name) == 65536


@pytest.mark.parametrize("wrong", ["host:7000", "[::1]:7000", "*", "http://host", "two hosts"])
def test_the_name_that_others_call_a_node_by_has_no_port(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"write it like mq\.example\.com, without a port"):
        host().parse(wrong)
    assert [host().parse(right) for right in ("mq.example.com", "10.0.0.1", "[::1]", "")] == [
        "mq.example.com", "10.0.0.1", "::1", "",
    ]  # fmt: skip
