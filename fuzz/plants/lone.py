"""Narrow worlds of one node: each has what it takes to show some bugs soon, and little else."""

from goqueue.fuzz.options import Options


def crashing() -> Options:
    """Worlds in which machines crash and no more."""
    return Options(p_crash=0.03, p_topic_change=0.0, value_bytes_max=50)


def dying_amid_work() -> Options:
    """Worlds in which machines crash amid operations and between them."""
    return Options(
        p_split=1.0, p_crash=0.03, p_cut_inside=0.05, p_topic_change=0.0, value_bytes_max=20_000, in_flight_max=10,
        small_segments=True, topics=1, partitions_max=1,
    )  # fmt: skip


def quiet() -> Options:
    """Worlds in which nothing fails."""
    return Options(p_topic_change=0.0, consumers=2, think_ns=0)


def numbered() -> Options:
    """Worlds of producers that number their records, on bad links to a process that dies."""
    return Options(
        producers=0, sequenced=2, consumers=0, topics=1, partitions_max=1, p_topic_change=0.0,
        p_cut=0.04, p_hang_up=0.04, p_kill=0.03, p_sync_error=0.02,
    )  # fmt: skip


def refusing() -> Options:
    """The same on long links, to a process that takes one batch and refuses the one before."""
    options = numbered()
    options.delay_ns_max, options.p_sync_error, options.p_write_error = 5_000_000, 0.05, 0.05
    return options


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


def grouped() -> Options:
    """Worlds of members that come and go, on a node that does not die."""
    return Options(
        members=3, eager_members=1, groups=1, partitions_max=3, producers=1, consumers=0, p_topic_change=0.0,
        p_stray=0.1, session_ms_max=4_000, think_ns=100_000_000, steps=250,
    )  # fmt: skip


def operated() -> Options:
    """The same with somebody who looks after the groups."""
    options = grouped()
    options.operators = 2
    return options


def hurried() -> Options:
    """The same in haste."""
    options = operated()
    options.think_ns, options.steps = 30_000_000, 400
    return options


def contended() -> Options:
    """Longer ones, of many members for few partitions."""
    options = grouped()
    options.topics, options.partitions_max, options.members, options.eager_members = 1, 4, 3, 2
    options.think_ns, options.steps, options.value_bytes_max = 50_000_000, 400, 10
    return options


def mortal() -> Options:
    """The same on a machine that crashes."""
    options = grouped()
    options.p_crash = 0.02
    return options


def polling() -> Options:
    """Worlds of members that poll."""
    options = grouped()
    options.members, options.eager_members, options.polls = 0, 3, True
    return options


def visited() -> Options:
    """Worlds of groups that are not kept for long, on a broker that is begun anew now and then."""
    return Options(
        visitors=3, visit_ms=4_000, groups=1, partitions_max=2, producers=1, consumers=0, p_topic_change=0.0,
        think_ns=300_000_000, steps=400, p_kill=0.005,
    )  # fmt: skip


def visited_and_begun_anew() -> Options:
    """The same of a broker that never lives as long as a group is kept."""
    options = visited()
    options.visitors, options.visit_ms, options.p_kill, options.steps = 6, 1_500, 0.05, 1_500
    return options


def visited_by_a_wrong_clock() -> Options:
    """The same while somebody sets the clock."""
    options = visited()
    options.p_kill, options.p_clock_jump = 0.0, 0.05
    return options


def worked() -> Options:
    """Worlds of workers who forget and change their minds, on a node that does not die."""
    return Options(
        workers=3, shared_groups=1, visibility_ms=200, attempts_max=3, p_stray=0.05, session_ms_max=2_000,
        partitions_max=2, p_topic_change=0.0, value_bytes_max=20, think_ns=30_000_000, consumers=0, steps=250,
    )  # fmt: skip


def worked_by_key() -> Options:
    """The same, and a group that goes by keys."""
    options = worked()
    options.shared_groups = 2
    return options


def worked_in_order() -> Options:
    """Workers who do nothing wrong but take their time."""
    options = worked()
    options.workers, options.p_stray, options.visibility_ms = 1, 0.0, 5_000
    return options


def worked_by_mortals() -> Options:
    """Workers of a node that crashes."""
    options = worked()
    options.p_crash = 0.03
    return options


def expiring() -> Options:
    """Workers who do nothing wrong, of messages that are not delivered for ever."""
    options = worked_in_order()
    options.p_ttl = 0.5
    return options


def worked_to_death() -> Options:
    """Workers of a node that crashes at every turn; whatever is not acknowledged at once is a dead letter."""
    options = worked()
    options.p_cut_inside, options.attempts_max, options.think_ns = 0.3, 1, 3_000_000
    options.topics, options.partitions_max, options.steps = 1, 1, 400
    return options


def purged() -> Options:
    """Workers that give up at once, and undertakers who send back and purge, on a node that dies now and then."""
    options = worked()
    options.attempts_max, options.undertakers, options.bold, options.think_ns = 1, 3, True, 10_000_000
    options.topics, options.partitions_max, options.steps, options.producers = 1, 1, 2_500, 3
    options.p_kill, options.ledger_page_bytes, options.page_bits = 0.002, 200, 3
    options.p_topic_change = 0.0
    return options


def petitioned() -> Options:
    """Worlds in which much is asked for that nobody may have."""
    return Options(petitioners=3, think_ns=3_000_000, steps=250)


def piling_up() -> Options:
    """One worker, slower than those who send to it."""
    options = worked_in_order()
    options.shared_groups, options.producers, options.topics, options.partitions_max = 1, 4, 1, 1
    options.p_batch, options.think_ns, options.steps, options.in_flight_max = 0.0, 5_000_000, 1_500, 10
    options.lane_weights = "5/4/3/2/1"
    return options


def starving() -> Options:
    """The same, where a lane that waits for long goes first."""
    options = piling_up()
    options.lane_weights, options.starvation_ms = "50/25/15/7/1", 100
    return options


def delayed() -> Options:
    """Worlds of messages that come later."""
    return Options(
        p_delay=0.7, schedulers=1, p_topic_change=0.0, value_bytes_max=20, think_ns=30_000_000, consumers=1, steps=200,
    )  # fmt: skip


def delayed_by_mortals() -> Options:
    """The same on a node that crashes."""
    options = delayed()
    options.p_crash = 0.03
    return options
