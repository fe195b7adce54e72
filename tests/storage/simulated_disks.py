"""Short ways to put files on a simulated disk and to look at them."""

from goqueue.storage.simulated import SimulatedDisk, SimulatedFile


def durable_file(disk: SimulatedDisk, path: str, content: bytes) -> SimulatedFile:
    """A file whose content and name are synced, open for more."""
    file = disk.open(path, create=True)
    file.write([content], 0)
    file.sync()
    disk.sync_folder(path.rpartition("/")[0])
    return file


def whole(disk: SimulatedDisk, path: str) -> bytes | None:
    """What a file holds, None where there is none."""
    if not disk.exists(path):
        return None
    file = disk.open(path)
    content = file.read(file.size(), 0)
    file.close()
    return content
