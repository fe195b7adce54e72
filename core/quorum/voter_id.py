"""What tells voters apart: the id of a node together with the id of its disk, as one text, `node/disk`.

A vote and a log are on a disk, not with a name. A node whose data folder was emptied draws another disk id, so it is
another voter: whatever the old one promised, nobody takes for a promise of the new one. Within `core/quorum` every
sender, voter and vote is such an id. Two places know the node alone: the list of founders, who do not know each other's
disks yet, and the address of a message.
"""


def voter_id(node_id: str, disk_id: str) -> str:
    """The id of a node's voter; a node that is alone has no disk id, and is known by its name."""
    return f"{node_id}/{disk_id}" if disk_id else node_id


def node_of(voter: str) -> str:
    """The node that a voter is, or was."""
    return voter.partition("/")[0]
