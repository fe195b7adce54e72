"""Contexts: names for brokers in a file, and which broker a command talks to in the end."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.testing import Broker
from tests.cli.commands import line, run

VARIABLES = ("GOQUEUE_SERVER", "GOQUEUE_CONTEXT", "GOQUEUE_API_KEY")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the contexts of a test are, and no variable that says otherwise."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "own" / "config.yaml"
    monkeypatch.setenv("GOQUEUE_CLI_CONFIG", str(path))
    return path


def invoke(*arguments: str, given: str = "") -> Result:
    """What a command of `goqueue config` does."""
    return CliRunner().invoke(goqueue, ["config", *arguments], input=given)


def wrong(*arguments: str) -> str:
    """The sentence of one that ends with status 2."""
    outcome = run("", *arguments)
    assert (outcome.status, outcome.out) == (2, ""), outcome
    return outcome.err


@pytest.mark.usefixtures("file")
def test_contexts_are_made_listed_changed_chosen_and_deleted() -> None:
    made = invoke("set-context", "production", "--server", "https://queue.example:8443", "--api-key", "secret")
    assert made.stdout == "made context production: https://queue.example:8443\n"
    assert "use-context production" in made.stderr
    assert invoke("current-context").exit_code == 1
    invoke("set-context", "here", "--server", "localhost:8080")
    assert invoke("use-context", "here").output == "here is the current context: localhost:8080\n"
    assert invoke("current-context").output == "here\n"
    assert invoke("get-contexts").output.splitlines() == [
        "CURRENT  NAME        SERVER                      API KEY",
        "         production  https://queue.example:8443  yes",
        "*        here        localhost:8080              no",
    ]
    assert json.loads(invoke("get-contexts", "-o", "json").output)[1] == {
        "name": "here", "server": "localhost:8080", "has_api_key": False, "is_current": True,
    }  # fmt: skip
    changed = invoke("set-context", "production", "--server", "queue:1")
    assert (changed.stdout, changed.stderr) == ("changed context production: queue:1\n", "")
    assert "production  queue:1         yes" in invoke("get-contexts").output
    assert invoke("delete-context", "here").output == "deleted context here; no context is the current one\n"
    assert invoke("delete-context", "production").output == "deleted context production\n"
    assert invoke("get-contexts", "-o", "yaml").output == "[]\n"


def test_the_file_is_for_its_owner_alone_and_keeps_what_it_does_not_know(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("colour: blue\ncontexts:\n  here: {server: 'localhost:1', colour: red}\n")
    file.chmod(0o644)
    invoke("set-context", "here", "--api-key", "k")
    invoke("use-context", "here")
    assert yaml.safe_load(file.read_text()) == {
        "colour": "blue",
        "contexts": {"here": {"server": "localhost:1", "colour": "red", "apiKey": "k"}},
        "currentContext": "here",
    }
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    invoke("set-context", "here", "--api-key", "")
    assert "apiKey" not in file.read_text()


@pytest.mark.usefixtures("file")
def test_keys_are_not_shown(file: Path) -> None:
    invoke("set-context", "here", "--server", "localhost:1", "--api-key", "-", given="from-input\n")
    assert yaml.safe_load(file.read_text())["contexts"]["here"]["apiKey"] == "from-input"
    for arguments in (("view",), ("view", "-o", "json"), ("get-contexts",), ("get-contexts", "-o", "json")):
        said = invoke(*arguments)
        assert said.exit_code == 0
        assert "from-input" not in said.output
    assert yaml.safe_load(invoke("view").output)["contexts"]["here"] == {"server": "localhost:1", "apiKey": "REDACTED"}


def test_a_link_to_the_file_stays_one(file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    target = tmp_path / "elsewhere.yaml"
    file.symlink_to(target)
    invoke("set-context", "here", "--server", "localhost:1")
    assert file.is_symlink()
    assert "localhost:1" in target.read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b: c", "is no YAML"),
        ("- a", "holds no keys"),
        ("contexts: [a]\ncurrentContext: a", "contexts is not made of names"),
        ("contexts: {a: b}\ncurrentContext: a", "contexts is not made of names"),
        ("contexts: {here: {}}\ncurrentContext: here", "context 'here' has no server"),
        ("contexts: {here: {server: nowhere}}\ncurrentContext: here", "context 'here': 'nowhere' is no address"),
        ("contexts: {here: {server: 'a:1', apiKey: 'a b'}}\ncurrentContext: here", "this is no API key"),
        ("currentContext: gone", "there is no context 'gone'; none was made yet"),
        ("contexts: {a: {server: 'a:1'}}\ncurrentContext: gone", "there is no context 'gone'; known are a"),
    ],
)
def test_a_file_that_says_nothing_useful_is_named_in_one_sentence(file: Path, text: str, said: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert said in wrong("topic", "list")
    # Who says where the broker is needs no file, and so no sound one.
    assert run("localhost:1", "topic", "list").status == 3


@pytest.mark.usefixtures("file")
def test_what_cannot_be_meant_makes_no_context(file: Path) -> None:
    for arguments, said in (
        (("here",), "say where its broker is"),
        (("here", "--server", "nowhere"), "is no address"),
        (("here", "--server", "a:1", "--api-key", "a\nb"), "is no API key"),
        (("a b", "--server", "a:1"), "is no name"),
    ):
        assert said in wrong("config", "set-context", *arguments)
    assert "there is no context 'here'" in wrong("config", "use-context", "here")
    assert "there is no context 'here'" in wrong("config", "delete-context", "here")
    assert not file.exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(file: Path) -> None:
    file.parent.write_text("no folder")
    outcome = run("", "config", "set-context", "here", "--server", "a:1")
    assert outcome.status == 2
    assert outcome.err.startswith(f"goqueue: {file} cannot be read: ")


# --- which broker it is


def asked(*arguments: str) -> str:
    """The address that a command looks for a broker at, where there is none."""
    said = run_bare("topic", "list", *arguments)
    assert said.startswith("goqueue: no broker answers at "), said
    return said.split(" at ")[1].split(";")[0].strip()


def run_bare(*arguments: str) -> str:
    """What a command in a process of its own says on standard error."""
    return subprocess.run(line(*arguments), capture_output=True, text=True, check=False, timeout=60).stderr


def test_what_is_typed_goes_before_variables_before_the_current_context(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for port in (1, 2, 3):
        invoke("set-context", f"c{port}", "--server", f"localhost:{port}")
    invoke("use-context", "c1")
    assert asked() == "localhost:1"
    monkeypatch.setenv("GOQUEUE_CONTEXT", "c2")
    assert asked() == "localhost:2"
    monkeypatch.setenv("GOQUEUE_SERVER", "localhost:4")
    assert asked() == "localhost:4"
    assert asked("--context", "c3") == "localhost:3"
    assert asked("--context", "c3", "--server", "localhost:5") == "localhost:5"


@pytest.mark.usefixtures("file")
def test_a_command_talks_to_the_broker_of_its_context() -> None:
    with Broker() as broker:
        invoke("set-context", "here", "--server", broker.address)
        made = CliRunner().invoke(goqueue, ["topic", "create", "orders", "--context", "here"])
        assert (made.exit_code, made.output) == (0, "made orders with 6 partitions\n")
        invoke("use-context", "here")
        assert "orders" in CliRunner().invoke(goqueue, ["topic", "list"]).output


@pytest.mark.usefixtures("file")
def test_contexts_and_topics_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(*arguments: str, incomplete: str) -> list[str]:
        shell = ShellComplete(goqueue, {}, "goqueue", "_X")
        return [item.value for item in shell.get_completions(list(arguments), incomplete)]

    invoke("set-context", "production", "--server", "localhost:1")
    assert completed("config", "use-context", incomplete="p") == ["production"]
    assert completed("topic", "list", "--context", incomplete="pro") == ["production"]
    with Broker() as broker:
        invoke("set-context", "here", "--server", broker.address)
        CliRunner().invoke(goqueue, ["topic", "create", "orders", "--context", "here"])
        assert completed("topic", "describe", "--context", "here", incomplete="o") == ["orders"]
    monkeypatch.setenv("GOQUEUE_CLI_CONFIG", __file__)
    assert completed("config", "use-context", incomplete="p") == []


@pytest.fixture
def keys_shown() -> Iterator[tuple[str, list[str | None]]]:
    """An address, and the keys that were shown there."""
    shown: list[str | None] = []

    class Gate(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"topics": []}')

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Gate) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", shown
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("server", "warnings"),
    [("http://127.0.0.9:1", 0), ("localhost:1", 0), ("https://broker.invalid:1", 0), ("broker.invalid:1", 1)],
)
def test_a_key_that_goes_over_plain_http_to_another_machine_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, server: str, warnings: int
) -> None:
    monkeypatch.setenv("GOQUEUE_API_KEY", "secret")
    said = CliRunner().invoke(goqueue, ["topic", "list", "--server", server]).output
    assert said.count("warning: the API key goes to") == warnings
    assert "secret" not in said


@pytest.mark.usefixtures("file")
def test_a_key_is_shown_to_the_broker_it_belongs_to_alone(
    keys_shown: tuple[str, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, shown = keys_shown
    invoke("set-context", "here", "--server", address, "--api-key", "theirs")
    invoke("use-context", "here")

    def list_topics(*arguments: str) -> None:
        assert CliRunner().invoke(goqueue, ["topic", "list", *arguments]).exit_code == 0

    list_topics()
    list_topics("--server", address)
    monkeypatch.setenv("GOQUEUE_API_KEY", "mine")
    list_topics()
    list_topics("--server", address)
    assert shown == ["Bearer theirs", None, "Bearer mine", "Bearer mine"]
    monkeypatch.setenv("GOQUEUE_API_KEY", "a\nb")
    assert "GOQUEUE_API_KEY: this is no API key" in CliRunner().invoke(goqueue, ["topic", "list"]).output
