"""What tells voters apart: the id of a node together with the id of its disk, as one text, `node/disk`.

A vote and a log are on a disk, not with a name. A node whose data folder was emptied draws another disk id, so it is
another voter: whatever the old one promised, nobody takes for a promise of the new one. Within `core/quorum` every
sender, voter and vote is such an id. Two places know the node alone: the list of founders, who do not know each other's
disks yet, and the address of a message.
"""

NODE_NAME_MAX = 100


def node_name_problem(node_id: str) -> str:
    """Why a node cannot have an id; empty where it can. The slash is what ends it in a voter's."""
    if not node_id:
        return "a node needs an id"
    if len(node_id) > NODE_NAME_MAX or "/" in node_id or not node_id.isprintable():
        return f"a node cannot be called {node_id[:NODE_NAME_MAX]!r}"
    return ""


def voter_id(node_id: str, disk_id: str) -> str:
    """The id of a node's voter; a node that is alone has no disk id, and is known by its name."""
    return f"{node_id}/{disk_id}" if disk_id else node_id


def node_of(voter: str) -> str:
    """The node that a voter is, or was."""
    return voter.partition("/")[0]
