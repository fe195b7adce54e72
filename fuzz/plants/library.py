"""Bugs that somebody might really write into the client library; see `plants.py`.

Each loses, doubles or promises something now and then, and none shows in a world in which nothing happens. Most are
found by what users of the library were handed and told (`checkers/handing.py`, `checkers/told.py`).
"""

from goqueue.core.client import settling
from goqueue.core.client.credit import Credit
from goqueue.core.client.failure import Failure
from goqueue.core.client.fetching import Cursor, Fetching
from goqueue.core.client.membership import Lost
from goqueue.core.client.pipeline import Pipeline
from goqueue.core.client.record_batch import RecordBatch
from goqueue.core.client.session import Session
from goqueue.core.client.settling import Settling
from goqueue.core.client.work_session import Tended, WorkSession
from goqueue.core.groups.state import Slot
from goqueue.core.requests.queues import WorkDone
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.transports.client.group_consumer import GroupConsumer
from goqueue.transports.client.handover import Handover, Holding
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.work_consumer import WorkConsumer

_MS = 1_000_000


# --- groups


def _commit_ahead(replace: Replace) -> None:
    """What is committed now and then has the message in it that the application works on."""
    replace(GroupConsumer, "_done", GroupConsumer._positions)


def _commit_of_what_came(replace: Replace) -> None:
    """Whoever lets go of a partition commits what has come of it, handed out or not."""

    def want_back(handover: Handover, holding: Holding) -> None:
        cursor = holding.cursor
        came = cursor.fetched
        withhold(handover, holding)
        if not handover._hands.holds(cursor):
            cursor.position = came

    withhold = Handover._withhold
    replace(Handover, "_withhold", want_back)


def _revoked_still_read(replace: Replace) -> None:
    """What is wanted back is read on until the application asks for nothing of it any more."""
    replace(Handover, "_withhold", lambda *_: None)


def _lost_still_read(replace: Replace) -> None:
    """What is lost is read on by who had it."""
    lose = Handover._lose

    def careless(handover: Handover, lost: Lost) -> None:
        cursors = [handover.holdings[slot].cursor for slot in lost.slots if slot in handover.holdings]
        lose(handover, lost)
        handover._fetching.cursors.extend(cursors)

    replace(Handover, "_lose", careless)


def _place_of_the_former(replace: Replace) -> None:
    """Whoever gets a partition begins behind what the group has committed."""
    place = vars(Handover)["_begin"]

    async def hasty(handover: Handover, slots: list[Slot]) -> object:
        places = await place(handover, slots)
        for one in places.values():
            if one.committed > 0:
                one.offset += 1
        return places

    replace(Handover, "_begin", hasty)


def _batch_cut_short(replace: Replace) -> None:
    """Of a batch in hand the rest counts as handed out when another one is asked for."""
    handed = Fetching.handed

    def hasty(fetching: "Fetching[object]", cursor: Cursor, offset: int) -> None:
        handed(fetching, cursor, max(offset, cursor.fetched))

    replace(Fetching, "handed", hasty)


# --- work


def _ack_forgotten(replace: Replace) -> None:
    """What was under way when the connection was lost is taken for heard."""

    def careless(one: Settling) -> None:
        under_way, one._under_way = one._under_way, {}
        for slip in under_way.values():
            one._finish(slip)

    replace(Settling, "lost", careless)


def _refusals_overlooked(replace: Replace) -> None:
    """What the broker refuses of what was said is taken for done."""
    answered = Settling.answered

    def careless(one: Settling, now: int, number: int, done: WorkDone) -> None:
        answered(one, now, number, WorkDone(done.done, []))

    replace(Settling, "answered", careless)


def _expired_as_acked(replace: Replace) -> None:
    """To acknowledge what was not heard and is over counts as done, as with what is handed back."""
    real = vars(settling)["_has_happened"]

    def generous(slip: settling.Slip, failure: Failure) -> bool:
        return failure.code in vars(settling)["_OVER"] or real(slip, failure)

    replace(settling, "_has_happened", generous)


def _extended_too_late(replace: Replace) -> None:
    """A lease is prolonged when it is over, and not when half of it is."""
    tend = WorkSession.tend

    def late(session: "WorkSession[object]", now: int, grant: object, offset: int) -> Tended:
        tended = tend(session, now, grant, offset)  # type: ignore[arg-type]
        tended.due = tended.until
        return tended

    replace(WorkSession, "tend", late)


def _handed_back_and_out(replace: Replace) -> None:
    """What is handed back for having waited too long is handed out all the same."""

    def rest(consumer: WorkConsumer) -> list[tuple[object, int]]:
        consumer._fresh_until = 0
        messages = [*consumer._messages]
        consumer._messages = iter(messages)
        consumer._fresh_until = consumer._clock() + 1_000 * _MS if messages else 0
        return [(message.claim.grant, message.offset) for message in messages]

    replace(WorkConsumer, "_take_rest", rest)


def _credit_for_what_is_held(replace: Replace) -> None:
    """With each new stream the broker may send as much as if nothing were held."""

    def begin(credit: Credit) -> None:
        credit.messages_open, credit.bytes_open = -credit.messages_held, -credit.bytes_held

    def take(credit: Credit, **_idle: bool) -> tuple[int, int] | None:
        messages, size = credit.messages_max - max(credit.messages_open, 0), credit.bytes_max - credit.bytes_open
        if messages <= 0 and size <= 0:
            return None
        credit.messages_open, credit.bytes_open = credit.messages_max, credit.bytes_max
        return max(messages, 0), max(size, 0)

    replace(Credit, "begin", begin)
    replace(Credit, "take", take)


