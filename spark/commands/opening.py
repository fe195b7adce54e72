"""A session for a command: what it takes to have one, and whose it is.

Under `spark-submit` there is a Java already, and it knows its master; from a shell one is started here. A Spark that
runs elsewhere needs our code there: it gets this installation's as an archive, and everything else (attrs, crc32c,
pyarrow) must be in the Python of its executors, as docs/spark-clusters.md says.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.cli.endings import WRONG, Ending
from goqueue.spark.commands.packing import write_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAVA_MIN = 17
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
        return self.master.startswith("local") and not is_submitted()


def is_submitted() -> bool:
    """Whether this process was started by spark-submit."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def parse_settings(pairs: tuple[str, ...]) -> dict[str, str]:
    """`name=value`, several of them. Raises Ending."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise Ending(f"{pair!r} is no setting of Spark; write it like spark.executor.memory=4g", WRONG)
        found[name.strip()] = value
    return found


@contextmanager
def opened(wanted: Wanted) -> Iterator["SparkSession"]:
    """A session until the command ends. Raises Ending where there can be none."""
    expect_spark()
    if not is_submitted():
        expect_java()
    from goqueue.spark.session import open_session

    settings = dict(wanted.settings)
    if wanted.memory:
        settings["spark.driver.memory"] = wanted.memory
    session = open_session("" if is_submitted() else wanted.master, settings=settings)
    try:
        with tempfile.TemporaryDirectory(prefix="goqueue-spark-") as room:
            if not wanted.is_local and not is_submitted():
                archive = Path(room) / "goqueue.zip"
                write_archive(archive)
                session.sparkContext.addPyFile(str(archive))
            yield session
    finally:
        session.stop()


def expect_spark() -> None:
    """Raises Ending where the libraries are not installed that every job needs."""
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
