"""Who asks, and what goes with a request from the protocol to whoever carries it out."""

from enum import Enum

from attrs import define, field

from goqueue.core.requests.row import ServiceName


@define
class Caller:
    """On whose behalf a request is made, and how it came; `client_id` is what a client calls itself, if it does."""

    client_id: str = ""
    protocol: str = ""
    principal: str = ""
    tenant: str = ""
    trace: str = ""
    # The other end of the connection.
    address: str = ""


class Origin(Enum):
    """Whom the answer is for: a client of this node, another node that passes the request on, or a service here."""

    CLIENT = "client"
    NODE = "node"
    SERVICE = "service"


@define(eq=False)
class Call:
    """One request that is to be carried out here or passed on, and answered once.

    A service keeps it, answers to it and compares it by identity; what it may do follows from what stands in it, never
    from its number.
    """

    # Told apart by it are the calls of one origin and service.
    number: int
    # Nobody in particular, where a service asks by itself.
    caller: Caller = field(factory=Caller)
    origin: Origin = Origin.CLIENT
    # Of a service: which one.
    service: ServiceName | None = None
    # Whether the broker itself asks, here or on the node that passes the request on: it may write what is its own.
    is_own: bool = False
    # The call on whose behalf a service asks.
    parent: "Call | None" = None

    @property
    def is_part(self) -> bool:
        """Whether the call is for what this node alone can do: other nodes have parts of their own."""
        return self.origin is not Origin.CLIENT
