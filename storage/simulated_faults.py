"""What a simulated disk goes through: the conditions it works under and the failures that were ordered.

Not what a failure leaves behind; the disk knows that (`simulated.py`).

Each purpose draws from a generator of its own, so that switching one kind of trouble off leaves the rest of a run as it
was: a failing run can be made simpler step by step.
"""

import errno
import os
from random import Random

import attrs

# What can be made to fail. `create` is an `open` that has to make the file; it counts as an `open` too.
OPERATIONS = (
    "open",
    "create",
    "read",
    "write",
    "truncate",
    "allocate",
    "sync",
    "names",
    "make_folder",
    "rename",
    "remove",
    "remove_folder",
    "sync_folder",
    "lock",
)

UNBOUNDED_BYTES = 1 << 60


@attrs.define
class Conditions:
    """The lasting conditions of a disk; a driver may change any of them at any time.

    `p_cold` is how often a non-blocking read misses what is in memory; 1.0 is a file system that cannot tell.
    A latency is drawn around `read_ns`, `write_ns` and `sync_ns`, or with `p_slow` anywhere up to `slow_ns`.
    """

    capacity_bytes: int | None = None
    p_cold: float = 0.0
    reserves: bool = True
    read_ns: int = 100_000
    write_ns: int = 20_000
    sync_ns: int = 1_000_000
    p_slow: float = 0.0
    slow_ns: int = 500_000_000

    def typical_ns(self, operation: str) -> int:
        """What an operation takes when nothing is in its way."""
        if operation in ("sync", "sync_folder", "make_folder"):
            return self.sync_ns
        return self.read_ns if operation == "read" else self.write_ns


@attrs.define
class _Order:
    """One failure to come."""

    operation: str
    errno: int
    path_prefix: str
    after: int


@attrs.define
class _Rate:
    """A failure that comes by chance."""

    probability: float
    errno: int
    path_prefix: str


class Faults:
    """The failures ordered from a disk."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._orders: list[_Order] = []
        self._rates: dict[str, _Rate] = {}

    def fail_next(self, operation: str, number: int, path_prefix: str = "", after: int = 0) -> None:
        """Fails one operation with errno `number`: the next on such a path, or that after `after` more of them."""
        assert operation in OPERATIONS
        assert after >= 0
        self._orders.append(_Order(operation, number, path_prefix, after))

    def fail_rate(self, operation: str, probability: float, number: int = errno.EIO, path_prefix: str = "") -> None:
        """Fails operations by chance, until set to another probability; one rate an operation."""
        assert operation in OPERATIONS
        assert 0.0 <= probability <= 1.0
        self._rates[operation] = _Rate(probability, number, path_prefix)

    def clear(self) -> None:
        """Takes all orders back."""
        self._orders.clear()
        self._rates.clear()

    def failure(self, operation: str, path: str) -> OSError | None:
        """The error that this operation has to meet, if any."""
        if not self._orders and not self._rates:
            return None
        for order in self._orders:
            if order.operation != operation or not path.startswith(order.path_prefix):
                continue
            if not order.after:
                self._orders.remove(order)
                return os_error(order.errno, path)
            order.after -= 1
        rate = self._rates.get(operation)
        if rate and path.startswith(rate.path_prefix) and self._random.random() < rate.probability:
            return os_error(rate.errno, path)
        return None


def os_error(number: int, path: str, target: str | None = None) -> OSError:
    """The OSError of a system call that refused, of the class that goes with its errno."""
    return OSError(number, os.strerror(number), path, None, target)
