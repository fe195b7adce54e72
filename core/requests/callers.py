"""Who asks."""

from attrs import define


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
