"""All gRPC services of a broker as one application, for whichever port serves it.

Mounted are all services of goqueue.v1, gRPC's health service and reflection. The services say that they serve from the
start, so that whoever builds this does so for a broker that runs, and that they do not once it leaves.
"""

from collections.abc import Callable

from attrs import define

from goqueue.proto.codec import StrictCodec
from goqueue.proto.v1_descriptors import DESCRIPTORS
from goqueue.storage.open_log import system_wall_ms
from goqueue.transports.broker import Broker
from goqueue.transports.exchange import Exchange
from goqueue.transports.grpc.health import Health
from goqueue.transports.grpc.protos import health_codec, reflection_v1_codec, reflection_v1alpha_codec
from goqueue.transports.grpc.reflection import with_reflection
from goqueue.transports.grpc.routes import Service
from goqueue.transports.grpc.service import GrpcLimits, GrpcService
from goqueue.transports.services.dead_letters import DeadLetters
from goqueue.transports.services.delays import Delays
from goqueue.transports.services.groups import Groups
from goqueue.transports.services.messages import Messages
from goqueue.transports.services.publishing import UNANSWERED_BYTES_MAX
from goqueue.transports.services.topics import Topics

SERVED = tuple(f"goqueue.v1.{name}" for name in ("Topics", "Messages", "Groups", "Delays", "DeadLetters"))


@define
class BrokerApplication:
    """An Application; `leave` goes before the server's drain."""

    _grpc: GrpcService
    _health: Health

    async def __call__(self, exchange: Exchange) -> None:
        """Serve one call."""
        await self._grpc(exchange)

    def leave(self) -> None:
        """Tell who watches that the broker is about to stop; who streams hears it of the server."""
        self._health.retire()


def application(
    broker: Broker,
    *,
    limits: GrpcLimits | None = None,
    unanswered_bytes_max: int = UNANSWERED_BYTES_MAX,
    compress_replies: bool = False,
    wall_ms: Callable[[], int] = system_wall_ms,
) -> BrokerApplication:
    """The services of a broker that runs; `wall_ms` is the clock by which it tells when leases end."""
    health = Health()
    for name in SERVED:
        health.tell(name, serving=True)
    messages = Messages(broker, unanswered_bytes_max=unanswered_bytes_max)
    own: list[Service] = [Topics(broker), messages, Groups(broker, wall_ms), Delays(broker), DeadLetters(broker)]
    services = with_reflection([*own, health], [DESCRIPTORS])
    codec = StrictCodec(health_codec.CODES, reflection_v1_codec.CODES, reflection_v1alpha_codec.CODES)
    made = BrokerApplication(
        GrpcService(services, codec=codec, limits=limits, compress_replies=compress_replies), health
    )
    broker.when_leaving(made.leave)
    return made
