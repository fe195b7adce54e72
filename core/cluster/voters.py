"""Who votes on the metadata: the founders first, then nodes that have joined, one change at a time.

An even number of voters survives no more deaths than the odd one below it, so there are 1, 3 or 5. A voter that has
been dead for long is replaced where another node lives: first the other is added, then the dead one leaves. A voter
whose node was forgotten leaves at once.
"""

from collections.abc import Callable, Sequence

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.records import Standing
from goqueue.core.quorum.verbs import AddVoter, RemoveVoter

VOTERS_MAX = 5
_ELIGIBLE = (Standing.LIVE, Standing.DRAINING)


def next_change(
    state: ClusterState,
    voters: Sequence[str],
    founders: Sequence[str],
    is_lost: Callable[[str], bool],
    is_ready: Callable[[str], bool],
) -> AddVoter | RemoveVoter | None:
    """The change of voters that is due, if one is.

    `is_lost` says of a voter that it was dead for so long that another should take its place, `is_ready` of a node that
    it has lived for long enough to be one.
    """
    forgotten = [one for one in voters if one not in state.nodes and one not in founders]
    kept = [one for one in voters if one not in forgotten and not is_lost(one)]
    joining = [
        one
        for one in sorted(state.nodes, key=lambda one: (one not in founders, state.nodes[one].wall_ms, one))
        if one not in voters and state.nodes[one].standing in _ELIGIBLE and is_ready(one)
    ]
    if joining and len(kept) < _odd(min(VOTERS_MAX, len(kept) + len(joining))):
        return AddVoter(joining[0])
    if forgotten and len(voters) > 1:
        return RemoveVoter(forgotten[0])
    lost = [one for one in voters if one not in kept]
    if lost and len(voters) % 2 == 0:
        return RemoveVoter(lost[0])
    return None


def _odd(count: int) -> int:
    return count if count % 2 else count - 1
