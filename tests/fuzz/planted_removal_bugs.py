"""Bugs in what is taken away: folders, segments and records that go too early, too late, or in part.

Planted like those of `planted_bugs`.
"""

from collections.abc import Iterable

import pytest

from goqueue.core.agreement import Agreement
from goqueue.core.log import log as log_module
from goqueue.core.log import retention
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor
from goqueue.core.log.log import Log, LogState
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import SaveVote
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.record import Record
from goqueue.fuzz.options import Options
from goqueue.storage import compacting
from goqueue.storage.node_disk import Removal
from tests.fuzz.planted_bugs import Bug


def compacted() -> Options:
    """Worlds of keys and large values, in which time passes."""
    return Options(
        topics=1, partitions_max=1, p_compact=1.0, p_topic_change=0.0, value_bytes_max=20_000, p_batch=1.0,
        in_flight_max=10, p_pause=0.02, steps=250,
    )  # fmt: skip


def rotting() -> Options:
    """The same on a disk that forgets."""
    options = compacted()
    options.p_rot = 0.1
    return options


def a_folder_that_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Removal, "run", lambda removal: None)


def a_deletion_that_a_crash_interrupts_for_good(patch: pytest.MonkeyPatch) -> None:
    """The folder is removed by the process that deleted the topic, or never: the next topic of the name inherits it."""
    real_opened = Agreement.opened

    def opened(
        agreement: Agreement, now: int, state: LogState, entries: Iterable[Entry], vote: SaveVote | None
    ) -> None:
        real_opened(agreement, now, state, entries, vote)
        agreement.state.removing.clear()

    patch.setattr(Agreement, "opened", opened)


def retention_of_one_segment_too_many(patch: pytest.MonkeyPatch) -> None:
    real_count = retention.expired_count

    def count(sealed: list[object], *args: object) -> int:
        found: int = real_count(sealed, *args)  # type: ignore[arg-type]
        return min(found + 1, len(sealed))

    patch.setattr(log_module, "expired_count", count)


def the_last_of_a_key_compacted_away(patch: pytest.MonkeyPatch) -> None:
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: object) -> bool:
        return real_stays(compactor, header, record) and header.base_offset % 3 != 0  # type: ignore[arg-type]

    patch.setattr(Compactor, "_stays", stays)


def damage_that_compaction_signs(patch: pytest.MonkeyPatch) -> None:
    """What compaction reads it does not verify, and what it writes it sums anew."""
    patch.setattr(compacting, "validate", lambda block, at, compacted: read_header(block, at))


def retained_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever too old or too much."""
    patch.setattr(log_module, "expired_count", lambda *_: 0)


def removals_that_stay_for_ever(patch: pytest.MonkeyPatch) -> None:
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: Record) -> bool:
        is_last = record.key is None or record.value is not None or not header.horizon_ms
        return real_stays(compactor, header, record) if is_last else True

    patch.setattr(Compactor, "_stays", stays)


def removals_that_go_at_once(patch: pytest.MonkeyPatch) -> None:
    """Whoever reads late does not learn that a key is gone."""
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: Record) -> bool:
        return real_stays(compactor, header, record) and (record.key is None or record.value is not None)

    patch.setattr(Compactor, "_stays", stays)


def compacted_and_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Of the segments that a compaction has written the log does not take over the first."""
    real_compacted = Log.compacted

    def forget(log: Log, now: int, plan: CompactionPlan, end: int, outputs: list[CompactionOutput]) -> bool:
        outputs[0].segment = None
        return real_compacted(log, now, plan, end, outputs)

    patch.setattr(Log, "compacted", forget)


def keys_that_are_compacted_by_halves(patch: pytest.MonkeyPatch) -> None:
    """Of what a compaction has seen before it forgets the keys: older values stay beside new ones."""
    real_enter = Compactor._enter_keys

    def enter(compactor: Compactor, header: Header, batch: memoryview) -> None:
        if header.base_offset % 3:
            real_enter(compactor, header, batch)

    patch.setattr(Compactor, "_enter_keys", enter)


def retaining() -> Options:
    """Worlds of segments that are soon too many, where clocks jump."""
    return Options(
        retention=True, small_segments=True, value_bytes_max=20_000, in_flight_max=10, p_clock_jump=0.05, topics=1
    )


def removing() -> Options:
    """Worlds of keys that are removed."""
    options = compacted()
    options.p_tombstone = 0.4
    return options


REMOVAL_BUGS = (
    Bug("a folder that stays", a_folder_that_stays, lambda: Options(p_topic_change=0.1), ""),
    Bug(
        "a deletion that a crash interrupts for good",
        a_deletion_that_a_crash_interrupts_for_good,
        lambda: Options(p_topic_change=0.1, p_kill=0.05, think_ns=0),
        "",
    ),
    Bug(
        "retention of one segment too many",
        retention_of_one_segment_too_many,
        retaining,
        "is gone",
    ),
    Bug("the last of a key compacted away", the_last_of_a_key_compacted_away, compacted, ""),
    Bug(
        "damage that compaction signs",
        damage_that_compaction_signs,
        rotting,
        "than it was sent with",
    ),
    Bug("retained for ever", retained_for_ever, retaining, "is there"),
    Bug("removals that stay for ever", removals_that_stay_for_ever, removing, "left"),
    Bug("removals that go at once", removals_that_go_at_once, removing, "compaction"),
    Bug("compacted and forgotten", compacted_and_forgotten, compacted, ""),
    Bug("keys that are compacted by halves", keys_that_are_compacted_by_halves, compacted, "compaction"),
)
