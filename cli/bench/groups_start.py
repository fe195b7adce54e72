"""How long a small command takes, which is what a shell's user feels of all of this."""

import subprocess
import sys
import time

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [Entry("cli_start", "goqueue topic list, from the command to its end", listing, [Bar("value", below=0.25)])]


def listing(workbench: Workbench) -> Figure:
    """The best of some runs against a broker with a topic."""
    best = float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        broker.create("orders")
        for done in range(workbench.sizes.rounds):
            command = [sys.executable, "-m", "goqueue", "topic", "list", "--server", f"127.0.0.1:{broker.http_port}"]
            begun = time.perf_counter()
            ran = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own command
            best = min(best, time.perf_counter() - begun)
            if ran.returncode:
                raise BenchError(f"topics could not be listed: {ran.stderr.decode()}")
            workbench.advanced((done + 1) / workbench.sizes.rounds)
    return Figure(best, "s")
