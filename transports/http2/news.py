"""What happened on a connection, for the driver that wakes whoever it concerns."""

from attrs import Factory, define

from goqueue.transports.http2.stream import Stream


@define
class News:
    """Streams for which something happened since it was last asked; what exactly, they say themselves."""

    arrived: list[Stream] = Factory(list)
    readable: dict[int, Stream] = Factory(dict)
    writable: dict[int, Stream] = Factory(dict)
