"""Letters between nodes: each is read back as it was, garbage costs a ProtocolError, neighbours get along."""

from typing import Any, get_args, get_origin, get_type_hints

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.codec.codec import Codec
from goqueue.core.codec.shapes import LARGE_BYTES, items_read, since
from goqueue.core.errors import ProtocolError
from goqueue.core.peers.codec import LETTERS, decode, encode
from goqueue.core.records.varint import encode_varlong
from goqueue.core.replication.messages import Pulled, PulledPart, Verdict
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Fetched, NewRecord, Publish, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import SENT
from goqueue.core.requests.topics import CreateTopic, ListTopics
from goqueue.core.routing.messages import Answered, Forwarded
from tests.core.peers.instances import instances, json_values, values

_PAIRS = [
    *(("request", Forwarded, one) for one in SENT),
    *(("reply", Answered, one) for one in get_args(get_type_hints(Answered)["reply"])),
]


def _bytes(message: object) -> bytes:
    return b"".join(encode(message))


def _forwarded(request: Request) -> Forwarded:
    return Forwarded(5, 6, 7, 1, False, Caller("c"), request)


def _answered(reply: Reply) -> Answered:
    return Answered(5, 6, 7, reply)


def _name(one: object) -> str:
    return str(one) if get_origin(one) else str(getattr(one, "__name__", one))


@pytest.mark.parametrize("cls", [cls for cls in LETTERS if cls not in (Forwarded, Answered)], ids=_name)
def test_every_letter_is_read_back(cls: type) -> None:
    @settings(max_examples=20, deadline=None)
    @given(instances(cls))
    def is_read_back(message: object) -> None:
        assert decode(_bytes(message)) == message

    is_read_back()


_EMPTY: dict[type, Any] = {Forwarded: _forwarded(ListTopics()), Answered: _answered(None)}


@pytest.mark.parametrize(("field", "cls", "held"), _PAIRS, ids=_name)
def test_every_request_and_every_reply_is_read_back(field: str, cls: type, held: object) -> None:
    @settings(max_examples=10, deadline=None)
    @given(values(held))
    def is_read_back(value: object) -> None:
        message = attrs.evolve(_EMPTY[cls], **{field: value})
        assert getattr(decode(_bytes(message)), field) == value

    is_read_back()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_garbage_is_a_protocol_error_or_a_letter(content: bytes) -> None:
    try:
        message = decode(content)
    except ProtocolError:
        return
    assert isinstance(message, LETTERS)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(LETTERS), st.data())
def test_a_changed_or_shortened_letter_is_a_protocol_error_or_another_letter(cls: type, data: st.DataObject) -> None:
    content = bytearray(_bytes(data.draw(instances(cls))))
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        message = decode(bytes(content[: data.draw(st.integers(1, len(content)))]))
    except ProtocolError:
        return
    assert isinstance(message, LETTERS)


def test_large_bytes_are_passed_on_and_taken_over_without_being_copied() -> None:
    batches = bytes(LARGE_BYTES)
    part = PulledPart(1, 2, Side.DATA, 3, 4, Verdict.GOES_ON, runs=[batches, memoryview(batches)])
    pieces = encode(Pulled(1, 2, True, [part, part]))
    assert [id(piece) for piece in pieces if len(piece) == LARGE_BYTES][::2] == [id(batches)] * 2
    content = b"".join(pieces)
    runs = decode(content).parts[0].runs
    assert all(isinstance(run, memoryview) and run.obj is content for run in runs)
    assert runs == [batches, batches]


def test_a_batch_that_is_stamped_in_place_is_the_readers_own() -> None:
    content = _bytes(_forwarded(PublishBatch("t", 0, bytearray(b"batch"))))
    batch = decode(memoryview(content)).request.batch
    batch[0] = 0
    assert decode(content).request.batch == b"batch"


def test_answers_that_count_on_are_one_run() -> None:
    results: list[Published | Refusal] = [Published(3, 100 + place, 77) for place in range(500)]
    refusal = Refusal(Code.NOT_LEADER, "no", leader="b")
    results += [refusal, refusal, Published(3, 601, 77), Published(4, 602, 77), Published(4, -1, 77)]
    content = _bytes(_answered(PublishReply(results)))
    assert len(content) < 100
    assert decode(content).reply.results == results


