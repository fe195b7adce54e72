"""What members of shared groups say of messages that they were given: how each of it is read, asked and answered.

Acknowledgements that one read brought are asked as one: the core takes a thousand receipts for little more than one.
What became of each request is told by itself all the same.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import work

Settlement = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork

# As many are asked as one; a single request may hold more.
RECEIPTS_TOGETHER = 5_000


@define(frozen=True)
class Settling:
    """One kind of request: how it is read, which field of a reply answers it, and with what."""

    read: Callable[[Any], Settlement | Refusal]
    answer: str
    reply: Callable[[WorkDone], Any]


SETTLINGS = {
    "ack": Settling(work.ack_request, "acked", work.acked_reply),
    "nack": Settling(work.nack_request, "nacked", work.nacked_reply),
    "reject": Settling(work.reject_request, "rejected", work.rejected_reply),
    "extend": Settling(work.extend_request, "extended", work.extended_reply),
    "release": Settling(work.release_request, "released", work.released_reply),
}


@define
class AckBatch:
    """Acknowledgements to be asked as one: which requests they are of, and what these weigh."""

    requests: list[tuple[int, list[ReceiptRun]]] = field(factory=list)
    count: int = 0
    size: int = 0

    def has_room(self, request: AckWork) -> bool:
        """Whether one more fits."""
        return not self.requests or self.count + _count(request.receipts) <= RECEIPTS_TOGETHER

    def add(self, request_id: int, request: AckWork, size: int) -> None:
        """Take one more."""
        self.requests.append((request_id, request.receipts))
        self.count += _count(request.receipts)
        self.size += size

    def request(self, group: str, member_id: str = "") -> AckWork:
        """All of them; receipts that follow one another are one run."""
        if len(self.requests) == 1:
            return AckWork(self.requests[0][1], group, member_id)
        joined: list[ReceiptRun] = []
        stem, end = "", -1
        for _, runs in self.requests:
            for run in runs:
                if run.first_offset == end and run.stem == stem:
                    joined[-1].count += run.count
                else:
                    joined.append(ReceiptRun(run.stem, run.first_offset, run.count))
                    stem = run.stem
                end = run.first_offset + run.count
        return AckWork(joined, group, member_id)

    def answers(self, reply: WorkDone) -> list[tuple[int, WorkDone]]:
        """What became of each request."""
        if len(self.requests) == 1:
            return [(self.requests[0][0], reply)]
        by_stem: dict[str, dict[int, ReceiptRefusal]] = {}
        for one in reply.refusals:
            by_stem.setdefault(one.stem, {})[one.offset] = one
        return [(request_id, _share(runs, by_stem)) for request_id, runs in self.requests]


def _count(runs: list[ReceiptRun]) -> int:
    return runs[0].count if len(runs) == 1 else sum([run.count for run in runs])


def _share(runs: list[ReceiptRun], by_stem: dict[str, dict[int, ReceiptRefusal]]) -> WorkDone:
    """What became of one of several requests: the refusals of those receipts that it showed."""
    if not by_stem:
        return WorkDone(_count(runs))
    refusals = {}
    for run in runs:
        refused = by_stem.get(run.stem, {})
        for offset in range(run.first_offset, run.first_offset + run.count):
            if offset in refused:
                refusals[run.stem, offset] = refused[offset]
    return WorkDone(_count(runs) - len(refusals), list(refusals.values()))
