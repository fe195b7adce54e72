"""Removing the folder of a topic or a partition so that a crash in between leaves nothing that could be taken for one.

The folder first gets a name that neither can have, durably; then everything in it goes. What a crash leaves of it is
removed at the next start.
"""

from goqueue.storage.disk import Disk

_GONE = "~gone"


def remove_topic_folder(disk: Disk, folder: str) -> None:
    """Remove a folder such as logs/orders or logs/orders/3 with all it holds, and return when that is certain."""
    parent = folder.rpartition("/")[0]
    gone = f"{folder}{_GONE}"
    if disk.exists(gone):
        _remove_tree(disk, gone)
    if disk.exists(folder):
        disk.rename(folder, gone)
        disk.sync_folder(parent)
        _remove_tree(disk, gone)
        disk.sync_folder(parent)


def remove_gone(disk: Disk, parent: str) -> None:
    """Finish removals of topics and of their partitions that a crash interrupted."""
    for name in disk.names(parent) if disk.exists(parent) else []:
        if name.endswith(_GONE):
            _remove_tree(disk, f"{parent}/{name}")
        elif disk.is_folder(f"{parent}/{name}"):
            for number in disk.names(f"{parent}/{name}"):
                if number.endswith(_GONE):
                    _remove_tree(disk, f"{parent}/{name}/{number}")


def _remove_tree(disk: Disk, folder: str) -> None:
    for name in disk.names(folder):
        path = f"{folder}/{name}"
        if disk.is_folder(path):
            _remove_tree(disk, path)
        else:
            disk.remove(path)
    disk.remove_folder(folder)
