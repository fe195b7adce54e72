"""A session for a command: what it takes to have one, and whose it is.

Under `spark-submit` there is a Java already, and it knows its master; from a shell one is started here. A Spark that
runs elsewhere needs our code there: it gets this installation's as an archive, and everything else (attrs, crc32c,
pyarrow) must be in the Python of its executors, as docs/spark-clusters.md says.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.cli.endings import TERMINATED, Ending
from goqueue.spark.commands.packing import ARCHIVE, write_archive
from goqueue.spark.commands.plainly import plainly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAVA_MIN = 17
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_VERSION = re.compile(r'version "([0-9]+)')


@define
class Wanted:
    """Which Spark a command runs on."""

    master: str = "local[*]"
    memory: str = ""
    settings: dict[str, str] = field(factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether all of it runs on this machine."""
        return _LOCAL.fullmatch(self.master) is not None and not is_submitted()


def is_submitted() -> bool:
    """Whether this process was started by spark-submit."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def opened(wanted: Wanted) -> Iterator["SparkSession"]:
    """A session until the command ends. Raises Ending where there can be none, and where Spark fails meanwhile."""
    expect_spark()
    if not is_submitted():
        expect_java()
    from goqueue.spark.session import open_session

    # Nobody sees which of our lines made a column; to note that is half of the calls that go to Java.
    settings = {"spark.python.sql.dataFrameDebugging.enabled": "false", **wanted.settings}
    if wanted.memory:
        settings["spark.driver.memory"] = wanted.memory
    # Whatever is made on a disk meanwhile is removed by those who made it, if they get to hear of the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    with plainly(), ExitStack() as stack:
        session = open_session("" if is_submitted() else wanted.master, settings=settings)
        stack.callback(session.stop)
        if not wanted.is_local and not is_submitted():
            archive = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="goqueue-spark-")), ARCHIVE)
            write_archive(archive)
            session.sparkContext.addPyFile(str(archive))
        yield session


def expect_spark() -> None:
    """Raises Ending where the packages are not there."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if missing:
        raise Ending(f"this needs {' and '.join(missing)}: pip install 'goqueue[spark]'")


def expect_java() -> None:
    """Raises Ending where no Java starts that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    advice = f"Spark needs a Java {_JAVA_MIN} or newer; on Debian and Ubuntu: apt install openjdk-17-jre-headless"
    if java is None:
        raise Ending(f"there is no java here. {advice}")
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, check=False, timeout=60, text=True)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Ending(f"{java} does not start: {error}. {advice}") from error
    version = _VERSION.search(ran.stderr)
    if ran.returncode or version is None:
        raise Ending(f"{java} does not start. {advice}")
    if int(version[1]) < _JAVA_MIN:
        raise Ending(f"{java} is version {version[1]}. {advice}")
