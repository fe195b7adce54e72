"""The options of a world of one node."""

from random import Random

from goqueue.fuzz.drawing.faults import draw_node_faults
from goqueue.fuzz.drawing.habits import (
    draw_library,
    draw_programs,
    draw_rarities,
    draw_thresholds,
    draw_visitors,
    draw_wires,
)
from goqueue.fuzz.drawing.single_profiles import draw_profile
from goqueue.fuzz.options import Options


def draw_options(random: Random) -> Options:
    """One world's settings."""

    def rate(most: float, share: float = 0.4) -> float:
        return round(random.uniform(0.1 * most, most), 4) if random.random() < share else 0.0

    options = Options(
        steps=random.choice((100, 100, 150, 250)),
        producers=random.randint(1, 3),
        sequenced=random.choice((0, 0, 1, 2)),
        consumers=random.randint(0, 2),
        topics=random.randint(1, 3),
        partitions_max=random.choice((1, 1, 2, 3)),
        value_bytes_max=random.choice((10, 100, 3_000, 20_000)),
        in_flight_max=random.choice((1, 3, 10)),
        think_ns=random.choice((0, 300_000, 3_000_000)),
        wait_ns_max=random.choice((0, 5_000_000, 100_000_000)),
        fsyncs=random.choice((("every",), ("every",), ("every", "interval", "none"), ("interval",), ("none",))),
        small_segments=random.random() < 0.5,
        retention=random.random() < 0.3,
        p_batch=random.choice((0.0, 0.3, 1.0)),
        p_topic_change=rate(0.1, 0.6),
        p_cold=rate(1.0),
        p_slow=rate(0.2),
        reserves=random.random() < 0.1,
        p_crash=rate(0.02),
        p_kill=rate(0.02),
        p_cut_inside=rate(0.02),
        p_stop=rate(0.01),
        p_sync_error=rate(0.02),
        p_write_error=rate(0.02),
        p_read_error=rate(0.02, 0.2),
        p_other_error=rate(0.02, 0.2),
        p_full=rate(0.01, 0.3),
        p_clock_jump=rate(0.02, 0.3),
        p_compact=random.choice((0.0, 0.0, 0.0, 0.7)),
        p_tombstone=random.choice((0.0, 0.2)),
        alters_fsync=random.random() < 0.2,
        delay_ns_max=random.choice((1_000, 100_000, 5_000_000)),
        p_resends=random.choice((0.0, 0.0, 0.5)),
        p_split=random.choice((0.0, 0.0, 0.0, 0.0, 0.2, 1.0)),
        p_pause=rate(0.02, 0.3),
        p_rot=rate(0.1, 0.3),
        p_acks_none=random.choice((0.0, 0.0, 0.1)),
        p_cut=rate(0.03, 0.3),
        p_half_open=rate(0.02, 0.3),
        p_stall=rate(0.02, 0.3),
        p_hang_up=rate(0.03, 0.3),
        recent_bytes=random.choice((0, 2_000, 1 << 20)),
    )
    drawn = random.random()
    if drawn < 0.25:
        _draw_groups(random, options)
    elif drawn < 0.5:
        _draw_work(random, options)
    draw_library(random, options)
    options.hostiles = random.choice((0, 0, 0, 0, 1))
    draw_visitors(random, options)
    draw_thresholds(random, options)
    draw_node_faults(random, options)
    if random.random() < 0.9:
        draw_profile(random, options)
    draw_wires(random, options)
    draw_programs(random, options)
    draw_rarities(random, options)
    return options


def _draw_work(random: Random, options: Options) -> None:
    """Work queues live by the second as well, and nothing of theirs is about compaction."""
    options.shared_groups = random.choice((1, 2, 2))
    options.workers = random.choice((0, 1, 2, 4))
    options.visibility_ms = random.choice((200, 1_000, 5_000))
    options.attempts_max = random.choice((1, 2, 4))
    options.held_max = random.choice((1, 5, 1_000))
    options.session_ms_max = random.choice((1_000, 3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.02, 0.1))
    options.p_delay = random.choice((0.0, 0.0, 0.3, 1.0)) if options.workers else random.choice((0.3, 1.0))
    options.p_ttl = random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.undertakers = random.choice((0, 0, 1)) if options.workers else 0
    options.producers = random.choice((1, 1, 2))
    options.sequenced = random.choice((0, 0, 1))
    options.consumers = random.choice((0, 1))
    options.p_compact = options.p_tombstone = 0.0
    options.steps = random.choice((150, 250, 400))
    options.think_ns = random.choice((3_000_000, 30_000_000, 200_000_000))
    options.lane_weights = random.choice(("", "5/4/3/2/1", "3/1/1/1/1"))
    options.starvation_ms = random.choice((0, 500))


def _draw_groups(random: Random, options: Options) -> None:
    """Groups live by the second: such a world is longer, slower and has less of everything else."""
    options.groups = random.choice((1, 1, 2))
    options.members = random.randint(0, 3)
    options.eager_members = random.randint(0 if options.members > 1 else 1, 2)
    options.polls = random.random() < 0.5
    options.operators = random.choice((0, 1))
    options.session_ms_max = random.choice((1_000, 3_000, 6_000, 18_000))
    options.p_stray = random.choice((0.0, 0.03, 0.1))
    options.producers = 1
    options.partitions_max = random.choice((2, 3, 4))
    options.sequenced = min(options.sequenced, 1)
    options.consumers = 0
    options.steps = random.choice((250, 400))
    options.think_ns = random.choice((30_000_000, 200_000_000, 1_000_000_000, 5_000_000_000))
