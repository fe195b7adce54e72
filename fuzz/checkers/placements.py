"""What is agreed on about a partition makes sense at every moment: it is led by one in sync, and epochs only rise.

Who is in sync has the partition, or is about to have it. Every change raises the version, and another leader another
epoch. Who leads was in sync or in the ELR, or the settings of the topic or an operator let anybody lead. The ELR has
members only while too few are in sync for anything to be acknowledged. A partition of which nobody is known to have
everything is one of a topic that acknowledges what is not on the disk: a power cut takes nothing from the others.
"""

from attrs import define

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.cluster.standstill import stands_still
from goqueue.core.cluster.topic_settings import setting
from goqueue.core.requests.cluster import ElectLeaders, ElectReply
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.insight import agreed_index

Place = tuple[int, int]
"""A topic by its id, and a partition."""


@define
class _Known:
    """A place as it was last seen by anybody."""

    version: int
    leader: str
    leader_epoch: int
    # Who has everything, or may come to have it and be the only one at once: when a move ends.
    heirs: list[str]
    eligible: list[str]


class Placements(Checker):
    """Follows all places along what is agreed on."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._index = 0
        self._known: dict[Place, _Known] = {}
        # Of which somebody asked that a replica leads that may lack messages.
        self._risked: set[Place] = set()

    def stepped(self) -> None:
        """Look whenever a node knows more than any did before."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None or not broker.node.has_metadata:
            return
        if agreed_index(broker.node) <= self._index:
            return
        self._index = agreed_index(broker.node)
        for leader in broker.node.led.topics.values():
            topic = leader.topic
            for number, placement in topic.placements.items():
                self._look(topic, f"{topic.name}/{number}", placement)
                is_unclean = bool(setting(topic.config, "unclean_leader_election"))
                self._follow((topic.topic_id, number), f"{topic.name}/{number}", placement, is_unclean=is_unclean)

    def asked(self, asked: Asked) -> None:
        """Note of which partitions somebody wants a leader that may lack messages, also if nobody hears the answer."""
        request = asked.request
        if isinstance(request, ElectLeaders) and request.unclean:
            for topic_id in self.sight.ids_since(request.topic, 0):
                self._risked.add((topic_id, request.partition))

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Somebody leads by an operator's word."""
        request = asked.request
        if isinstance(request, ElectLeaders) and request.unclean and isinstance(reply, ElectReply):
            for topic_id in self.sight.ids_since(request.topic, 0):
                self.history.give_up((topic_id, request.partition))

    def _is_unclean(self, place: Place, known: _Known, placement: Placement) -> bool:
        """Whether one leads that may lack messages, since an operator wanted it so."""
        if place not in self._risked or placement.leader in ("", known.leader):
            return False
        return not known.leader and placement.leader not in known.eligible

    def _look(self, topic: Topic, name: str, placement: Placement) -> None:
        if placement.leader and placement.leader not in placement.isr:
            raise Violation(f"{name} is led by one that is not in sync: {placement}")
        if any(one not in placement.replicas for one in placement.isr):
            raise Violation(f"in sync with {name} is one that does not have it: {placement}")
        min_isr = setting(topic.config, "min_insync_replicas")
        assert isinstance(min_isr, int)
        if placement.elr and len(placement.isr) >= min_isr:
            raise Violation(f"{name} takes messages that its ELR may not have: {placement}")
        if stands_still(placement) and not topic.is_weak:
            raise Violation(f"{name} stands still, and a power cut takes nothing from it: {placement}")

    def _follow(self, place: Place, name: str, placement: Placement, *, is_unclean: bool) -> None:
        known = self._known.get(place)
        if known is not None:
            if placement.version < known.version or placement.leader_epoch < known.leader_epoch:
                raise Violation(f"{name} goes back: {known}, then {placement}")
            is_other = placement.leader not in (known.leader, "")
            if is_other and placement.leader_epoch == known.leader_epoch and known.leader:
                raise Violation(f"{name} has another leader under the same epoch: {known}, then {placement}")
            is_next = placement.version == known.version + 1 and not is_unclean and bool(known.eligible)
            is_risked = place in self._risked
            if is_next and not is_risked and not stands_still(placement) and not {*placement.eligible} & {*known.heirs}:
                raise Violation(f"none of those who had all of {name} has it any more: {known}, then {placement}")
            # A leader that hands over, or that a move takes away, may do so to one that joins in the same step.
            is_handed_over = known.leader in placement.isr or known.leader not in ("", *placement.replicas)
            if self._is_unclean(place, known, placement):
                self.history.give_up(place)
            elif is_next and not is_handed_over and placement.leader not in ("", *known.heirs):
                raise Violation(f"{name} is led by one that was not eligible: {known}, then {placement}")
        self.history.placed(place, placement.replicas, stands_still=stands_still(placement))
        eligible = placement.eligible
        # Of a move that takes replicas away, those that stay are to have everything.
        goal = [one for one in placement.replicas if one not in placement.removing] if placement.removing else []
        heirs = [*eligible, *placement.adding, *goal]
        self._known[place] = _Known(placement.version, placement.leader, placement.leader_epoch, heirs, eligible)