@pytest.mark.parametrize("count", [-1, 1 << 40])
def test_a_run_of_answers_that_cannot_be_is_refused(count: int) -> None:
    content = bytearray(_bytes(_answered(PublishReply([Published(3, 100, 77)]))))
    place = content.rindex(encode_varlong(1) + encode_varlong(3))
    content[place : place + 1] = encode_varlong(count)
    with pytest.raises(ProtocolError, match="cannot have been published at once"):
        decode(bytes(content))


@given(json_values)
def test_settings_may_be_whatever_json_can_say(value: object) -> None:
    assert decode(_bytes(_forwarded(CreateTopic("t", config={"a": value})))).request.config == {"a": value}


def test_what_nobody_could_read_is_not_written() -> None:
    with pytest.raises(ProtocolError, match="cannot be sent here"):
        encode(_forwarded(CreateTopic("t", config={"a": object()})))
    with pytest.raises(ProtocolError, match="has no UTF-8"):
        encode(_forwarded(CreateTopic("\ud800")))
    with pytest.raises(ProtocolError, match="does not fit"):
        encode(_forwarded(CreateTopic("t", 1 << 70)))
    with pytest.raises(ProtocolError, match="a Caller cannot be sent"):
        encode(Caller())


def test_values_nested_without_an_end_are_refused() -> None:
    begin = _bytes(_forwarded(CreateTopic("t", config={"a": None})))
    deep = begin[:-1] + bytes((12, 2)) * 1000 + b"\0"
    with pytest.raises(ProtocolError, match="nested too deeply"):
        decode(deep)


def test_a_message_of_more_items_than_memory_bears_is_refused_however_its_lists_are_nested() -> None:
    publish = _bytes(_forwarded(Publish("t", [NewRecord(None, None)])))
    begin = publish[: publish.index(b"t") + 1]
    with pytest.raises(ProtocolError, match="more than 4194304 items"):
        decode(begin + encode_varlong(1 << 23) + bytes(1 << 23))
    answers: list[Published | Refusal] = [Published(0, at, 1) for at in range(10)]
    run = _bytes(_answered(PublishReply(answers)))
    assert len(decode(run).reply.results) == items_read() - 1 == 10
    headers = ((("h", b""),) * 100_000,) * 50
    with pytest.raises(ProtocolError, match="more than 4194304 items"):
        decode(_bytes(_forwarded(Publish("t", [NewRecord(None, None, each) for each in headers]))))
    assert len(decode(_bytes(_forwarded(Publish("t", [NewRecord(None, None)] * 1000)))).request.records) == 1000


def test_messages_of_a_publish_keep_all_that_they_have() -> None:
    plain = NewRecord(b"k", bytes(1000), partition=3)
    content = _bytes(_forwarded(Publish("t", [plain] * 100)))
    assert len(content) < 100 * 1008 + 50
    assert decode(content).request.records == [plain] * 100


def test_a_fetched_answer_may_be_large() -> None:
    reply = Fetched(bytes(range(256)) * 4096, 5, 6, 7)
    assert decode(memoryview(_bytes(_answered(reply)))).reply == reply


# --- neighbours


@attrs.define
class Wheel:
    size: int
    colour: str = attrs.field(default="black", metadata=since(2))


@attrs.define
class Car:
    wheels: list[Wheel]
    driver: Wheel | Caller | None = None
    speed: int = attrs.field(default=9, metadata=since(2))


def test_a_field_that_was_added_is_neither_sent_to_nor_expected_of_the_release_before() -> None:
    codec = Codec({7: Car}, 2, inner={Wheel: 2, Caller: 3})
    car = Car([Wheel(1, "red"), Wheel(2, "blue")], Wheel(3, "green"), 5)
    assert codec.decode(b"".join(codec.pieces(car, 2))) == car
    older = b"".join(codec.pieces(car, 1))
    assert codec.decode(older) == Car([Wheel(1), Wheel(2)], Wheel(3), 9)
    assert len(older) < len(b"".join(codec.pieces(car, 2))) - len("redbluegreen")


def test_a_newer_release_is_refused_with_a_sentence() -> None:
    newer = Codec({7: Car}, 2, inner={Wheel: 2, Caller: 3}).encode(Car([]))
    with pytest.raises(ProtocolError, match="Car has version 2, this release reads up to 1"):
        Codec({7: Car}, 1, inner={Wheel: 2, Caller: 3}).decode(newer)
