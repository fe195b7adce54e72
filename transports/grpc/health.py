"""gRPC's health service: whether this server, or one of its services, wants calls.

The empty name stands for the whole server. What it answers is set by whoever runs the server; nothing is probed here.
"""

from collections.abc import AsyncIterator

import trio
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.transports.grpc.protos.health import (
    HealthBase,
    HealthCheckRequest,
    HealthCheckResponse,
    HealthCheckResponseServingStatus,
)

SERVING = HealthCheckResponseServingStatus(HealthCheckResponseServingStatus.SERVING)
NOT_SERVING = HealthCheckResponseServingStatus(HealthCheckResponseServingStatus.NOT_SERVING)
SERVICE_UNKNOWN = HealthCheckResponseServingStatus(HealthCheckResponseServingStatus.SERVICE_UNKNOWN)


class Health(HealthBase):
    """Answers what it was told, and tells those who watch when that changes."""

    def __init__(self) -> None:
        self._status: dict[str, HealthCheckResponseServingStatus] = {"": SERVING}
        self._changed = trio.Event()

    def tell(self, service: str, *, serving: bool) -> None:
        """From here on this service wants calls, or does not."""
        self._status[service] = SERVING if serving else NOT_SERVING
        self._changed.set()
        self._changed = trio.Event()

    def retire(self) -> None:
        """Nothing here wants calls any more."""
        for service in list(self._status):
            self.tell(service, serving=False)

    async def check(self, health_check_request: HealthCheckRequest) -> HealthCheckResponse:
        """The status of one service; NOT_FOUND for one that nobody spoke of."""
        status = self._status.get(health_check_request.service)
        if status is None:
            raise GRPCError(Status.NOT_FOUND, f"no service {health_check_request.service!r}")
        return HealthCheckResponse(status)

    async def watch(self, health_check_request: HealthCheckRequest) -> AsyncIterator[HealthCheckResponse]:
        """The status of one service, and again each time it changes."""
        last = None
        while True:
            changed = self._changed
            status = self._status.get(health_check_request.service, SERVICE_UNKNOWN)
            if status is not last:
                last = status
                yield HealthCheckResponse(status)
            await changed.wait()
