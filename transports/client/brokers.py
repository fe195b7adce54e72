"""The brokers as a client reaches them: a channel for each address, and calls that are made again while that can help.

A call that fails in passing (no connection, a broker that starts or stops) is made again after a pause, until its time
is up. One that may have been carried out, and would do more the second time, is made again only if the broker certainly
did nothing about the first. What is no passing failure is raised at once.
"""

import ssl
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.client.backoff import Backoff
from goqueue.core.client.failure import PASSING
from goqueue.core.verbs import Code, Outcome
from goqueue.proto.wire import WireError
from goqueue.transports.client import lost
from goqueue.transports.client.channel import Channel, open_channel, split_address
from goqueue.transports.client.errors import CODEC, bad_reply, error_of, failure_of
from goqueue.transports.client.loops import SECOND_NS, Loop, Parking

T = TypeVar("T")

# The broker that answers when no other is meant.
ANY = ""
TIMEOUT_NS = 30 * SECOND_NS
# A broker that does not answer for so long is left for another one, if there is any.
_PATIENCE_NS = 5 * SECOND_NS
# An address at which nobody was is not tried again for so long where another one will do.
_SHUN_NS = 5 * SECOND_NS
_ADDRESSES_MAX = 32
_LEFT_MAX = 4
# So many refusals in a row that are to pass, and another broker is asked: this one may be cut off from all others.
_TROUBLES_MAX = 3


class Brokers:
    """See the module."""

    def __init__(
        self,
        loop: Loop,
        addresses: Sequence[str],
        *,
        tls: ssl.SSLContext | None = None,
        timeout_ns: int = TIMEOUT_NS,
        random: Random | None = None,
    ) -> None:
        for address in addresses:
            split_address(address)
        self.loop = loop
        self.random = Random() if random is None else random  # noqa: S311 - it spreads, and keeps no secrets
        self.timeout_ns = timeout_ns
        self._tls = tls
        self._addresses = list(addresses)
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, Parking] = {}
        # When nobody was found at an address.
        self._absent: dict[str, int] = {}
        # Channels to brokers that are about to stop: what is under way there may end.
        self._left: list[Channel] = []
        # How often in a row whoever is asked could not do what was asked.
        self._troubles = 0

    async def channel(self, address: str = ANY) -> Channel:
        """The channel to an address, made if there is none that lives; raises `lost.ConnectionLost`."""
        while True:
            channel = self._channels.get(address)
            if channel is not None and channel.alive:
                return channel
            opening = self._opening.get(address)
            if opening is None:
                return await self._open(address)
            await opening.wait()

    def direct(self, address: str) -> str:
        """The address of a leader, or that of any broker while nobody is found there: it passes on what it is given."""
        if not address:
            return ANY
        if address not in self._addresses and len(self._addresses) < _ADDRESSES_MAX:
            self._addresses.append(address)
        absent = self._absent.get(address)
        return address if absent is None or self.loop.now() >= absent + _SHUN_NS else ANY

    async def open(self) -> None:
        """Make a first connection to whichever address answers; raises `lost.ConnectionLost` if none does."""
        for left in reversed(range(len(self._addresses))):
            try:
                await self.channel()
            except lost.ConnectionLost:
                if not left:
                    raise
            else:
                return

    async def _open(self, address: str) -> Channel:
        opening = self._opening[address] = self.loop.parking()
        try:
            await self._close_left()
            before = self._channels.pop(address, None)
            if before is not None:
                await before.close()
                if address == ANY:
                    # It may be there again, and yet not answer.
                    self._turn()
            channel = await open_channel(
                self.loop, address or self._addresses[0], tls=self._tls, timeout_ns=self.timeout_ns
            )
        except lost.ConnectionLost:
            # The next attempt is somebody else's turn.
            if address == ANY:
                self._turn()
            else:
                self._absent[address] = self.loop.now()
            raise
        finally:
            del self._opening[address]
            opening.wake()
        self._channels[address] = channel
        self._absent.pop(address, None)
        return channel

    def _turn(self) -> None:
        """Another broker is any broker from here on."""
        self._addresses.append(self._addresses.pop(0))

    def turn_from(self, channel: Channel) -> None:
        """A broker is about to stop, or answers nothing: ask another one from here on, if there is any."""
        if self._channels.get(ANY) is channel and len(self._addresses) > 1:
            del self._channels[ANY]
            self._turn()
            self._left.append(channel)

    def turn(self) -> bool:
        """Ask another broker from here on, whatever this one says; False if there is no other."""
        channel = self._channels.get(ANY)
        if channel is None or len(self._addresses) < 2:
            return False
        self.turn_from(channel)
        return True

    def troubled(self, channel: Channel) -> None:
        """A broker could not do what it was asked: after some such answers in a row another one is asked."""
        self._troubles += 1
        if self._troubles >= _TROUBLES_MAX:
            self._troubles = 0
            self.turn_from(channel)

    async def _close_left(self) -> None:
        left, self._left = self._left, []
        for channel in left:
            if channel.alive and len(left) <= _LEFT_MAX:
                self._left.append(channel)
            else:
                await channel.close()

    async def call(self, method: str, request: Any, kind: type[T], topic: str = "", *, once: bool = False) -> T:  # noqa: ANN401 - of any class of messages
        """Make a call of `goqueue.v1` and give its reply; `once` if it would do more the second time.

        Raises ClientError, with the name of the topic that it is about.
        """
        loop, body = self.loop, CODEC.encode(request)
        due = loop.now() + self.timeout_ns
        backoff, attempts, is_in_doubt = Backoff(self.random), 0, False
        while True:
            try:
                channel = await self.channel()
                reply = await self._attempt(channel, f"/goqueue.v1.{method}", body, due, once=once)
                break
            except (GRPCError, lost.ConnectionLost) as error:
                failure = failure_of(error)
                attempts += 1
                delay_ns = max(backoff.delay_ns(attempts), failure.retry_after_ms * 1_000_000)
                is_in_doubt = is_in_doubt or failure.what_happened is Outcome.UNKNOWN
                if failure.code not in PASSING or (once and is_in_doubt) or loop.now() + delay_ns >= due:
                    raise error_of(failure.in_doubt() if is_in_doubt else failure, topic) from error
            await loop.pause(delay_ns)
        try:
            decoded: T = CODEC.decode(kind, reply)
        except WireError as error:
            raise bad_reply(kind.__name__, error, topic) from error
        return decoded

    async def _attempt(self, channel: Channel, path: str, body: bytes, due: int, *, once: bool) -> bytes:
        """Make a call once; a broker that takes long over what may be repeated is given up for another one."""
        patience = due if once or len(self._addresses) < 2 else min(due, self.loop.now() + _PATIENCE_NS)
        try:
            reply = await channel.call(path, body, patience)
        except GRPCError as error:
            code = failure_of(error).code
            is_mute = error.status is Status.DEADLINE_EXCEEDED and self.loop.now() >= patience
            if is_mute or code == Code.SHUTTING_DOWN:
                self.turn_from(channel)
            elif code in PASSING:
                self.troubled(channel)
            raise
        self._troubles = 0
        return reply

    async def close(self) -> None:
        """Close all channels."""
        channels, self._channels = [*self._channels.values(), *self._left], {}
        self._left = []
        for channel in channels:
            await channel.close()
