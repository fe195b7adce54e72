"""Where nobody is known to have everything, the one with the longest log leads: no other replica has more.

What the others have beyond the leader's end is cut away, and with it what was acknowledged and is nowhere else. So at
the moment at which it is agreed who leads, the logs of all replicas are held against the leader's, also of those that
are down: the controller was to wait for them.

Nothing is said where an operator let somebody lead, or where the leader has lost something again since it told how far
its log reaches.
"""

from attrs import define

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.cluster.standstill import stands_still
from goqueue.core.cluster.topic_settings import setting
from goqueue.core.requests.cluster import ElectLeaders
from goqueue.core.requests.messages import Side
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.history import Asked, Place, Violation
from goqueue.fuzz.insight import agreed_index
from goqueue.fuzz.invariants.copies import Copies
from goqueue.fuzz.invariants.invariant import OfCopies


@define
class _Still:
    """A partition that stands still: its version, and how much had happened when that began."""

    version: int
    since: int
    boots: dict[str, int]


class Standstills(OfCopies):
    """Looks at who leads where nobody did."""

    def __init__(self, sight: Sight, copies: Copies) -> None:
        super().__init__(sight, copies)
        self._index = 0
        self._still: dict[Place, _Still] = {}
        # Topics of which somebody asked that a replica leads that may lack messages.
        self._risked: set[int] = set()

    def asked(self, asked: Asked) -> None:
        """Note of which topics an operator wants that."""
        request = asked.request
        if isinstance(request, ElectLeaders) and request.unclean:
            self._risked |= {*self.sight.ids_since(request.topic, 0)}

    def stepped(self) -> None:
        """Look whenever a node knows more than any did before."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None or not broker.node.has_metadata:
            return
        if agreed_index(broker.node) <= self._index:
            return
        self._index = agreed_index(broker.node)
        for topic in self.sight.topics().values():
            for number, placement in topic.placements.items():
                self._follow(topic, number, placement)

    def _follow(self, topic: Topic, number: int, placement: Placement) -> None:
        place = topic.topic_id, number
        if stands_still(placement):
            known = self._still.get(place)
            if known is None or known.version != placement.version:
                boots = {broker.node_id: broker.boots for broker in self.sight.processes}
                self._still[place] = _Still(placement.version, self.history.count, boots)
            return
        still = self._still.pop(place, None)
        if still is None or placement.version != still.version + 1 or not placement.leader:
            return
        if topic.topic_id in self._risked or setting(topic.config, "unclean_leader_election"):
            return
        self._judge(topic, number, placement, still)

    def _judge(self, topic: Topic, number: int, placement: Placement, still: _Still) -> None:
        leader = self.sight.broker(placement.leader)
        if leader is None or leader.boots != still.boots.get(placement.leader):
            return
        if self.history.disk_failed_at(placement.leader, topic.topic_id) >= still.since:
            return
        ends = {one: self._end(topic, number, one) for one in placement.replicas}
        for one, end in ends.items():
            if end > ends[placement.leader]:
                what = f"{placement.leader} leads {topic.stream(number)} where nobody was known to have everything"
                raise Violation(f"{what}, with a log that ends at {ends[placement.leader]}, and that of {one} at {end}")

    def _end(self, topic: Topic, number: int, member: str) -> tuple[int, int]:
        """The epoch of the last batch that a replica has, and the end of its log."""
        copy = self.copies.copy(member, (topic.topic_id, number, Side.DATA), topic.stream(number, Side.DATA))
        if copy is None:
            return -1, 0
        return copy.marks[-1].epoch if copy.marks else -1, copy.end
