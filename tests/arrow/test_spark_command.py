"""The command line of the jobs without a Spark that runs them: help, mistakes, and the archive for one elsewhere."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from goqueue.cli.endings import Ending
from goqueue.spark.commands.command import spark
from goqueue.spark.commands.opening import expect_java
from goqueue.spark.commands.packing import ARCHIVE, SCRIPT
from goqueue.spark.commands.pairs import named_values


def fake_java(folder: Path, script: str) -> None:
    """A program of that name which says something else than a Java would."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "does not start"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is version 11. Spark needs a Java 17 or newer"),
        ("echo 'openjdk version \"17.0.15\" 2025-04-15' >&2", None),
        ("echo 'openjdk version \"25\" 2025-09-16' >&2", None),
        ("echo hello >&2", "does not start"),
    ],
)
def test_a_java_that_does_not_do_is_named(
    script: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if said is None:
        expect_java()
    else:
        with pytest.raises(Ending, match=said):
            expect_java()


def test_a_java_that_is_not_there_is_missed_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Ending, match=r"there is no java here\. Spark needs a Java 17 or newer"):
        expect_java()


def test_settings_are_names_and_values() -> None:
    assert named_values(("spark.a=1", "spark.b=x=y"), "setting", "a=1") == {"spark.a": "1", "spark.b": "x=y"}
    with pytest.raises(Ending, match=r"'spark\.a' is no setting of Spark; write it like spark\.b=1"):
        named_values(("spark.a",), "setting of Spark", "spark.b=1")
    with pytest.raises(Ending, match="the column key is given twice"):
        named_values(("key=id", "key=name"), "column", "value=document")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "captures of what"),
        (["no-such-folder"], "no-such-folder: No such file or directory"),
        (["."], "holds no capture: neither it nor a folder in it"),
        ([".", "--set", "max_attempts"], "'max_attempts' is no setting; write it like"),
        ([".", "--set", "topic.orders.colour=red"], "topic.orders.colour: no such setting; the known ones are"),
        ([".", "--code", "mine"], "'mine' is not module:function"),
    ],
)
def test_a_replay_of_nothing_or_with_what_is_not_to_be_had_needs_no_java(
    asked: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    ran = CliRunner().invoke(spark, ["replay", *asked])
    assert ran.exit_code != 0
    assert said in str(ran.exception)


def test_what_the_system_refuses_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = CliRunner().invoke(spark, ["package", str(tmp_path / "file" / "folder")])
    assert isinstance(ran.exception, Ending)
    assert str(ran.exception) == f"{tmp_path / 'file' / 'folder'}: Not a directory"


def test_every_setting_that_can_be_tried_is_listed() -> None:
    ran = CliRunner().invoke(spark, ["replay", "--settings"], catch_exceptions=False)
    names = ran.output.split()
    assert {"topic.NAME.max_attempts", "group.NAME.visibility_timeout", "node.recent_bytes"} <= set(names)
    assert len(names) > 30


def test_help_needs_no_spark() -> None:
    """Help of every command is made by a Python in which pyspark cannot be found."""
    names = list(spark.commands)
    asked = [["spark", "--help"], *(["spark", name, "--help"] for name in names)]
    lines = "\n".join(
        [
            "import sys",
            "class Gone:",
            "    def find_spec(self, name, *_):",
            "        if name.partition('.')[0] in ('pyspark', 'pyarrow', 'pandas'): raise ModuleNotFoundError(name)",
            "sys.meta_path.insert(0, Gone())",
            "from click.testing import CliRunner",
            "from goqueue.cli.main import goqueue",
            f"for asked in {asked!r}:",
            "    ran = CliRunner().invoke(goqueue, asked, catch_exceptions=False)",
            "    assert ran.exit_code == 0, ran.output",
        ]
    )
    ran = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_archive_is_a_package_that_can_be_imported(tmp_path: Path) -> None:
    ran = CliRunner().invoke(spark, ["package", str(tmp_path)], catch_exceptions=False)
    assert ran.exit_code == 0
    archive = tmp_path / ARCHIVE
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    assert {"goqueue/__init__.py", "goqueue/core/node.py", "goqueue/spark/datasource.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or ".venv" in name]
    lines = "import goqueue.core.node, goqueue.spark.commands.command as c; print(goqueue.__file__, c.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", lines],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == [f"{archive}/goqueue/__init__.py", f"{archive}/goqueue/spark/commands/command.py"]


def test_the_script_is_the_command_line(tmp_path: Path) -> None:
    CliRunner().invoke(spark, ["package", str(tmp_path)], catch_exceptions=False)
    ran = subprocess.run(
        [sys.executable, str(tmp_path / SCRIPT), "export", "--help"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "goqueue spark export" in ran.stdout


def test_the_same_sources_make_the_same_archive(tmp_path: Path) -> None:
    for name in ("a", "b"):
        CliRunner().invoke(spark, ["package", str(tmp_path / name)], catch_exceptions=False)
    assert (tmp_path / "a" / ARCHIVE).read_bytes() == (tmp_path / "b" / ARCHIVE).read_bytes()
