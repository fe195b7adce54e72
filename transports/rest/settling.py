"""The endpoints that say what became of leased messages: done, to be tried again, given up, needed longer, not begun.

A request shows receipts. What can be done for some of them is done; if it shows one alone and nothing can be done, the
reason is the answer's status. Consecutive messages of one lease travel on as a run.
"""

from attrs import define

from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.errors import ProtocolError
from goqueue.core.queues.receipts import read_receipt
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
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.decoding import span_ms
from goqueue.transports.rest.errors import RestError, invalid, refused, respelled
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import written_time
from goqueue.transports.rest.work_bodies import (
    AckedView,
    ExtendedView,
    NackDraft,
    NackedView,
    ReceiptErrorView,
    ReceiptsDraft,
    RejectDraft,
    RejectedView,
    ReleasedView,
    VisibilityDraft,
)

FIELDS = {"delay_ms": "delay", "timeout_ms": "timeout", "receipts": "receipt_handles"}
Settling = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork


@define
class Shown:
    """The receipts of a request: as runs, and by their places in it; those that cannot be read are refused already."""

    handles: list[str]
    runs: list[ReceiptRun]
    errors: dict[int, Refusal]
    # Whether they stood in a list.
    is_list: bool


async def ack(call: Call) -> Answer:
    """POST /messages/ack and /groups/{group}/ack."""
    draft = call.body(ReceiptsDraft)
    shown = read_receipts(draft)
    done, errors = await _settle(call, shown, AckWork(shown.runs, _group(call), draft.member_id))
    return answer(_with_errors(AckedView(done.done), errors))


async def nack(call: Call) -> Answer:
    """POST /messages/nack and /groups/{group}/nack."""
    draft = call.body(NackDraft)
    delay_ms = None if draft.delay is None else span_ms(draft.delay, "delay", DELAY_MS_MAX)
    shown = read_receipts(draft)
    done, errors = await _settle(
        call, shown, NackWork(shown.runs, delay_ms, draft.reason, _group(call), draft.member_id)
    )
    requeued = done.done - done.dead
    view = NackedView(requeued, written_time(done.at_ms) if requeued else None, done.dead)
    if done.dead and done.topic:
        view.dead_lettered_to = done.topic
    return answer(_with_errors(view, errors))


async def reject(call: Call) -> Answer:
    """POST /messages/reject."""
    draft = call.body(RejectDraft)
    shown = read_receipts(draft)
    done, errors = await _settle(call, shown, RejectWork(shown.runs, draft.reason, _group(call), draft.member_id))
    return answer(_with_errors(RejectedView(done.done, done.topic or None), errors))


async def extend(call: Call) -> Answer:
    """POST /messages/visibility."""
    draft = call.body(VisibilityDraft)
    timeout_ms = span_ms(draft.timeout, "timeout", SPAN_MS_MAX)
    shown = read_receipts(draft)
    done, errors = await _settle(call, shown, ExtendWork(shown.runs, timeout_ms, _group(call), draft.member_id))
    return answer(_with_errors(ExtendedView(done.done, written_time(done.at_ms) if done.done else None), errors))


async def release(call: Call) -> Answer:
    """POST /messages/release."""
    draft = call.body(ReceiptsDraft)
    shown = read_receipts(draft)
    done, errors = await _settle(call, shown, ReleaseWork(shown.runs, _group(call), draft.member_id))
    return answer(_with_errors(ReleasedView(done.done), errors))


def _group(call: Call) -> str:
    """The group that the receipts are to be of, where the path names one."""
    return call.names.get("group", "")


def read_receipts(draft: ReceiptsDraft) -> Shown:
    """The receipts of a request, which shows one or a list."""
    single, several = draft.receipt_handle, draft.receipt_handles
    if single is not None and several is not None:
        raise invalid("receipt_handle and receipt_handles both show receipts; give one", "receipt_handles")
    if single is not None:
        return _read([single], is_list=False)
    if several is None:
        raise invalid("receipt_handle is required", "receipt_handle")
    return _read(several, is_list=True)


def _read(handles: list[str], *, is_list: bool) -> Shown:
    shown = Shown(handles, [], {}, is_list)
    last = ReceiptRun("", -1, 0)
    for at, handle in enumerate(handles):
        try:
            run = read_receipt(handle)
        except ProtocolError:
            shown.errors[at] = Refusal(Code.RECEIPT_INVALID, "this is no receipt of this release")
            continue
        if run.stem == last.stem and run.first_offset == last.first_offset + last.count:
            last.count += 1
        else:
            shown.runs.append(run)
            last = run
    return shown


async def _settle(call: Call, shown: Shown, request: Settling) -> tuple[WorkDone, list[ReceiptErrorView]]:
    """What was done, and for which receipts nothing was; of a single one the reason is raised."""
    done = WorkDone(0)
    if shown.runs:
        try:
            done = await call.ask(request, WorkDone)
        except RestError as error:
            raise respelled(error, FIELDS) from None
    if done.refusals:
        _place(shown, done.refusals)
    if shown.errors and len(shown.handles) == 1:
        reason = refused(shown.errors[0])
        reason.field = _field(shown, 0)
        raise reason
    return done, [_error_view(shown, at, shown.errors[at]) for at in sorted(shown.errors)]


def _place(shown: Shown, refusals: list[ReceiptRefusal]) -> None:
    """Put refusals to the receipts they are about; of one that is shown twice, to both."""
    reasons = {(one.stem, one.offset): one.refusal for one in refusals}
    for at, handle in enumerate(shown.handles):
        if at in shown.errors:
            continue
        receipt = read_receipt(handle)
        reason = reasons.get((receipt.stem, receipt.first_offset))
        if reason is not None:
            shown.errors[at] = reason


def _field(shown: Shown, at: int) -> str:
    return f"receipt_handles[{at}]" if shown.is_list else "receipt_handle"


def _error_view(shown: Shown, at: int, refusal: Refusal) -> ReceiptErrorView:
    return ReceiptErrorView(shown.handles[at], refusal.message, refusal.code, _field(shown, at), refusal.outcome)


Settled = AckedView | NackedView | RejectedView | ExtendedView | ReleasedView


def _with_errors(view: Settled, errors: list[ReceiptErrorView]) -> Settled:
    if errors:
        view.errors = errors
    return view
