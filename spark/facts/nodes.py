"""A node among others: its start and its end, its links, its votes, its office, and the streams that it leads.

That a node is controller is noted when it knows of all that was ever agreed, which is when it begins to decide.
"""

from goqueue.core.capture.events import Event
from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.quorum import Role
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.ready import Ready, SaveVote
from goqueue.core.replication.replica import Replica
from goqueue.spark.facts.inside import all_held, disk, role, term
from goqueue.spark.facts.listening import Errand, Hears, Listener, Stream
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.roles import role_of


class Life(Listener):
    """Notes `started` and `closed`, `met` and `lost`."""

    def hears(self) -> Hears:
        """The node's end, and links."""
        return Hears(
            verbs={"close": self._closed, "peer_met": self._met, "peer_lost": self._lost, "peer_gone": self._lost}
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """The first file of a run begins with the process, or later."""
        if self.notebook.event.number == 0:
            self.notebook.note("started", value=0 if node.has_metadata else 1)
        return []

    def _closed(self, node: Node, event: Event, came: object) -> None:
        self.notebook.note("closed")

    def _met(self, node: Node, event: Event, came: object) -> None:
        self.notebook.note("met", peer=event.args[0])

    def _lost(self, node: Node, event: Event, came: object) -> None:
        self.notebook.note("lost", peer=event.args[0], cause="gone" if event.verb == "peer_gone" else None)


class Office(Listener):
    """Notes `voted`, `vote_kept`, `recalled`, `elected` and `deposed`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._role: Role | None = None
        self._term: int | None = None

    def hears(self) -> Hears:
        """Votes, and whatever may change who decides."""
        return Hears(verbs={"take": self._turned, "vote_saved": self._kept, "opened": self._opened}, after=self._look)

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Whether the node is controller already."""
        self._role = role(node)
        self._term = term(node) if node.is_controller else None
        return []

    def _turned(self, node: Node, event: Event, came: Ready) -> None:
        for vote in came.votes:
            self.notebook.note("voted", epoch=vote.term, peer=node_of(vote.vote) or None, detail=disk(node))

    def _kept(self, node: Node, event: Event, came: object) -> None:
        vote: SaveVote = event.args[0]
        self.notebook.note("vote_kept", epoch=vote.term, peer=node_of(vote.vote) or None, detail=disk(node))

    def _opened(self, node: Node, event: Event, came: object) -> None:
        vote = event.args[3] if event.args[0] == METADATA_STREAM and len(event.args) > 3 else None
        if event.args[0] == METADATA_STREAM:
            peer = None if vote is None else node_of(vote.vote) or None
            self.notebook.note("recalled", epoch=None if vote is None else vote.term, peer=peer, detail=disk(node))

    def _look(self, node: Node, event: Event) -> None:
        is_now = role(node)
        if is_now is self._role and (self._term is not None or type(is_now) is not Leader):
            return
        if is_now is not self._role and self._term is not None:
            self.notebook.note("deposed", epoch=self._term)
            self._term = None
        self._role = is_now
        if node.is_controller:
            self._term = term(node)
            self.notebook.note("elected", epoch=self._term)


class Leadership(Listener):
    """Notes `leads`, `follows` and `dropped`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._topic_ids: dict[str, int] = {}

    def hears(self) -> Hears:
        """Roles."""
        return Hears(leads=self._leads, follows=self._follows, dropped=self._dropped)

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """What roles the node has already is told as `known`."""
        for name, held in all_held(node):
            self._know(node, name, held.topic)
        return []

    def _know(self, node: Node, name: str, topic: str) -> None:
        known = node.led.topics.get(topic)
        if known is not None:
            self._topic_ids[name] = known.topic.topic_id

    def _leads(self, node: Node, stream: Stream, partition: Partition) -> None:
        self._know(node, stream.name, stream.topic)
        self.notebook.note(
            "leads", topic=stream.topic, partition=stream.partition, side=partition.side.value,
            epoch=partition.leader_epoch, end=partition.log.next_offset, value=partition.high_watermark,
        )  # fmt: skip

    def _follows(self, node: Node, stream: Stream, replica: Replica) -> None:
        self._know(node, stream.name, stream.topic)
        followed = role_of(node, replica)
        self.notebook.note(
            "follows", topic=stream.topic, partition=stream.partition, side=replica.side.value, epoch=followed.epoch,
            end=replica.log.next_offset, value=replica.high_watermark, peer=followed.leader or None,
        )  # fmt: skip

    def _dropped(self, node: Node, stream: Stream) -> None:
        assert stream.side is not None
        self.notebook.note(
            "dropped", topic=stream.topic, topic_id=self._topic_ids.pop(stream.name, None), partition=stream.partition,
            side=stream.side.value,
        )  # fmt: skip
