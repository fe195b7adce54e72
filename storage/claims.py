"""Whose a stream's folder is: the id of the topic, in a small file beside the segments.

A topic may be deleted and another one made under its name while a node is away. When the node is back, what it has
under that name is not the new topic's, and must not be taken for it.

It may also be deleted for good, or a partition be given to other nodes. So a node that starts is told what it has
claimed, and removes what is not its own any more.

A folder without the file was made by a node that was alone, or by an earlier release, and belongs to whoever has it
opened first.
"""

from contextlib import suppress

from goqueue.storage.disk import Disk
from goqueue.storage.layout import read_file, replace_file

CLAIM_FILE = "topic"
_LOGS = "logs"


def claim(disk: Disk, folder: str, topic_id: int) -> bool:
    """Make a stream's folder a topic's; True when it was another's, whose files in it are gone."""
    is_there = disk.exists(folder)
    claimed = read_file(disk, f"{folder}/{CLAIM_FILE}") if disk.exists(f"{folder}/{CLAIM_FILE}") else b""
    if claimed == _content(topic_id):
        return False
    if not is_there:
        disk.make_folder(folder)
    elif claimed:
        _clear(disk, folder)
    replace_file(disk, folder, CLAIM_FILE, _content(topic_id))
    return bool(claimed)


def claimed(disk: Disk) -> dict[str, int]:
    """The folders of all partitions that are a topic's, such as logs/orders/3, with the topic's id.

    What cannot be read is left out: its partition says so itself, and all others go on.
    """
    found = {}
    for folder in partition_folders(disk):
        with suppress(OSError, ValueError):
            found[folder] = int(read_file(disk, f"{folder}/{CLAIM_FILE}"))
    return found


def partition_folders(disk: Disk) -> list[str]:
    """The folders of all partitions that are there, such as logs/orders/3."""
    topics = [f"{_LOGS}/{name}" for name in _folders(disk, _LOGS)]
    return [f"{topic}/{name}" for topic in topics for name in _folders(disk, topic) if name.isdecimal()]


def _folders(disk: Disk, folder: str) -> list[str]:
    with suppress(OSError):
        return [name for name in disk.names(folder) if disk.is_folder(f"{folder}/{name}")]
    return []


def _content(topic_id: int) -> bytes:
    return b"%d\n" % topic_id


def _clear(disk: Disk, folder: str) -> None:
    """Remove the files in a folder; the claim stays until all others are certainly gone."""
    for name in disk.names(folder):
        if name != CLAIM_FILE and not disk.is_folder(f"{folder}/{name}"):
            disk.remove(f"{folder}/{name}")
    disk.sync_folder(folder)
