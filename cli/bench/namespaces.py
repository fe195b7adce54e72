"""A network of namespaces on this machine, in which packets can be made to vanish, in one direction or in both.

Every broker has a namespace of its own, and so has the hub that all packets pass: from broker to broker, and between
brokers and this process. What the hub drops is gone without a word, as on a cable that was pulled. It takes root and
the `ip` command; everything bears this process's number and goes when the block ends.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

from goqueue.cli.bench.local_cluster import Place
from goqueue.cli.bench.workbench import BenchError

# For measurements between devices (RFC 2544): nobody routes these.
_NETWORK = "198.18"


def why_impossible() -> str:
    """Why there can be no such network here; empty where there can."""
    if shutil.which("ip") is None:
        return "there is no command `ip`"
    name = _name("try")
    ended = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)  # noqa: S603, S607 - our own words
    if ended.returncode != 0:
        return f"namespaces cannot be made: {ended.stderr.strip()}"
    _ip("netns", "del", name)
    return ""


@define
class Network:
    """Brokers' places, by number from 0 on."""

    places: list[Place]
    hub: str

    def cut(self, sender: int, receiver: int) -> None:
        """Have what one sends to the other vanish."""
        self._rule("add", sender, receiver)

    def mend(self, sender: int, receiver: int) -> None:
        """Have it arrive again."""
        self._rule("del", sender, receiver)

    def isolate(self, place: int) -> None:
        """Have nothing come or go there."""
        _ip("-n", self.hub, "link", "set", f"to{place}", "down")

    def rejoin(self, place: int) -> None:
        """Undo `isolate`."""
        _ip("-n", self.hub, "link", "set", f"to{place}", "up")

    def _rule(self, verb: str, sender: int, receiver: int) -> None:
        source, target = self.places[sender].host, self.places[receiver].host
        _ip("-n", self.hub, "rule", verb, "from", source, "to", target, "blackhole", "pref", "100")


@contextmanager
def network(count: int) -> Iterator[Network]:
    """A network with so many places, until the block ends."""
    hub, made = _name("hub"), []
    try:
        _ip("netns", "add", hub)
        made.append(hub)
        _ip("netns", "exec", hub, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        outside = f"gq{os.getpid()}"
        _ip("link", "add", outside, "type", "veth", "peer", "name", "outside", "netns", hub)
        _join(None, outside, hub, "outside", 0)
        _ip("route", "add", f"{_NETWORK}.{_third()}.0/24", "via", _address(1))
        places: list[Place] = []
        for number in range(count):
            name, room = _name(f"n{number}"), 4 * (number + 1)
            _ip("netns", "add", name)
            made.append(name)
            _ip("link", "add", "uplink", "netns", name, "type", "veth", "peer", "name", f"to{number}", "netns", hub)
            _ip("-n", name, "link", "set", "lo", "up")
            _join(name, "uplink", hub, f"to{number}", room)
            _ip("-n", name, "route", "add", "default", "via", _address(room + 1))
            places.append(Place(_address(room + 2), ("ip", "netns", "exec", name)))
        yield Network(places, hub)
    finally:
        for name in made:
            _ip("netns", "del", name)


def _join(namespace: str | None, device: str, hub: str, hub_device: str, room: int) -> None:
    """Give both ends of a cable their addresses."""
    there = [] if namespace is None else ["-n", namespace]
    _ip(*there, "address", "add", f"{_address(room + 2)}/30", "dev", device)
    _ip(*there, "link", "set", device, "up")
    _ip("-n", hub, "address", "add", f"{_address(room + 1)}/30", "dev", hub_device)
    _ip("-n", hub, "link", "set", hub_device, "up")


def _name(part: str) -> str:
    return f"goqueue-{os.getpid()}-{part}"


def _third() -> int:
    return os.getpid() % 250


def _address(last: int) -> str:
    return f"{_NETWORK}.{_third()}.{last}"


def _ip(*words: str) -> None:
    ended = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607 - our own words
    if ended.returncode != 0:
        raise BenchError(f"ip {' '.join(words)}: {ended.stderr.strip()}")
