"""A broker that says when it is ready, to systemd or to `goqueue serve --wait`, and one that runs in the background.

The protocol is systemd's sd_notify: whoever wants to be told names a datagram socket in `NOTIFY_SOCKET`, and the broker
sends `READY=1` to it when it takes requests, and `STOPPING=1` when it begins to stop.
"""

import os
import select
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from tempfile import TemporaryFile

import click

from goqueue.core.errors import GoQueueError
from goqueue.storage.layout import BROKER_LOG_FILE
from goqueue.storage.private_files import make_folders

_VARIABLE = "NOTIFY_SOCKET"
_READY, _STOPPING = b"READY=1", b"STOPPING=1"
_LOOK_S = 0.05


def notify_ready() -> None:
    """Tell whoever started this process that the broker takes requests."""
    _notify(_READY)


def notify_stopping() -> None:
    """Tell whoever started this process that the broker has begun to stop."""
    _notify(_STOPPING)


def _notify(state: bytes) -> None:
    address = os.environ.get(_VARIABLE, "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying:
        try:
            notifying.sendto(state, address)
        except OSError:
            # Whoever wanted to know is gone; the broker is not.
            return


def serve_in_background(data_dir: str, log_file: str) -> int:
    """Start this command once more without `--wait`, and return 0 when that broker is ready, else its exit status."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--wait"]
    if not log_file:
        log_file = str(Path(data_dir, BROKER_LOG_FILE))
        arguments += ["--log-file", log_file]
    with tempfile.TemporaryDirectory(prefix="goqueue-") as folder, TemporaryFile() as said:
        ready = _listening(Path(folder, "ready"))
        try:
            make_folders(str(Path(log_file).parent))
        except OSError as error:
            raise GoQueueError(f"{error.filename}: {error.strerror}") from error
        process = subprocess.Popen(  # noqa: S603 - this command once more
            [sys.executable, "-m", "goqueue", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, _VARIABLE: str(ready.getsockname())},
            start_new_session=True,
        )
        with ready:
            status = _until_ready(process, ready)
        if status is not None:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
            return status
    click.echo(f"the broker is ready and runs in the background, with its log in {log_file}")
    click.echo(f"stop it with: kill {process.pid}")
    # It outlives this process on purpose.
    process.returncode = 0
    return 0


def _listening(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(path))
    return listening


def _until_ready(process: subprocess.Popen[bytes], ready: socket.socket) -> int | None:
    """None once the broker is ready; its exit status if it ends before, as it is made to by Ctrl-C."""
    try:
        while True:
            readable, _, _ = select.select([ready], [], [], _LOOK_S)
            if readable and ready.recv(64) == _READY:
                return None
            status = process.poll()
            if status is not None:
                return status or 1
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
