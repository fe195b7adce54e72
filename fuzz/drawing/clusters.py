"""The options of a world of several nodes."""

from random import Random

from goqueue.fuzz.drawing.cluster_profiles import draw_profile
from goqueue.fuzz.drawing.faults import (
    OLDEST_CALAMITIES,
    draw_addresses,
    draw_cluster_faults,
    draw_emptied,
    draw_growing,
)
from goqueue.fuzz.drawing.habits import (
    draw_library,
    draw_programs,
    draw_rarities,
    draw_thresholds,
    draw_visitors,
    draw_wires,
)
from goqueue.fuzz.options import Options

# Trouble ends earlier where much happens in each second, so that no world takes as long as ten others.
_STEPS_MAX = 20_000


def draw_cluster(random: Random, nodes: int) -> Options:
    """The settings of a world of several nodes: less of everything, for longer, and calamities instead of bad luck."""
    options = Options(
        steps=_STEPS_MAX,
        nodes=nodes,
        seconds=random.choice((20, 30, 40)),
        founders=random.choice((0, 0, 0, 1)),
        replicas_max=random.choice((1, 2, 3, 3, 3)),
        min_insync=random.choice((1, 1, 2)),
        patience_ns=random.choice((1_000_000_000, 5_000_000_000, 35_000_000_000)),
        calamities=tuple(kind for kind in OLDEST_CALAMITIES if random.random() < 0.4),
        calamity_ns=random.choice((2_000_000_000, 5_000_000_000, 10_000_000_000)),
        letter_ns_max=random.choice((200_000, 2_000_000, 20_000_000)),
        p_letter_loss=random.choice((0.0, 0.0, 0.0, 0.01, 0.05)),
        p_letter_double=random.choice((0.0, 0.0, 0.02)),
        letters_overtake=random.random() < 0.3,
        encodes=random.random() < 0.3,
        replica_lag_ns=random.choice((1_000_000_000, 3_000_000_000, 10_000_000_000)),
        skew_ms_max=random.choice((0, 0, 1_000, 100_000)),
        drift_ppm_max=random.choice((0, 0, 100)),
        p_acks_leader=random.choice((0.0, 0.0, 0.2)),
        stewards=random.choice((0, 0, 1)),
        producers=random.randint(1, 2),
        sequenced=random.choice((0, 1, 1)),
        consumers=random.choice((0, 1, 1)),
        topics=random.choice((1, 2)),
        partitions_max=random.choice((1, 2, 3)),
        value_bytes_max=random.choice((10, 100, 1_000)),
        in_flight_max=random.choice((1, 3)),
        think_ns=random.choice((50_000_000, 200_000_000, 500_000_000)),
        wait_ns_max=random.choice((100_000_000, 500_000_000)),
        fsyncs=random.choice((("every",), ("every",), ("every",), ("every", "interval", "none"), ("interval", "none"))),
        p_batch=random.choice((0.0, 0.3, 1.0)),
        p_resends=random.choice((0.0, 0.0, 0.5)),
        p_acks_none=random.choice((0.0, 0.0, 0.1)),
        delay_ns_max=random.choice((100_000, 5_000_000)),
        p_split=random.choice((0.0, 0.0, 0.0, 0.2)),
        recent_bytes=random.choice((0, 2_000, 1 << 20)),
    )
    drawn = random.random()
    if drawn < 0.2:
        _draw_members(random, options)
    elif drawn < 0.4:
        _draw_workers(random, options)
    options.p_topic_change = random.choice((0.0, 0.0, 0.01))
    if not options.workers and random.random() < 0.2:
        _draw_upkeep(random, options)
    draw_library(random, options)
    options.hostiles = random.choice((0, 0, 0, 0, 1))
    if random.random() < 0.3:
        options.calamities += ("last",)
    draw_visitors(random, options)
    draw_thresholds(random, options)
    if random.random() < 0.9:
        draw_profile(random, options)
    draw_cluster_faults(random, options)
    draw_wires(random, options)
    draw_programs(random, options)
    draw_growing(random, options)
    draw_addresses(random, options)
    draw_rarities(random, options)
    options.leaves = random.random() < 0.7
    draw_emptied(random, options)
    _draw_peer_bytes(random, options)
    _draw_second_terms(random, options)
    _draw_other_settings(random, options)
    return options


def _draw_peer_bytes(random: Random, options: Options) -> None:
    """Bytes between nodes that arrive damaged, and messages so large that a connection takes them in parts."""
    if not options.peer_bytes:
        return
    options.p_damage = random.choice((0.0, 0.001, 0.005))
    if random.random() < 0.5 and not options.workers:
        options.value_bytes_max, options.p_batch = 20_000, 1.0


def _draw_second_terms(random: Random, options: Options) -> None:
    """Leaders that lead again and again, where many change their minds about what comes later."""
    if options.profile.startswith("delays") and random.random() < 0.35:
        options.p_delay, options.schedulers, options.stewards = 0.9, 3, 3
        options.calamities, options.calamity_ns, options.calamity_lasts_s = ("isolate",), 1_500_000_000, (0.2, 2.0)
        options.topics, options.partitions_max, options.replicas_max = 1, 1, 3
        options.letter_ns_max, options.think_ns = 50_000_000, 30_000_000
        options.seconds, options.library, options.value_bytes_max = 50, 0, min(options.value_bytes_max, 100)
        options.steps = 3 * _STEPS_MAX


def _draw_other_settings(random: Random, options: Options) -> None:
    """Topics that come to be synced, or are no more, where the metadata is summed up all the time."""
    if options.profile.endswith("metadata") and not options.visitors and random.random() < 0.8:
        options.alters_fsync, options.fsyncs = True, ("every", "interval", "none")
        options.p_topic_change = max(options.p_topic_change, 0.03)


def _draw_members(random: Random, options: Options) -> None:
    """Consumer groups in a cluster."""
    options.members, options.eager_members = random.choice(((2, 0), (1, 1), (3, 0), (0, 2)))
    options.polls = random.random() < 0.5
    options.session_ms_max = random.choice((6_000, 18_000))
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.operators = random.choice((0, 0, 1))
    options.p_stray = random.choice((0.0, 0.03))
    options.partitions_max = random.choice((2, 3, 4))
    options.think_ns = random.choice((200_000_000, 1_000_000_000))


def _draw_workers(random: Random, options: Options) -> None:
    """Work queues and delays in a cluster."""
    options.workers = random.choice((1, 2, 3))
    options.shared_groups = random.choice((1, 2))
    options.visibility_ms = random.choice((1_000, 5_000))
    options.attempts_max = random.choice((1, 2, 4))
    options.session_ms_max = random.choice((3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.02))
    options.p_delay = random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.think_ns = random.choice((100_000_000, 300_000_000))


def _draw_upkeep(random: Random, options: Options) -> None:
    """Logs in a cluster that are compacted or lose their beginnings: for that they must have some segments."""
    options.small_segments = True
    options.value_bytes_max = random.choice((10_000, 20_000))
    if random.random() < 0.5:
        options.retention = True
    else:
        options.p_compact, options.p_tombstone = 0.7, random.choice((0.0, 0.2))
