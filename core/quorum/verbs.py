"""What a node or an operator may ask of the voters; whoever leads them answers."""

from attrs import define


@define
class AddVoter:
    """Let a node that has the log vote, by its voter id, once it has caught up; answered None when it does."""

    voter: str


@define
class RemoveVoter:
    """Let a voter vote no more; answered None when that is agreed."""

    voter: str


@define
class MoveController:
    """Let another node that votes lead, whichever is furthest where none is named.

    Answered None when it has been asked to.
    """

    node_id: str = ""


@define
class Confirm:
    """Is the state as new as anything that was agreed before this was asked? Answered None when it is."""


QuorumRequest = AddVoter | RemoveVoter | MoveController | Confirm
