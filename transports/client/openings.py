"""One connection to whichever of several addresses answers first.

The addresses are tried in their order. The next one begins when the one before has failed, or has not answered for
`STAGGER_NS`; all that have begun go on, and the first that greets wins (RFC 8305 does the same for the addresses of one
name). So a node that is stopped or cut off costs a fraction of a second and not a time-out.
"""

import ssl
from collections.abc import Callable, Sequence
from functools import partial

from attrs import define, field

from goqueue.transports.client import lost
from goqueue.transports.client.channel import Channel, open_channel
from goqueue.transports.client.loops import SECOND_NS, Loop, Task

STAGGER_NS = SECOND_NS // 5


@define(eq=False)
class Opening:
    """The attempts that are under way; `failed` is told of each address that failed, or lost to a later one."""

    _loop: Loop
    _tls: ssl.SSLContext | None
    _timeout_ns: int
    _failed: Callable[[str], None]
    _tasks: dict[str, Task] = field(factory=dict)
    _failures: list[lost.ConnectionLost] = field(factory=list)
    _won: tuple[str, Channel] | None = None

    async def first(self, addresses: Sequence[str]) -> tuple[str, Channel]:
        """The address that answered first, and the channel to it; raises `lost.ConnectionLost` when none did."""
        stirred, loop = self._loop.parking(), self._loop
        try:
            for address in addresses:
                failures = len(self._failures)
                self._tasks[address] = loop.start(partial(self._try, address, stirred.wake))
                due = loop.now() + STAGGER_NS
                while self._won is None and len(self._failures) == failures and loop.now() < due:
                    await loop.within(due, stirred.wait)
                if self._won is not None:
                    break
            while self._won is None and len(self._failures) < len(self._tasks):
                await stirred.wait()
        except BaseException:
            won, self._won = self._won, None
            if won is not None:
                won[1].drop()
            raise
        finally:
            for task in self._tasks.values():
                task.cancel()
        if self._won is None:
            raise self._failures[0]
        address = self._won[0]
        for slower in addresses[: addresses.index(address)]:
            self._failed(slower)
        return self._won

    async def _try(self, address: str, stir: Callable[[], None]) -> None:
        try:
            channel = await open_channel(self._loop, address, tls=self._tls, timeout_ns=self._timeout_ns)
        except lost.ConnectionLost as error:
            self._failures.append(error)
            self._failed(address)
        else:
            if self._won is None:
                self._won = address, channel
            else:
                channel.drop()
        stir()
