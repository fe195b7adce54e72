"""Our code as what a Spark elsewhere takes: an archive for `--py-files`, and the script that spark-submit starts.

The archive holds Python sources and nothing that was compiled, so it fits every platform. It is a .zip by name: of a
wheel Spark copies the file and then finds nothing in it.
"""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import goqueue

ARCHIVE = "goqueue.zip"
SCRIPT = "goqueue_job.py"
_TEXT = '''"""What spark-submit starts: `goqueue spark`, with the arguments that follow this file's name."""

from goqueue.spark.commands.command import main

main()
'''
_ENDINGS = (".py", ".proto", ".typed")
# The same sources make the same archive, whenever it is made.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_archive(path: Path) -> int:
    """Write the archive; how many files it holds."""
    root = Path(goqueue.__file__).parent
    count = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _sources(root):
            entry = zipfile.ZipInfo(f"goqueue/{file.relative_to(root).as_posix()}", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
            count += 1
    return count


def _sources(root: Path) -> Iterator[Path]:
    """Every source, below links as well: a checkout's package is made of them."""
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(_ENDINGS))


def write_script(path: Path) -> None:
    """Write the script."""
    path.write_text(_TEXT)
