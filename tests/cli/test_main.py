"""The table of commands: quick to list, right about what it names, plain about what went wrong."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from goqueue import __version__
from goqueue.cli import main as face
from goqueue.core.errors import GoQueueError


@pytest.fixture
def failing_command() -> Iterator[str]:
    """A command that raises one of our errors."""

    @click.command("refuse")
    def refuse() -> None:
        raise GoQueueError("The disk is full.")

    face.goqueue.add_command(refuse)
    yield "refuse"
    del face.goqueue.commands["refuse"]


def _run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)


def test_version_names_the_release_and_the_interpreter() -> None:
    said = CliRunner().invoke(face.goqueue, ["version"])
    assert said.exit_code == 0
    assert said.output.startswith(f"goqueue {__version__} (CPython 3.")


def test_help_lists_every_command_with_its_line_in_reading_order() -> None:
    said = CliRunner().invoke(face.goqueue, ["--help"], terminal_width=120).output
    places = [said.index(f"  {name} ") for name in (*face.COMMANDS, "version")]
    assert places == sorted(places)
    for _, summary in face.COMMANDS.values():
        assert summary in said


@pytest.mark.parametrize("name", face.COMMANDS)
def test_a_command_is_where_the_table_says(name: str) -> None:
    entry = face.goqueue.commands[name]
    assert isinstance(entry, face.Deferred)
    assert isinstance(entry.load(), click.Command)


@pytest.mark.parametrize("name", face.COMMANDS)
def test_a_command_answers_for_itself(name: str) -> None:
    said = CliRunner().invoke(face.goqueue, [name, "--help"])
    assert said.exit_code == 0, said.output
    assert f"Usage: goqueue {name}" in said.output


def test_listing_the_commands_imports_none_of_them() -> None:
    ran = _run(
        "import sys; from click.testing import CliRunner; from goqueue.cli.main import COMMANDS, goqueue\n"
        "assert CliRunner().invoke(goqueue, ['--help']).exit_code == 0\n"
        "print([target for target, _ in COMMANDS.values() if target.partition(':')[0] in sys.modules], "
        "'rich' in sys.modules)"
    )
    assert ran.stdout.strip() == "[] False", ran.stderr


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant() -> None:
    said = CliRunner().invoke(face.goqueue, ["bnech"])
    assert said.exit_code == 2
    assert "bench" in said.output


def test_an_error_raised_on_purpose_is_one_sentence(failing_command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["goqueue", failing_command])
    with pytest.raises(SystemExit) as ended:
        face.main()
    assert ended.value.code == "goqueue: The disk is full."


def test_it_refuses_to_run_without_asserts() -> None:
    ran = _run("from goqueue.cli.main import main; main()", "-O")
    assert ran.returncode == 1
    assert ran.stderr.startswith("goqueue: refusing to run without asserts")
    assert "Traceback" not in ran.stderr
