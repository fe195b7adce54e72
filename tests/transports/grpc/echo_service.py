"""A service for tests, with a method of each kind; what it does is asked for in the message."""

from collections.abc import AsyncIterator

import trio
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.grpc.call import current_call
from goqueue.transports.grpc.status import Detail
from tests.transports.grpc.echo_messages import EchoBase, Parcel


class Echo(EchoBase):
    """Echoes, and keeps a diary of what happened to its calls."""

    def __init__(self) -> None:
        self.diary: list[str] = []
        self.sent = 0

    async def unary(self, parcel: Parcel) -> Parcel:
        """The same again; a note asks for something else."""
        match parcel.note.partition(":"):
            case ("fail", _, why):
                raise GRPCError(Status.FAILED_PRECONDITION, why, [Detail("test.Reason", why.encode())])
            case ("crash", _, why):
                raise RuntimeError(why)
            case ("crash-group", _, why):
                raise ExceptionGroup("outer", [ExceptionGroup("inner", [GRPCError(Status.ABORTED, why)])])
            case ("sleep", _, seconds):
                await self._sleep(float(seconds))
            case ("metadata", _, _):
                call = current_call.get()
                call.add_metadata([(b"seen-ahead", b"yes")])
                call.add_trailers([(b"seen-bin", dict(call.metadata)[b"given-bin"])])
        return Parcel(body=parcel.body, count=parcel.count + 1)

    async def spread(self, parcel: Parcel) -> AsyncIterator[Parcel]:
        """`count` parcels of `size` bytes."""
        self.diary.append("spread started")
        try:
            for number in range(parcel.count):
                if parcel.note.startswith("pause:"):
                    await trio.sleep(float(parcel.note[6:]))
                yield Parcel(body=bytes(parcel.size), count=number)
                self.sent += 1
        finally:
            self.diary.append("spread ended")

    async def gather(self, parcel_iterator: AsyncIterator[Parcel]) -> Parcel:
        """How many parcels came, and how large they were together; a note has it rest before it reads on."""
        count = size = 0
        async for parcel in parcel_iterator:
            if parcel.note == "enough":
                break
            if parcel.note.startswith("sleep:"):
                await self._sleep(float(parcel.note[6:]))
            count += 1
            size += len(parcel.body)
        return Parcel(count=count, size=size)

    async def chat(self, parcel_iterator: AsyncIterator[Parcel]) -> AsyncIterator[Parcel]:
        """Each parcel again, as it comes."""
        async for parcel in parcel_iterator:
            yield parcel

    async def _sleep(self, seconds: float) -> None:
        self.diary.append("sleeping")
        try:
            await trio.sleep(seconds)
        except trio.Cancelled:
            self.diary.append("cancelled")
            raise
