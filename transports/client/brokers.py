"""The brokers as a client reaches them: a channel for each address, and calls that are made again while that can help.

A call that fails in passing (no connection, a broker that starts or stops) is made again after a pause, until its time
is up. One that may have been carried out, and would do more the second time, is made again only if the broker certainly
did nothing about the first. What is no passing failure is raised at once.

Where there are several addresses, nobody waits long for a broker that may be stopped or cut off. Of all addresses the
first that answers is taken (`openings.py`). A broker that has fallen mute is left for another one by every call that
may be made twice, and its address is spared for a while (`core.client.addresses`).
"""

import ssl
from collections.abc import Callable, Sequence
from random import Random
from time import monotonic_ns
from typing import Any, TypeVar

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.client.addresses import Addresses
from goqueue.core.client.failure import PASSING
from goqueue.core.requests.refusals import Code, Outcome
from goqueue.core.timers.backoff import Backoff
from goqueue.proto.wire import WireError
from goqueue.transports.client import lost
from goqueue.transports.client.channel import Channel, open_channel, split_address
from goqueue.transports.client.errors import CODEC, bad_reply, error_of, failure_of
from goqueue.transports.client.loops import SECOND_NS, Loop, Parking
from goqueue.transports.client.openings import Opening

T = TypeVar("T")

# The broker that answers when no other is meant.
ANY = ""
TIMEOUT_NS = 30 * SECOND_NS
# A broker that does not answer a call for so long is left for another one, if there is any.
_PATIENCE_NS = 2 * SECOND_NS
# A leader that takes longer to connect to is asked by way of another broker, if there is any.
_CONNECT_NS = SECOND_NS
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
        clock: Callable[[], int] = monotonic_ns,
    ) -> None:
        for address in addresses:
            split_address(address)
        self.loop = loop
        self.random = Random() if random is None else random  # noqa: S311 - it spreads, and keeps no secrets
        self.timeout_ns = timeout_ns
        # Monotonic nanoseconds for what is too frequent to ask the loop for.
        self.clock = clock
        self._tls = tls
        self._addresses = Addresses(addresses)
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, Parking] = {}
        # Channels to brokers that are about to stop: what is under way there may end.
        self._left: list[Channel] = []
        # How often in a row whoever is asked could not do what was asked.
        self._troubles = 0

    @property
    def has_others(self) -> bool:
        """Whether there is more than one address."""
        return len(self._addresses) > 1

    async def channel(self, address: str = ANY) -> Channel:
        """The channel to an address, made if there is none that lives; raises `lost.ConnectionLost`."""
        while True:
            channel = self._channels.get(address)
            if channel is not None and channel.alive and not self._is_left(channel):
                return channel
            opening = self._opening.get(address)
            if opening is None:
                return await self._open(address)
            await opening.wait()

    def _is_left(self, channel: Channel) -> bool:
        """Whether a broker is mute where another one can be asked."""
        return channel.is_mute and self.has_others

    def direct(self, address: str) -> str:
        """The address of a leader, or that of any broker while nobody is found there: it passes on what it is given."""
        if not address:
            return ANY
        self._addresses.learn(address)
        return ANY if self._addresses.is_spared(self.loop.now(), address) else address

    async def open(self) -> None:
        """Make a first connection to whichever address answers; raises `lost.ConnectionLost` if none does."""
        await self.channel()

    async def _open(self, address: str) -> Channel:
        opening = self._opening[address] = self.loop.parking()
        try:
            await self._close_left()
            await self._leave_before(address)
            return await (self._open_any() if address == ANY else self._open_leader(address))
        finally:
            del self._opening[address]
            opening.wake()

    async def _leave_before(self, address: str) -> None:
        """Give up the channel that was of use before."""
        before = self._channels.pop(address, None)
        if before is None:
            return
        # It may be there again, and yet not answer.
        self._addresses.turn_from(before.address)
        if before.alive:
            self._addresses.failed(self.loop.now(), before.address)
            self._left.append(before)
        else:
            await before.close()

    async def _open_any(self) -> Channel:
        def failed(address: str) -> None:
            self._addresses.failed(self.loop.now(), address)

        opening = Opening(self.loop, self._tls, self.timeout_ns, failed)
        address, channel = await opening.first(self._addresses.order(self.loop.now()))
        self._addresses.answered(address)
        self._addresses.prefer(address)
        self._channels[ANY] = channel
        return channel

    async def _open_leader(self, address: str) -> Channel:
        if self.has_others and self._addresses.is_spared(self.loop.now(), address):
            raise lost.ConnectionLost(*split_address(address), "nobody answered there lately", unseen=True)
        timeout_ns = min(self.timeout_ns, _CONNECT_NS) if self.has_others else self.timeout_ns
        try:
            channel = await open_channel(self.loop, address, tls=self._tls, timeout_ns=timeout_ns)
        except lost.ConnectionLost:
            self._addresses.failed(self.loop.now(), address)
            raise
        self._addresses.answered(address)
        self._channels[address] = channel
        return channel

    def turn_from(self, channel: Channel) -> None:
        """A broker is about to stop, or does not answer: ask another one from here on, if there is any."""
        if channel.is_mute:
            self._addresses.failed(self.loop.now(), channel.address)
        if self._channels.get(ANY) is channel and self.has_others:
            del self._channels[ANY]
            self._addresses.turn_from(channel.address)
            self._left.append(channel)

    def turn(self) -> bool:
        """Ask another broker from here on, whatever this one says; False if there is no other."""
        channel = self._channels.get(ANY)
        if channel is None or not self.has_others:
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
        return (await self.call_doubting(method, request, kind, topic, once=once))[0]

    async def call_doubting(
        self,
        method: str,
        request: Any,  # noqa: ANN401 - of any class of messages
        kind: type[T],
        topic: str = "",
        *,
        once: bool = False,
    ) -> tuple[T, bool]:
        """The same, and whether an attempt may have been carried out before the one that was answered.

        That matters where an answer refuses a part of what was asked: the earlier attempt may have done it.
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
        return decoded, is_in_doubt

    async def _attempt(self, channel: Channel, path: str, body: bytes, due: int, *, once: bool) -> bytes:
        """Make a call once; a broker that takes long over what may be repeated is given up for another one."""
        stays = once or not self.has_others
        patience = due if stays else min(due, self.loop.now() + _PATIENCE_NS)
        try:
            reply = await channel.call(path, body, patience, stays=stays)
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
