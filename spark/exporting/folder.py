"""Where an export goes: a folder on this machine or on any file system that Hadoop knows, and what is done in it.

All that must hold of a folder is in `Folder`; what must hold for exports to be exactly once is `commit`: a file that is
there is whole, and of two that are to have the same name one is refused. A local file system has hard links for that,
HDFS a rename that does not replace. Object stores have neither: there, exports into one folder must not overlap, and
that is for whoever runs them to see to.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from goqueue.spark.exporting.manifest import ExportError


class Folder(Protocol):
    """A folder, its files named by paths below it."""

    @property
    def path(self) -> str:
        """Where it is, as Spark is to be told."""
        ...

    def names(self, inside: str) -> list[str]:
        """What lies in a folder below, sorted; nothing where there is none."""
        ...

    def walk(self, inside: str) -> list[str]:
        """All files below a folder, as paths below it, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file."""
        ...

    def commit(self, name: str, content: bytes) -> bool:
        """Make a file with all of its content at once; False when there is one of that name."""
        ...

    def move(self, source: str, target: str) -> None:
        """Put a file in another place, unless it is there already."""
        ...

    def remove(self, inside: str) -> None:
        """Remove a folder below with all that is in it, if it is there."""
        ...


class LocalFolder:
    """A folder of this machine."""

    def __init__(self, path: str) -> None:
        self._root = Path(path)

    @property
    def path(self) -> str:
        """Where it is, as Spark is to be told."""
        return self._root.absolute().as_uri()

    def names(self, inside: str) -> list[str]:
        """What lies in a folder below, sorted; nothing where there is none."""
        with suppress(FileNotFoundError):
            return sorted(one.name for one in (self._root / inside).iterdir())
        return []

    def walk(self, inside: str) -> list[str]:
        """All files below a folder, as paths below it, sorted."""
        top = self._root / inside
        return sorted(str(one.relative_to(top)) for one in top.rglob("*") if one.is_file())

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return (self._root / name).read_bytes()

    def commit(self, name: str, content: bytes) -> bool:
        """Make a file with all of its content at once; False when there is one of that name."""
        final = self._root / name
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = final.with_name(f".{final.name}.{os.getpid()}")
        try:
            with draft.open("wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            os.link(draft, final)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def move(self, source: str, target: str) -> None:
        """Put a file in another place, unless it is there already."""
        (self._root / target).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            (self._root / source).replace(self._root / target)

    def remove(self, inside: str) -> None:
        """Remove a folder below with all that is in it, if it is there."""
        shutil.rmtree(self._root / inside, ignore_errors=True)


class HadoopFolder:
    """A folder of any file system that Spark's Hadoop can write to; it is asked in the driver's Java."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        java: Any = spark._jvm
        if java is None:
            raise ExportError("an export needs a session with a Java of its own: Spark Connect has none")
        self._java = java
        self._path = path.rstrip("/")
        self._files = self._place("").getFileSystem(spark._jsc.hadoopConfiguration())

    def _place(self, name: str) -> Any:  # noqa: ANN401 - an object of Java
        return self._java.org.apache.hadoop.fs.Path(f"{self._path}/{name}".rstrip("/"))

    @property
    def path(self) -> str:
        """Where it is, as Spark is to be told."""
        return self._path

    def _entries(self, inside: str) -> Iterator[Any]:
        place = self._place(inside)
        if self._files.exists(place):
            yield from self._files.listStatus(place)

    def names(self, inside: str) -> list[str]:
        """What lies in a folder below, sorted; nothing where there is none."""
        return sorted(entry.getPath().getName() for entry in self._entries(inside))

    def walk(self, inside: str) -> list[str]:
        """All files below a folder, as paths below it, sorted."""
        found: list[str] = []
        for entry in self._entries(inside):
            name = entry.getPath().getName()
            if entry.isDirectory():
                found += [f"{name}/{one}" for one in self.walk(f"{inside}/{name}")]
            else:
                found.append(name)
        return sorted(found)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        opened = self._files.open(self._place(name))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(opened))
        finally:
            opened.close()

    def commit(self, name: str, content: bytes) -> bool:
        """Make a file with all of its content at once; False when there is one of that name."""
        final, draft = self._place(name), self._place(f"{name}.{os.urandom(8).hex()}.draft")
        opened = self._files.create(draft, False)
        opened.write(bytearray(content))
        opened.close()
        if not self._files.exists(final) and self._files.rename(draft, final):
            return True
        self._files.delete(draft, False)
        return False

    def move(self, source: str, target: str) -> None:
        """Put a file in another place, unless it is there already."""
        origin, final = self._place(source), self._place(target)
        self._files.mkdirs(final.getParent())
        if self._files.exists(origin) and not self._files.rename(origin, final):
            raise ExportError(f"{origin} could not be moved to {final}")

    def remove(self, inside: str) -> None:
        """Remove a folder below with all that is in it, if it is there."""
        self._files.delete(self._place(inside), True)


def open_folder(spark: SparkSession, path: str) -> Folder:
    """The folder at a path or URI. Raises ExportError."""
    parts = urlsplit(path)
    if not parts.scheme:
        return LocalFolder(path)
    if parts.scheme == "file":
        return LocalFolder(unquote(parts.path))
    return HadoopFolder(spark, path)
