"""Bugs in the transports, and the worlds that have clients or nodes on simulated sockets to show them."""

from weakref import WeakKeyDictionary

from goqueue.core.records.varint import Readable
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import FrameReader as HttpFrameReader
from goqueue.transports.http2.stream import Stream
from goqueue.transports.peers import frames
from goqueue.transports.peers.frames import Frame, FrameReader, Kind
from goqueue.transports.peers.outbox import Outbox
from goqueue.transports.services.publishing import PublishStream

# --- clients


def _window_never_given_back(replace: Replace) -> None:
    def credit_nothing(connection: Connection, stream: Stream) -> None:
        if connection.client:
            credit(connection, stream)

    credit = Connection._credit_stream
    replace(Connection, "_credit_stream", credit_nothing)


def _beginning_of_a_frame_loses_a_byte(replace: Replace) -> None:
    def keep_carelessly(reader: HttpFrameReader, kept: bytes) -> None:
        give_back(reader, kept[:-1])

    give_back = HttpFrameReader._give_back
    replace(HttpFrameReader, "_give_back", keep_carelessly)


def _trailers_missed(replace: Replace) -> None:
    def end_without(connection: Connection, stream: Stream) -> None:
        # What was queued had to wait for room, and whoever sent the last of it forgets what comes behind.
        if stream.crowded_out or stream.blocked or stream.request.path.endswith(b"Fetch"):
            stream.trailers_due = None
        end(connection, stream)

    end = Connection._send_end
    replace(Connection, "_send_end", end_without)


def _answers_swapped(replace: Replace) -> None:
    held: WeakKeyDictionary[PublishStream, tuple[int, int, Reply]] = WeakKeyDictionary()

    def answer_another(stream: PublishStream, request_id: int, size: int, reply: Reply) -> None:
        first = held.pop(stream, None)
        if first is not None:
            answer(stream, first[0], first[1], reply)
            answer(stream, request_id, size, first[2])
        elif stream._unanswered > 1:
            held[stream] = request_id, size, reply
        else:
            answer(stream, request_id, size, reply)

    answer = PublishStream._answer
    replace(PublishStream, "_answer", answer_another)


# --- nodes


def _checksum_skipped(replace: Replace) -> None:
    def unchecked(head: bytes, body: memoryview) -> Frame:
        _, kind, codec, _, _ = frames.HEADER.unpack(head)
        return Frame(Kind(kind), codec, body)

    replace(frames, "_checked", unchecked)


def _outbox_forgets_the_rest(replace: Replace) -> None:
    def put_whole_ones(outbox: Outbox, pieces: list[Readable], letters: int, *, is_begun: bool = False) -> int:
        return 0 if is_begun else put(outbox, pieces, letters)

    put = Outbox.put
    replace(Outbox, "put", put_whole_ones)


def _frame_cut_in_two_loses_a_byte(replace: Replace) -> None:
    def make_room_carelessly(reader: FrameReader) -> None:
        if 0 < reader._end - reader._start < frames.HEADER.size:
            reader._end -= 1
        make_room(reader)

    make_room = FrameReader._make_room
    replace(FrameReader, "_make_room", make_room_carelessly)


# --- worlds


def _calling(**others: object) -> Options:
    """Clients of a node that is alone and does not fail."""
    options = Options(
        wire="grpc", steps=400, producers=2, consumers=1, topics=1, partitions_max=1, p_topic_change=0.0, p_batch=1.0,
        value_bytes_max=20_000, in_flight_max=10, think_ns=0, window_bytes=65_535, delay_ns_max=100_000,
    )  # fmt: skip
    for name, value in others.items():
        setattr(options, name, value)
    return options


def _writing(*calamities: str, **others: object) -> Options:
    """Nodes that write to each other, and a lot of it."""
    return short_worlds(
        *calamities, peer_bytes=True, value_bytes_max=20_000, p_batch=1.0, producers=2, seconds=8, **others
    )


PLANTS: tuple[Plant, ...] = (
    Plant(
        "window-never-given-back",
        "A client that reads is sent more.",
        _window_never_given_back,
        nodes=1,
        worlds=lambda: _calling(steps=2_000),
        within=5,
    ),
    Plant(
        "beginning-of-a-frame-cut",
        "What a client sends arrives as it was sent, however it is cut into pieces.",
        _beginning_of_a_frame_loses_a_byte,
        nodes=1,
        worlds=_calling,
        within=5,
    ),
    Plant(
        "trailers-missed",
        "Every call ends with an answer or a refusal.",
        _trailers_missed,
        nodes=1,
        worlds=_calling,
        within=5,
    ),
    Plant(
        "answers-swapped",
        "An answer is that to the request it follows.",
        _answers_swapped,
        nodes=1,
        worlds=_calling,
        within=5,
    ),
    Plant(
        "checksum-skipped",
        "A letter that arrives is one that was written.",
        _checksum_skipped,
        nodes=3,
        worlds=lambda: _writing(p_damage=0.005),
        within=5,
    ),
    Plant(
        "outbox-forgets-the-rest",
        "What is written to a peer arrives whole.",
        _outbox_forgets_the_rest,
        nodes=3,
        worlds=_writing,
        within=10,
    ),
    Plant(
        "frame-cut-in-two",
        "A frame arrives as it was sent, however it is cut into pieces.",
        _frame_cut_in_two_loses_a_byte,
        nodes=3,
        worlds=_writing,
        within=5,
    ),
)
"""These bugs."""
