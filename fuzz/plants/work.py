"""Bugs of `core/queues`: leases, attempts, keys, lanes, messages that expire, and the ledger of it all."""

from collections.abc import Sequence

from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues import fetch_buffer as buffers
from goqueue.core.queues.chains import Chains
from goqueue.core.queues.expiry import expiry
from goqueue.core.queues.leases import Leases
from goqueue.core.queues.proving import Answer
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.records import WORK_CODEC, Settled
from goqueue.core.queues.shares import Shares
from goqueue.core.queues.window import Window
from goqueue.core.records.headers import Headers
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import ReceiptRun
from goqueue.core.state.state_log import StateLog
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _acks_that_change_nothing(replace: Replace) -> None:
    def ack(queue: WorkQueue, now: int, receipts: Sequence[ReceiptRun]) -> Answer:
        return queue._open(now, receipts)[0]

    replace(WorkQueue, "ack", ack)


def _acks_that_are_not_kept(replace: Replace) -> None:
    take = WorkQueue.take

    def forgetful(queue: WorkQueue) -> list[bytes]:
        return [content for content in take(queue) if not isinstance(WORK_CODEC.decode(content), Settled)]

    replace(WorkQueue, "take", forgetful)


def _leases_that_end_early(replace: Replace) -> None:
    add = Leases.add

    def hasty(leases: Leases, now: int, number: int, member: str, span_ms: int, runs: list[Run]) -> None:
        add(leases, now, number, member, span_ms // 3, runs)

    replace(Leases, "add", hasty)


def _lease_not_fenced(replace: Replace) -> None:
    """Others are given what a member may believe to have for longer."""
    add = Leases.add

    def hasty(leases: Leases, now: int, number: int, member: str, span_ms: int, runs: list[Run]) -> None:
        add(leases, now, number, member, span_ms // 10, runs)

    replace(Leases, "add", hasty)


def _told_before_agreed(replace: Replace) -> None:
    """Members are told what the ledger of the leader says before anybody else has it."""
    replace(QueueLedger, "durable", property(lambda ledger: ledger.appended))


def _attempts_that_count_twice(replace: Replace) -> None:
    fail = Window.fail

    def twice(window: Window, start: int, end: int) -> None:
        fail(window, start, end)
        fail(window, start, end)

    replace(Window, "fail", twice)


def _attempts_that_are_not_counted(replace: Replace) -> None:
    replace(Window, "fail", lambda window, start, end: None)


def _keys_that_do_not_wait(replace: Replace) -> None:
    replace(Chains, "__contains__", lambda chains, key: False)


def _the_last_first(replace: Replace) -> None:
    """Of a run that is wanted only the end is, and what is before it is left for later."""
    wanted = WorkQueue.wanted

    def hasty(queue: WorkQueue, now: int, member: str, count: int) -> list[Run]:
        reach = queue.ledger.window.reach
        if not reach and not queue.settings.key_ordered:
            return [(1, count + 1)]
        return wanted(queue, now, member, count)

    replace(WorkQueue, "wanted", hasty)


def _lanes_that_share_alike(replace: Replace) -> None:
    """Every lane has the same share, whatever the topic says."""
    set_up = Shares.__attrs_post_init__

    def alike(shares: Shares) -> None:
        shares.weights = (3,) * len(shares.weights)
        set_up(shares)

    replace(Shares, "__attrs_post_init__", alike)


def _lanes_that_starve(replace: Replace) -> None:
    replace(Shares, "_starving", lambda shares, now: [])


def _delivered_when_expired(replace: Replace) -> None:
    replace(buffers, "expiry", lambda headers: None)


def _expired_too_early(replace: Replace) -> None:
    """What is to last for a quarter of an hour is gone at once."""

    def hasty(headers: Headers) -> int | None:
        until_ms = expiry(headers)
        return None if until_ms is None else until_ms - 1_000_000

    replace(buffers, "expiry", hasty)


def _durable_in_an_earlier_term(replace: Replace) -> None:
    """What a leader knew to be durable counts when it leads again, and has a ledger that others wrote."""
    forsake = StateLog._forsake

    def hasty(log: StateLog) -> None:
        durable = log.durable
        forsake(log)
        log.durable = durable if log.side is Side.LEDGER else 0

    replace(StateLog, "_forsake", hasty)
    replace(StateLog, "check", lambda *_: None)


PLANTS = (
    Plant(
        "acks-that-change-nothing",
        "What is acknowledged is not given again.",
        _acks_that_change_nothing,
        worlds=lone.worked,
        said="the ledger does not say so",
    ),
    Plant(
        "acks-that-are-not-kept",
        "An acknowledgement survives a restart.",
        _acks_that_are_not_kept,
        worlds=lone.worked_by_mortals,
    ),
    Plant(
        "leases-that-end-early",
        "A message is one member's for as long as its lease was to last.",
        _leases_that_end_early,
        worlds=lone.worked,
        said="is given to somebody",
    ),
    Plant(
        "lease-not-fenced",
        "A message is leased to one member at a time.",
        _lease_not_fenced,
        nodes=3,
        worlds=clusters.working,
        within=10,
    ),
    Plant(
        "told-before-agreed",
        "Members are told of leases and acknowledgements that the next leader would know of.",
        _told_before_agreed,
        nodes=3,
        worlds=clusters.telling,
        within=5,
        finder="Ledgers",
    ),
    Plant(
        "attempts-that-are-not-counted",
        "Each time that a message is given counts as an attempt.",
        _attempts_that_are_not_counted,
        worlds=lone.worked,
        said="at least",
    ),
    Plant(
        "attempts-that-count-twice",
        "Attempts of a message go up one by one.",
        _attempts_that_count_twice,
        worlds=lone.worked,
        said="as attempt",
    ),
    Plant(
        "delivered-when-expired",
        "A message that has expired is not given.",
        _delivered_when_expired,
        worlds=lone.expiring,
        said="was to be given until",
    ),
    Plant(
        "expired-too-early",
        "A message is given until it expires.",
        _expired_too_early,
        worlds=lone.expiring,
        said="that it has expired",
    ),
    Plant(
        "lanes-that-share-alike",
        "Each lane has the share that its topic says.",
        _lanes_that_share_alike,
        worlds=lone.piling_up,
        said="by weights of",
    ),
    Plant(
        "lanes-that-starve",
        "No lane starves for longer than its topic says.",
        _lanes_that_starve,
        worlds=lone.starving,
        said="have starved",
    ),
    Plant(
        "keys-that-do-not-wait",
        "Of each key one message at a time is given.",
        _keys_that_do_not_wait,
        worlds=lone.worked_by_key,
    ),
    Plant(
        "the-last-first",
        "Messages of a lane are given in their order.",
        _the_last_first,
        worlds=lone.worked_in_order,
    ),
    Plant(
        "ledger-durable-in-an-earlier-term",
        "Members are told of leases that are durable in the term in which they were given.",
        _durable_in_an_earlier_term,
        nodes=3,
        worlds=clusters.telling_again,
        within=10,
        finder="Ledgers",
        tags=("second_failover",),
    ),
)
"""All bugs of work queues."""
