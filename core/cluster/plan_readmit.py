"""What becomes of a node whose data folder is gone: it may come back with an empty one, and keeps its places alone.

Its replicas stay its own, are in no ISR and no ELR, and lead nothing before it has copied them. Where no other replica
is eligible, the others lack what only it had. Then the request is refused: with the old folder nothing would be lost.
With `accept_loss` another replica leads from here on, one that lives if there is one; where there is no other replica
the partition is empty. Either way no reader is told that a message is there which is not, nor is any epoch used twice.

The node is registered without a data folder from here on, and the next process that registers under its id is taken
with the folder that it has.
"""

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.draft import Draft, standings
from goqueue.core.cluster.plan import Plan
from goqueue.core.cluster.plan_nodes import altered, drafts, no_such_node, only_there
from goqueue.core.cluster.records import DiskLost, MetadataRecord
from goqueue.core.requests.cluster import ReadmitNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.standing import Standing

_ABLE = (Standing.LIVE, Standing.DRAINING)


def plan_readmit(state: ClusterState, request: ReadmitNode) -> Plan:
    """The records that take a node out of all ISRs, and let it come back with another data folder."""
    known = state.nodes.get(request.node_id)
    if known is None:
        return no_such_node(request.node_id)
    if not known.disk_id:
        return []
    if known.standing is not Standing.DEAD:
        message = (
            f"node {request.node_id} is {known.standing}: it runs with the data folder that it is known by, or did so "
            "until a moment ago; wait until it is known to be dead"
        )
        return Refusal(Code.INVALID, message, "node_id")
    held = [*drafts(state, request.node_id)]
    alone = [one for one in held if one.eligible == [request.node_id]]
    if alone and not request.accept_loss:
        message = f"{only_there(request.node_id, alone)}: start it with the old data folder, or accept the loss"
        return Refusal(Code.INVALID, message, "accept_loss")
    standing = standings(state)
    records: list[MetadataRecord] = []
    for changed in held:
        _lose(changed, request.node_id, standing)
        records += altered(state, changed)
    return [*records, DiskLost(request.node_id)]


def _lose(changed: Draft, node_id: str, standing: dict[str, Standing]) -> None:
    """A replica is empty: others have what there is, or nobody has."""
    others = [one for one in changed.replicas if one != node_id]
    if others and changed.eligible == [node_id]:
        changed.isr = sorted(others, key=lambda one: standing.get(one) not in _ABLE)[:1]
        changed.elr, changed.last = [], ""
        changed.elect(standing)
    changed.forfeit(node_id)
