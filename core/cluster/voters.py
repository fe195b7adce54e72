"""Who votes on the metadata: the founders first, then nodes that have joined, one change at a time.

A voter is a node with the disk that it is registered with. One whose node was forgotten, or has another disk by now,
will never vote again, so it leaves at once: without it a majority is as large as those need who are left.

An even number of voters survives no more deaths than the odd one below it, so there are 1, 3 or 5. Changes come one at
a time, and in between the number is even. To keep that short, only nodes join that have the whole log and answer, and
only when there are enough of them to make the number odd again. A voter that has been dead for long may come back, so
it is replaced: first another is added, then the dead one leaves.
"""

from collections.abc import Callable, Sequence

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.voters import AddVoter, RemoveVoter

VOTERS_MAX = 5
_ELIGIBLE = (Standing.LIVE, Standing.DRAINING)


def next_change(
    state: ClusterState,
    voters: Sequence[str],
    founders: Sequence[str],
    is_lost: Callable[[str], bool],
    is_ready: Callable[[str], bool],
) -> AddVoter | RemoveVoter | None:
    """The change of voters, by their voter ids, that is due; None where none is.

    `is_lost` says of a voter that it was dead for so long that another should take its place, `is_ready` of a node that
    it has lived for long enough to be one, and has the log.
    """
    replaced = [one for one in voters if is_replaced(state, one)]
    if replaced and len(voters) > 1:
        return RemoveVoter(replaced[0])
    kept = [one for one in voters if not is_lost(one)]
    joining = [
        state.voter(one)
        for one in sorted(state.nodes, key=lambda one: (one not in founders, state.nodes[one].wall_ms, one))
        if state.voter(one) not in voters and state.nodes[one].standing in _ELIGIBLE and is_ready(one)
    ]
    if len(kept) < _odd(min(VOTERS_MAX, len(kept) + len(joining))):
        return AddVoter(joining[0])
    lost = [one for one in voters if one not in kept]
    if lost and len(voters) % 2 == 0:
        return RemoveVoter(lost[0])
    return None


def is_replaced(state: ClusterState, voter: str) -> bool:
    """Whether a voter's node was forgotten, or has another data folder; a founder that never registered has neither."""
    node = state.nodes.get(node_of(voter))
    is_another = node is not None and node.disk_id != "" and state.voter(node.node_id) != voter
    return voter in state.given_up or is_another


def _odd(count: int) -> int:
    return count if count % 2 else count - 1