def _settled_in_hand(replace: Replace) -> None:
    """What is said first of a message is forgotten once something else is said."""

    def again(_message: LeasedMessage, saying: settling.Saying) -> settling.Slip:
        slip = settling.Slip(saying)
        slip.is_done = True
        return slip

    replace(LeasedMessage, "_again", again)


# --- producers


def _moved_as_done(replace: Replace) -> None:
    """What was sent to a leader that was replaced counts as published."""
    move = Session._move

    def hasty(session: Session, pipeline: Pipeline, address: str) -> None:
        if address != pipeline.address:
            for parcel in [parcel for parcel in pipeline.flight if parcel.request_id]:
                session._withdraw(parcel)
                session._settle(parcel, -1, None)
        move(session, pipeline, address)

    replace(Session, "_move", hasty)


def _doubt_forgotten(replace: Replace) -> None:
    """A message that fails was stored by nobody, whatever became of the attempts before the last."""
    replace(RecordBatch, "may_be_stored", property(lambda _: False))


def _reading() -> Options:
    """Worlds of one node in which readers come and go."""
    return _programs(readers=2, wire_trouble_ns=500 * _MS)


def _handing_over() -> Options:
    return _programs(readers=3, p_stray=0.02)


def _laboring() -> Options:
    """Worlds of one node in which laborers have trouble with their connections."""
    return _programs(laborers=2, wire_trouble_ns=300 * _MS, visibility_ms=1_000)


def _patiently() -> Options:
    """Worlds of one node in which work takes longer than leases last."""
    return _programs(laborers=3, visibility_ms=500, p_topic_change=0.0, steps=800, think_ns=200 * _MS)


def _programs(**others: object) -> Options:
    options = Options(
        steps=500, publishers=1, producers=0, consumers=0, topics=1, partitions_max=3, think_ns=60 * _MS,
        p_topic_change=0.02, session_ms_max=3_000, value_bytes_max=20, recent_bytes=1 << 20,
    )  # fmt: skip
    for name, value in others.items():
        setattr(options, name, value)
    return options


def _leading() -> Options:
    """Worlds of several nodes whose leaders are replaced, and connections cut."""
    return short_worlds(
        "kill", "pause", "isolate", producers=0, consumers=0, publishers=2, seconds=20, partitions_max=3,
        wire_trouble_ns=1_000 * _MS, think_ns=100 * _MS,
    )  # fmt: skip


PLANTS: tuple[Plant, ...] = (
    Plant(
        "commit-ahead",
        "A group's offset is not ahead of what its members' programs were handed.",
        _commit_ahead,
        nodes=1,
        worlds=_reading,
        within=10,
        finder="Handing",
    ),
    Plant(
        "commit-of-what-came",
        "Only what a program was handed is committed.",
        _commit_of_what_came,
        nodes=1,
        worlds=_handing_over,
        within=20,
        seed=20,
        finder="Handing",
    ),
    Plant(
        "revoked-still-read",
        "A partition that was let go of is read no more.",
        _revoked_still_read,
        nodes=1,
        worlds=_handing_over,
        within=20,
        finder="Handing",
    ),
    Plant(
        "lost-still-read",
        "Who is no member any more hands out nothing.",
        _lost_still_read,
        nodes=1,
        worlds=_reading,
        within=30,
        finder="Handing",
        tags=("lost_answer",),
    ),
    Plant(
        "place-of-the-former",
        "A reader begins where its group is committed.",
        _place_of_the_former,
        nodes=1,
        worlds=_handing_over,
        within=10,
        finder="Handing",
    ),
    Plant(
        "batch-cut-short",
        "Of what is fetched nothing is passed over.",
        _batch_cut_short,
        nodes=1,
        worlds=_handing_over,
        within=30,
        finder="Handing",
    ),
    Plant(
        "ack-forgotten",
        "What a program is told is acknowledged stays acknowledged.",
        _ack_forgotten,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
        tags=("lost_answer",),
    ),
    Plant(
        "refusals-overlooked",
        "A program is told which of its acknowledgements were refused.",
        _refusals_overlooked,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
    ),
    Plant(
        "expired-as-acked",
        "What a program is told is acknowledged was acknowledged while its lease lasted.",
        _expired_as_acked,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
    ),
    Plant(
        "extended-too-late",
        "A lease lasts as long as its program holds the message.",
        _extended_too_late,
        nodes=1,
        worlds=_patiently,
        within=30,
        finder="Told",
    ),
    Plant(
        "handed-back-and-out",
        "What is handed back is not handed out.",
        _handed_back_and_out,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
    ),
    Plant(
        "credit-for-what-is-held",
        "A program holds no more messages than it asked for.",
        _credit_for_what_is_held,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
    ),
    Plant(
        "settled-in-hand",
        "A program is told what became of what it said of a message first.",
        _settled_in_hand,
        nodes=1,
        worlds=_laboring,
        within=20,
        finder="Told",
    ),
    Plant(
        "moved-as-done",
        "What a program is told is published is in the log.",
        _moved_as_done,
        nodes=3,
        worlds=_leading,
        within=10,
        finder="Told",
        tags=("lost_answer",),
    ),
    Plant(
        "doubt-forgotten",
        "A message that failed as not stored is in no log.",
        _doubt_forgotten,
        nodes=3,
        worlds=_leading,
        within=10,
        finder="Undone",
        tags=("lost_answer",),
    ),
)
"""These bugs."""
