"""What a node or an operator may ask of the voters; whoever leads them answers."""

from functools import partial

from attrs import define

from goqueue.core.requests.row import NOTHING, Audience, Operation, Request, Resource, Route, Row, ServiceName


@define
class AddVoter(Request):
    """Let a node that has the log vote, by its voter id, once it has caught up; answered None when it does."""

    voter: str


@define
class RemoveVoter(Request):
    """Let a voter vote no more; answered None when that is agreed."""

    voter: str


@define
class MoveController(Request):
    """Let another node that votes lead, whichever is furthest where none is named.

    Answered None when it has been asked to.
    """

    node_id: str = ""


@define
class Confirm(Request):
    """Ask the controller to answer None once its state has everything that was agreed before this request."""


_row = partial(
    Row, audience=Audience.PEER, service=ServiceName.METADATA, resource=Resource.CLUSTER, route=Route.CONTROLLER
)
ROWS = (
    _row(AddVoter, 230, NOTHING, Operation.ACT, "voter"),
    _row(RemoveVoter, 231, NOTHING, Operation.ACT, "voter"),
    _row(MoveController, 232, NOTHING, Operation.ACT, "node_id"),
    _row(Confirm, 233, NOTHING, Operation.ACT, ""),
)
"""The rows of this area."""
