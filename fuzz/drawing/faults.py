"""What else goes wrong in a world: drawn last, so that what else there is to draw stays as it was."""

from random import Random

from goqueue.fuzz.options import CALAMITIES, Options

OLDEST_CALAMITIES = CALAMITIES[: CALAMITIES.index("last")]
"""The kinds that are drawn first, one by one; all others are drawn here."""


def draw_node_faults(random: Random, options: Options) -> None:
    """The faults of a node that is alone; a rate is for each of some hundred steps."""
    if random.random() < 0.3:
        options.p_aimed = random.choice((0.005, 0.02, 0.05))
    if random.random() < 0.1:
        options.meddlers, options.adds_partitions = 1, True


def draw_cluster_faults(random: Random, options: Options) -> None:
    """The faults of a cluster; a rate is for each of some ten thousand steps."""
    if random.random() < 0.3:
        options.p_cut = random.choice((0.0, 0.0005, 0.002))
        options.p_hang_up = random.choice((0.0, 0.0005, 0.002))
        options.p_half_open = random.choice((0.0, 0.0003, 0.001))
        options.p_stall = random.choice((0.0, 0.0003, 0.001))
    if random.random() < 0.25:
        options.calamities += ("aimed",) * random.choice((1, 1, 5))
    options.calamities += tuple(kind for kind in ("amid", "reads", "others") if random.random() < 0.15)
    if random.random() < 0.25:
        _draw_meddling(random, options)
    if options.workers and random.random() < 0.5:
        _draw_queue_habits(random, options)
    if random.random() < 0.1:
        # Where a partition has lost all that were in sync, which takes more than one death.
        options.meddlers, options.unclean = 1, True
        options.calamities += ("last",) * 2


def draw_growing(random: Random, options: Options) -> None:
    """One node becomes several while clients work, and some leave for good."""
    if random.random() < 0.1:
        options.grows, options.founders = True, 1
        # Of two nodes, one without its disk and one that has left, no majority might be left.
        options.calamities = tuple(kind for kind in options.calamities if kind != "wipe")
        # A node that is alone takes in moments what others have to be sent later.
        options.letter_ns_max = min(options.letter_ns_max, 20_000_000)
        options.think_ns = max(options.think_ns, 50_000_000)
        options.seconds = min(options.seconds, 30)


def draw_addresses(random: Random, options: Options) -> None:
    """Nodes that are reached elsewhere when they begin again; the first of all nodes stays, and must not leave."""
    if random.random() < 0.1 and not options.grows:
        options.calamities += ("address",) * 2
        options.peer_bytes = options.peer_bytes or random.random() < 0.3


def draw_emptied(random: Random, options: Options) -> None:
    """Folders of single partitions that are lost while their nodes are down."""
    if random.random() < 0.1:
        options.calamities += ("empty",) * 2


def _draw_queue_habits(random: Random, options: Options) -> None:
    """What work queues draw where there is one node: lanes, messages that expire, dead letters that are sent back."""
    options.p_ttl = random.choice((0.0, 0.3))
    options.undertakers = random.choice((0, 1))
    options.lane_weights = random.choice(("", "5/4/3/2/1", "3/1/1/1/1"))
    options.starvation_ms = random.choice((0, 500, 3_000))


def _draw_meddling(random: Random, options: Options) -> None:
    """Nodes that are forgotten and come back, for which they must be away long enough; partitions that are added."""
    options.meddlers = 1
    options.adds_partitions = random.random() < 0.5
    options.forgets = not options.adds_partitions or random.random() < 0.5
    if options.forgets:
        # Of two nodes, one without its disk and one that is forgotten, no majority might be left.
        kept = tuple(kind for kind in options.calamities if kind != "wipe")
        options.calamities = (*kept, *random.sample(("kill", "crash", "isolate", "stop"), 2))
        options.calamity_lasts_s = random.choice((options.calamity_lasts_s, (4.0, 8.0, 12.0)))
