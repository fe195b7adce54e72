"""Files and folders that belong to the broker's user alone: what is in a data folder are other people's messages.

The modes hold whatever the umask says, for it can take rights away from the owner too. They are given to what is made
here; what was there before keeps the rights that somebody gave it.
"""

import os
from contextlib import suppress

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_file(path: str, flags: int) -> int:
    """Makes a file and opens it; FileExistsError where there is one."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    # There are file systems on which all files have the mode that was given at the mount.
    with suppress(OSError):
        os.fchmod(descriptor, FILE_MODE)
    return descriptor


def open_or_make_file(path: str, flags: int) -> int:
    """Opens a file, or makes it where there is none."""
    with suppress(FileNotFoundError):
        return os.open(path, flags | os.O_CLOEXEC)
    try:
        return make_file(path, flags)
    except FileExistsError:
        # Another process made it meanwhile, or it is a link to a file that is not there.
        return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)


def make_folder(path: str) -> None:
    """Makes a folder within one that is there."""
    os.mkdir(path, FOLDER_MODE)
    with suppress(OSError):
        os.chmod(path, FOLDER_MODE)


def make_folders(path: str) -> None:
    """Makes a folder and those above it that are missing."""
    if not os.path.isdir(path):
        make_folders(os.path.dirname(os.path.abspath(path)))
        with suppress(FileExistsError):
            make_folder(path)
