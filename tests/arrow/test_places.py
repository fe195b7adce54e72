"""Paths of this machine and of stores elsewhere, read alike."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from goqueue.spark import places
from goqueue.spark.places import PlaceError


@pytest.fixture(params=["plain", "file:", "store"])
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder with two files and two folders: a path, a URI, and one within a store that Arrow reads."""
    (tmp_path / "a folder").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "two").write_bytes(b"0123456789")
    (tmp_path / "one").write_bytes(b"")
    if request.param == "store":
        monkeypatch.setattr(places, "open_system", lambda kind, authority: (fs.LocalFileSystem(), f"/{authority}"))
        assert tmp_path.parts[0] == "/"
        yield f"s3://{'/'.join(tmp_path.parts[1:])}"
    else:
        yield str(tmp_path) if request.param == "plain" else tmp_path.as_uri()


def test_a_folder_is_listed_files_and_folders_apart(place: str) -> None:
    assert places.names(place) == ["one", "two"]
    assert places.folders(place) == ["a folder", "b"]
    assert places.is_folder(places.join(place, "b"))
    assert not places.is_file(places.join(place, "b"))
    assert not places.is_folder(places.join(place, "two"))
    assert not places.is_file(places.join(place, "three"))


def test_a_file_has_a_size_and_can_be_read_from_anywhere(place: str) -> None:
    path = places.join(place, "two")
    assert places.is_file(path)
    assert places.size(path) == 10
    with places.open_file(path) as file:
        file.seek(7)
        assert file.read(5) == b"789"
        file.seek(1)
        assert file.read(2) == b"12"


def test_what_is_missing_is_said_so(place: str) -> None:
    missing = places.join(place, "three")
    for asked in (places.size, places.open_file, places.names, places.folders):
        with pytest.raises(FileNotFoundError, match="three"):
            asked(missing)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/var/lib/goqueue", "file"),
        ("file:/var/lib", "file"),
        ("FILE:///var/lib", "file"),
        ("logs/12:30", "file"),
        ("hdfs://names:8020/logs", "hdfs"),
        ("S3A://bucket", "s3a"),
    ],
)
def test_the_scheme_says_what_kind_of_place_it_is(path: str, said: str) -> None:
    assert places.scheme(path) == said
    assert places.is_local(path) == (said == "file")


def test_a_file_path_may_be_escaped_and_is_of_this_machine() -> None:
    assert places.local("file:///tmp/a%20b") == Path("/tmp/a b")
    assert places.local("file:/tmp/a") == places.local("file://localhost/tmp/a") == Path("/tmp/a")
    with pytest.raises(PlaceError, match="names the machine 'elsewhere'"):
        places.local("file://elsewhere/tmp")


def test_names_are_put_together_in_the_spelling_of_the_folder() -> None:
    assert places.join("s3://bucket/", "logs") == "s3://bucket/logs"
    assert places.join("/logs", "a") == "/logs/a"
    assert places.join("", "a") == "a"


def test_a_scheme_that_nobody_knows_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(PlaceError, match="there is no way to read ftp://; paths begin with file, hdfs, viewfs, s3"):
        places.names("ftp://host/folder")


def test_a_store_that_cannot_be_opened_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(PlaceError, match=r"^hdfs://names:1 cannot be reached: "):
        places.size("hdfs://names:1/logs/one")
