"""What worlds of one node and of several draw alike."""

from random import Random

from goqueue.fuzz.options import Options

# Works that have programs of their own, or no time for any.
_IN_HASTE = ("lanes", "letters", "programs", "quiet", "streams")


def draw_thresholds(random: Random, options: Options) -> None:
    """What only large brokers do, in most worlds."""
    options.metadata_entries = random.choice((3, 10, 30, 1000))
    options.metadata_entries_a_topic = random.choice((0, 1, 4))
    options.quorum_piece_bytes = random.choice((50, 500, 256 << 10))
    # Of what was drawn here there is nothing any more, and all that is drawn after it stays as it was.
    random.choice((50, 500, 5_000, 64 << 10))
    random.choice((50, 500, 64 << 10))
    options.ledger_page_bytes = random.choice((200, 2_000, 20_000, 1 << 20))
    options.summary_bytes = random.choice((200, 2_000, 20_000, 64 << 20))
    options.summary_bytes_a_message = random.choice((0, 0, 256))
    options.summary_part_messages = random.choice((1, 3, 20, 2_048))
    options.side_segment_bytes = random.choice((1_000, 10_000, 16 << 20))
    options.segment_bytes = random.choice((500, 2_000, 10_000, 1 << 30, 1 << 30))
    options.index_interval_bytes = random.choice((1, 500, 1 << 24))
    options.metadata_segment_bytes = random.choice((500, 5_000, 1 << 30))
    options.checkpoint_bytes = random.choice((1, 1_000, 64 << 20))
    options.compaction_pause_ns = random.choice((100_000_000, 2_000_000_000, 15_000_000_000))


def draw_library(random: Random, options: Options) -> None:
    """Producers of the library, some of whose messages come later."""
    options.library = random.choice((0, 0, 1, 1, 2))
    if options.library and not options.p_delay:
        options.p_delay = random.choice((0.0, 0.0, 0.3))


def draw_wires(random: Random, options: Options) -> None:
    """What goes as bytes through transports: of clients in a fifth of the worlds, of nodes in three of ten clusters."""
    options.wire = random.choice(("", "", "", "", "grpc"))
    options.window_bytes = random.choice((0, 65_535, 65_535))
    if options.nodes > 1:
        options.peer_bytes = random.random() < 0.3
    elif options.profile.startswith("streams"):
        options.wire, options.window_bytes = "grpc", 65_535


def draw_visitors(random: Random, options: Options) -> None:
    """Groups that are forgotten while the world goes on; the topics stay, as offsets go with them."""
    if random.random() < 0.15:
        options.visitors = random.choice((1, 2))
        options.visit_ms = random.choice((1_000, 4_000))
        options.p_topic_change = 0.0
        options.think_ns = max(options.think_ns, 30_000_000)


def draw_programs(random: Random, options: Options) -> None:
    """Programs that use the client library, in a third of the worlds; they live by the tenth of a second."""
    if random.random() >= 1 / 3 or options.profile.startswith(_IN_HASTE):
        return
    programs = ((1, 1, 0), (1, 2, 0), (1, 3, 0), (1, 0, 1), (1, 0, 2), (2, 0, 0), (1, 1, 1))
    options.publishers, options.readers, options.laborers = random.choice(programs)
    options.wire_trouble_ns = random.choice((0, 0, 300_000_000, 2_000_000_000))
    options.answer_bytes_max = random.choice((64 << 20, 64 << 20, 1 << 20, 20_000, 2_000))
    options.publish_bytes_max = random.choice((64 << 20, 64 << 20, 5_000, 1))
    options.stream_bytes_max = random.choice((8 << 20, 8 << 20, 5_000, 1))
    options.producers, options.consumers = min(options.producers, 1), 0
    options.think_ns = min(max(options.think_ns, 30_000_000), 1_000_000_000)
    if options.p_compact or options.retention:
        # What a log loses by itself is not acknowledged by anybody.
        options.laborers = 0
    if options.laborers and not options.workers:
        options.visibility_ms = random.choice((500, 2_000, 5_000))
        options.attempts_max = random.choice((2, 4))
        options.session_ms_max = random.choice((3_000, 6_000))
        options.p_stray = random.choice((0.0, 0.02))
    if options.laborers:
        # How long a lease lasts, the library works out of the clocks of two nodes.
        options.skew_ms_max = min(options.skew_ms_max, 20)
        options.calamities = tuple(kind for kind in options.calamities if kind != "clock")
    if options.nodes > 1:
        # They cost more than all others together.
        options.seconds = min(options.seconds, 25)
    if options.nodes == 1:
        options.steps = max(options.steps, 400)


def draw_rarities(random: Random, options: Options) -> None:
    """What few ask for, each in some of the worlds."""
    # Not all that is refused can be spelled on a wire.
    options.petitioners = random.choice((0, 0, 0, 1)) if not options.wire else 0
    options.varied = random.random() < 0.3
    bounds = random.choice(((1, 1), (1, 5), (3, 1), (10_000, 1_000_000)))
    if not _has_groups(options):
        options.groups_max, options.offsets_max = bounds
    if options.workers and random.random() < 0.6:
        options.undertakers, options.bold = max(options.undertakers, 1), True
    options.watches_room = random.random() < 0.5
    options.page_bits = random.choice((10, 10, 3, 5))


def _has_groups(options: Options) -> bool:
    """Whether anybody relies on groups."""
    members = options.members, options.eager_members, options.workers, options.visitors, options.operators
    return any((*members, options.readers, options.laborers))
