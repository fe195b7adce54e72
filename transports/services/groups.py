"""The service Groups, none of whose methods this release serves; each says so."""

from collections.abc import Awaitable, Callable
from typing import Any

from grpclib.const import Handler, Status
from grpclib.exceptions import GRPCError

from goqueue.proto.v1 import GroupsBase


class Groups(GroupsBase):
    """Consumer groups, as far as there are any."""

    def __mapping__(self) -> dict[str, Handler]:
        """Every method of the contract, so that who calls one learns why it does not work."""
        return {
            path: entry._replace(func=_unserved(path.rpartition("/")[2]))
            for path, entry in super().__mapping__().items()
        }


def _unserved(method: str) -> Callable[[Any], Awaitable[None]]:
    sentence = f"{method} is not served: this broker has no consumer groups; keep offsets yourself, and Subscribe"

    async def refuse(_call: Any) -> None:  # noqa: ANN401 - a call of whatever kind
        raise GRPCError(Status.UNIMPLEMENTED, sentence)

    return refuse
