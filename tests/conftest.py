"""What every test runs under: no stopwatch in Hypothesis, Spark only where there is a Java."""

import functools
import gc
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline measures the machine. In CI the examples are the same every time; a seed found elsewhere becomes a test.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A shell that runs this in the background has it ignore Ctrl-C, and so would every process that tests start and end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test waits for a broker that may come, unless it says so.
os.environ["GOQUEUE_WAIT"] = "0"

SPARK_TESTS = Path(__file__).parent / "spark"
WITHOUT_JAVA = pytest.StashKey[int]()


@functools.cache
def java_runs() -> bool:
    """Whether there is a Java that starts: a `java` that only asks to be installed does not count."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return False
    try:
        return subprocess.run([java, "-version"], capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests that are drawn from seeds go on for minutes where that is asked for."""
    parser.addoption("--long", action="store_true", help="draw minutes of storms, not seconds")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is under tests/spark runs where a Java does."""
    for_spark = [item for item in items if item.path.is_relative_to(SPARK_TESTS)]
    if not for_spark:
        return
    for item in for_spark:
        item.add_marker(pytest.mark.skipif(not java_runs(), reason="no Java here"))
    if not java_runs():
        config.stash[WITHOUT_JAVA] = len(for_spark)


def pytest_collection_finish() -> None:
    """What was imported stays: a collection of garbage, of which benchmarks make one for each figure, need not look."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what was not tested, and what it takes to test it."""
    skipped = terminalreporter.config.stash.get(WITHOUT_JAVA, 0)
    if skipped:
        terminalreporter.write_line(
            f"Spark: {skipped} skipped, because no Java runs here. "
            "To run them: apt install openjdk-17-jre-headless, or point JAVA_HOME at a Java 17.",
            yellow=True,
        )
