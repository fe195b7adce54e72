"""Readers and how far they come: batches that went out, and offsets that were committed, each noted once in a cluster.

A fetch is noted by the leader of the partition; what one node reads of another for itself is none. Polls of exclusive
groups and commits are noted by the coordinator.
"""

from goqueue.core.node import Node
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    FetchOffsets,
    GroupMode,
    GroupOffset,
    OffsetChange,
    Polled,
    PollGroup,
    ResetOffsets,
)
from goqueue.core.requests.messages import Fetch, Fetched, Side
from goqueue.core.requests.refusals import Refusal
from goqueue.spark.facts.listening import Errand, Hears, Listener
from goqueue.spark.facts.services import coordinator_of, journal_of


class Reading(Listener):
    """What readers asked for and were answered."""

    def hears(self) -> Hears:
        """Answers to readers."""
        return Hears(
            answered={
                Fetch: self._fetched,
                PollGroup: self._polled,
                CommitOffsets: self._committed,
                ResetOffsets: self._reset,
                FetchOffsets: self._told,
            }
        )

    def _fetched(self, node: Node, errand: Errand, reply: object) -> None:
        request: Fetch = errand.request
        if not isinstance(reply, Fetched) or not len(reply.batches) or errand.is_own or request.side is not Side.DATA:
            return
        if f"logs/{request.topic}/{request.partition}" in node.led.streams:
            self.notebook.note(
                "fetched", topic=request.topic, partition=request.partition, first=request.offset,
                end=reply.next_offset, bytes=len(reply.batches), since=errand.at,
                client=errand.caller.client_id or None,
            )  # fmt: skip

    def _polled(self, node: Node, errand: Errand, reply: object) -> None:
        if coordinator_of(node) is None or not isinstance(reply, Polled):
            return
        request: PollGroup = errand.request
        for part in reply.parts:
            self.notebook.note(
                "polled", group=request.group, member=request.member_id, topic=part.topic, partition=part.partition,
                first=part.first_offset, end=part.end_offset, count=part.end_offset - part.first_offset,
                bytes=len(part.batches), since=errand.at, client=errand.caller.client_id or None,
            )  # fmt: skip

    def _committed(self, node: Node, errand: Errand, reply: object) -> None:
        if coordinator_of(node) is None or not isinstance(reply, CommittedOffsets | Refusal):
            return
        request: CommitOffsets = errand.request
        if isinstance(reply, CommittedOffsets):
            refused = {(one.topic, one.partition): str(one.refusal.code) for one in reply.refusals}
        else:
            refused = {(one.topic, one.partition): str(reply.code) for one in request.offsets}
        for one in request.offsets:
            self.notebook.note(
                "committed", group=request.group, member=request.member_id or None, topic=one.topic,
                partition=one.partition, end=one.offset, epoch=request.generation, since=errand.at,
                client=errand.caller.client_id or None, cause=refused.get((one.topic, one.partition)),
                detail=None if request.member_id else "outside", **_agreed(node),
            )  # fmt: skip

    def _reset(self, node: Node, errand: Errand, reply: object) -> None:
        request: ResetOffsets = errand.request
        if coordinator_of(node) is None or not isinstance(reply, list) or request.dry_run:
            return
        for change in reply:
            assert isinstance(change, OffsetChange)
            self.notebook.note(
                "committed", group=request.group, topic=request.topic, partition=change.partition, end=change.after,
                since=errand.at, client=errand.caller.client_id or None, detail="reset", **_agreed(node),
            )  # fmt: skip

    def _told(self, node: Node, errand: Errand, reply: object) -> None:
        """An answer about an exclusive group; how far a shared one has come its ledgers say."""
        coordinator, group = coordinator_of(node), errand.request.group
        found = None if coordinator is None else coordinator.groups.groups.get(group)
        if found is None or found.mode is not GroupMode.EXCLUSIVE or not isinstance(reply, list):
            return
        for one in reply:
            if isinstance(one, GroupOffset) and one.offset >= 0:
                self.notebook.note(
                    "offset_known", group=group, topic=one.topic, partition=one.partition, end=one.offset,
                    since=errand.at, cause="told", **_agreed(node),
                )  # fmt: skip


def _agreed(node: Node) -> dict[str, int]:
    """How far the journal holds for sure, and under which epoch it is written: what is answered rests on that."""
    journal = journal_of(node)
    return {} if journal is None else {"sequence": journal.high_watermark, "value": journal.leader_epoch}
