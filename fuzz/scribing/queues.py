"""Leases and delays, as operations of a history.

How long a lease lasts for certain is counted on the safe side: from when its poll was sent, by the fastest clock that a
node may have, and no longer than the session of its member, which begins anew with a poll only where the node that
takes it is the coordinator for certain.
"""

from typing import Any

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.requests.delays import CancelDelayed
from goqueue.core.requests.groups import Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LeasedBatches,
    NackWork,
    PolledWork,
    PollWork,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.fuzz.histories.operation import NS_PER_MS, Operation, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.history import name_of
from goqueue.fuzz.options import Options
from goqueue.fuzz.scribing.translation import Translation

Row = tuple[str, int, int, str]
"""A message under a lease: topic, partition, offset and the receipt's stem."""

_Settling = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork
_SETTLINGS: dict[type, Verb] = {
    AckWork: Verb.ACK, NackWork: Verb.NACK, RejectWork: Verb.REJECT, ExtendWork: Verb.EXTEND, ReleaseWork: Verb.RELEASE,
}  # fmt: skip


class Queues:
    """See the module."""

    def __init__(self, recorder: Recorder, options: Options) -> None:
        self._recorder = recorder
        self._is_alone = options.nodes == 1
        self._span_ms = options.visibility_ms
        self._fast_ppm = 1_000_000 - 2 * options.drift_ppm_max
        # Which group and message a receipt is of; when a member was last heard of for certain, and its session.
        self._receipts: dict[tuple[str, int], tuple[str, Row]] = {}
        self._heard: dict[str, tuple[int, int]] = {}
        # To whom the stem of a receipt was given.
        self._holders: dict[str, str] = {}

    def translations(self) -> dict[type, Translation]:
        """By kind of request."""
        return {
            JoinGroup: Translation(self._join, self._joined),
            LeaveGroup: Translation(self._leave, self._done),
            PollWork: Translation(self._poll, self._polled),
            **dict.fromkeys(_SETTLINGS, Translation(self._settle, self._settled)),
            CancelDelayed: Translation(self._cancel, self._done),
        }

    def _done(self, operations: list[Operation], _request: object, _reply: object) -> None:
        for operation in operations:
            self._recorder.ok(operation)

    # --- members

    def _join(self, process: str, request: JoinGroup) -> list[Operation]:
        # Nothing that a history has, but the answer tells whose session began no sooner than this.
        return [self._recorder.begin(process, Verb.ASSIGN, group=request.group, partitions=[])]

    def _joined(self, operations: list[Operation], request: JoinGroup, reply: Joined) -> None:
        self._heard[reply.member_id] = operations[0].asked_ns, request.session_timeout_ms
        self._recorder.ok(operations[0])

    def _leave(self, process: str, request: LeaveGroup) -> list[Operation]:
        return [self._recorder.begin(process, Verb.LEAVE, group=request.group)]

    # --- leases

    def _poll(self, process: str, request: PollWork) -> list[Operation]:
        return [self._recorder.begin(process, Verb.RECEIVE, group=request.group)]

    def _polled(self, operations: list[Operation], request: PollWork, reply: PolledWork) -> None:
        [operation] = operations
        now, asked_ns = self._recorder.clock_ns(), operation.asked_ns
        heard_ns, session_ms = self._heard.get(request.member_id, (asked_ns, 0))
        if self._is_alone:
            heard_ns = asked_ns
            self._heard[request.member_id] = asked_ns, session_ms
        span_ns = (request.visibility_ms or self._span_ms) * self._fast_ppm // 1_000_000 * NS_PER_MS
        until = min(asked_ns + span_ns, heard_ns + session_ms * self._fast_ppm // 1_000_000 * NS_PER_MS)
        age_ms, left_ms = (now - asked_ns) // NS_PER_MS + 1, (until - now) // NS_PER_MS
        messages = [
            {**message, "age_ms": age_ms, "left_ms": left_ms}
            for part in reply.parts
            for message in self._given(request.group, part)
        ]
        self._holders.update((run.stem, request.member_id) for part in reply.parts for run in part.leases)
        self._recorder.ok(operation, messages=messages)

    def _given(self, group: str, part: LeasedBatches) -> list[dict[str, Any]]:
        records = {record.offset: record for batch in split(part.batches) for record in iterate(batch)}
        found = []
        for run in part.leases:
            for offset in range(run.first_offset, run.first_offset + run.count):
                record = records[offset]
                self._receipts[run.stem, offset] = group, (part.topic, part.partition, offset, run.stem)
                key = None if record.key is None else bytes(record.key).decode("latin-1")
                found.append({
                    "topic": part.topic, "partition": part.partition, "offset": offset, "key": key,
                    "value": name_of(record).decode("latin-1"), "attempt": run.attempt, "lease": run.stem,
                })  # fmt: skip
        return found

    # --- what is said

    def _settle(self, process: str, request: _Settling) -> list[Operation]:
        known = [
            self._receipts[run.stem, offset]
            for run in request.receipts
            for offset in range(run.first_offset, run.first_offset + min(run.count, 10_000))
            if (run.stem, offset) in self._receipts
        ]
        groups = {group for group, _ in known}
        asked: dict[str, Any] = {}
        if isinstance(request, NackWork):
            asked["delay_ms"] = request.delay_ms
        elif isinstance(request, ExtendWork):
            asked["span_ms"] = min([request.timeout_ms, *(self._session_left_ms(run.stem) for run in request.receipts)])
        return [
            self._recorder.begin(
                process, _SETTLINGS[type(request)], group=group, messages=[row for name, row in known if name == group],
                **asked,
            )
            for group in sorted(groups)
        ]  # fmt: skip

    def _session_left_ms(self, stem: str) -> int:
        """For how long whoever was given a receipt is a member for certain: no lease lasts longer."""
        heard_ns, session_ms = self._heard.get(self._holders.get(stem, ""), (0, 0))
        left_ns = heard_ns + session_ms * self._fast_ppm // 1_000_000 * NS_PER_MS - self._recorder.clock_ns()
        return max(left_ns // NS_PER_MS, 0)

    def _settled(self, operations: list[Operation], _request: _Settling, reply: WorkDone) -> None:
        refused = {(one.stem, one.offset): str(one.refusal.code) for one in reply.refusals}
        for operation in operations:
            rows = [
                (*row, refused[row[3], row[2]]) for row in operation.asked["messages"] if (row[3], row[2]) in refused
            ]
            self._recorder.ok(operation, refused=rows)

    # --- delays

    def _cancel(self, process: str, request: CancelDelayed) -> list[Operation]:
        at = request.topic, request.partition, request.offset
        for later in self._recorder.history.of(Verb.PUBLISH_LATER):
            # What was due already was delivered at once, and has an offset in the log.
            if (
                later.is_ok
                and later.told["due_ms"] >= 0
                and (later.asked["topic"], later.told["partition"]) == at[:2]
                and at[2] in later.told["offsets"]
            ):
                value = later.asked["values"][later.told["offsets"].index(at[2])]
                return [
                    self._recorder.begin(process, Verb.CANCEL, topic=at[0], partition=at[1], offset=at[2], value=value)
                ]
        return []
