"""What became of the processes that had a data folder before this one: the file LIVES.

A process that ends in order leaves everything on the disk. One that is killed leaves all that it wrote with the
operating system, which brings it to the disk as long as it runs itself. One whose machine crashes may lose what was not
synced. The next process has to know which it was, because the cluster takes a replica that has lost what it
acknowledged for one that may not lead.

The file names the processes of the folder by their incarnations, the newest last, and the boot of the operating system
that the newest ran under. It is replaced durably when a process begins, before it writes anything else, and when it has
ended in order. So at a start

1. the last process ended in order, or it ran under the boot that runs at this moment: all it wrote is here;
2. otherwise, at least what it synced is here.

The first is true of the process before it as well where it was true when the last one began, and so on: `whole` are all
of which it is true without a gap. The second is true of all that the file names. A folder that is brought back as an
older copy names neither the processes that came after the copy was made, so nothing is believed of these.

A failed sync makes the first untrue, also under the same boot. The process that sees one recovers the stream and tells
the cluster what is lost; one that is killed before that leaves no word of it here.
"""

import json

from attrs import asdict, define, field

from goqueue.storage.disk import Disk
from goqueue.storage.layout import read_file, replace_file

LIVES_FILE = "LIVES"
LIVES_VERSION = 1
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
# More processes in a row than that do not end before the cluster has heard of any.
_LIVES_MAX = 200


@define
class Lives:
    """The processes that a folder has had, by their incarnations."""

    boot_id: str = ""
    has_ended_in_order: bool = False
    # All that are remembered, and those of them of which nothing is lost; the newest last.
    lives: list[int] = field(factory=list)
    whole: list[int] = field(factory=list)
    version: int = LIVES_VERSION


def system_boot_id() -> str:
    """What tells this boot of the operating system from all others; empty where the system does not say."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def begin_life(disk: Disk, incarnation: int, boot_id: str) -> Lives:
    """Note durably that a process begins; answers what is known of those before it. Raises OSError."""
    found = _read(disk)
    is_whole = found.has_ended_in_order or (boot_id != "" and found.boot_id == boot_id)
    if not is_whole:
        found.whole = []
    lives, whole = [*found.lives, incarnation], [*found.whole, incarnation]
    _write(disk, Lives(boot_id, False, lives[-_LIVES_MAX:], whole[-_LIVES_MAX:]))
    return found


def end_life(disk: Disk) -> None:
    """Note durably that the process has ended in order: all that it wrote is on the disk. Raises OSError."""
    found = _read(disk)
    if found.lives:
        found.has_ended_in_order = True
        _write(disk, found)


def _read(disk: Disk) -> Lives:
    """What the file says; nothing is known of anybody where it cannot be read, which is the safe thing to believe."""
    if not disk.exists(LIVES_FILE):
        return Lives()
    try:
        known = json.loads(read_file(disk, LIVES_FILE))
        found = Lives(
            str(known["boot_id"]),
            known["has_ended_in_order"] is True,
            [int(one) for one in known["lives"]],
            [int(one) for one in known["whole"]],
            int(known["version"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return Lives()
    return found if found.version <= LIVES_VERSION else Lives()


def _write(disk: Disk, lives: Lives) -> None:
    replace_file(disk, "", LIVES_FILE, json.dumps(asdict(lives)).encode() + b"\n")
