"""What lies where in a data folder, and the version of that arrangement.

    FORMAT                              the version, a sentence for people
    LOCK                                held by the one process that may write
    broker.log                          what a broker in the background says, turned over into broker.log.1 and so on
    IDENTITY                            of a node among others: its name, the folder's own id, the cluster
    LIVES                               of a node among others: its processes, and how the last one ended
    meta/                               the cluster's metadata: a stream, and
        vote                              whom this node has voted for, in which term
    logs/{topic}/{partition}/           one stream: a folder with
        {base:020d}.log                   batches, and zeros at the end where room is reserved
        {base:020d}.{generation}.log      the same, rewritten by compaction or repair
        {base:020d}.index  .timeindex     sparse indexes of the segment, made anew when missing or damaged
        checkpoint                        the truth about the segments
        synced                            how far the stream certainly was on the disk
        {base:020d}.damaged-{position}    bytes that a repair took out of a segment, kept for inspection
        ledger/  schedule/                two more streams, once something needed them

Files whose names end in `.unfinished` are being written and mean nothing.
"""

from goqueue.core.errors import GoQueueError
from goqueue.core.log.index import IndexKind
from goqueue.core.log.segment import parse_segment_name
from goqueue.storage.disk import Disk

FORMAT_VERSION = 1
FORMAT_FILE = "FORMAT"
LOCK_FILE = "LOCK"
BROKER_LOG_FILE = "broker.log"
CHECKPOINT_FILE = "checkpoint"
SYNCED_FILE = "synced"
LOG_ENDING = ".log"
INDEX_ENDINGS = {IndexKind.OFFSET: ".index", IndexKind.TIME: ".timeindex"}
UNFINISHED_ENDING = ".unfinished"


class FormatError(GoQueueError):
    """A data folder that this release cannot use, and why."""


def segment_of(file_name: str) -> str | None:
    """The segment whose log file this is; None for any other file."""
    return file_name.removesuffix(LOG_ENDING) if file_name.endswith(LOG_ENDING) else None


def segment_files(segment: str) -> list[str]:
    """The names of all files of a segment."""
    return [segment + ending for ending in (LOG_ENDING, *INDEX_ENDINGS.values())]


def owner_of(file_name: str) -> str | None:
    """The segment whose log or index this is; None for any other file."""
    for ending in (LOG_ENDING, *INDEX_ENDINGS.values()):
        segment = file_name.removesuffix(ending)
        if segment != file_name and parse_segment_name(segment) is not None:
            return segment
    return None


def check_format(disk: Disk) -> None:
    """Make sure the folder is one of ours and of a version we know, or make it so when it is empty.

    Raises FormatError; a folder with other content is left alone, since it is most likely a typing error.
    """
    if not disk.exists(FORMAT_FILE):
        early = (LOCK_FILE, BROKER_LOG_FILE, FORMAT_FILE + UNFINISHED_ENDING)
        strangers = [name for name in disk.names("") if name not in early]
        if strangers:
            raise FormatError(
                f"the folder holds {strangers[0]!r} but no file {FORMAT_FILE}: it is not a GoQueue data folder"
            )
        replace_file(disk, "", FORMAT_FILE, b"goqueue data, format %d\n" % FORMAT_VERSION)
        return
    found = read_file(disk, FORMAT_FILE)
    head, _, version = found.strip().rpartition(b" ")
    if head != b"goqueue data, format" or not version.isdigit():
        raise FormatError(f"{FORMAT_FILE}: expected 'goqueue data, format {FORMAT_VERSION}', found {found[:60]!r}")
    if int(version) > FORMAT_VERSION:
        raise FormatError(
            f"{FORMAT_FILE}: format {int(version)} is newer than {FORMAT_VERSION}, which this release reads"
        )


def read_file(disk: Disk, path: str) -> bytes:
    """A small file's whole content."""
    file = disk.open(path, read_only=True)
    try:
        return file.read(file.size(), 0)
    finally:
        file.close()


def replace_file(disk: Disk, folder: str, name: str, content: bytes) -> None:
    """Give a small file new content, so that a crash leaves the old or the new, and return when the new is durable."""
    path = f"{folder}/{name}" if folder else name
    unfinished = path + UNFINISHED_ENDING
    file = disk.open(unfinished, create=True)
    try:
        file.truncate(0)
        file.write([content], 0)
        file.sync()
    finally:
        file.close()
    disk.rename(unfinished, path)
    disk.sync_folder(folder)
