"""The facts of one work queue at a time: what each record of a ledger says, and on whose account.

    Delivered   a lease begins; that is a fact once its member is told (`work.py`)
    Settled     somebody acknowledged, or a message was given up where nobody keeps dead letters
    Returned    nacked, released, expired, lost with its member, left by it, or unheard: no poll waited for it any more
    Doomed      given up: tried too often, rejected, or expired by its own time
    Extended    a lease lasts longer, or less long
    Restarted   the queue begins; or it was reset, and all leases end; or retention has taken all that it knew of
    Cut         leases beyond an offset end; no record at all: the group ended

A record does not say whether a failure was a nack, a time-out or the end of a member. A nack has a request that shows
the receipt, and came before the lease was over. Of the others the lease was over, or its member was lost before that.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from goqueue.core.node import Node
from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.queue import EXPIRED, REJECTED, TOO_OFTEN, WorkQueue
from goqueue.core.queues.records import (
    WORK_CODEC,
    Cut,
    Delivered,
    Doomed,
    Extended,
    Restarted,
    Returned,
    Settled,
    unpacked_runs,
    unpacked_triples,
)
from goqueue.core.queues.window import Window
from goqueue.core.requests.queues import AckWork, ExtendWork, NackWork, RejectWork, ReleaseWork
from goqueue.spark.facts.claims import Claims, Done, Showing
from goqueue.spark.facts.holdings import Held, Holdings, Piece, pieces_of
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.services import groups_of

_NO_WINDOW = Window()
# What a queue says of a message that it gives up, and what facts say.
_CAUSES = {TOO_OFTEN: "attempts", REJECTED: "rejected", EXPIRED: "expired"}


def cause_of(reason: str) -> str:
    """Why a message was given up, as facts say it; what was said of it stands behind a colon in a reason."""
    word = reason.partition(":")[0]
    return _CAUSES.get(word, word)


class Queues:
    """Notes what records say of leases, and closes these."""

    def __init__(self, notebook: Notebook, claims: Claims) -> None:
        self._notebook = notebook
        self._claims = claims
        self._node: Node
        self._live: WorkQueue | None = None
        # Groups and topics of which a reset is under way, and how many.
        self.resets: Counter[tuple[str, str]] = Counter()
        self._reads: dict[type, Callable[[Holdings, Any], None]] = {
            Delivered: self._delivered,
            Settled: self._settled,
            Returned: self._returned,
            Doomed: self._doomed,
            Extended: self._extended,
            Restarted: self._restarted,
            Cut: self._cut,
        }

    def read(self, node: Node, live: WorkQueue | None, holdings: Holdings, content: bytes) -> None:
        """A record of a queue; `live` is the queue after all of this turn, None if it is there no more."""
        record = WORK_CODEC.decode(content)
        read = self._reads.get(type(record))
        if read is not None:
            self._node, self._live = node, live
            read(holdings, record)
        holdings.is_new = False

    def end(self, holdings: Holdings) -> None:
        """The group is no more."""
        self._take_back(holdings, 0, "ended")

    def deleted(self, holdings: Holdings) -> None:
        """The topic is no more, and whatever members have of it goes nowhere."""
        for held in [*holdings.leases.values()]:
            self._note_all("doomed", holdings, held, holdings.close(held, 0, held.pieces[-1].end), cause="deleted")

    def note(self, kind: str, holdings: Holdings, held: Held, piece: Piece, **columns: object) -> None:
        """A fact about a piece of a lease."""
        topic, partition = holdings.slot
        self._notebook.note(
            kind, topic=topic, topic_id=holdings.topic_id, partition=partition, group=holdings.group,
            member=held.member or None,
            first=piece.first, end=piece.end, attempt=piece.attempt, lane=piece.lane, lease=held.number,
            epoch=holdings.epoch, **columns,
        )  # fmt: skip

    # --- leases begin and go on

    def _window(self) -> Window:
        return _NO_WINDOW if self._live is None else self._live.ledger.window

    def _wall_ms(self, at: int) -> int:
        return self._node.clock.wall_ms(at)

    def _delivered(self, holdings: Holdings, record: Delivered) -> None:
        runs = unpacked_runs(record.leased)
        if not runs:
            return
        has_lanes = self._live is not None and not self._live.settings.key_ordered
        pieces = pieces_of(self._window(), sorted(runs), has_lanes=has_lanes)
        until = self._notebook.at + record.span_ms * 1_000_000
        written = self._notebook.event.number
        held = Held(record.lease, record.member, until, {}, pieces, [*pieces], written, record.span_ms, until)
        holdings.leases[record.lease] = held
        self._learn_end(held)

    def _learn_end(self, held: Held) -> None:
        """When the lease is over, as the node has it while anything is open."""
        lease = None if self._live is None else self._live.ledger.leases.get(held.number)
        if lease is not None:
            held.until, held.own = lease.until, dict(lease.own)

    def _extended(self, holdings: Holdings, record: Extended) -> None:
        held = holdings.leases.get(record.lease)
        if held is None:
            return
        held.least = min(held.least, self._notebook.at + record.span_ms * 1_000_000)
        for first, end in unpacked_runs(record.runs):
            showing = self._claims.why(holdings, held, first, (ExtendWork,))
            due_ms = self._wall_ms(self._notebook.at) + record.span_ms
            for piece in held.within(first, end) if showing is not None else ():
                assert showing is not None
                showing.done.append(Done(holdings, held, piece, due_ms))
        self._learn_end(held)

    # --- leases end

    def _closed(self, holdings: Holdings, number: int, runs: Iterable[Run]) -> "list[tuple[Held, Run, list[Piece]]]":
        """The pieces of some runs of a lease, which are closed by that."""
        held = holdings.leases.get(number)
        if held is None:
            # It began and ended within a turn that is not in the capture, or before the ledger was looked at.
            held, window = Held(number, "", self._notebook.at + 1, {}, []), self._window()
            return [(held, run, pieces_of(window, [run], has_lanes=False)) for run in runs]
        return [(held, run, holdings.close(held, *run)) for run in runs]

    def _settled(self, holdings: Holdings, record: Settled) -> None:
        for number, first, end in unpacked_triples(record.runs):
            if not number:
                self._end_run(holdings, first, end, "gone")
                continue
            for held, run, pieces in self._closed(holdings, number, [(first, end)]):
                showing = self._claims.why(holdings, held, run[0], (AckWork,))
                if showing is not None:
                    showing.done += [Done(holdings, held, piece) for piece in pieces]
                elif self._live is None or self._live.settings.dlq:
                    # Whoever acknowledged asked before the file began, unless somebody rejected it here.
                    is_rejected = self._claims.why(holdings, held, run[0], (RejectWork,)) is not None
                    self._note_all("acked", holdings, held, pieces, cause="rejected" if is_rejected else None)
                else:
                    self._dropped(holdings, held, run, pieces)

    def _dropped(self, holdings: Holdings, held: Held, run: Run, pieces: list[Piece]) -> None:
        """Messages were given up, and nobody keeps them."""
        showing = self._claims.why(holdings, held, run[0], (NackWork, RejectWork))
        is_rejected = showing is not None and isinstance(showing.errand.request, RejectWork)
        is_stale = showing is None and bool(held.given) and held.ends(run[0]) > self._notebook.at
        cause = "rejected" if is_rejected else "expired" if is_stale else "attempts"
        self._note_all("doomed", holdings, held, pieces, cause=cause, detail="dropped: the topic keeps no dead letters")

    def _returned(self, holdings: Holdings, record: Returned) -> None:
        due_ms = record.until_ms if record.delay_ms else None
        for held, run, pieces in self._closed(holdings, record.lease, unpacked_runs(record.runs)):
            early_ms = None
            if record.failed:
                cause, words = self._failure(holdings, held, run[0])
                early_ms = self._early_ms(held) if cause == "expired" else None
            else:
                cause, words = self._handed_back(holdings, held, run[0]), None
            self._note_all("returned", holdings, held, pieces, cause=cause, due=due_ms, detail=words, value=early_ms)

    def _early_ms(self, held: Held) -> int | None:
        """How long before the end that its record says a lease ran out, if that was half of its time or more.

        A record is written a moment after the time from which it counts.
        """
        early_ms = (held.least - self._notebook.at) // 1_000_000
        return early_ms if held.span_ms and 2 * early_ms >= held.span_ms else None

    def _failure(self, holdings: Holdings, held: Held, first: int) -> tuple[str, str | None]:
        """Why a delivery failed, and what its member said."""
        showing = self._claims.why(holdings, held, first, (NackWork,))
        if showing is not None:
            return "nacked", showing.errand.request.reason or None
        return "expired" if held.ends(first) <= self._notebook.at else "lost", None

    def _handed_back(self, holdings: Holdings, held: Held, first: int) -> str:
        if self._claims.why(holdings, held, first, (ReleaseWork,)) is not None:
            return "released"
        return "unheard" if groups_of(self._node).is_member(holdings.group, held.member) else "left"

    def _doomed(self, holdings: Holdings, record: Doomed) -> None:
        reason, _, words = record.reason.partition(":")
        for held, run, pieces in self._closed(holdings, record.lease, unpacked_runs(record.runs)):
            detail: str | None = words or None
            if reason == TOO_OFTEN:
                failure, said = self._failure(holdings, held, run[0])
                detail = f"{failure}: {said}" if said else failure
            self._note_all("doomed", holdings, held, pieces, cause=cause_of(reason), detail=detail)

    def _restarted(self, holdings: Holdings, record: Restarted) -> None:
        """A queue is begun with such a record, is reset by one, and gets one when the partition begins beyond it."""
        topic, partition = holdings.slot
        led = self._node.led.streams.get(f"logs/{topic}/{partition}")
        if (holdings.group, topic) in self.resets:
            self._take_back(holdings, 0, "reset")
        elif holdings.is_new:
            # What it holds, if anything, was leased after this record in the same turn, and is told by records to come.
            holdings.leases.clear()
            self._note_restart(holdings, record.floor, "began")
        elif led is not None and 0 < record.floor == led.log.start_offset:
            self._end_run(holdings, 0, record.floor, "gone")
            self._note_restart(holdings, 0, "gone")
        else:
            self._take_back(holdings, 0, "reset")

    def _cut(self, holdings: Holdings, record: Cut) -> None:
        self._take_back(holdings, record.reach, "cut")

    def _take_back(self, holdings: Holdings, first: int, cause: str) -> None:
        """All leases of messages from an offset on end, and whatever became of these is forgotten."""
        self._note_restart(holdings, first, cause)
        for held in [*holdings.leases.values()]:
            last = held.pieces[-1].end
            self._note_all("returned", holdings, held, holdings.close(held, first, last), cause=cause)

    def _note_restart(self, holdings: Holdings, first: int, cause: str) -> None:
        topic, partition = holdings.slot
        self._notebook.note(
            "restarted", topic=topic, topic_id=holdings.topic_id, partition=partition, group=holdings.group,
            first=first, epoch=holdings.epoch, cause=cause,
        )  # fmt: skip

    def _end_run(self, holdings: Holdings, first: int, end: int, cause: str) -> None:
        """Messages are no more, whoever has them."""
        for held in [*holdings.leases.values()]:
            self._note_all("doomed", holdings, held, holdings.close(held, first, end), cause=cause)

    def _note_all(self, kind: str, holdings: Holdings, held: Held, pieces: list[Piece], **columns: object) -> None:
        for piece in pieces:
            self.note(kind, holdings, held, piece, **columns)

    # --- answers

    def answered(self, showing: Showing, cause: str | None) -> None:
        """What was done for a request is known to whoever asked, or for `cause` is not."""
        kind = "extended" if isinstance(showing.errand.request, ExtendWork) else "acked"
        for done in showing.done:
            self.note(
                kind, done.holdings, done.held, done.piece, due=done.due_ms, since=showing.errand.at,
                client=showing.errand.caller.client_id or None, cause=cause,
            )  # fmt: skip

    def promised(self, showing: Showing, refused: set[tuple[str, int]], find: Callable[[int], Holdings | None]) -> None:
        """An acknowledgement was answered as done; what the ledger has nothing of is told of."""
        request = showing.errand.request
        for run in request.receipts if isinstance(request, AckWork) else ():
            for holdings, held in self._claims.leases_of(run, find):
                for piece in held.within(run.first_offset, run.first_offset + run.count):
                    if not any((run.stem, offset) in refused for offset in range(piece.first, piece.end)):
                        self.note("acked", holdings, held, piece, since=showing.errand.at, cause="unwritten")
