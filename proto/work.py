"""Work queues between the messages of `v1` and the core's requests, both ways: `work.poll_request(…)`.

    <verb>_request      message -> verb, or a Refusal that names the wrong field    the server reads
    <verb>_message      verb -> message                                             a client asks
    <answer>_reply      answer -> message                                           the server answers
    read_<answer>       message -> answer                                           a client reads

Receipts come as whole texts, as a stem and offsets, or both; the requests have runs alone. A text that is no receipt at
all becomes a stem of its own, which the core refuses like any other that it did not make: so it is refused by itself,
and not with all that came beside it. What is refused is told by the whole text.
"""

from collections.abc import Iterable
from typing import Any

from goqueue.core.errors import ProtocolError
from goqueue.core.queues.receipts import STEM_LETTERS, read_receipt, spelled_receipt
from goqueue.core.queues.settling import RECEIPTS_MAX
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LeasedBatches,
    LeaseRun,
    NackWork,
    PolledWork,
    PollWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.refusals import invalid, missing, negative, read_refusal, refusal

MESSAGES = 100
BYTES = 1 << 20
_NS_PER_MS = 1_000_000
_UINT32_MAX = (1 << 32) - 1


# --- receipts


def receipt_of(stem: str, offset: int) -> str:
    """The receipt of a message as one text."""
    return spelled_receipt(stem, offset) if len(stem) == STEM_LETTERS else stem


def _run(text: str) -> ReceiptRun:
    try:
        run = read_receipt(text)
    except ProtocolError:
        return _unreadable(text)
    return run if run.first_offset <= INT64_MAX else _unreadable(text)


def _unreadable(text: str) -> ReceiptRun:
    """What no core takes for one of its own; a stem without an offset it would."""
    return ReceiptRun(f"{text}-" if len(text) == STEM_LETTERS else text, 0)


def _runs(texts: Iterable[str]) -> list[ReceiptRun]:
    """Receipts as runs; those that follow one another become one."""
    runs: list[ReceiptRun] = []
    stem, end = "", -1
    for text in texts:
        run = _run(text)
        if run.first_offset == end and run.stem == stem:
            runs[-1].count += 1
            end += 1
        else:
            runs.append(run)
            stem, end = run.stem, run.first_offset + 1
    return runs


def _shown(fields: dict[str, Any]) -> list[ReceiptRun] | Refusal:
    """The receipts of a request, at least one; so many that the core would refuse them are not read at all."""
    count = len(fields["receipts"]) + len(fields["ranges"])
    if count > RECEIPTS_MAX:
        return invalid(f"a request shows from 1 to {RECEIPTS_MAX} receipts, not {count}", "receipts")
    runs = _runs(fields["receipts"])
    for at, each in enumerate(fields["ranges"]):
        inner = contents(each)
        first, count = inner["first_offset"], inner["count"] or 1
        if first < 0:
            return negative(f"ranges[{at}].first_offset", first)
        if first > INT64_MAX - count:
            return invalid(f"ranges[{at}] ends beyond the last offset that there can be", f"ranges[{at}].count")
        runs.append(ReceiptRun(inner["stem"], first, count))
    return runs or missing("receipts")


def _ranges(runs: Iterable[ReceiptRun]) -> list[v1.ReceiptRange]:
    return [made(v1.ReceiptRange, stem=run.stem, first_offset=run.first_offset, count=run.count) for run in runs]


# --- what is asked


def poll_request(message: v1.PollRequest) -> PollWork | Refusal:
    """A member asks for messages."""
    fields = contents(message)
    for name in ("group", "member_id"):
        if not fields[name]:
            return missing(name)
    return PollWork(
        fields["group"],
        fields["member_id"],
        fields["messages_max"] or MESSAGES,
        fields["bytes_max"] or BYTES,
        fields["wait_ms"] * _NS_PER_MS,
        fields["visibility_timeout_ms"],
    )


