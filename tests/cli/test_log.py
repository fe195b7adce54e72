"""`goqueue log`: what a person sees of a data folder, and what a script can rely on."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.core.log.config import LogConfig
from goqueue.core.records.build import encode
from goqueue.fuzz.bytes.sealing import seal_batch
from goqueue.storage.files import FileDisk
from goqueue.storage.open_log import OpenLog

STREAM = "logs/orders/0"
NOW_MS = 1_700_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with one stream of three segments, thirty records."""
    disk = FileDisk(str(tmp_path / "data"))
    log = OpenLog(disk, STREAM, LogConfig(segment_bytes=1500), wall_ms=lambda: NOW_MS)
    for number in range(30):
        headers = [("source", b"web"), ("empty", None)]
        log.append(encode([(NOW_MS + number, b"key-%d" % number, b"value-%d" % number, headers)]))
        log.flush()
    log.close()
    return tmp_path / "data"


def run(*arguments: object) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(goqueue, ["log", *map(str, arguments)])


def damage(folder: Path) -> None:
    """Turn a bit in the middle of the first segment."""
    file = folder / STREAM / "00000000000000000000.log"
    content = bytearray(file.read_bytes())
    content[800] ^= 1
    file.write_bytes(content)


def test_show_lists_segments_with_their_offsets(folder: Path) -> None:
    rows = json.loads(run("show", folder, "-o", "json").output)
    assert [row["stream"] for row in rows] == [STREAM] * len(rows)
    assert rows[0]["from"] == 0
    assert [row["up_to"] for row in rows[:-1]] == [row["from"] for row in rows[1:]]
    assert rows[-1]["up_to"] is None
    table = run("show", folder, STREAM).output
    assert "(growing)" in table
    assert "2023-11-14T22:13:20" in table


def test_verify_is_quiet_about_what_is_sound(folder: Path) -> None:
    said = run("verify", folder)
    assert said.exit_code == 0
    assert "0 damaged segments" in said.output


def test_verify_names_file_and_byte_and_fails(folder: Path) -> None:
    damage(folder)
    said = run("verify", folder, STREAM)
    assert said.exit_code == 1
    assert f"{STREAM}/00000000000000000000.log: byte " in said.output
    rows = json.loads(run("verify", folder, "-o", "json").stdout)
    assert [row["damaged_at"] is not None for row in rows].count(True) == 1


def test_dump_prints_records_from_an_offset_on(folder: Path) -> None:
    lines = run("dump", folder, STREAM, "--from", "12", "-n", "3").output.splitlines()
    assert lines == [
        f"{number}  2023-11-14T22:13:20.0{number}Z  key-{number}  value-{number}" for number in (12, 13, 14)
    ]
    rows = [json.loads(line) for line in run("dump", folder, STREAM, "-n", 100, "-o", "json").output.splitlines()]
    assert [row["offset"] for row in rows] == list(range(30))
    assert rows[0]["headers"] == {"source": "web", "empty": None}


def test_dump_goes_on_behind_a_batch_that_cannot_be_read(folder: Path) -> None:
    log = OpenLog(FileDisk(str(folder)), STREAM)
    spoilt = encode([((1 << 63) - 1, None, b"absurd", ())])
    log.append(bytearray(seal_batch(bytes(spoilt[:-1]) + b"\x7f")))
    log.append(spoilt)
    log.close()
    said = run("dump", folder, STREAM, "--from", "30")
    assert said.exit_code == 0
    assert "offsets 30 to 30 cannot be read" in said.stderr
    assert said.stdout == "31  9999-12-31T23:59:59.999Z  -  absurd\n"


def test_repair_asks_first_and_then_says_what_it_took_out(folder: Path) -> None:
    damage(folder)
    before = {file.name: file.read_bytes() for file in (folder / STREAM).iterdir()}
    declined = CliRunner().invoke(goqueue, ["log", "repair", str(folder), STREAM], input="n\n")
    assert declined.exit_code == 1
    assert {file.name: file.read_bytes() for file in (folder / STREAM).iterdir()} == before
    said = run("repair", folder, STREAM, "--yes")
    assert said.exit_code == 0
    assert "took out bytes" in said.output
    assert said.output.endswith(f"{STREAM} is sound again\n")
    assert run("verify", folder).exit_code == 0
    assert run("repair", folder, STREAM, "--yes").output == f"{STREAM} is sound\n"


def test_repair_refuses_a_folder_that_is_in_use(folder: Path) -> None:
    log = OpenLog(FileDisk(str(folder)), STREAM)
    said = run("repair", folder, STREAM, "--yes")
    assert said.exit_code == 1
    assert "in use" in str(said.exception)
    log.close()


@pytest.mark.parametrize("arguments", [("show",), ("verify",), ("dump", STREAM), ("repair", STREAM, "--yes")])
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"a beach")
    said = run(arguments[0], tmp_path, *arguments[1:])
    assert said.exit_code == 2
    assert "is not a GoQueue data folder" in said.output
    assert [file.name for file in tmp_path.iterdir()] == ["holiday.jpg"]


def test_a_stream_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    said = run("dump", folder, "logs/order/0")
    assert said.exit_code == 2
    assert f"there is no stream logs/order/0; the folder holds {STREAM}" in " ".join(said.output.split())
