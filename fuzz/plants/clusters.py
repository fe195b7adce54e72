"""Narrow worlds of three nodes: few clients, and often what it takes to bring a bug out."""

from goqueue.fuzz.options import Options


def short_worlds(*calamities: str, **others: object) -> Options:
    """Short worlds of three nodes in which not much but these befalls them."""
    options = Options(
        steps=0, nodes=3, seconds=20, replicas_max=3, min_insync=1, patience_ns=1_000_000_000, calamities=calamities,
        calamity_ns=2_000_000_000, producers=1, consumers=1, topics=1, partitions_max=1, p_topic_change=0.0,
        think_ns=60_000_000, wait_ns_max=100_000_000, value_bytes_max=20, in_flight_max=3, recent_bytes=1 << 20,
    )  # fmt: skip
    for name, value in others.items():
        setattr(options, name, value)
    return options


def wiping() -> Options:
    """Worlds in which nothing is done but to elect, by nodes that lose their disks."""
    return short_worlds("wipe", "kill", "isolate", seconds=40, producers=0, consumers=0, calamity_lasts_s=(1.0, 4.0))


def elections() -> Options:
    """Worlds in which nothing is done but to elect."""
    return short_worlds("kill", seconds=10, producers=0, consumers=0)


def cut_off() -> Options:
    """Worlds in which leaders that are cut off go on taking what nobody else has."""
    return short_worlds(
        "isolate", calamity_ns=4_000_000_000, calamity_lasts_s=(5.0,), seconds=60, producers=3, consumers=0,
        replica_lag_ns=1_000_000_000, think_ns=400_000_000, letter_ns_max=50_000_000,
    )  # fmt: skip


def power_cuts() -> Options:
    """Worlds of topics that sync now and then, or never, in which the last one in sync loses its power."""
    return short_worlds(
        "last", "kill", fsyncs=("interval", "none"), replicas_max=2, seconds=30, producers=2,
        calamity_lasts_s=(4.0,), calamity_ns=5_000_000_000, think_ns=100_000_000,
    )  # fmt: skip


def working() -> Options:
    """Worlds of work queues whose nodes die."""
    return short_worlds(
        "kill", "isolate", consumers=0, workers=2, visibility_ms=5_000, session_ms_max=6_000, attempts_max=4,
        think_ns=100_000_000, patience_ns=3_000_000_000,
    )  # fmt: skip


def delaying() -> Options:
    """Worlds of messages that come later, from nodes that die."""
    return short_worlds("kill", "isolate", p_delay=0.8, think_ns=100_000_000, seconds=25)


def committing() -> Options:
    """Worlds of consumer groups whose coordinators die."""
    return short_worlds(
        "kill", "crash", "isolate", consumers=0, eager_members=2, members=1, session_ms_max=18_000,
        think_ns=100_000_000, seconds=40, patience_ns=3_000_000_000,
    )  # fmt: skip


def sending_again(**others: object) -> Options:
    """Worlds in which the library's producers lose sight of their leaders."""
    return short_worlds(
        "isolate", "rift", "pause", "kill", producers=0, library=3, seconds=40, letter_ns_max=50_000_000,
        think_ns=20_000_000, calamity_lasts_s=(1.0, 3.0), p_letter_loss=0.02, **others,
    )  # fmt: skip


def replacing_leaders() -> Options:
    """Worlds in which leaders are replaced while they wait for followers, and much is read at once."""
    return short_worlds(
        "isolate", "rift", "pause", "deafen", producers=4, consumers=4, library=1, seconds=40, letter_ns_max=50_000_000,
        think_ns=10_000_000, calamity_lasts_s=(2.0, 5.0), p_letter_loss=0.02,
    )  # fmt: skip


def changing_leaders() -> Options:
    """Worlds in which partitions are moved all the time, and nodes hear of it late."""
    return short_worlds(
        "rift", "pause", "deafen", producers=0, library=3, consumers=0, seconds=60, letter_ns_max=300_000_000,
        think_ns=20_000_000, calamity_lasts_s=(1.0, 3.0), stewards=3, p_hang_up=0.06, letters_overtake=True,
        delay_ns_max=400_000_000,
    )  # fmt: skip


