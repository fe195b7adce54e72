"""Bugs of retention and compaction: segments and records that go too early, too late, or in part."""

from goqueue.core.log import log as log_module
from goqueue.core.log import retention
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor
from goqueue.core.log.log import Log
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.record import Record
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.storage import compacting


def _retention_of_one_segment_too_many(replace: Replace) -> None:
    real_count = retention.expired_count

    def count(sealed: list[object], *args: object) -> int:
        found: int = real_count(sealed, *args)  # type: ignore[arg-type]
        return min(found + 1, len(sealed))

    replace(log_module, "expired_count", count)


def _retained_for_ever(replace: Replace) -> None:
    """Nothing is ever too old or too much."""
    replace(log_module, "expired_count", lambda *_: 0)


def _the_last_of_a_key_compacted_away(replace: Replace) -> None:
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: object) -> bool:
        return real_stays(compactor, header, record) and header.base_offset % 3 != 0  # type: ignore[arg-type]

    replace(Compactor, "_stays", stays)


def _removals_that_stay_for_ever(replace: Replace) -> None:
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: Record) -> bool:
        is_last = record.key is None or record.value is not None or not header.horizon_ms
        return real_stays(compactor, header, record) if is_last else True

    replace(Compactor, "_stays", stays)


def _removals_that_go_at_once(replace: Replace) -> None:
    """Whoever reads late does not learn that a key is gone."""
    real_stays = Compactor._stays

    def stays(compactor: Compactor, header: Header, record: Record) -> bool:
        return real_stays(compactor, header, record) and (record.key is None or record.value is not None)

    replace(Compactor, "_stays", stays)


def _compacted_and_forgotten(replace: Replace) -> None:
    """Of the segments that a compaction has written the log does not take over the first."""
    real_compacted = Log.compacted

    def forget(log: Log, now: int, plan: CompactionPlan, end: int, outputs: list[CompactionOutput]) -> bool:
        outputs[0].segment = None
        return real_compacted(log, now, plan, end, outputs)

    replace(Log, "compacted", forget)


def _keys_that_are_compacted_by_halves(replace: Replace) -> None:
    """Of what a compaction has seen before it forgets the keys: older values stay beside new ones."""
    real_enter = Compactor._enter_keys

    def enter(compactor: Compactor, header: Header, batch: memoryview) -> None:
        if header.base_offset % 3:
            real_enter(compactor, header, batch)

    replace(Compactor, "_enter_keys", enter)


def _damage_that_compaction_signs(replace: Replace) -> None:
    """What compaction reads it does not verify, and what it writes it sums anew."""
    replace(compacting, "validate", lambda block, at, compacted: read_header(block, at))


PLANTS = (
    Plant(
        "retention-of-one-segment-too-many",
        "A segment stays as long as its age and the size of the log let it.",
        _retention_of_one_segment_too_many,
        worlds=lone.retaining,
        said="is gone",
    ),
    Plant(
        "retained-for-ever",
        "A segment that is too old, or more than the log may hold, goes.",
        _retained_for_ever,
        worlds=lone.retaining,
        said="is there",
    ),
    Plant(
        "the-last-of-a-key-compacted-away",
        "Compaction keeps the last message of each key.",
        _the_last_of_a_key_compacted_away,
        worlds=lone.compacted,
    ),
    Plant(
        "removals-that-stay-for-ever",
        "A removal that everybody has had the time to read is compacted away.",
        _removals_that_stay_for_ever,
        worlds=lone.removing,
        said="left",
    ),
    Plant(
        "removals-that-go-at-once",
        "A removal stays as long as its topic says, so that late readers learn of it.",
        _removals_that_go_at_once,
        worlds=lone.removing,
        said="compaction",
    ),
    Plant(
        "compacted-and-forgotten",
        "What a compaction has kept is in the log afterwards.",
        _compacted_and_forgotten,
        worlds=lone.compacted,
    ),
    Plant(
        "keys-that-are-compacted-by-halves",
        "Of what a compaction has read, each key has one message left.",
        _keys_that_are_compacted_by_halves,
        worlds=lone.compacted,
        said="compaction",
    ),
    Plant(
        "damage-that-compaction-signs",
        "A batch that is damaged on the disk is never given as a sound one.",
        _damage_that_compaction_signs,
        worlds=lone.rotting,
        said="than it was sent with",
    ),
)
"""All bugs of what is taken away from logs."""
