"""What the strict codec promises besides Google's verdicts: sentences, bounds, views, and what it leaves to others."""

from typing import Any, TypeAlias

import betterproto
import pytest

from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.proto.wire import ITEMS_MAX, WireError
from goqueue.transports.grpc.codec import Codec
from goqueue.transports.grpc.protos.status import Status

CODEC = StrictCodec()
Buffer: TypeAlias = Any


def test_it_is_a_codec_for_the_grpc_edge() -> None:
    codec: Codec = CODEC
    assert codec.decode(v1.LeaveReply, codec.encode(v1.LeaveReply())) == v1.LeaveReply()


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        (v1.PublishRequest, b"\x0a\x05ab", "PublishRequest.topic: it ends inside a field"),
        (v1.PublishRequest, b"\x0a", "PublishRequest.topic: the bytes end too early"),
        (v1.PublishRequest, b"\x0a\x01\xff", "PublishRequest.topic: text that is not UTF-8"),
        (v1.PublishRequest, b"\x12\x02\x20\x85\x05", "NewMessage.partition: it ends inside a field"),
        (v1.PublishRequest, b"\x18" + b"\x80" * 10 + b"\x00", "PublishRequest.acks: a varint is longer than ten bytes"),
        (v1.PublishRequest, b"\x02\x00", "PublishRequest: a field has the number 0"),
        (v1.PublishRequest, b"\x80\x80\x80\x80\x10", "PublishRequest: a tag has more than 32 bits"),
        (v1.PublishRequest, b"\x9b\x01\x9c\x02", "a group is closed by the number 35"),
        (v1.PublishRequest, b"\x9c\x01", "a group of the number 19 is closed, and none is open"),
        (v1.PublishRequest, b"\x9f\x01", "there is no wire type 7"),
        (v1.PublishRequest, b"\x9b\x01" * 101 + b"\x9c\x01" * 101, "more than 100 deep"),
        (v1.PublishRequest, b"\x0a\xff\xff\xff\xff\x0f", "a length of 4294967295 bytes"),
        (v1.CreateTopicRequest, b"\x22\x03\x0a\x05a", "CreateTopicRequest.config.key: it ends inside a field"),
    ],
)
def test_what_is_refused_is_said_with_message_and_field(
    kind: type[betterproto.Message], content: bytes, said: str
) -> None:
    with pytest.raises(WireError) as refused:
        CODEC.decode(kind, content)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (v1.FetchRequest(partition=-1), "FetchRequest.partition cannot be -1; it takes numbers from 0 to 2^32 - 1"),
        (v1.FetchRequest(partition=1 << 32), "FetchRequest.partition cannot be 4294967296"),
        (v1.FetchRequest(offset=1 << 63), "FetchRequest.offset cannot be 9223372036854775808"),
        (v1.Setting(number=-(1 << 64)), "Setting.number cannot be"),
    ],
)
def test_a_number_that_does_not_fit_is_refused_on_its_way_out(message: betterproto.Message, said: str) -> None:
    with pytest.raises(WireError) as refused:
        CODEC.encode(message)
    assert said in str(refused.value)


def test_messages_inside_messages_share_one_bound_for_their_number() -> None:
    crowded = v1.PublishRequest(messages=[v1.NewMessage(headers=[v1.Header("a")] * 3)] * 4)
    content = CODEC.encode(crowded)
    assert StrictCodec(items_max=16).decode(v1.PublishRequest, content) == crowded
    with pytest.raises(WireError, match="its lists hold too many items"):
        StrictCodec(items_max=15).decode(v1.PublishRequest, content)


@pytest.mark.parametrize("item", [b"\x12\x00", b"\x1a\x00"])
def test_empty_items_cannot_fill_the_memory(item: bytes) -> None:
    with pytest.raises(WireError, match="its lists hold too many items"):
        CODEC.decode(v1.PublishRequest if item[0] == 0x12 else v1.ResetOffsetsRequest, _many(item))


def _many(item: bytes) -> bytes:
    # The second is a list of numbers, which is packed: a byte each.
    return item * (ITEMS_MAX + 1) if item[0] == 0x12 else b"\x1a\x81\x80\x08" + bytes(ITEMS_MAX + 1)


def test_a_batch_is_a_view_for_those_who_ask() -> None:
    content = CODEC.encode(v1.PublishBatchRequest("t", 1, b"batch", v1.Acks(1)))
    assert type(CODEC.decode(v1.PublishBatchRequest, content).batch) is bytes
    viewed = StrictCodec(views=True).decode(v1.PublishBatchRequest, content)
    assert type(viewed.batch) is memoryview
    assert viewed.batch.obj is content
    assert CODEC.encode(viewed) == content


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_views_and_mutable_buffers_are_written_like_bytes(kind: Buffer) -> None:
    assert CODEC.encode(v1.FetchReply(kind(b"batches"))) == CODEC.encode(v1.FetchReply(b"batches"))


def test_what_was_decoded_tells_what_was_set() -> None:
    setting = CODEC.decode(v1.Setting, CODEC.encode(v1.Setting(flag=False)))
    assert betterproto.which_one_of(setting, "value") == ("flag", False)
    result = CODEC.decode(v1.PublishResult, CODEC.encode(v1.PublishResult(offset=5)))
    assert not result.is_set("refusal")
    assert betterproto.serialized_on_wire(result)
    assert result.refusal == v1.Refusal()
    message = CODEC.decode(v1.NewMessage, CODEC.encode(v1.NewMessage(key=b"", partition=0)))
    assert (message.key, message.value, message.partition) == (b"", None, 0)


def test_fields_of_a_later_release_survive() -> None:
    content = CODEC.encode(v1.TopicPartition("t", 3)) + b"\xf8\x07\x05\xfa\x07\x02hi"
    assert CODEC.encode(CODEC.decode(v1.TopicPartition, content)) == content


def test_a_message_can_be_changed_and_written_again() -> None:
    setting = CODEC.decode(v1.Setting, CODEC.encode(v1.Setting(number=1)))
    setting.text = "x"
    assert CODEC.encode(setting) == CODEC.encode(v1.Setting(text="x"))


def test_a_class_without_a_generated_codec_is_left_to_betterproto() -> None:
    status = Status(code=5, message="no")
    assert CODEC.decode(Status, CODEC.encode(status)) == status
    with pytest.raises(ValueError, match="not a Status"):
        CODEC.decode(Status, b"\x08")