def besieged() -> Options:
    """Worlds in which a client publishes what nobody can read."""
    return short_worlds(hostiles=1, p_batch=1.0, seconds=10)


def failing_over() -> Options:
    """Worlds in which leaders are replaced again and again, and followers are behind for long."""
    return short_worlds(
        "isolate", "rift", "pause", "deafen", "kill", producers=4, consumers=0, seconds=60,
        replica_lag_ns=1_000_000_000,
        calamity_lasts_s=(1.0, 3.0), letter_ns_max=300_000_000, think_ns=20_000_000, letters_overtake=True,
    )  # fmt: skip


def crashing() -> Options:
    """Worlds in which leaders lose their power and what their slow disks have not synced, and are back at once."""
    return short_worlds(
        "crash", producers=4, consumers=0, seconds=20, calamity_ns=1_000_000_000, calamity_lasts_s=(0.1,), p_slow=0.7,
        letter_ns_max=100_000_000, think_ns=20_000_000,
    )  # fmt: skip


def reopening() -> Options:
    """Worlds of one replica each, whose nodes are killed."""
    return short_worlds("kill", replicas_max=1, consumers=0, seconds=20, calamity_lasts_s=(0.2, 1.0))


def summing_up(*calamities: str, **others: object) -> Options:
    """Worlds whose metadata is summed up all the time, while nodes come and go."""
    return short_worlds(
        *calamities, metadata_entries=6, seconds=40, calamity_lasts_s=(1.0, 4.0, 6.0), min_insync=2, **others,
    )  # fmt: skip


def cancelling() -> Options:
    """Worlds of messages that come later, and of somebody who changes their mind."""
    return short_worlds("isolate", p_delay=0.9, schedulers=2, think_ns=50_000_000, letter_ns_max=50_000_000)


def telling() -> Options:
    """Worlds of work queues."""
    return short_worlds(
        "isolate", "kill", consumers=0, workers=2, visibility_ms=5_000, session_ms_max=6_000, attempts_max=4,
        think_ns=100_000_000, patience_ns=3_000_000_000, letter_ns_max=50_000_000,
    )  # fmt: skip


def standing_still() -> Options:
    """Worlds in which partitions have nobody who has everything, while the metadata is summed up all the time."""
    options = power_cuts()
    options.metadata_entries, options.seconds, options.replicas_max = 3, 40, 3
    return options


def numbering() -> Options:
    """Worlds of producers that number their records, and do not hear of those who lead."""
    return short_worlds(
        "isolate", "rift", "deafen", "kill", producers=0, sequenced=3, consumers=0, seconds=40,
        replica_lag_ns=1_000_000_000, calamity_lasts_s=(1.0, 3.0), letter_ns_max=100_000_000, p_letter_loss=0.02,
        think_ns=50_000_000,
    )  # fmt: skip


def deposing() -> Options:
    """Worlds in which controllers are replaced again and again, while there is much to agree on."""
    return short_worlds(
        "isolate", "rift", "deafen", "kill", "pause", producers=1, consumers=0, topics=3, partitions_max=3,
        p_topic_change=0.1, seconds=60, calamity_lasts_s=(1.0, 2.0, 4.0), letter_ns_max=200_000_000, stewards=2,
        think_ns=100_000_000,
    )  # fmt: skip


def telling_again() -> Options:
    """Worlds of work queues whose leaders lead again and again."""
    options = telling()
    options.seconds, options.stewards, options.calamity_ns, options.calamity_lasts_s = 60, 3, 1_500_000_000, (0.2, 1.0)
    return options


def cancelling_again() -> Options:
    """Worlds of somebody who changes their mind, where leaders lead again and again."""
    options = cancelling()
    options.seconds, options.stewards, options.calamity_ns, options.calamity_lasts_s = 60, 3, 1_500_000_000, (0.2, 2.0)
    return options
