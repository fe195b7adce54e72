"""Waiting for a broker on this machine that is about to start, so that commands typed after `serve &` find it.

A command waits only for loopback addresses, and only while nothing listens there: a broker listens as soon as its
process runs, and answers when it has started. `GOQUEUE_WAIT` holds the seconds that a command waits at most; 0 fails
at once, for scripts that want to know.
"""

import ipaddress
import os
import socket
import time

import click

from goqueue.cli.endings import WRONG, Ending

WAIT_VARIABLE = "GOQUEUE_WAIT"
_WAIT_S = 5.0
_WAIT_MOST_S = 3600.0
_PAUSE_S = 0.05
# A start takes about this long; whoever waits for longer is told.
_SILENT_S = 1.5
_CONNECT_S = 2.0


def seconds_to_wait() -> float:
    """How long a command waits for a broker that is starting."""
    text = os.environ.get(WAIT_VARIABLE, "")
    if not text:
        return _WAIT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= _WAIT_MOST_S:
        raise Ending(f"{WAIT_VARIABLE}: found {text!r}, expected seconds from 0 to {_WAIT_MOST_S:g}", WRONG)
    return seconds


def await_listener(host: str, port: int) -> None:
    """Return when something listens at an address of this machine, or when the time is over."""
    wait_s = seconds_to_wait()
    if not is_loopback(host) or not wait_s:
        return
    begun, is_told = time.monotonic(), False
    while not _listens(host, port):
        waited_s = time.monotonic() - begun
        if waited_s >= wait_s:
            return
        if waited_s >= _SILENT_S and not is_told:
            is_told = True
            click.echo(f"goqueue: waiting up to {wait_s:g} s for a broker at {host}:{port} to start", err=True)
        time.sleep(_PAUSE_S)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listens(host: str, port: int) -> bool:
    """Whether a connection is accepted; what else is wrong is told by the command, which connects next."""
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True
