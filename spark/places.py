"""Files and folders at paths: of this machine, or of any store that Arrow can reach (HDFS, S3, GCS, Azure).

A path with a scheme, such as `hdfs://names:8020/logs` or `s3://bucket/logs`, is a place elsewhere; `file:` and paths
without one are here, and are read without Arrow in between. Only reading: nothing in this room writes to a place.

A file system is opened once in a process and kept, since some of them ask the network about themselves first. Where
they lie and how to log in to them is up to Arrow, which looks into the usual environment variables and files.

What is missing is a FileNotFoundError, here as there. PlaceError is for what is no place at all.
"""

import re
from functools import cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

from goqueue.core.errors import GoQueueError

# What Hadoop and others write -> what Arrow writes.
_SCHEMES = {
    "hdfs": "hdfs",
    "viewfs": "viewfs",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=//)|(file):")


class PlaceError(GoQueueError):
    """A path that leads to no place that can be read, and why."""


def scheme(path: str) -> str:
    """The kind of place that a path leads to, in lower case: `file` for this machine."""
    found = _SCHEME.match(path)
    return found[0].rstrip(":").lower() if found else "file"


def is_local(path: str) -> bool:
    """Whether a path leads to files of this machine."""
    return scheme(path) == "file"


def local(path: str) -> Path:
    """A path of this machine, without its scheme. Raises PlaceError for one of another machine."""
    assert is_local(path)
    if not _SCHEME.match(path):
        return Path(path)
    parts = urlsplit(path)
    if parts.netloc not in ("", "localhost"):
        raise PlaceError(f"{path} names the machine {parts.netloc!r}; a file: path is file:///folder, of this machine")
    return Path(unquote(parts.path))


def absolute(path: str) -> str:
    """The same path, from the root of this machine on where it is of this machine: other processes work elsewhere."""
    return path if _SCHEME.match(path) else str(Path(path).absolute())


def join(folder: str, name: str) -> str:
    """The path of a name in a folder, in the folder's own spelling."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def names(folder: str) -> list[str]:
    """The names of the files in a folder, sorted. Raises OSError, PlaceError."""
    if is_local(folder):
        return sorted(one.name for one in local(folder).iterdir() if one.is_file())
    return _listed(folder, fs.FileType.File)


def folders(path: str) -> list[str]:
    """The names of the folders in a folder, sorted. Raises OSError, PlaceError."""
    if is_local(path):
        return sorted(one.name for one in local(path).iterdir() if one.is_dir())
    return _listed(path, fs.FileType.Directory)


def is_file(path: str) -> bool:
    """Whether there is a file at a path. Raises OSError, PlaceError."""
    return local(path).is_file() if is_local(path) else _found(path).type == fs.FileType.File


def is_folder(path: str) -> bool:
    """Whether there is a folder at a path. Raises OSError, PlaceError."""
    return local(path).is_dir() if is_local(path) else _found(path).type == fs.FileType.Directory


def size(path: str) -> int:
    """How many bytes a file has. Raises OSError, PlaceError."""
    if is_local(path):
        return local(path).stat().st_size
    found = _found(path)
    if found.type != fs.FileType.File:
        raise FileNotFoundError(2, "there is no such file", path)
    return int(found.size)


def open_file(path: str) -> BinaryIO:
    """A file to read and to seek in; close it. Raises OSError, PlaceError."""
    if is_local(path):
        return local(path).open("rb")
    system, inner = _reached(path)
    opened: BinaryIO = system.open_input_file(inner)
    return opened


def _listed(folder: str, wanted: fs.FileType) -> list[str]:
    system, inner = _reached(folder)
    return sorted(one.base_name for one in system.get_file_info(fs.FileSelector(inner)) if one.type == wanted)


def _found(path: str) -> fs.FileInfo:
    system, inner = _reached(path)
    return system.get_file_info(inner)


def _reached(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path elsewhere, and what it calls the path."""
    kind, separator, rest = path.partition("://")
    assert separator
    authority, _, inner = rest.partition("/")
    system, root = open_system(kind.lower(), authority)
    return system, f"{root.rstrip('/')}/{inner.strip('/')}" if inner else root


@cache
def open_system(kind: str, authority: str) -> tuple[fs.FileSystem, str]:
    """The file system of a scheme and what follows it, and the path of its root there. Raises PlaceError."""
    spelled = _SCHEMES.get(kind)
    if spelled is None:
        known = ", ".join(["file", *_SCHEMES])
        raise PlaceError(f"there is no way to read {kind}://; paths begin with {known}, or are of this machine")
    try:
        system, root = fs.FileSystem.from_uri(f"{spelled}://{authority}/")
    except (OSError, ArrowInvalid, ArrowNotImplementedError) as error:
        first = str(error).partition("\n")[0]
        raise PlaceError(f"{kind}://{authority} cannot be reached: {first}") from error
    return system, str(root)
