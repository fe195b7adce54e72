"""While anything may fail: who has what it takes to go on must go on within a bound.

A cluster is well for as long as the same nodes live, hear each other, have disks that work and are a majority of the
voters, and among them are the leader and all in sync of every partition, which are as many as its topic demands. From
then on a producer of the client library that has something to publish is told within a bound that some of it is stored,
and a member of a group is answered otherwise than with a refusal. To the bound belongs what these clients wait for an
answer of a node that gives none: they ask another one when their patience ends, which may be one that gives none again.

Not here: what must come to be once nothing fails any more (`healing.py`).
"""

from typing import TYPE_CHECKING

from goqueue.core.cluster.topic_settings import setting
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.groups import GroupHeartbeat, JoinGroup, WatchGroup
from goqueue.core.requests.messages import PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.insight import voters
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.library import LibraryProducer
from goqueue.fuzz.workloads.member import Member

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

LOOK_NS = 250_000_000
# In 48 clusters that were well for 60 of 100 looks, nobody got nowhere for more than 3.9 s.
BOUND_NS = 10_000_000_000
# In a world at rest the longest answer took 0.05 s on one node and 1 s in a cluster, where a node asks again then for
# what was lost on its way (150 worlds and 48).
ANSWERED_NS = 1_000_000_000
ANSWERED_NS_CLUSTER = 6_000_000_000
_PATIENCES = 2


class NoProgress(Violation):
    """Somebody does not get on although nothing is in the way."""


class Progress:
    """Looks at a cluster now and then."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._look_at = 0
        self._well: list[str] = []
        self._well_since: int | None = None
        # When each client was last told that something has come to be.
        self._told: dict[str, int] = {}
        # What each was last refused for.
        self._refused: dict[str, str] = {}

    # --- what clients are told

    def heard(self, client: Client, request: Request, reply: Reply) -> None:
        """A client was answered."""
        if isinstance(client, LibraryProducer):
            results = reply.results if isinstance(request, PublishBatch) and isinstance(reply, PublishReply) else []
            has_come = any(isinstance(result, Published) for result in results)
        else:
            has_come = isinstance(request, JoinGroup | WatchGroup | GroupHeartbeat) and not isinstance(reply, Refusal)
        if has_come:
            self._told[client.name] = self._world.now
        answers: list[Reply] = [*reply.results] if isinstance(reply, PublishReply) else [reply]
        for refusal in answers:
            if isinstance(refusal, Refusal):
                self._refused[client.name] = refusal.message

    def look(self) -> None:
        """See that whoever can go on does; raises NoProgress."""
        world = self._world
        if world.now < self._look_at:
            return
        self._look_at = world.now + LOOK_NS
        if self._is_at_rest:
            for asked in world.history.open.values():
                self._see_request(asked)
        elif len(world.processes) > 1 and not world.is_healed:
            self._see_clients()

    @property
    def _is_at_rest(self) -> bool:
        """Whether nothing fails, and nothing that has failed still has to be made good."""
        world = self._world
        return world.sight.calm_since is not None and (world.is_healed or not world.sight.is_cluster)

    def answered(self, to: int) -> None:
        """A node is about to answer; whoever has asked may have waited for too long."""
        asked = self._world.history.open.get(to)
        if asked is not None and self._is_at_rest:
            self._see_request(asked)

    def _see_request(self, asked: Asked) -> None:
        """See that a request does not wait for long in a world at rest."""
        world = self._world
        most_ns = ANSWERED_NS_CLUSTER if world.sight.is_cluster else ANSWERED_NS
        waited_ns = world.now - max(asked.at, world.sight.calm_since or 0) - getattr(asked.request, "wait_ns", 0)
        if not asked.is_forgotten and waited_ns > most_ns:
            what = f"{type(asked.request).__name__} of {asked.client}, asked of {asked.node_id}"
            late = f"has had no answer for {waited_ns / 1e9:.1f} s longer than it may"
            raise NoProgress(f"nothing fails, and {what}, {late}")

    def _see_clients(self) -> None:
        """See that clients of a cluster that is well get on."""
        world = self._world
        well = [process for process in world.processes if self._is_well(process)]
        names = [process.node_id for process in well]
        if names != self._well or not self._are_enough(well):
            self._well, self._well_since = names, None
            return
        if self._well_since is None:
            self._well_since = world.now
        for client in world.clients:
            if self._wants_something(client):
                waited_ns = world.now - max(self._well_since, self._told.get(client.name, 0))
                self._see(client, waited_ns, names)

    def _see(self, client: Client, waited_ns: int, names: list[str]) -> None:
        bound_ns = BOUND_NS + _PATIENCES * self._world.options.patience_ns
        if waited_ns > bound_ns:
            well = f"{', '.join(names)} are well and in touch, with all in sync of all partitions"
            refused = self._refused.get(client.name)
            last = f"; it was last refused with: {refused}" if refused else ""
            raise NoProgress(f"{client.name} has got nowhere for {waited_ns / 1e9:.1f} s, and {well}{last}")

    def _is_well(self, process: "Process") -> bool:
        """Whether a machine works, and its node has begun."""
        conditions, options = process.disk.conditions, self._world.options
        is_whole = conditions.capacity_bytes is None and conditions.p_slow <= options.p_slow
        is_up = process.node is not None and process.node.has_metadata and not process.is_stopping
        return is_up and is_whole and process.still_until <= self._world.now

    def _are_enough(self, well: list["Process"]) -> bool:
        """Whether these can do all that a cluster does."""
        world = self._world
        post, node = world.post, world.sight.node()
        is_in_touch = not any(post.is_cut(one, other) for one in well for other in well)
        if node is None or not is_in_touch or post.weather.p_loss or post.weather.delay_ns_max:
            return False
        names = {process.node_id for process in well}
        electors = voters(node)
        if 2 * sum(node_of(one) in names for one in electors) <= len(electors):
            return False
        for topic in world.sight.topics().values():
            least = setting(topic.config, "min_insync_replicas")
            assert isinstance(least, int)
            for placed in topic.placements.values():
                if placed.leader not in names or not names.issuperset(placed.isr) or len(placed.isr) < least:
                    return False
        return True

    def _wants_something(self, client: Client) -> bool:
        if isinstance(client, LibraryProducer):
            return client.is_waiting
        return isinstance(client, Member) and client.is_waiting
