"""Data folders at places: the disk that planning and reading look at, here or in a store elsewhere.

Nothing is written, whatever the rights. A folder elsewhere is a copy, which no broker writes to.
"""

import io
from typing import Any, BinaryIO, NoReturn

from goqueue.spark import places
from goqueue.storage.disk import Disk, File, WritableBuffer, path_parts
from goqueue.storage.files import FileDisk, RealFile


def disk_at(folder: str) -> Disk:
    """The disk of a data folder, to be read only. Raises PlaceError."""
    return ReadDisk(str(places.local(folder))) if places.is_local(folder) else PlaceDisk(folder)


class ReadDisk(FileDisk):
    """A folder of this machine, of which files are opened for reading only, whoever asks."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> RealFile:
        """See Disk; nothing is made."""
        return super().open(path, read_only=True)


class PlaceFile:
    """A file elsewhere that keeps the reading half of the contract of `File`, for one thread."""

    def __init__(self, path: str, opened: BinaryIO) -> None:
        self.path = path
        self._opened = opened

    def read_into(self, buffer: WritableBuffer, position: int) -> int:
        """See File."""
        self._opened.seek(position)
        view, filled = memoryview(buffer), 0
        while filled < len(view):
            part = self._opened.read(len(view) - filled)
            if not part:
                break
            view[filled : filled + len(part)] = part
            filled += len(part)
        return filled

    def read_cached_into(self, buffer: WritableBuffer, position: int) -> int | None:
        """See File: there is no telling."""
        return None

    def read(self, size: int, position: int) -> bytes:
        """See File."""
        buffer = bytearray(size)
        return bytes(buffer[: self.read_into(buffer, position)])

    def size(self) -> int:
        """See File."""
        return self._opened.seek(0, io.SEEK_END)

    def close(self) -> None:
        """See File."""
        self._opened.close()

    def forget_cached(self, position: int) -> None:
        """See File; a file elsewhere is not cached here."""

    def _refused(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - whatever a write is told
        raise io.UnsupportedOperation(f"{self.path}: a data folder elsewhere is only read")

    write = truncate = allocate = sync = begin_sync = finish_sync = _refused


class PlaceDisk:
    """A folder elsewhere that keeps the reading half of the contract of `Disk`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """See Disk; nothing is made."""
        full_path = self._at(path)
        return PlaceFile(full_path, places.open_file(full_path))

    def exists(self, path: str) -> bool:
        """See Disk."""
        return places.is_file(self._at(path)) or places.is_folder(self._at(path))

    def is_folder(self, path: str) -> bool:
        """See Disk."""
        return places.is_folder(self._at(path))

    def names(self, path: str) -> list[str]:
        """See Disk."""
        folder = self._at(path)
        return sorted([*places.names(folder), *places.folders(folder)])

    def _at(self, path: str) -> str:
        return "/".join([self.root.rstrip("/"), *path_parts(path)])

    def _refused(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - whatever a write is told
        raise io.UnsupportedOperation(f"{self.root}: a data folder elsewhere is only read")

    make_folder = rename = remove = remove_folder = sync_folder = lock = free_bytes = _refused