def poll_message(request: PollWork) -> v1.PollRequest:
    """A member asks for messages."""
    return made(
        v1.PollRequest,
        group=request.group,
        member_id=request.member_id,
        messages_max=request.messages_max,
        wait_ms=min(request.wait_ns // _NS_PER_MS, _UINT32_MAX),
        visibility_timeout_ms=request.visibility_ms,
        bytes_max=request.bytes_max,
    )


def ack_request(message: v1.AckRequest) -> AckWork | Refusal:
    """Messages are done."""
    fields = contents(message)
    runs = _shown(fields)
    return runs if isinstance(runs, Refusal) else AckWork(runs, fields["group"], fields["member_id"])


def ack_message(request: AckWork) -> v1.AckRequest:
    """Messages are done."""
    return made(v1.AckRequest, ranges=_ranges(request.receipts), group=request.group, member_id=request.member_id)


def nack_request(message: v1.NackRequest) -> NackWork | Refusal:
    """Messages are to be tried again."""
    fields = contents(message)
    runs = _shown(fields)
    if isinstance(runs, Refusal):
        return runs
    return NackWork(runs, fields["delay_ms"], fields["reason"], fields["group"], fields["member_id"])


def nack_message(request: NackWork) -> v1.NackRequest:
    """Messages are to be tried again."""
    return made(
        v1.NackRequest,
        ranges=_ranges(request.receipts),
        group=request.group,
        member_id=request.member_id,
        delay_ms=request.delay_ms,
        reason=request.reason,
    )


def reject_request(message: v1.RejectRequest) -> RejectWork | Refusal:
    """Messages are never to be tried again."""
    fields = contents(message)
    runs = _shown(fields)
    return (
        runs if isinstance(runs, Refusal) else RejectWork(runs, fields["reason"], fields["group"], fields["member_id"])
    )


def reject_message(request: RejectWork) -> v1.RejectRequest:
    """Messages are never to be tried again."""
    return made(
        v1.RejectRequest,
        ranges=_ranges(request.receipts),
        group=request.group,
        member_id=request.member_id,
        reason=request.reason,
    )


def extend_request(message: v1.ExtendRequest) -> ExtendWork | Refusal:
    """Leases are to last from now on for a time."""
    fields = contents(message)
    runs = _shown(fields)
    return (
        runs
        if isinstance(runs, Refusal)
        else ExtendWork(runs, fields["timeout_ms"], fields["group"], fields["member_id"])
    )


def extend_message(request: ExtendWork) -> v1.ExtendRequest:
    """Leases are to last from now on for a time."""
    return made(
        v1.ExtendRequest,
        ranges=_ranges(request.receipts),
        group=request.group,
        member_id=request.member_id,
        timeout_ms=request.timeout_ms,
    )


def release_request(message: v1.ReleaseRequest) -> ReleaseWork | Refusal:
    """Messages were not begun."""
    fields = contents(message)
    runs = _shown(fields)
    return runs if isinstance(runs, Refusal) else ReleaseWork(runs, fields["group"], fields["member_id"])


def release_message(request: ReleaseWork) -> v1.ReleaseRequest:
    """Messages were not begun."""
    return made(v1.ReleaseRequest, ranges=_ranges(request.receipts), group=request.group, member_id=request.member_id)


# --- what is answered


def polled_reply(reply: PolledWork, now_ms: int = 0) -> v1.PollReply:
    """What was leased; `now_ms` is the broker's clock as it says so."""
    return made(v1.PollReply, parts=[_leased(part, now_ms) for part in reply.parts])


def _leased(part: LeasedBatches, now_ms: int) -> v1.LeasedBatches:
    return made(
        v1.LeasedBatches,
        topic=part.topic,
        partition=part.partition,
        batches=part.batches,
        leases=[_lease(run) for run in part.leases],
        now_ms=now_ms,
    )


def _lease(run: LeaseRun) -> v1.Lease:
    return made(
        v1.Lease,
        first_offset=run.first_offset,
        count=run.count,
        attempt=run.attempt,
        stem=run.stem,
        expires_ms=run.until_ms,
    )


def read_polled(message: v1.PollReply) -> PolledWork:
    """What was leased."""
    return PolledWork([read_leased(part) for part in contents(message)["parts"]])


def read_leased(message: v1.LeasedBatches) -> LeasedBatches:
    """What was leased of one partition."""
    fields = contents(message)
    leases = [
        LeaseRun(each["first_offset"], each["count"], each["attempt"], each["stem"], each["expires_ms"])
        for each in map(contents, fields["leases"])
    ]
    return LeasedBatches(fields["topic"], fields["partition"], fields["batches"], leases)


def acked_reply(reply: WorkDone) -> v1.AckReply:
    """What became of an acknowledgement."""
    return made(v1.AckReply, done=reply.done, refusals=receipt_refusals(reply.refusals))


def nacked_reply(reply: WorkDone) -> v1.NackReply:
    """What became of messages to be tried again."""
    return made(
        v1.NackReply,
        done=reply.done,
        refusals=receipt_refusals(reply.refusals),
        next_attempt_ms=reply.at_ms,
        dead=reply.dead,
        dead_lettered_to=reply.topic,
    )


def rejected_reply(reply: WorkDone) -> v1.RejectReply:
    """What became of messages never to be tried again."""
    refusals = receipt_refusals(reply.refusals)
    return made(v1.RejectReply, done=reply.done, refusals=refusals, dead_lettered_to=reply.topic)


def extended_reply(reply: WorkDone) -> v1.ExtendReply:
    """What became of leases to be extended."""
    return made(v1.ExtendReply, done=reply.done, refusals=receipt_refusals(reply.refusals), expires_ms=reply.at_ms)


def released_reply(reply: WorkDone) -> v1.ReleaseReply:
    """What became of messages that were handed back."""
    return made(v1.ReleaseReply, done=reply.done, refusals=receipt_refusals(reply.refusals))


def receipt_refusals(refusals: Iterable[ReceiptRefusal]) -> list[v1.ReceiptRefusal]:
    """Why nothing was done for some messages."""
    return [
        made(
            v1.ReceiptRefusal,
            receipt=receipt_of(each.stem, each.offset),
            offset=each.offset,
            refusal=refusal(each.refusal),
        )
        for each in refusals
    ]


def _read_refusals(fields: dict[str, Any]) -> list[ReceiptRefusal]:
    return [
        ReceiptRefusal(each["receipt"][:STEM_LETTERS], each["offset"], read_refusal(each["refusal"]))
        for each in map(contents, fields["refusals"])
    ]


def read_acked(message: v1.AckReply) -> WorkDone:
    """What became of an acknowledgement."""
    fields = contents(message)
    return WorkDone(fields["done"], _read_refusals(fields))


def read_nacked(message: v1.NackReply) -> WorkDone:
    """What became of messages to be tried again."""
    fields = contents(message)
    refusals = _read_refusals(fields)
    return WorkDone(fields["done"], refusals, fields["next_attempt_ms"], fields["dead_lettered_to"], fields["dead"])


def read_rejected(message: v1.RejectReply) -> WorkDone:
    """What became of messages never to be tried again."""
    fields = contents(message)
    return WorkDone(fields["done"], _read_refusals(fields), topic=fields["dead_lettered_to"])


def read_extended(message: v1.ExtendReply) -> WorkDone:
    """What became of leases to be extended."""
    fields = contents(message)
    return WorkDone(fields["done"], _read_refusals(fields), fields["expires_ms"])


def read_released(message: v1.ReleaseReply) -> WorkDone:
    """What became of messages that were handed back."""
    fields = contents(message)
    return WorkDone(fields["done"], _read_refusals(fields))
