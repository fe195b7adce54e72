"""A publish is answered when what it brought lies below the high watermark, and all that are in sync have it for good.

Looked at when the answer is given, and by whatever is agreed on at that moment about who is in sync: a leader that does
not know that it is none any more may still answer, and whoever leads by then has the message all the same.
"""

from goqueue.core.cluster.apply import Topic
from goqueue.core.requests.messages import NO_OFFSET, Acks, Publish, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.invariants.acknowledged import Acknowledged, Reach
from goqueue.fuzz.invariants.copies import Copies, Kind, Mark
from goqueue.fuzz.invariants.insync import InSyncReplicas
from goqueue.fuzz.invariants.invariant import OfCopies


class PublishedBatches(OfCopies):
    """Looks at every message that is acknowledged by all."""

    def __init__(self, sight: Sight, copies: Copies, acknowledged: Acknowledged, insync: InSyncReplicas) -> None:
        super().__init__(sight, copies)
        self._acknowledged = acknowledged
        self._insync = insync

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge what is acknowledged."""
        request = asked.request
        if not isinstance(request, Publish | PublishBatch) or request.acks is not Acks.ALL:
            return
        if isinstance(reply, PublishReply) and asked.topic_id is not None:
            count = len(asked.messages) if isinstance(request, PublishBatch) else 1
            for result in reply.results:
                if isinstance(result, Published) and result.offset != NO_OFFSET:
                    side = Side.DATA if result.due_ms < 0 else Side.SCHEDULE
                    kind = asked.topic_id, result.partition, side
                    self._judge(asked, request.topic, kind, result.offset + count)

    def _judge(self, asked: Asked, name: str, kind: Kind, end: int) -> None:
        topic = self.sight.topics().get(name)
        if topic is None or topic.topic_id != kind[0] or kind[0] in self.history.given_up:
            return
        if not self.sight.is_cluster:
            self._judge_alone(topic, kind, end)
        elif kind[1] in topic.placements:
            self._judge_among(asked, topic, kind, end)

    def _judge_alone(self, topic: Topic, kind: Kind, end: int) -> None:
        node = self.sight.node()
        held = None if node is None else node.led.streams.get(topic.stream(kind[1], kind[2]))
        if held is not None and held.log.unsound is None and held.high_watermark < end:
            what = f"{held.log.stream} is acknowledged up to {held.high_watermark}"
            raise Violation(f"{what}, and an answer says that all below {end} is")

    def _judge_among(self, asked: Asked, topic: Topic, kind: Kind, end: int) -> None:
        stream, placement = topic.stream(kind[1], kind[2]), topic.placements[kind[1]]
        broker = self.sight.broker(asked.node_id)
        held = None if broker is None or broker.node is None else broker.node.led.streams.get(stream)
        if broker is not None and held is not None:
            # Its answer comes in the turn in which it knows.
            self.copies.look(broker)
            # One that has just been elected may pass on what the leader before it has answered: it shows nothing yet.
            is_sure = held.is_settled and held.leader_epoch == placement.leader_epoch and held.log.unsound is None
            if is_sure and held.high_watermark < end:
                what = f"{stream} is acknowledged up to {held.high_watermark}"
                raise Violation(f"{what}, and {asked.node_id}, which leads it, says that all below {end} is")
        reach = self._acknowledged.reach(kind)
        if reach.end < end:
            # One that was deposed and has not heard of it may have said so: then all have it, and nobody shows it yet.
            reach = Reach(end, self._last(kind, stream, placement.isr, end))
        if (
            reach.last is None
            and self.history.is_strong(kind[0])
            and not self._is_gone(kind, stream, placement.isr, end)
        ):
            raise Violation(f"{stream} is said to be acknowledged below {end}, and nobody in sync has that")
        for member in placement.isr:
            self._insync.judge(topic, kind, member, reach)

    def _is_gone(self, kind: Kind, stream: str, members: list[str], end: int) -> bool:
        """Whether all that these have begins behind an offset: retention has taken what was before it."""
        copies = [self.copies.copy(member, kind, stream) for member in members]
        return all(copy is not None and copy.start >= end for copy in copies)

    def _last(self, kind: Kind, stream: str, members: list[str], end: int) -> Mark | None:
        """The last batch before an offset, as any of these has it."""
        copies = (self.copies.copy(member, kind, stream) for member in members)
        return next((mark for copy in copies if copy is not None and (mark := copy.at(end - 1)) is not None), None)
