# Generated from goqueue/v1/goqueue.proto by ./dev proto. Edit that instead.
"""Encoders and decoders of the messages in `goqueue.proto.v1`, strict and fast. `goqueue.proto.codec` is the way in."""

from collections.abc import Callable
from typing import Any

from betterproto import PLACEHOLDER as UNSET
from betterproto import Message

from goqueue.proto.v1 import (
    AckReply, AckRequest, Acks, AlterGroupRequest, AlterTopicRequest, BrowseReply, BrowseRequest, CancelDelayedReply, CancelDelayedRequest, CancelRedriveRequest, CommitRefusal, CommitReply, CommitRequest, ConsumeReply, ConsumeRequest, CreateTopicRequest, Credit, DeadLetter, DeadTopic, DelayedMessage, DeleteGroupReply, DeleteGroupRequest, DeleteTopicReply, DeleteTopicRequest, DescribeGroupRequest, DescribeNodeRequest, DescribePartitionsReply, DescribePartitionsRequest, DescribeRebalancesRequest, DescribeRedriveRequest, DescribeTopicRequest, Due, ExtendReply, ExtendRequest, FetchOffsetsReply, FetchOffsetsRequest, FetchReply, FetchRequest, FindOffsetReply, FindOffsetRequest, GetDelayedRequest, Group, GroupBatches, GroupMember, GroupMode, GroupOffset, Header, HeartbeatReply, HeartbeatRequest, InitProducerReply, InitProducerRequest, JoinReply, JoinRequest, Lease, LeasedBatches, LeaveReply, LeaveRequest, Leaving, LetterFilter, ListDeadTopicsReply, ListDeadTopicsRequest, ListDelayedReply, ListDelayedRequest, ListGroupsReply, ListGroupsRequest, ListRedrivesReply, ListRedrivesRequest, ListTopicsReply, ListTopicsRequest, NackReply, NackRequest, NewMessage, Node, OffsetChange, Outcome, Partition, PartitionOffset, PartitionOffsets, PollReply, PollRequest, Position, Priority, PublishBatchReply, PublishBatchRequest, PublishReply, PublishRequest, PublishResult, PurgeRequest, Rebalances, ReceiptRange, ReceiptRefusal, RedriveReply, RedriveRequest, Refusal, RejectReply, RejectRequest, ReleaseReply, ReleaseRequest, RescheduleDelayedRequest, ResetOffsetsReply, ResetOffsetsRequest, RevokeReply, RevokeRequest, SeekReply, SeekRequest, Setting, SubscribeReply, SubscribeRequest, Topic, TopicPartition, WatchRequest,
)
from goqueue.proto.wire import (
    DOUBLE, FIXED32, FIXED64, ITEMS_MAX, SFIXED32, SFIXED64, SHORT, SHORT_MAX, Flaw, fixed, int32, int64, length,
    long_tag, merged, numbers_in_order, refused, sint32, sint64, skip, texts_in_order, uint32, uint64, unsigned, varint,
)

new = object.__new__
fields_of = Message.__dict__["__dict__"].__get__
fill = Message.__dict__["__dict__"].__set__
CUT = "it ends inside a field"
CROWDED = "its lists hold too many items"
STRANGE = "an entry of a map has more than a key and a value"

Outcome_0 = Outcome.try_value(0)
Outcome_known = {int(each): each for each in Outcome}
Priority_0 = Priority.try_value(0)
Priority_known = {int(each): each for each in Priority}
Acks_0 = Acks.try_value(0)
Acks_known = {int(each): each for each in Acks}
Due_0 = Due.try_value(0)
Due_known = {int(each): each for each in Due}
GroupMode_0 = GroupMode.try_value(0)
GroupMode_known = {int(each): each for each in GroupMode}


def encode_refusal(message: Refusal) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["code"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["message"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["field"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["retry_after_ms"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Refusal.retry_after_ms"))
    value = fields["divide_at"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Refusal.divide_at"))
    value = fields["outcome"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "Refusal.outcome"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Refusal = {1: "code", 2: "message", 3: "field", 4: "retry_after_ms", 5: "divide_at", 6: "outcome"}


def decode_refusal(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Refusal:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_code = ""
    of_message = ""
    of_field = ""
    of_retry_after_ms = 0
    of_divide_at = 0
    of_outcome = Outcome_0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_code = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_message = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_field = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_retry_after_ms = data[at]
                at += 1
                if of_retry_after_ms > 127:
                    of_retry_after_ms, at = varint(data, at - 1)
                    of_retry_after_ms &= 0xFFFFFFFF
            elif tag == 40:
                of_divide_at = data[at]
                at += 1
                if of_divide_at > 127:
                    of_divide_at, at = varint(data, at - 1)
                    of_divide_at &= 0xFFFFFFFF
            elif tag == 48:
                of_outcome = data[at]
                at += 1
                if of_outcome > 127:
                    of_outcome, at = varint(data, at - 1)
                    of_outcome = (of_outcome & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_outcome = Outcome_known[of_outcome] if of_outcome in Outcome_known else Outcome.try_value(of_outcome)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Refusal", NAMES_Refusal, tag, error) from None
    message = new(Refusal)
    fields = {
        "code": of_code,
        "message": of_message,
        "field": of_field,
        "retry_after_ms": of_retry_after_ms,
        "divide_at": of_divide_at,
        "outcome": of_outcome,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_header(message: Header) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["value"]
    if value is not None:
        size = len(value)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Header = {1: "name", 2: "value"}


def decode_header(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Header:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_name = ""
    of_value = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = bytes(data[at:stop])
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Header", NAMES_Header, tag, error) from None
    message = new(Header)
    fields = {
        "name": of_name,
        "value": of_value,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_topic_partition(message: TopicPartition) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "TopicPartition.partition"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_TopicPartition = {1: "topic", 2: "partition"}


def decode_topic_partition(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> TopicPartition:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("TopicPartition", NAMES_TopicPartition, tag, error) from None
    message = new(TopicPartition)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_setting(message: Setting) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    chosen_value = fields["_group_current"]["value"]
    if chosen_value == "text":
        value = fields["text"]
        if value is not None:
            inner = value.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_value == "number":
        value = fields["number"]
        if value is not None:
            parts += (b'\x10', sint64(value, "Setting.number"))
    elif chosen_value == "fraction":
        value = fields["fraction"]
        if value is not None:
            parts += (b'\x19', fixed(DOUBLE, value, "Setting.fraction"))
    elif chosen_value == "flag":
        value = fields["flag"]
        if value is not None:
            parts.append(b' \x01' if value else b' \x00')
    elif chosen_value == "reset":
        value = fields["reset"]
        if value is not None:
            parts.append(b'(\x01' if value else b'(\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Setting = {1: "text", 2: "number", 3: "fraction", 4: "flag", 5: "reset"}


def decode_setting(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Setting:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    chosen_value = None
    value_value = places_value = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    value_value = str(data[at:stop], "utf-8")
                    places_value = None
                    chosen_value = "text"
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item >> 1 ^ -(item & 1)
                value_value = item
                places_value = None
                chosen_value = "number"
            elif tag == 25:
                if at + 8 > end:
                    raise Flaw(CUT)
                item = DOUBLE.unpack_from(data, at)[0]
                at += 8
                value_value = item
                places_value = None
                chosen_value = "fraction"
            elif tag == 32:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_value = item
                places_value = None
                chosen_value = "flag"
            elif tag == 40:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_value = item
                places_value = None
                chosen_value = "reset"
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Setting", NAMES_Setting, tag, error) from None
    message = new(Setting)
    fields = {
        "text": UNSET,
        "number": UNSET,
        "fraction": UNSET,
        "flag": UNSET,
        "reset": UNSET,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {"value": chosen_value},
    }
    if chosen_value is not None:
        fields[chosen_value] = value_value
    fill(message, fields)
    return message


def encode_create_topic_request(message: CreateTopicRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partitions"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "CreateTopicRequest.partitions"))
    value = fields["replication_factor"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "CreateTopicRequest.replication_factor"))
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CreateTopicRequest_config = {1: "key", 2: "value"}


def decode_create_topic_request_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CreateTopicRequest.config", NAMES_CreateTopicRequest_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_CreateTopicRequest = {1: "name", 2: "partitions", 3: "replication_factor", 4: "config"}


def decode_create_topic_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CreateTopicRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_name = ""
    of_partitions = 0
    of_replication_factor = 0
    of_config = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_create_topic_request_config_entry(data, at, stop, room)
                    of_config[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partitions = data[at]
                at += 1
                if of_partitions > 127:
                    of_partitions, at = varint(data, at - 1)
                    of_partitions &= 0xFFFFFFFF
            elif tag == 24:
                of_replication_factor = data[at]
                at += 1
                if of_replication_factor > 127:
                    of_replication_factor, at = varint(data, at - 1)
                    of_replication_factor &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CreateTopicRequest", NAMES_CreateTopicRequest, tag, error) from None
    message = new(CreateTopicRequest)
    fields = {
        "name": of_name,
        "partitions": of_partitions,
        "replication_factor": of_replication_factor,
        "config": of_config,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_topic_request(message: DescribeTopicRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribeTopicRequest = {1: "name"}


def decode_describe_topic_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribeTopicRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_name = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribeTopicRequest", NAMES_DescribeTopicRequest, tag, error) from None
    message = new(DescribeTopicRequest)
    fields = {
        "name": of_name,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_topics_request(message: ListTopicsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListTopicsRequest = {}


def decode_list_topics_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListTopicsRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListTopicsRequest", NAMES_ListTopicsRequest, tag, error) from None
    message = new(ListTopicsRequest)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_topics_reply(message: ListTopicsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topics"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListTopicsReply = {1: "topics"}


def decode_list_topics_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListTopicsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topics = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_topics.append(decode_topic(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListTopicsReply", NAMES_ListTopicsReply, tag, error) from None
    message = new(ListTopicsReply)
    fields = {
        "topics": of_topics,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_alter_topic_request(message: AlterTopicRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_AlterTopicRequest_config = {1: "key", 2: "value"}


def decode_alter_topic_request_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AlterTopicRequest.config", NAMES_AlterTopicRequest_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_AlterTopicRequest = {1: "name", 2: "config"}


def decode_alter_topic_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> AlterTopicRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_name = ""
    of_config = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_alter_topic_request_config_entry(data, at, stop, room)
                    of_config[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AlterTopicRequest", NAMES_AlterTopicRequest, tag, error) from None
    message = new(AlterTopicRequest)
    fields = {
        "name": of_name,
        "config": of_config,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_delete_topic_request(message: DeleteTopicRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeleteTopicRequest = {1: "name"}


def decode_delete_topic_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeleteTopicRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_name = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeleteTopicRequest", NAMES_DeleteTopicRequest, tag, error) from None
    message = new(DeleteTopicRequest)
    fields = {
        "name": of_name,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_delete_topic_reply(message: DeleteTopicReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeleteTopicReply = {}


def decode_delete_topic_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeleteTopicReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeleteTopicReply", NAMES_DeleteTopicReply, tag, error) from None
    message = new(DeleteTopicReply)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_topic(message: Topic) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partitions"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Topic.partitions"))
    value = fields["created_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Topic.created_ms"))
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["size_bytes"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Topic.size_bytes"))
    value = fields["offsets"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_partition_offsets(item)
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Topic_config = {1: "key", 2: "value"}


def decode_topic_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Topic.config", NAMES_Topic_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_Topic = {1: "name", 2: "partitions", 3: "created_ms", 4: "config", 5: "size_bytes", 6: "offsets", 7: "id"}


def decode_topic(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Topic:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_name = ""
    of_partitions = 0
    of_created_ms = 0
    of_config = {}
    of_size_bytes = 0
    of_offsets = []
    of_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_topic_config_entry(data, at, stop, room)
                    of_config[key] = value
                elif tag == 50:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_offsets.append(decode_partition_offsets(data, at, stop, room))
                elif tag == 58:
                    of_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partitions = data[at]
                at += 1
                if of_partitions > 127:
                    of_partitions, at = varint(data, at - 1)
                    of_partitions &= 0xFFFFFFFF
            elif tag == 24:
                of_created_ms = data[at]
                at += 1
                if of_created_ms > 127:
                    of_created_ms, at = varint(data, at - 1)
                    of_created_ms = (of_created_ms ^ 1 << 63) - (1 << 63)
            elif tag == 40:
                of_size_bytes = data[at]
                at += 1
                if of_size_bytes > 127:
                    of_size_bytes, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Topic", NAMES_Topic, tag, error) from None
    message = new(Topic)
    fields = {
        "name": of_name,
        "partitions": of_partitions,
        "created_ms": of_created_ms,
        "config": of_config,
        "size_bytes": of_size_bytes,
        "offsets": of_offsets,
        "id": of_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_partition_offsets(message: PartitionOffsets) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PartitionOffsets.partition"))
    value = fields["start_offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PartitionOffsets.start_offset"))
    value = fields["end_offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PartitionOffsets.end_offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PartitionOffsets = {1: "partition", 2: "start_offset", 3: "end_offset"}


def decode_partition_offsets(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PartitionOffsets:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_partition = 0
    of_start_offset = 0
    of_end_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 16:
                of_start_offset = data[at]
                at += 1
                if of_start_offset > 127:
                    of_start_offset, at = varint(data, at - 1)
                    of_start_offset = (of_start_offset ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_end_offset = data[at]
                at += 1
                if of_end_offset > 127:
                    of_end_offset, at = varint(data, at - 1)
                    of_end_offset = (of_end_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PartitionOffsets", NAMES_PartitionOffsets, tag, error) from None
    message = new(PartitionOffsets)
    fields = {
        "partition": of_partition,
        "start_offset": of_start_offset,
        "end_offset": of_end_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_partitions_request(message: DescribePartitionsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["name"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribePartitionsRequest = {1: "name"}


def decode_describe_partitions_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribePartitionsRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_name = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_name = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribePartitionsRequest", NAMES_DescribePartitionsRequest, tag, error) from None
    message = new(DescribePartitionsRequest)
    fields = {
        "name": of_name,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_partitions_reply(message: DescribePartitionsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partitions"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_partition(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribePartitionsReply = {1: "partitions"}


def decode_describe_partitions_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribePartitionsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_partitions = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_partitions.append(decode_partition(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribePartitionsReply", NAMES_DescribePartitionsReply, tag, error) from None
    message = new(DescribePartitionsReply)
    fields = {
        "partitions": of_partitions,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_partition(message: Partition) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Partition.partition"))
    value = fields["leader"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["leader_address"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["replicas"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["isr"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["start_offset"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Partition.start_offset"))
    value = fields["end_offset"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Partition.end_offset"))
    value = fields["high_watermark"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Partition.high_watermark"))
    value = fields["size_bytes"]
    if value is not UNSET and value:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Partition.size_bytes"))
    value = fields["elr"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'R', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["why_offline"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'Z', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Partition = {1: "partition", 2: "leader", 3: "leader_address", 4: "replicas", 5: "isr", 6: "start_offset", 7: "end_offset", 8: "high_watermark", 9: "size_bytes", 10: "elr", 11: "why_offline"}


def decode_partition(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Partition:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_partition = 0
    of_leader = ""
    of_leader_address = ""
    of_replicas = []
    of_isr = []
    of_start_offset = 0
    of_end_offset = 0
    of_high_watermark = 0
    of_size_bytes = 0
    of_elr = []
    of_why_offline = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    of_leader = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_leader_address = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_replicas.append(str(data[at:stop], "utf-8"))
                elif tag == 42:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_isr.append(str(data[at:stop], "utf-8"))
                elif tag == 82:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_elr.append(str(data[at:stop], "utf-8"))
                elif tag == 90:
                    of_why_offline = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 48:
                of_start_offset = data[at]
                at += 1
                if of_start_offset > 127:
                    of_start_offset, at = varint(data, at - 1)
                    of_start_offset = (of_start_offset ^ 1 << 63) - (1 << 63)
            elif tag == 56:
                of_end_offset = data[at]
                at += 1
                if of_end_offset > 127:
                    of_end_offset, at = varint(data, at - 1)
                    of_end_offset = (of_end_offset ^ 1 << 63) - (1 << 63)
            elif tag == 64:
                of_high_watermark = data[at]
                at += 1
                if of_high_watermark > 127:
                    of_high_watermark, at = varint(data, at - 1)
                    of_high_watermark = (of_high_watermark ^ 1 << 63) - (1 << 63)
            elif tag == 72:
                of_size_bytes = data[at]
                at += 1
                if of_size_bytes > 127:
                    of_size_bytes, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Partition", NAMES_Partition, tag, error) from None
    message = new(Partition)
    fields = {
        "partition": of_partition,
        "leader": of_leader,
        "leader_address": of_leader_address,
        "replicas": of_replicas,
        "isr": of_isr,
        "start_offset": of_start_offset,
        "end_offset": of_end_offset,
        "high_watermark": of_high_watermark,
        "size_bytes": of_size_bytes,
        "elr": of_elr,
        "why_offline": of_why_offline,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_node_request(message: DescribeNodeRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribeNodeRequest = {}


def decode_describe_node_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribeNodeRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribeNodeRequest", NAMES_DescribeNodeRequest, tag, error) from None
    message = new(DescribeNodeRequest)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_node(message: Node) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["node_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["version"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["uptime_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Node.uptime_ms"))
    value = fields["topics"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Node.topics"))
    value = fields["size_bytes"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Node.size_bytes"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Node = {1: "node_id", 2: "version", 3: "uptime_ms", 4: "topics", 5: "size_bytes"}


def decode_node(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Node:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_node_id = ""
    of_version = ""
    of_uptime_ms = 0
    of_topics = 0
    of_size_bytes = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_node_id = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_version = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_uptime_ms = data[at]
                at += 1
                if of_uptime_ms > 127:
                    of_uptime_ms, at = varint(data, at - 1)
            elif tag == 32:
                of_topics = data[at]
                at += 1
                if of_topics > 127:
                    of_topics, at = varint(data, at - 1)
                    of_topics &= 0xFFFFFFFF
            elif tag == 40:
                of_size_bytes = data[at]
                at += 1
                if of_size_bytes > 127:
                    of_size_bytes, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Node", NAMES_Node, tag, error) from None
    message = new(Node)
    fields = {
        "node_id": of_node_id,
        "version": of_version,
        "uptime_ms": of_uptime_ms,
        "topics": of_topics,
        "size_bytes": of_size_bytes,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_new_message(message: NewMessage) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["key"]
    if value is not None:
        size = len(value)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["value"]
    if value is not None:
        size = len(value)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["headers"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_header(item)
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not None:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "NewMessage.partition"))
    value = fields["timestamp_ms"]
    if value is not None:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "NewMessage.timestamp_ms"))
    value = fields["priority"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "NewMessage.priority"))
    value = fields["delay_ms"]
    if value is not None:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "NewMessage.delay_ms"))
    value = fields["deliver_at_ms"]
    if value is not None:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "NewMessage.deliver_at_ms"))
    value = fields["ttl_ms"]
    if value is not None:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "NewMessage.ttl_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_NewMessage = {1: "key", 2: "value", 3: "headers", 4: "partition", 5: "timestamp_ms", 6: "priority", 7: "delay_ms", 8: "deliver_at_ms", 9: "ttl_ms"}


def decode_new_message(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> NewMessage:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_key = None
    of_value = None
    of_headers = []
    of_partition = None
    of_timestamp_ms = None
    of_priority = Priority_0
    of_delay_ms = None
    of_deliver_at_ms = None
    of_ttl_ms = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = bytes(data[at:stop])
                elif tag == 18:
                    of_value = bytes(data[at:stop])
                elif tag == 26:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_headers.append(decode_header(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 40:
                of_timestamp_ms = data[at]
                at += 1
                if of_timestamp_ms > 127:
                    of_timestamp_ms, at = varint(data, at - 1)
                    of_timestamp_ms = (of_timestamp_ms ^ 1 << 63) - (1 << 63)
            elif tag == 48:
                of_priority = data[at]
                at += 1
                if of_priority > 127:
                    of_priority, at = varint(data, at - 1)
                    of_priority = (of_priority & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_priority = Priority_known[of_priority] if of_priority in Priority_known else Priority.try_value(of_priority)
            elif tag == 56:
                of_delay_ms = data[at]
                at += 1
                if of_delay_ms > 127:
                    of_delay_ms, at = varint(data, at - 1)
            elif tag == 64:
                of_deliver_at_ms = data[at]
                at += 1
                if of_deliver_at_ms > 127:
                    of_deliver_at_ms, at = varint(data, at - 1)
                    of_deliver_at_ms = (of_deliver_at_ms ^ 1 << 63) - (1 << 63)
            elif tag == 72:
                of_ttl_ms = data[at]
                at += 1
                if of_ttl_ms > 127:
                    of_ttl_ms, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("NewMessage", NAMES_NewMessage, tag, error) from None
    message = new(NewMessage)
    fields = {
        "key": of_key,
        "value": of_value,
        "headers": of_headers,
        "partition": of_partition,
        "timestamp_ms": of_timestamp_ms,
        "priority": of_priority,
        "delay_ms": of_delay_ms,
        "deliver_at_ms": of_deliver_at_ms,
        "ttl_ms": of_ttl_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_publish_request(message: PublishRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["messages"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_new_message(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["acks"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "PublishRequest.acks"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PublishRequest = {1: "topic", 2: "messages", 3: "acks"}


def decode_publish_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PublishRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topic = ""
    of_messages = []
    of_acks = Acks_0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_messages.append(decode_new_message(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_acks = data[at]
                at += 1
                if of_acks > 127:
                    of_acks, at = varint(data, at - 1)
                    of_acks = (of_acks & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_acks = Acks_known[of_acks] if of_acks in Acks_known else Acks.try_value(of_acks)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PublishRequest", NAMES_PublishRequest, tag, error) from None
    message = new(PublishRequest)
    fields = {
        "topic": of_topic,
        "messages": of_messages,
        "acks": of_acks,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_publish_reply(message: PublishReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["results"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_publish_result(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PublishReply = {1: "results"}


def decode_publish_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PublishReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_results = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_results.append(decode_publish_result(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PublishReply", NAMES_PublishReply, tag, error) from None
    message = new(PublishReply)
    fields = {
        "results": of_results,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_publish_result(message: PublishResult) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PublishResult.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PublishResult.offset"))
    value = fields["timestamp_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PublishResult.timestamp_ms"))
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["deliver_at_ms"]
    if value is not None:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PublishResult.deliver_at_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PublishResult = {1: "partition", 2: "offset", 3: "timestamp_ms", 4: "refusal", 5: "deliver_at_ms"}


def decode_publish_result(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PublishResult:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_4 = None
    of_partition = 0
    of_offset = 0
    of_timestamp_ms = 0
    of_refusal = UNSET
    of_deliver_at_ms = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 34:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_4 = (places_4, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 16:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_timestamp_ms = data[at]
                at += 1
                if of_timestamp_ms > 127:
                    of_timestamp_ms, at = varint(data, at - 1)
                    of_timestamp_ms = (of_timestamp_ms ^ 1 << 63) - (1 << 63)
            elif tag == 40:
                of_deliver_at_ms = data[at]
                at += 1
                if of_deliver_at_ms > 127:
                    of_deliver_at_ms, at = varint(data, at - 1)
                    of_deliver_at_ms = (of_deliver_at_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PublishResult", NAMES_PublishResult, tag, error) from None
    if places_4 is not None and places_4[0] is not None:
        of_refusal = merged(decode_refusal, data, places_4, room)
    message = new(PublishResult)
    fields = {
        "partition": of_partition,
        "offset": of_offset,
        "timestamp_ms": of_timestamp_ms,
        "refusal": of_refusal,
        "deliver_at_ms": of_deliver_at_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_publish_batch_request(message: PublishBatchRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PublishBatchRequest.partition"))
    value = fields["batch"]
    if value is not UNSET and value:
        size = len(value)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["acks"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "PublishBatchRequest.acks"))
    value = fields["request_id"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "PublishBatchRequest.request_id"))
    value = fields["due"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "PublishBatchRequest.due"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PublishBatchRequest = {1: "topic", 2: "partition", 3: "batch", 4: "acks", 5: "request_id", 6: "due"}


def decode_publish_batch_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PublishBatchRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_batch = b""
    of_acks = Acks_0
    of_request_id = 0
    of_due = Due_0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_batch = data[at:stop]
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 32:
                of_acks = data[at]
                at += 1
                if of_acks > 127:
                    of_acks, at = varint(data, at - 1)
                    of_acks = (of_acks & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_acks = Acks_known[of_acks] if of_acks in Acks_known else Acks.try_value(of_acks)
            elif tag == 40:
                of_request_id = data[at]
                at += 1
                if of_request_id > 127:
                    of_request_id, at = varint(data, at - 1)
            elif tag == 48:
                of_due = data[at]
                at += 1
                if of_due > 127:
                    of_due, at = varint(data, at - 1)
                    of_due = (of_due & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_due = Due_known[of_due] if of_due in Due_known else Due.try_value(of_due)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PublishBatchRequest", NAMES_PublishBatchRequest, tag, error) from None
    message = new(PublishBatchRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "batch": of_batch,
        "acks": of_acks,
        "request_id": of_request_id,
        "due": of_due,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_publish_batch_reply(message: PublishBatchReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["request_id"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "PublishBatchReply.request_id"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PublishBatchReply.offset"))
    value = fields["timestamp_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PublishBatchReply.timestamp_ms"))
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PublishBatchReply = {1: "request_id", 2: "offset", 3: "timestamp_ms", 4: "refusal"}


def decode_publish_batch_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PublishBatchReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_4 = None
    of_request_id = 0
    of_offset = 0
    of_timestamp_ms = 0
    of_refusal = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 34:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_4 = (places_4, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_request_id = data[at]
                at += 1
                if of_request_id > 127:
                    of_request_id, at = varint(data, at - 1)
            elif tag == 16:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_timestamp_ms = data[at]
                at += 1
                if of_timestamp_ms > 127:
                    of_timestamp_ms, at = varint(data, at - 1)
                    of_timestamp_ms = (of_timestamp_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PublishBatchReply", NAMES_PublishBatchReply, tag, error) from None
    if places_4 is not None and places_4[0] is not None:
        of_refusal = merged(decode_refusal, data, places_4, room)
    message = new(PublishBatchReply)
    fields = {
        "request_id": of_request_id,
        "offset": of_offset,
        "timestamp_ms": of_timestamp_ms,
        "refusal": of_refusal,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_init_producer_request(message: InitProducerRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_InitProducerRequest = {}


def decode_init_producer_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> InitProducerRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("InitProducerRequest", NAMES_InitProducerRequest, tag, error) from None
    message = new(InitProducerRequest)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_init_producer_reply(message: InitProducerReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["producer_id"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "InitProducerReply.producer_id"))
    value = fields["producer_epoch"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "InitProducerReply.producer_epoch"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_InitProducerReply = {1: "producer_id", 2: "producer_epoch"}


def decode_init_producer_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> InitProducerReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_producer_id = 0
    of_producer_epoch = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_producer_id = data[at]
                at += 1
                if of_producer_id > 127:
                    of_producer_id, at = varint(data, at - 1)
                    of_producer_id = (of_producer_id ^ 1 << 63) - (1 << 63)
            elif tag == 16:
                of_producer_epoch = data[at]
                at += 1
                if of_producer_epoch > 127:
                    of_producer_epoch, at = varint(data, at - 1)
                    of_producer_epoch &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("InitProducerReply", NAMES_InitProducerReply, tag, error) from None
    message = new(InitProducerReply)
    fields = {
        "producer_id": of_producer_id,
        "producer_epoch": of_producer_epoch,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_fetch_request(message: FetchRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "FetchRequest.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FetchRequest.offset"))
    value = fields["bytes_max"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "FetchRequest.bytes_max"))
    value = fields["wait_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "FetchRequest.wait_ms"))
    value = fields["topic_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FetchRequest = {1: "topic", 2: "partition", 3: "offset", 4: "bytes_max", 5: "wait_ms", 6: "topic_id"}


def decode_fetch_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FetchRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    of_bytes_max = 0
    of_wait_ms = 0
    of_topic_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 50:
                    of_topic_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_bytes_max = data[at]
                at += 1
                if of_bytes_max > 127:
                    of_bytes_max, at = varint(data, at - 1)
                    of_bytes_max &= 0xFFFFFFFF
            elif tag == 40:
                of_wait_ms = data[at]
                at += 1
                if of_wait_ms > 127:
                    of_wait_ms, at = varint(data, at - 1)
                    of_wait_ms &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FetchRequest", NAMES_FetchRequest, tag, error) from None
    message = new(FetchRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "bytes_max": of_bytes_max,
        "wait_ms": of_wait_ms,
        "topic_id": of_topic_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_fetch_reply(message: FetchReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["batches"]
    if value is not UNSET and value:
        size = len(value)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["next_offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FetchReply.next_offset"))
    value = fields["high_watermark"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FetchReply.high_watermark"))
    value = fields["start_offset"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FetchReply.start_offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FetchReply = {1: "batches", 2: "next_offset", 3: "high_watermark", 4: "start_offset"}


def decode_fetch_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FetchReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_batches = b""
    of_next_offset = 0
    of_high_watermark = 0
    of_start_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_batches = data[at:stop]
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_next_offset = data[at]
                at += 1
                if of_next_offset > 127:
                    of_next_offset, at = varint(data, at - 1)
                    of_next_offset = (of_next_offset ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_high_watermark = data[at]
                at += 1
                if of_high_watermark > 127:
                    of_high_watermark, at = varint(data, at - 1)
                    of_high_watermark = (of_high_watermark ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_start_offset = data[at]
                at += 1
                if of_start_offset > 127:
                    of_start_offset, at = varint(data, at - 1)
                    of_start_offset = (of_start_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FetchReply", NAMES_FetchReply, tag, error) from None
    message = new(FetchReply)
    fields = {
        "batches": of_batches,
        "next_offset": of_next_offset,
        "high_watermark": of_high_watermark,
        "start_offset": of_start_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_position(message: Position) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    chosen_start = fields["_group_current"]["start"]
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Position.partition"))
    if chosen_start == "offset":
        value = fields["offset"]
        if value is not None:
            parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Position.offset"))
    elif chosen_start == "timestamp_ms":
        value = fields["timestamp_ms"]
        if value is not None:
            parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Position.timestamp_ms"))
    elif chosen_start == "earliest":
        value = fields["earliest"]
        if value is not None:
            parts.append(b'(\x01' if value else b'(\x00')
    elif chosen_start == "latest":
        value = fields["latest"]
        if value is not None:
            parts.append(b'0\x01' if value else b'0\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Position = {1: "topic", 2: "partition", 3: "offset", 4: "timestamp_ms", 5: "earliest", 6: "latest"}


def decode_position(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Position:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    chosen_start = None
    value_start = places_start = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                value_start = item
                places_start = None
                chosen_start = "offset"
            elif tag == 32:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                value_start = item
                places_start = None
                chosen_start = "timestamp_ms"
            elif tag == 40:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_start = item
                places_start = None
                chosen_start = "earliest"
            elif tag == 48:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_start = item
                places_start = None
                chosen_start = "latest"
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Position", NAMES_Position, tag, error) from None
    message = new(Position)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": UNSET,
        "timestamp_ms": UNSET,
        "earliest": UNSET,
        "latest": UNSET,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {"start": chosen_start},
    }
    if chosen_start is not None:
        fields[chosen_start] = value_start
    fill(message, fields)
    return message


def encode_subscribe_request(message: SubscribeRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["positions"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_position(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["bytes_max"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "SubscribeRequest.bytes_max"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_SubscribeRequest = {1: "positions", 2: "bytes_max"}


def decode_subscribe_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> SubscribeRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_positions = []
    of_bytes_max = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_positions.append(decode_position(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_bytes_max = data[at]
                at += 1
                if of_bytes_max > 127:
                    of_bytes_max, at = varint(data, at - 1)
                    of_bytes_max &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("SubscribeRequest", NAMES_SubscribeRequest, tag, error) from None
    message = new(SubscribeRequest)
    fields = {
        "positions": of_positions,
        "bytes_max": of_bytes_max,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_subscribe_reply(message: SubscribeReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["position"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "SubscribeReply.position"))
    value = fields["batches"]
    if value is not UNSET and value:
        size = len(value)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["next_offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "SubscribeReply.next_offset"))
    value = fields["high_watermark"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "SubscribeReply.high_watermark"))
    value = fields["start_offset"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "SubscribeReply.start_offset"))
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["leaving"]
    if value is not UNSET and value:
        parts.append(b'8\x01' if value else b'8\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_SubscribeReply = {1: "position", 2: "batches", 3: "next_offset", 4: "high_watermark", 5: "start_offset", 6: "refusal", 7: "leaving"}


def decode_subscribe_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> SubscribeReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_6 = None
    of_position = 0
    of_batches = b""
    of_next_offset = 0
    of_high_watermark = 0
    of_start_offset = 0
    of_refusal = UNSET
    of_leaving = False
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    of_batches = data[at:stop]
                elif tag == 50:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_6 = (places_6, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_position = data[at]
                at += 1
                if of_position > 127:
                    of_position, at = varint(data, at - 1)
                    of_position &= 0xFFFFFFFF
            elif tag == 24:
                of_next_offset = data[at]
                at += 1
                if of_next_offset > 127:
                    of_next_offset, at = varint(data, at - 1)
                    of_next_offset = (of_next_offset ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_high_watermark = data[at]
                at += 1
                if of_high_watermark > 127:
                    of_high_watermark, at = varint(data, at - 1)
                    of_high_watermark = (of_high_watermark ^ 1 << 63) - (1 << 63)
            elif tag == 40:
                of_start_offset = data[at]
                at += 1
                if of_start_offset > 127:
                    of_start_offset, at = varint(data, at - 1)
                    of_start_offset = (of_start_offset ^ 1 << 63) - (1 << 63)
            elif tag == 56:
                of_leaving = data[at]
                at += 1
                if of_leaving > 127:
                    of_leaving, at = varint(data, at - 1)
                of_leaving = of_leaving != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("SubscribeReply", NAMES_SubscribeReply, tag, error) from None
    if places_6 is not None and places_6[0] is not None:
        of_refusal = merged(decode_refusal, data, places_6, room)
    message = new(SubscribeReply)
    fields = {
        "position": of_position,
        "batches": of_batches,
        "next_offset": of_next_offset,
        "high_watermark": of_high_watermark,
        "start_offset": of_start_offset,
        "refusal": of_refusal,
        "leaving": of_leaving,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_find_offset_request(message: FindOffsetRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "FindOffsetRequest.partition"))
    value = fields["timestamp_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FindOffsetRequest.timestamp_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FindOffsetRequest = {1: "topic", 2: "partition", 3: "timestamp_ms"}


def decode_find_offset_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FindOffsetRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_timestamp_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_timestamp_ms = data[at]
                at += 1
                if of_timestamp_ms > 127:
                    of_timestamp_ms, at = varint(data, at - 1)
                    of_timestamp_ms = (of_timestamp_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FindOffsetRequest", NAMES_FindOffsetRequest, tag, error) from None
    message = new(FindOffsetRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "timestamp_ms": of_timestamp_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_find_offset_reply(message: FindOffsetReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FindOffsetReply.offset"))
    value = fields["timestamp_ms"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "FindOffsetReply.timestamp_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FindOffsetReply = {1: "offset", 2: "timestamp_ms"}


def decode_find_offset_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FindOffsetReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_offset = 0
    of_timestamp_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 16:
                of_timestamp_ms = data[at]
                at += 1
                if of_timestamp_ms > 127:
                    of_timestamp_ms, at = varint(data, at - 1)
                    of_timestamp_ms = (of_timestamp_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FindOffsetReply", NAMES_FindOffsetReply, tag, error) from None
    message = new(FindOffsetReply)
    fields = {
        "offset": of_offset,
        "timestamp_ms": of_timestamp_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_join_request(message: JoinRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["instance_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["client_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["topics"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["session_timeout_ms"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "JoinRequest.session_timeout_ms"))
    value = fields["mode"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "JoinRequest.mode"))
    value = fields["assignor"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'J', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["eager"]
    if value is not UNSET and value:
        parts.append(b'P\x01' if value else b'P\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_JoinRequest_config = {1: "key", 2: "value"}


def decode_join_request_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("JoinRequest.config", NAMES_JoinRequest_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_JoinRequest = {1: "group", 2: "member_id", 3: "instance_id", 4: "client_id", 5: "topics", 6: "session_timeout_ms", 7: "mode", 8: "assignor", 9: "config", 10: "eager"}


def decode_join_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> JoinRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_instance_id = ""
    of_client_id = ""
    of_topics = []
    of_session_timeout_ms = 0
    of_mode = GroupMode_0
    of_assignor = ""
    of_config = {}
    of_eager = False
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_instance_id = str(data[at:stop], "utf-8")
                elif tag == 34:
                    of_client_id = str(data[at:stop], "utf-8")
                elif tag == 42:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_topics.append(str(data[at:stop], "utf-8"))
                elif tag == 66:
                    of_assignor = str(data[at:stop], "utf-8")
                elif tag == 74:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_join_request_config_entry(data, at, stop, room)
                    of_config[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 48:
                of_session_timeout_ms = data[at]
                at += 1
                if of_session_timeout_ms > 127:
                    of_session_timeout_ms, at = varint(data, at - 1)
                    of_session_timeout_ms &= 0xFFFFFFFF
            elif tag == 56:
                of_mode = data[at]
                at += 1
                if of_mode > 127:
                    of_mode, at = varint(data, at - 1)
                    of_mode = (of_mode & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_mode = GroupMode_known[of_mode] if of_mode in GroupMode_known else GroupMode.try_value(of_mode)
            elif tag == 80:
                of_eager = data[at]
                at += 1
                if of_eager > 127:
                    of_eager, at = varint(data, at - 1)
                of_eager = of_eager != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("JoinRequest", NAMES_JoinRequest, tag, error) from None
    message = new(JoinRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "instance_id": of_instance_id,
        "client_id": of_client_id,
        "topics": of_topics,
        "session_timeout_ms": of_session_timeout_ms,
        "mode": of_mode,
        "assignor": of_assignor,
        "config": of_config,
        "eager": of_eager,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_join_reply(message: JoinReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "JoinReply.generation"))
    value = fields["mode"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "JoinReply.mode"))
    value = fields["assigned"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["to_revoke"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["heartbeat_interval_ms"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "JoinReply.heartbeat_interval_ms"))
    value = fields["rebalance_required"]
    if value is not UNSET and value:
        parts.append(b'8\x01' if value else b'8\x00')
    value = fields["members"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["seen"]
    if value is not UNSET and value:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "JoinReply.seen"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_JoinReply = {1: "member_id", 2: "generation", 3: "mode", 4: "assigned", 5: "to_revoke", 6: "heartbeat_interval_ms", 7: "rebalance_required", 8: "members", 9: "seen"}


def decode_join_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> JoinReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_member_id = ""
    of_generation = 0
    of_mode = GroupMode_0
    of_assigned = []
    of_to_revoke = []
    of_heartbeat_interval_ms = 0
    of_rebalance_required = False
    of_members = []
    of_seen = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_member_id = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_assigned.append(decode_topic_partition(data, at, stop, room))
                elif tag == 42:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_to_revoke.append(decode_topic_partition(data, at, stop, room))
                elif tag == 66:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_members.append(str(data[at:stop], "utf-8"))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            elif tag == 24:
                of_mode = data[at]
                at += 1
                if of_mode > 127:
                    of_mode, at = varint(data, at - 1)
                    of_mode = (of_mode & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_mode = GroupMode_known[of_mode] if of_mode in GroupMode_known else GroupMode.try_value(of_mode)
            elif tag == 48:
                of_heartbeat_interval_ms = data[at]
                at += 1
                if of_heartbeat_interval_ms > 127:
                    of_heartbeat_interval_ms, at = varint(data, at - 1)
                    of_heartbeat_interval_ms &= 0xFFFFFFFF
            elif tag == 56:
                of_rebalance_required = data[at]
                at += 1
                if of_rebalance_required > 127:
                    of_rebalance_required, at = varint(data, at - 1)
                of_rebalance_required = of_rebalance_required != 0
            elif tag == 72:
                of_seen = data[at]
                at += 1
                if of_seen > 127:
                    of_seen, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("JoinReply", NAMES_JoinReply, tag, error) from None
    message = new(JoinReply)
    fields = {
        "member_id": of_member_id,
        "generation": of_generation,
        "mode": of_mode,
        "assigned": of_assigned,
        "to_revoke": of_to_revoke,
        "heartbeat_interval_ms": of_heartbeat_interval_ms,
        "rebalance_required": of_rebalance_required,
        "members": of_members,
        "seen": of_seen,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_heartbeat_request(message: HeartbeatRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "HeartbeatRequest.generation"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_HeartbeatRequest = {1: "group", 2: "member_id", 3: "generation"}


def decode_heartbeat_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> HeartbeatRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_generation = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("HeartbeatRequest", NAMES_HeartbeatRequest, tag, error) from None
    message = new(HeartbeatRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "generation": of_generation,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_watch_request(message: WatchRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["seen"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "WatchRequest.seen"))
    value = fields["wait_ms"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "WatchRequest.wait_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_WatchRequest = {1: "group", 2: "member_id", 3: "seen", 4: "wait_ms"}


def decode_watch_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> WatchRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_seen = 0
    of_wait_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_seen = data[at]
                at += 1
                if of_seen > 127:
                    of_seen, at = varint(data, at - 1)
            elif tag == 32:
                of_wait_ms = data[at]
                at += 1
                if of_wait_ms > 127:
                    of_wait_ms, at = varint(data, at - 1)
                    of_wait_ms &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("WatchRequest", NAMES_WatchRequest, tag, error) from None
    message = new(WatchRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "seen": of_seen,
        "wait_ms": of_wait_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_heartbeat_reply(message: HeartbeatReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "HeartbeatReply.generation"))
    value = fields["state"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["assigned"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["to_revoke"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["revocation_deadline_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "HeartbeatReply.revocation_deadline_ms"))
    value = fields["rebalance_required"]
    if value is not UNSET and value:
        parts.append(b'0\x01' if value else b'0\x00')
    value = fields["seen"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "HeartbeatReply.seen"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_HeartbeatReply = {1: "generation", 2: "state", 3: "assigned", 4: "to_revoke", 5: "revocation_deadline_ms", 6: "rebalance_required", 7: "seen"}


def decode_heartbeat_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> HeartbeatReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_generation = 0
    of_state = ""
    of_assigned = []
    of_to_revoke = []
    of_revocation_deadline_ms = 0
    of_rebalance_required = False
    of_seen = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    of_state = str(data[at:stop], "utf-8")
                elif tag == 26:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_assigned.append(decode_topic_partition(data, at, stop, room))
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_to_revoke.append(decode_topic_partition(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            elif tag == 40:
                of_revocation_deadline_ms = data[at]
                at += 1
                if of_revocation_deadline_ms > 127:
                    of_revocation_deadline_ms, at = varint(data, at - 1)
                    of_revocation_deadline_ms = (of_revocation_deadline_ms ^ 1 << 63) - (1 << 63)
            elif tag == 48:
                of_rebalance_required = data[at]
                at += 1
                if of_rebalance_required > 127:
                    of_rebalance_required, at = varint(data, at - 1)
                of_rebalance_required = of_rebalance_required != 0
            elif tag == 56:
                of_seen = data[at]
                at += 1
                if of_seen > 127:
                    of_seen, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("HeartbeatReply", NAMES_HeartbeatReply, tag, error) from None
    message = new(HeartbeatReply)
    fields = {
        "generation": of_generation,
        "state": of_state,
        "assigned": of_assigned,
        "to_revoke": of_to_revoke,
        "revocation_deadline_ms": of_revocation_deadline_ms,
        "rebalance_required": of_rebalance_required,
        "seen": of_seen,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_leave_request(message: LeaveRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_LeaveRequest = {1: "group", 2: "member_id"}


def decode_leave_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> LeaveRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("LeaveRequest", NAMES_LeaveRequest, tag, error) from None
    message = new(LeaveRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_leave_reply(message: LeaveReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_LeaveReply = {}


def decode_leave_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> LeaveReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("LeaveReply", NAMES_LeaveReply, tag, error) from None
    message = new(LeaveReply)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_revoke_request(message: RevokeRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RevokeRequest.generation"))
    value = fields["revoked"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RevokeRequest = {1: "group", 2: "member_id", 3: "generation", 4: "revoked"}


def decode_revoke_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RevokeRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_generation = 0
    of_revoked = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_revoked.append(decode_topic_partition(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RevokeRequest", NAMES_RevokeRequest, tag, error) from None
    message = new(RevokeRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "generation": of_generation,
        "revoked": of_revoked,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_revoke_reply(message: RevokeReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["pending"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RevokeReply.pending"))
    value = fields["state"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RevokeReply = {1: "pending", 2: "state"}


def decode_revoke_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RevokeReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_pending = 0
    of_state = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    of_state = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_pending = data[at]
                at += 1
                if of_pending > 127:
                    of_pending, at = varint(data, at - 1)
                    of_pending &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RevokeReply", NAMES_RevokeReply, tag, error) from None
    message = new(RevokeReply)
    fields = {
        "pending": of_pending,
        "state": of_state,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_partition_offset(message: PartitionOffset) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PartitionOffset.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "PartitionOffset.offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PartitionOffset = {1: "topic", 2: "partition", 3: "offset"}


def decode_partition_offset(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PartitionOffset:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PartitionOffset", NAMES_PartitionOffset, tag, error) from None
    message = new(PartitionOffset)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_commit_request(message: CommitRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "CommitRequest.generation"))
    value = fields["offsets"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_partition_offset(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CommitRequest = {1: "group", 2: "member_id", 3: "generation", 4: "offsets"}


def decode_commit_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CommitRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_generation = 0
    of_offsets = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_offsets.append(decode_partition_offset(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CommitRequest", NAMES_CommitRequest, tag, error) from None
    message = new(CommitRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "generation": of_generation,
        "offsets": of_offsets,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_commit_reply(message: CommitReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_commit_refusal(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CommitReply = {1: "refusals"}


def decode_commit_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CommitReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_refusals = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_commit_refusal(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CommitReply", NAMES_CommitReply, tag, error) from None
    message = new(CommitReply)
    fields = {
        "refusals": of_refusals,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_commit_refusal(message: CommitRefusal) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value is not None:
        inner = encode_topic_partition(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CommitRefusal = {1: "partition", 2: "refusal"}


def decode_commit_refusal(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CommitRefusal:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_1 = None
    places_2 = None
    of_partition = UNSET
    of_refusal = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_partition = decode_topic_partition(data, at, stop, room)
                    places_1 = (places_1, at, stop)
                elif tag == 18:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CommitRefusal", NAMES_CommitRefusal, tag, error) from None
    if places_1 is not None and places_1[0] is not None:
        of_partition = merged(decode_topic_partition, data, places_1, room)
    if places_2 is not None and places_2[0] is not None:
        of_refusal = merged(decode_refusal, data, places_2, room)
    message = new(CommitRefusal)
    fields = {
        "partition": of_partition,
        "refusal": of_refusal,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_fetch_offsets_request(message: FetchOffsetsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["topics"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FetchOffsetsRequest = {1: "group", 2: "topics"}


def decode_fetch_offsets_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FetchOffsetsRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_topics = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_topics.append(str(data[at:stop], "utf-8"))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FetchOffsetsRequest", NAMES_FetchOffsetsRequest, tag, error) from None
    message = new(FetchOffsetsRequest)
    fields = {
        "group": of_group,
        "topics": of_topics,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_fetch_offsets_reply(message: FetchOffsetsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["offsets"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_group_offset(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_FetchOffsetsReply = {1: "offsets"}


def decode_fetch_offsets_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> FetchOffsetsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_offsets = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_offsets.append(decode_group_offset(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("FetchOffsetsReply", NAMES_FetchOffsetsReply, tag, error) from None
    message = new(FetchOffsetsReply)
    fields = {
        "offsets": of_offsets,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_group_offset(message: GroupOffset) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "GroupOffset.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupOffset.offset"))
    value = fields["lag"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupOffset.lag"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_GroupOffset = {1: "topic", 2: "partition", 3: "offset", 4: "lag"}


def decode_group_offset(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> GroupOffset:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    of_lag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_lag = data[at]
                at += 1
                if of_lag > 127:
                    of_lag, at = varint(data, at - 1)
                    of_lag = (of_lag ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("GroupOffset", NAMES_GroupOffset, tag, error) from None
    message = new(GroupOffset)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "lag": of_lag,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_reset_offsets_request(message: ResetOffsetsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    chosen_to = fields["_group_current"]["to"]
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partitions"]
    if value is not UNSET and value:
        packed = b"".join([SHORT[item] if 0 <= item < SHORT_MAX else uint32(item, "ResetOffsetsRequest.partitions") for item in value])
        size = len(packed)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), packed)
    if chosen_to == "earliest":
        value = fields["earliest"]
        if value is not None:
            parts.append(b' \x01' if value else b' \x00')
    elif chosen_to == "latest":
        value = fields["latest"]
        if value is not None:
            parts.append(b'(\x01' if value else b'(\x00')
    elif chosen_to == "offset":
        value = fields["offset"]
        if value is not None:
            parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "ResetOffsetsRequest.offset"))
    elif chosen_to == "timestamp_ms":
        value = fields["timestamp_ms"]
        if value is not None:
            parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "ResetOffsetsRequest.timestamp_ms"))
    value = fields["dry_run"]
    if value is not UNSET and value:
        parts.append(b'@\x01' if value else b'@\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ResetOffsetsRequest = {1: "group", 2: "topic", 3: "partitions", 4: "earliest", 5: "latest", 6: "offset", 7: "timestamp_ms", 8: "dry_run"}


def decode_reset_offsets_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ResetOffsetsRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_topic = ""
    of_partitions = []
    of_dry_run = False
    chosen_to = None
    value_to = places_to = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    room[0] -= size
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    while at < stop:
                        item = data[at]
                        at += 1
                        if item > 127:
                            item, at = varint(data, at - 1)
                            item &= 0xFFFFFFFF
                        of_partitions.append(item)
                    if at != stop:
                        raise Flaw(CUT)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                room[0] -= 1
                if room[0] < 0:
                    raise Flaw(CROWDED)
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item &= 0xFFFFFFFF
                of_partitions.append(item)
            elif tag == 32:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_to = item
                places_to = None
                chosen_to = "earliest"
            elif tag == 40:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                item = item != 0
                value_to = item
                places_to = None
                chosen_to = "latest"
            elif tag == 48:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                value_to = item
                places_to = None
                chosen_to = "offset"
            elif tag == 56:
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                value_to = item
                places_to = None
                chosen_to = "timestamp_ms"
            elif tag == 64:
                of_dry_run = data[at]
                at += 1
                if of_dry_run > 127:
                    of_dry_run, at = varint(data, at - 1)
                of_dry_run = of_dry_run != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ResetOffsetsRequest", NAMES_ResetOffsetsRequest, tag, error) from None
    message = new(ResetOffsetsRequest)
    fields = {
        "group": of_group,
        "topic": of_topic,
        "partitions": of_partitions,
        "earliest": UNSET,
        "latest": UNSET,
        "offset": UNSET,
        "timestamp_ms": UNSET,
        "dry_run": of_dry_run,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {"to": chosen_to},
    }
    if chosen_to is not None:
        fields[chosen_to] = value_to
    fill(message, fields)
    return message


def encode_reset_offsets_reply(message: ResetOffsetsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["changes"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_offset_change(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ResetOffsetsReply = {1: "changes"}


def decode_reset_offsets_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ResetOffsetsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_changes = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_changes.append(decode_offset_change(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ResetOffsetsReply", NAMES_ResetOffsetsReply, tag, error) from None
    message = new(ResetOffsetsReply)
    fields = {
        "changes": of_changes,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_offset_change(message: OffsetChange) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "OffsetChange.partition"))
    value = fields["before"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "OffsetChange.before"))
    value = fields["after"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "OffsetChange.after"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_OffsetChange = {1: "partition", 2: "before", 3: "after"}


def decode_offset_change(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> OffsetChange:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_partition = 0
    of_before = 0
    of_after = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 16:
                of_before = data[at]
                at += 1
                if of_before > 127:
                    of_before, at = varint(data, at - 1)
                    of_before = (of_before ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_after = data[at]
                at += 1
                if of_after > 127:
                    of_after, at = varint(data, at - 1)
                    of_after = (of_after ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("OffsetChange", NAMES_OffsetChange, tag, error) from None
    message = new(OffsetChange)
    fields = {
        "partition": of_partition,
        "before": of_before,
        "after": of_after,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_groups_request(message: ListGroupsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListGroupsRequest = {}


def decode_list_groups_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListGroupsRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListGroupsRequest", NAMES_ListGroupsRequest, tag, error) from None
    message = new(ListGroupsRequest)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_groups_reply(message: ListGroupsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["groups"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_group(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListGroupsReply = {1: "groups"}


def decode_list_groups_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListGroupsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_groups = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_groups.append(decode_group(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListGroupsReply", NAMES_ListGroupsReply, tag, error) from None
    message = new(ListGroupsReply)
    fields = {
        "groups": of_groups,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_group_request(message: DescribeGroupRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribeGroupRequest = {1: "group"}


def decode_describe_group_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribeGroupRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribeGroupRequest", NAMES_DescribeGroupRequest, tag, error) from None
    message = new(DescribeGroupRequest)
    fields = {
        "group": of_group,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_group(message: Group) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["state"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["generation"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Group.generation"))
    value = fields["assignor"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["mode"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "Group.mode"))
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["members"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_group_member(item)
            size = len(inner)
            parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["expires_ms"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Group.expires_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Group_config = {1: "key", 2: "value"}


def decode_group_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Group.config", NAMES_Group_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_Group = {1: "group", 2: "state", 3: "generation", 4: "assignor", 5: "mode", 6: "config", 7: "members", 8: "expires_ms"}


def decode_group(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Group:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_state = ""
    of_generation = 0
    of_assignor = ""
    of_mode = GroupMode_0
    of_config = {}
    of_members = []
    of_expires_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_state = str(data[at:stop], "utf-8")
                elif tag == 34:
                    of_assignor = str(data[at:stop], "utf-8")
                elif tag == 50:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_group_config_entry(data, at, stop, room)
                    of_config[key] = value
                elif tag == 58:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_members.append(decode_group_member(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_generation = data[at]
                at += 1
                if of_generation > 127:
                    of_generation, at = varint(data, at - 1)
                    of_generation &= 0xFFFFFFFF
            elif tag == 40:
                of_mode = data[at]
                at += 1
                if of_mode > 127:
                    of_mode, at = varint(data, at - 1)
                    of_mode = (of_mode & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_mode = GroupMode_known[of_mode] if of_mode in GroupMode_known else GroupMode.try_value(of_mode)
            elif tag == 64:
                of_expires_ms = data[at]
                at += 1
                if of_expires_ms > 127:
                    of_expires_ms, at = varint(data, at - 1)
                    of_expires_ms = (of_expires_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Group", NAMES_Group, tag, error) from None
    message = new(Group)
    fields = {
        "group": of_group,
        "state": of_state,
        "generation": of_generation,
        "assignor": of_assignor,
        "mode": of_mode,
        "config": of_config,
        "members": of_members,
        "expires_ms": of_expires_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_group_member(message: GroupMember) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["instance_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["client_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["assigned"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["last_heartbeat_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupMember.last_heartbeat_ms"))
    value = fields["topics"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["to_revoke"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_topic_partition(item)
            size = len(inner)
            parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["session_timeout_ms"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "GroupMember.session_timeout_ms"))
    value = fields["eager"]
    if value is not UNSET and value:
        parts.append(b'H\x01' if value else b'H\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_GroupMember = {1: "member_id", 2: "instance_id", 3: "client_id", 4: "assigned", 5: "last_heartbeat_ms", 6: "topics", 7: "to_revoke", 8: "session_timeout_ms", 9: "eager"}


def decode_group_member(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> GroupMember:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_member_id = ""
    of_instance_id = ""
    of_client_id = ""
    of_assigned = []
    of_last_heartbeat_ms = 0
    of_topics = []
    of_to_revoke = []
    of_session_timeout_ms = 0
    of_eager = False
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_member_id = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_instance_id = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_client_id = str(data[at:stop], "utf-8")
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_assigned.append(decode_topic_partition(data, at, stop, room))
                elif tag == 50:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_topics.append(str(data[at:stop], "utf-8"))
                elif tag == 58:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_to_revoke.append(decode_topic_partition(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 40:
                of_last_heartbeat_ms = data[at]
                at += 1
                if of_last_heartbeat_ms > 127:
                    of_last_heartbeat_ms, at = varint(data, at - 1)
                    of_last_heartbeat_ms = (of_last_heartbeat_ms ^ 1 << 63) - (1 << 63)
            elif tag == 64:
                of_session_timeout_ms = data[at]
                at += 1
                if of_session_timeout_ms > 127:
                    of_session_timeout_ms, at = varint(data, at - 1)
                    of_session_timeout_ms &= 0xFFFFFFFF
            elif tag == 72:
                of_eager = data[at]
                at += 1
                if of_eager > 127:
                    of_eager, at = varint(data, at - 1)
                of_eager = of_eager != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("GroupMember", NAMES_GroupMember, tag, error) from None
    message = new(GroupMember)
    fields = {
        "member_id": of_member_id,
        "instance_id": of_instance_id,
        "client_id": of_client_id,
        "assigned": of_assigned,
        "last_heartbeat_ms": of_last_heartbeat_ms,
        "topics": of_topics,
        "to_revoke": of_to_revoke,
        "session_timeout_ms": of_session_timeout_ms,
        "eager": of_eager,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_alter_group_request(message: AlterGroupRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["config"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            inner = encode_setting(item)
            size = len(inner)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_AlterGroupRequest_config = {1: "key", 2: "value"}


def decode_alter_group_request_config_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_key = ""
    of_value = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = decode_setting(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AlterGroupRequest.config", NAMES_AlterGroupRequest_config, tag, error) from None
    if of_value is UNSET:
        of_value = decode_setting(b"", 0, 0, room)
    if places_2 is not None and places_2[0] is not None:
        of_value = merged(decode_setting, data, places_2, room)
    return of_key, of_value


NAMES_AlterGroupRequest = {1: "group", 2: "config"}


def decode_alter_group_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> AlterGroupRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_group = ""
    of_config = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_alter_group_request_config_entry(data, at, stop, room)
                    of_config[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AlterGroupRequest", NAMES_AlterGroupRequest, tag, error) from None
    message = new(AlterGroupRequest)
    fields = {
        "group": of_group,
        "config": of_config,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_rebalances_request(message: DescribeRebalancesRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribeRebalancesRequest = {1: "group"}


def decode_describe_rebalances_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribeRebalancesRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribeRebalancesRequest", NAMES_DescribeRebalancesRequest, tag, error) from None
    message = new(DescribeRebalancesRequest)
    fields = {
        "group": of_group,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_rebalances(message: Rebalances) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["total"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.total"))
    value = fields["successful"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.successful"))
    value = fields["failed"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.failed"))
    value = fields["partitions_revoked"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.partitions_revoked"))
    value = fields["partitions_assigned"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.partitions_assigned"))
    value = fields["revocation_timeouts"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.revocation_timeouts"))
    value = fields["last_duration_ms"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.last_duration_ms"))
    value = fields["average_duration_ms"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Rebalances.average_duration_ms"))
    value = fields["last_at_ms"]
    if value is not UNSET and value:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Rebalances.last_at_ms"))
    value = fields["by_reason"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            entry += (b'\x10', SHORT[item] if 0 <= item < SHORT_MAX else uint64(item, "Rebalances.by_reason.value"))
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'R', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Rebalances_by_reason = {1: "key", 2: "value"}


def decode_rebalances_by_reason_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_key = ""
    of_value = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            elif tag == 16:
                of_value = data[at]
                at += 1
                if of_value > 127:
                    of_value, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Rebalances.by_reason", NAMES_Rebalances_by_reason, tag, error) from None
    return of_key, of_value


NAMES_Rebalances = {1: "total", 2: "successful", 3: "failed", 4: "partitions_revoked", 5: "partitions_assigned", 6: "revocation_timeouts", 7: "last_duration_ms", 8: "average_duration_ms", 9: "last_at_ms", 10: "by_reason"}


def decode_rebalances(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Rebalances:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_total = 0
    of_successful = 0
    of_failed = 0
    of_partitions_revoked = 0
    of_partitions_assigned = 0
    of_revocation_timeouts = 0
    of_last_duration_ms = 0
    of_average_duration_ms = 0
    of_last_at_ms = 0
    of_by_reason = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 82:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_rebalances_by_reason_entry(data, at, stop, room)
                    of_by_reason[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_total = data[at]
                at += 1
                if of_total > 127:
                    of_total, at = varint(data, at - 1)
            elif tag == 16:
                of_successful = data[at]
                at += 1
                if of_successful > 127:
                    of_successful, at = varint(data, at - 1)
            elif tag == 24:
                of_failed = data[at]
                at += 1
                if of_failed > 127:
                    of_failed, at = varint(data, at - 1)
            elif tag == 32:
                of_partitions_revoked = data[at]
                at += 1
                if of_partitions_revoked > 127:
                    of_partitions_revoked, at = varint(data, at - 1)
            elif tag == 40:
                of_partitions_assigned = data[at]
                at += 1
                if of_partitions_assigned > 127:
                    of_partitions_assigned, at = varint(data, at - 1)
            elif tag == 48:
                of_revocation_timeouts = data[at]
                at += 1
                if of_revocation_timeouts > 127:
                    of_revocation_timeouts, at = varint(data, at - 1)
            elif tag == 56:
                of_last_duration_ms = data[at]
                at += 1
                if of_last_duration_ms > 127:
                    of_last_duration_ms, at = varint(data, at - 1)
            elif tag == 64:
                of_average_duration_ms = data[at]
                at += 1
                if of_average_duration_ms > 127:
                    of_average_duration_ms, at = varint(data, at - 1)
            elif tag == 72:
                of_last_at_ms = data[at]
                at += 1
                if of_last_at_ms > 127:
                    of_last_at_ms, at = varint(data, at - 1)
                    of_last_at_ms = (of_last_at_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Rebalances", NAMES_Rebalances, tag, error) from None
    message = new(Rebalances)
    fields = {
        "total": of_total,
        "successful": of_successful,
        "failed": of_failed,
        "partitions_revoked": of_partitions_revoked,
        "partitions_assigned": of_partitions_assigned,
        "revocation_timeouts": of_revocation_timeouts,
        "last_duration_ms": of_last_duration_ms,
        "average_duration_ms": of_average_duration_ms,
        "last_at_ms": of_last_at_ms,
        "by_reason": of_by_reason,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_delete_group_request(message: DeleteGroupRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeleteGroupRequest = {1: "group"}


def decode_delete_group_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeleteGroupRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeleteGroupRequest", NAMES_DeleteGroupRequest, tag, error) from None
    message = new(DeleteGroupRequest)
    fields = {
        "group": of_group,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_delete_group_reply(message: DeleteGroupReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeleteGroupReply = {}


def decode_delete_group_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeleteGroupReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeleteGroupReply", NAMES_DeleteGroupReply, tag, error) from None
    message = new(DeleteGroupReply)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_receipt_range(message: ReceiptRange) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["stem"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["first_offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "ReceiptRange.first_offset"))
    value = fields["count"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "ReceiptRange.count"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ReceiptRange = {1: "stem", 2: "first_offset", 3: "count"}


def decode_receipt_range(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ReceiptRange:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_stem = ""
    of_first_offset = 0
    of_count = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_stem = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_first_offset = data[at]
                at += 1
                if of_first_offset > 127:
                    of_first_offset, at = varint(data, at - 1)
                    of_first_offset = (of_first_offset ^ 1 << 63) - (1 << 63)
            elif tag == 24:
                of_count = data[at]
                at += 1
                if of_count > 127:
                    of_count, at = varint(data, at - 1)
                    of_count &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ReceiptRange", NAMES_ReceiptRange, tag, error) from None
    message = new(ReceiptRange)
    fields = {
        "stem": of_stem,
        "first_offset": of_first_offset,
        "count": of_count,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_poll_request(message: PollRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["messages_max"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PollRequest.messages_max"))
    value = fields["wait_ms"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PollRequest.wait_ms"))
    value = fields["visibility_timeout_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PollRequest.visibility_timeout_ms"))
    value = fields["bytes_max"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "PollRequest.bytes_max"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PollRequest = {1: "group", 2: "member_id", 3: "messages_max", 4: "wait_ms", 5: "visibility_timeout_ms", 6: "bytes_max"}


def decode_poll_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PollRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_group = ""
    of_member_id = ""
    of_messages_max = 0
    of_wait_ms = 0
    of_visibility_timeout_ms = 0
    of_bytes_max = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_messages_max = data[at]
                at += 1
                if of_messages_max > 127:
                    of_messages_max, at = varint(data, at - 1)
                    of_messages_max &= 0xFFFFFFFF
            elif tag == 32:
                of_wait_ms = data[at]
                at += 1
                if of_wait_ms > 127:
                    of_wait_ms, at = varint(data, at - 1)
                    of_wait_ms &= 0xFFFFFFFF
            elif tag == 40:
                of_visibility_timeout_ms = data[at]
                at += 1
                if of_visibility_timeout_ms > 127:
                    of_visibility_timeout_ms, at = varint(data, at - 1)
                    of_visibility_timeout_ms &= 0xFFFFFFFF
            elif tag == 48:
                of_bytes_max = data[at]
                at += 1
                if of_bytes_max > 127:
                    of_bytes_max, at = varint(data, at - 1)
                    of_bytes_max &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PollRequest", NAMES_PollRequest, tag, error) from None
    message = new(PollRequest)
    fields = {
        "group": of_group,
        "member_id": of_member_id,
        "messages_max": of_messages_max,
        "wait_ms": of_wait_ms,
        "visibility_timeout_ms": of_visibility_timeout_ms,
        "bytes_max": of_bytes_max,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_poll_reply(message: PollReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["parts"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_leased_batches(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PollReply = {1: "parts"}


def decode_poll_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PollReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_parts = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_parts.append(decode_leased_batches(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PollReply", NAMES_PollReply, tag, error) from None
    message = new(PollReply)
    fields = {
        "parts": of_parts,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_leased_batches(message: LeasedBatches) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "LeasedBatches.partition"))
    value = fields["batches"]
    if value is not UNSET and value:
        size = len(value)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["leases"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_lease(item)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["now_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "LeasedBatches.now_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_LeasedBatches = {1: "topic", 2: "partition", 3: "batches", 4: "leases", 5: "now_ms"}


def decode_leased_batches(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> LeasedBatches:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_batches = b""
    of_leases = []
    of_now_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_batches = data[at:stop]
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_leases.append(decode_lease(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 40:
                of_now_ms = data[at]
                at += 1
                if of_now_ms > 127:
                    of_now_ms, at = varint(data, at - 1)
                    of_now_ms = (of_now_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("LeasedBatches", NAMES_LeasedBatches, tag, error) from None
    message = new(LeasedBatches)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "batches": of_batches,
        "leases": of_leases,
        "now_ms": of_now_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_lease(message: Lease) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["first_offset"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Lease.first_offset"))
    value = fields["count"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Lease.count"))
    value = fields["attempt"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Lease.attempt"))
    value = fields["stem"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["expires_ms"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "Lease.expires_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Lease = {1: "first_offset", 2: "count", 3: "attempt", 4: "stem", 5: "expires_ms"}


def decode_lease(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Lease:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_first_offset = 0
    of_count = 0
    of_attempt = 0
    of_stem = ""
    of_expires_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 34:
                    of_stem = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_first_offset = data[at]
                at += 1
                if of_first_offset > 127:
                    of_first_offset, at = varint(data, at - 1)
                    of_first_offset = (of_first_offset ^ 1 << 63) - (1 << 63)
            elif tag == 16:
                of_count = data[at]
                at += 1
                if of_count > 127:
                    of_count, at = varint(data, at - 1)
                    of_count &= 0xFFFFFFFF
            elif tag == 24:
                of_attempt = data[at]
                at += 1
                if of_attempt > 127:
                    of_attempt, at = varint(data, at - 1)
                    of_attempt &= 0xFFFFFFFF
            elif tag == 40:
                of_expires_ms = data[at]
                at += 1
                if of_expires_ms > 127:
                    of_expires_ms, at = varint(data, at - 1)
                    of_expires_ms = (of_expires_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Lease", NAMES_Lease, tag, error) from None
    message = new(Lease)
    fields = {
        "first_offset": of_first_offset,
        "count": of_count,
        "attempt": of_attempt,
        "stem": of_stem,
        "expires_ms": of_expires_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_receipt_refusal(message: ReceiptRefusal) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipt"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "ReceiptRefusal.offset"))
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ReceiptRefusal = {1: "receipt", 2: "offset", 3: "refusal"}


def decode_receipt_refusal(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ReceiptRefusal:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_3 = None
    of_receipt = ""
    of_offset = 0
    of_refusal = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_receipt = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_3 = (places_3, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ReceiptRefusal", NAMES_ReceiptRefusal, tag, error) from None
    if places_3 is not None and places_3[0] is not None:
        of_refusal = merged(decode_refusal, data, places_3, room)
    message = new(ReceiptRefusal)
    fields = {
        "receipt": of_receipt,
        "offset": of_offset,
        "refusal": of_refusal,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_ack_request(message: AckRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipts"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["ranges"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_range(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_AckRequest = {1: "receipts", 2: "ranges", 3: "group", 4: "member_id"}


def decode_ack_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> AckRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_receipts = []
    of_ranges = []
    of_group = ""
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_receipts.append(str(data[at:stop], "utf-8"))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_ranges.append(decode_receipt_range(data, at, stop, room))
                elif tag == 26:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 34:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AckRequest", NAMES_AckRequest, tag, error) from None
    message = new(AckRequest)
    fields = {
        "receipts": of_receipts,
        "ranges": of_ranges,
        "group": of_group,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_ack_reply(message: AckReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["done"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "AckReply.done"))
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_refusal(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_AckReply = {1: "done", 2: "refusals"}


def decode_ack_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> AckReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_done = 0
    of_refusals = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_receipt_refusal(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_done = data[at]
                at += 1
                if of_done > 127:
                    of_done, at = varint(data, at - 1)
                    of_done &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("AckReply", NAMES_AckReply, tag, error) from None
    message = new(AckReply)
    fields = {
        "done": of_done,
        "refusals": of_refusals,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_nack_request(message: NackRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipts"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["ranges"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_range(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["delay_ms"]
    if value is not None:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "NackRequest.delay_ms"))
    value = fields["reason"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_NackRequest = {1: "receipts", 2: "ranges", 3: "group", 4: "delay_ms", 5: "reason", 6: "member_id"}


def decode_nack_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> NackRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_receipts = []
    of_ranges = []
    of_group = ""
    of_delay_ms = None
    of_reason = ""
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_receipts.append(str(data[at:stop], "utf-8"))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_ranges.append(decode_receipt_range(data, at, stop, room))
                elif tag == 26:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 42:
                    of_reason = str(data[at:stop], "utf-8")
                elif tag == 50:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_delay_ms = data[at]
                at += 1
                if of_delay_ms > 127:
                    of_delay_ms, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("NackRequest", NAMES_NackRequest, tag, error) from None
    message = new(NackRequest)
    fields = {
        "receipts": of_receipts,
        "ranges": of_ranges,
        "group": of_group,
        "delay_ms": of_delay_ms,
        "reason": of_reason,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_nack_reply(message: NackReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["done"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "NackReply.done"))
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_refusal(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["next_attempt_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "NackReply.next_attempt_ms"))
    value = fields["dead"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "NackReply.dead"))
    value = fields["dead_lettered_to"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_NackReply = {1: "done", 2: "refusals", 3: "next_attempt_ms", 4: "dead", 5: "dead_lettered_to"}


def decode_nack_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> NackReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_done = 0
    of_refusals = []
    of_next_attempt_ms = 0
    of_dead = 0
    of_dead_lettered_to = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_receipt_refusal(data, at, stop, room))
                elif tag == 42:
                    of_dead_lettered_to = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_done = data[at]
                at += 1
                if of_done > 127:
                    of_done, at = varint(data, at - 1)
                    of_done &= 0xFFFFFFFF
            elif tag == 24:
                of_next_attempt_ms = data[at]
                at += 1
                if of_next_attempt_ms > 127:
                    of_next_attempt_ms, at = varint(data, at - 1)
                    of_next_attempt_ms = (of_next_attempt_ms ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_dead = data[at]
                at += 1
                if of_dead > 127:
                    of_dead, at = varint(data, at - 1)
                    of_dead &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("NackReply", NAMES_NackReply, tag, error) from None
    message = new(NackReply)
    fields = {
        "done": of_done,
        "refusals": of_refusals,
        "next_attempt_ms": of_next_attempt_ms,
        "dead": of_dead,
        "dead_lettered_to": of_dead_lettered_to,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_reject_request(message: RejectRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipts"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["ranges"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_range(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["reason"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RejectRequest = {1: "receipts", 2: "ranges", 3: "group", 4: "reason", 5: "member_id"}


def decode_reject_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RejectRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_receipts = []
    of_ranges = []
    of_group = ""
    of_reason = ""
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_receipts.append(str(data[at:stop], "utf-8"))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_ranges.append(decode_receipt_range(data, at, stop, room))
                elif tag == 26:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 34:
                    of_reason = str(data[at:stop], "utf-8")
                elif tag == 42:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RejectRequest", NAMES_RejectRequest, tag, error) from None
    message = new(RejectRequest)
    fields = {
        "receipts": of_receipts,
        "ranges": of_ranges,
        "group": of_group,
        "reason": of_reason,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_reject_reply(message: RejectReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["done"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RejectReply.done"))
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_refusal(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["dead_lettered_to"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RejectReply = {1: "done", 2: "refusals", 3: "dead_lettered_to"}


def decode_reject_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RejectReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_done = 0
    of_refusals = []
    of_dead_lettered_to = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_receipt_refusal(data, at, stop, room))
                elif tag == 26:
                    of_dead_lettered_to = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_done = data[at]
                at += 1
                if of_done > 127:
                    of_done, at = varint(data, at - 1)
                    of_done &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RejectReply", NAMES_RejectReply, tag, error) from None
    message = new(RejectReply)
    fields = {
        "done": of_done,
        "refusals": of_refusals,
        "dead_lettered_to": of_dead_lettered_to,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_extend_request(message: ExtendRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipts"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["ranges"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_range(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["timeout_ms"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "ExtendRequest.timeout_ms"))
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ExtendRequest = {1: "receipts", 2: "ranges", 3: "group", 4: "timeout_ms", 5: "member_id"}


def decode_extend_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ExtendRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_receipts = []
    of_ranges = []
    of_group = ""
    of_timeout_ms = 0
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_receipts.append(str(data[at:stop], "utf-8"))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_ranges.append(decode_receipt_range(data, at, stop, room))
                elif tag == 26:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 42:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_timeout_ms = data[at]
                at += 1
                if of_timeout_ms > 127:
                    of_timeout_ms, at = varint(data, at - 1)
                    of_timeout_ms &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ExtendRequest", NAMES_ExtendRequest, tag, error) from None
    message = new(ExtendRequest)
    fields = {
        "receipts": of_receipts,
        "ranges": of_ranges,
        "group": of_group,
        "timeout_ms": of_timeout_ms,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_extend_reply(message: ExtendReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["done"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "ExtendReply.done"))
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_refusal(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["expires_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "ExtendReply.expires_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ExtendReply = {1: "done", 2: "refusals", 3: "expires_ms"}


def decode_extend_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ExtendReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_done = 0
    of_refusals = []
    of_expires_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_receipt_refusal(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_done = data[at]
                at += 1
                if of_done > 127:
                    of_done, at = varint(data, at - 1)
                    of_done &= 0xFFFFFFFF
            elif tag == 24:
                of_expires_ms = data[at]
                at += 1
                if of_expires_ms > 127:
                    of_expires_ms, at = varint(data, at - 1)
                    of_expires_ms = (of_expires_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ExtendReply", NAMES_ExtendReply, tag, error) from None
    message = new(ExtendReply)
    fields = {
        "done": of_done,
        "refusals": of_refusals,
        "expires_ms": of_expires_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_release_request(message: ReleaseRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["receipts"]
    if value is not UNSET and value:
        for item in value:
            inner = item.encode()
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["ranges"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_range(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["member_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ReleaseRequest = {1: "receipts", 2: "ranges", 3: "group", 4: "member_id"}


def decode_release_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ReleaseRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_receipts = []
    of_ranges = []
    of_group = ""
    of_member_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_receipts.append(str(data[at:stop], "utf-8"))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_ranges.append(decode_receipt_range(data, at, stop, room))
                elif tag == 26:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 34:
                    of_member_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ReleaseRequest", NAMES_ReleaseRequest, tag, error) from None
    message = new(ReleaseRequest)
    fields = {
        "receipts": of_receipts,
        "ranges": of_ranges,
        "group": of_group,
        "member_id": of_member_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_release_reply(message: ReleaseReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["done"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "ReleaseReply.done"))
    value = fields["refusals"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_receipt_refusal(item)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ReleaseReply = {1: "done", 2: "refusals"}


def decode_release_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ReleaseReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_done = 0
    of_refusals = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_refusals.append(decode_receipt_refusal(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_done = data[at]
                at += 1
                if of_done > 127:
                    of_done, at = varint(data, at - 1)
                    of_done &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ReleaseReply", NAMES_ReleaseReply, tag, error) from None
    message = new(ReleaseReply)
    fields = {
        "done": of_done,
        "refusals": of_refusals,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_credit(message: Credit) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["messages"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Credit.messages"))
    value = fields["bytes"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "Credit.bytes"))
    value = fields["visibility_timeout_ms"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "Credit.visibility_timeout_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Credit = {1: "messages", 2: "bytes", 3: "visibility_timeout_ms"}


def decode_credit(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Credit:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_messages = 0
    of_bytes = 0
    of_visibility_timeout_ms = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_messages = data[at]
                at += 1
                if of_messages > 127:
                    of_messages, at = varint(data, at - 1)
                    of_messages &= 0xFFFFFFFF
            elif tag == 16:
                of_bytes = data[at]
                at += 1
                if of_bytes > 127:
                    of_bytes, at = varint(data, at - 1)
            elif tag == 24:
                of_visibility_timeout_ms = data[at]
                at += 1
                if of_visibility_timeout_ms > 127:
                    of_visibility_timeout_ms, at = varint(data, at - 1)
                    of_visibility_timeout_ms &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Credit", NAMES_Credit, tag, error) from None
    message = new(Credit)
    fields = {
        "messages": of_messages,
        "bytes": of_bytes,
        "visibility_timeout_ms": of_visibility_timeout_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_seek_request(message: SeekRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["positions"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_partition_offset(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_SeekRequest = {1: "positions"}


def decode_seek_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> SeekRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_positions = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_positions.append(decode_partition_offset(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("SeekRequest", NAMES_SeekRequest, tag, error) from None
    message = new(SeekRequest)
    fields = {
        "positions": of_positions,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_seek_reply(message: SeekReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_SeekReply = {}


def decode_seek_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> SeekReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("SeekReply", NAMES_SeekReply, tag, error) from None
    message = new(SeekReply)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_consume_request(message: ConsumeRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    chosen_request = fields["_group_current"]["request"]
    value = fields["request_id"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "ConsumeRequest.request_id"))
    if chosen_request == "join":
        value = fields["join"]
        if value is not None:
            inner = encode_join_request(value)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "credit":
        value = fields["credit"]
        if value is not None:
            inner = encode_credit(value)
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "ack":
        value = fields["ack"]
        if value is not None:
            inner = encode_ack_request(value)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "nack":
        value = fields["nack"]
        if value is not None:
            inner = encode_nack_request(value)
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "reject":
        value = fields["reject"]
        if value is not None:
            inner = encode_reject_request(value)
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "extend":
        value = fields["extend"]
        if value is not None:
            inner = encode_extend_request(value)
            size = len(inner)
            parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "commit":
        value = fields["commit"]
        if value is not None:
            inner = encode_commit_request(value)
            size = len(inner)
            parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "revoke":
        value = fields["revoke"]
        if value is not None:
            inner = encode_revoke_request(value)
            size = len(inner)
            parts += (b'J', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "heartbeat":
        value = fields["heartbeat"]
        if value is not None:
            inner = encode_heartbeat_request(value)
            size = len(inner)
            parts += (b'R', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "leave":
        value = fields["leave"]
        if value is not None:
            inner = encode_leave_request(value)
            size = len(inner)
            parts += (b'Z', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "seek":
        value = fields["seek"]
        if value is not None:
            inner = encode_seek_request(value)
            size = len(inner)
            parts += (b'b', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_request == "release":
        value = fields["release"]
        if value is not None:
            inner = encode_release_request(value)
            size = len(inner)
            parts += (b'j', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ConsumeRequest = {1: "request_id", 2: "join", 3: "credit", 4: "ack", 5: "nack", 6: "reject", 7: "extend", 8: "commit", 9: "revoke", 10: "heartbeat", 11: "leave", 12: "seek", 13: "release"}


def decode_consume_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ConsumeRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_request_id = 0
    chosen_request = None
    value_request = places_request = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    value_request = decode_join_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "join" else None, at, stop)
                    chosen_request = "join"
                elif tag == 26:
                    value_request = decode_credit(data, at, stop, room)
                    places_request = (places_request if chosen_request == "credit" else None, at, stop)
                    chosen_request = "credit"
                elif tag == 34:
                    value_request = decode_ack_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "ack" else None, at, stop)
                    chosen_request = "ack"
                elif tag == 42:
                    value_request = decode_nack_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "nack" else None, at, stop)
                    chosen_request = "nack"
                elif tag == 50:
                    value_request = decode_reject_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "reject" else None, at, stop)
                    chosen_request = "reject"
                elif tag == 58:
                    value_request = decode_extend_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "extend" else None, at, stop)
                    chosen_request = "extend"
                elif tag == 66:
                    value_request = decode_commit_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "commit" else None, at, stop)
                    chosen_request = "commit"
                elif tag == 74:
                    value_request = decode_revoke_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "revoke" else None, at, stop)
                    chosen_request = "revoke"
                elif tag == 82:
                    value_request = decode_heartbeat_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "heartbeat" else None, at, stop)
                    chosen_request = "heartbeat"
                elif tag == 90:
                    value_request = decode_leave_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "leave" else None, at, stop)
                    chosen_request = "leave"
                elif tag == 98:
                    value_request = decode_seek_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "seek" else None, at, stop)
                    chosen_request = "seek"
                elif tag == 106:
                    value_request = decode_release_request(data, at, stop, room)
                    places_request = (places_request if chosen_request == "release" else None, at, stop)
                    chosen_request = "release"
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_request_id = data[at]
                at += 1
                if of_request_id > 127:
                    of_request_id, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ConsumeRequest", NAMES_ConsumeRequest, tag, error) from None
    if places_request is not None and places_request[0] is not None:
        value_request = merged({"join": decode_join_request, "credit": decode_credit, "ack": decode_ack_request, "nack": decode_nack_request, "reject": decode_reject_request, "extend": decode_extend_request, "commit": decode_commit_request, "revoke": decode_revoke_request, "heartbeat": decode_heartbeat_request, "leave": decode_leave_request, "seek": decode_seek_request, "release": decode_release_request}[chosen_request], data, places_request, room)
    message = new(ConsumeRequest)
    fields = {
        "request_id": of_request_id,
        "join": UNSET,
        "credit": UNSET,
        "ack": UNSET,
        "nack": UNSET,
        "reject": UNSET,
        "extend": UNSET,
        "commit": UNSET,
        "revoke": UNSET,
        "heartbeat": UNSET,
        "leave": UNSET,
        "seek": UNSET,
        "release": UNSET,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {"request": chosen_request},
    }
    if chosen_request is not None:
        fields[chosen_request] = value_request
    fill(message, fields)
    return message


def encode_group_batches(message: GroupBatches) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "GroupBatches.partition"))
    value = fields["batches"]
    if value is not UNSET and value:
        size = len(value)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["first_offset"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupBatches.first_offset"))
    value = fields["next_offset"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupBatches.next_offset"))
    value = fields["high_watermark"]
    if value is not UNSET and value:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupBatches.high_watermark"))
    value = fields["start_offset"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GroupBatches.start_offset"))
    value = fields["refusal"]
    if value is not UNSET and value is not None:
        inner = encode_refusal(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_GroupBatches = {1: "topic", 2: "partition", 3: "batches", 4: "first_offset", 5: "next_offset", 6: "high_watermark", 7: "start_offset", 8: "refusal"}


def decode_group_batches(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> GroupBatches:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_8 = None
    of_topic = ""
    of_partition = 0
    of_batches = b""
    of_first_offset = 0
    of_next_offset = 0
    of_high_watermark = 0
    of_start_offset = 0
    of_refusal = UNSET
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_batches = bytes(data[at:stop])
                elif tag == 66:
                    of_refusal = decode_refusal(data, at, stop, room)
                    places_8 = (places_8, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 32:
                of_first_offset = data[at]
                at += 1
                if of_first_offset > 127:
                    of_first_offset, at = varint(data, at - 1)
                    of_first_offset = (of_first_offset ^ 1 << 63) - (1 << 63)
            elif tag == 40:
                of_next_offset = data[at]
                at += 1
                if of_next_offset > 127:
                    of_next_offset, at = varint(data, at - 1)
                    of_next_offset = (of_next_offset ^ 1 << 63) - (1 << 63)
            elif tag == 48:
                of_high_watermark = data[at]
                at += 1
                if of_high_watermark > 127:
                    of_high_watermark, at = varint(data, at - 1)
                    of_high_watermark = (of_high_watermark ^ 1 << 63) - (1 << 63)
            elif tag == 56:
                of_start_offset = data[at]
                at += 1
                if of_start_offset > 127:
                    of_start_offset, at = varint(data, at - 1)
                    of_start_offset = (of_start_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("GroupBatches", NAMES_GroupBatches, tag, error) from None
    if places_8 is not None and places_8[0] is not None:
        of_refusal = merged(decode_refusal, data, places_8, room)
    message = new(GroupBatches)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "batches": of_batches,
        "first_offset": of_first_offset,
        "next_offset": of_next_offset,
        "high_watermark": of_high_watermark,
        "start_offset": of_start_offset,
        "refusal": of_refusal,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_leaving(message: Leaving) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_Leaving = {}


def decode_leaving(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> Leaving:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("Leaving", NAMES_Leaving, tag, error) from None
    message = new(Leaving)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_consume_reply(message: ConsumeReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    chosen_reply = fields["_group_current"]["reply"]
    value = fields["request_id"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "ConsumeReply.request_id"))
    if chosen_reply == "joined":
        value = fields["joined"]
        if value is not None:
            inner = encode_join_reply(value)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "leased":
        value = fields["leased"]
        if value is not None:
            inner = encode_leased_batches(value)
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "batches":
        value = fields["batches"]
        if value is not None:
            inner = encode_group_batches(value)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "acked":
        value = fields["acked"]
        if value is not None:
            inner = encode_ack_reply(value)
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "nacked":
        value = fields["nacked"]
        if value is not None:
            inner = encode_nack_reply(value)
            size = len(inner)
            parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "rejected":
        value = fields["rejected"]
        if value is not None:
            inner = encode_reject_reply(value)
            size = len(inner)
            parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "extended":
        value = fields["extended"]
        if value is not None:
            inner = encode_extend_reply(value)
            size = len(inner)
            parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "committed":
        value = fields["committed"]
        if value is not None:
            inner = encode_commit_reply(value)
            size = len(inner)
            parts += (b'J', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "assignment":
        value = fields["assignment"]
        if value is not None:
            inner = encode_heartbeat_reply(value)
            size = len(inner)
            parts += (b'R', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "revoked":
        value = fields["revoked"]
        if value is not None:
            inner = encode_revoke_reply(value)
            size = len(inner)
            parts += (b'Z', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "left":
        value = fields["left"]
        if value is not None:
            inner = encode_leave_reply(value)
            size = len(inner)
            parts += (b'b', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "refusal":
        value = fields["refusal"]
        if value is not None:
            inner = encode_refusal(value)
            size = len(inner)
            parts += (b'j', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "sought":
        value = fields["sought"]
        if value is not None:
            inner = encode_seek_reply(value)
            size = len(inner)
            parts += (b'r', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "leaving":
        value = fields["leaving"]
        if value is not None:
            inner = encode_leaving(value)
            size = len(inner)
            parts += (b'z', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    elif chosen_reply == "released":
        value = fields["released"]
        if value is not None:
            inner = encode_release_reply(value)
            size = len(inner)
            parts += (b'\x82\x01', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ConsumeReply = {1: "request_id", 2: "joined", 3: "leased", 4: "batches", 5: "acked", 6: "nacked", 7: "rejected", 8: "extended", 9: "committed", 10: "assignment", 11: "revoked", 12: "left", 13: "refusal", 14: "sought", 15: "leaving", 16: "released"}


def decode_consume_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ConsumeReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_request_id = 0
    chosen_reply = None
    value_reply = places_reply = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 18:
                    value_reply = decode_join_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "joined" else None, at, stop)
                    chosen_reply = "joined"
                elif tag == 26:
                    value_reply = decode_leased_batches(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "leased" else None, at, stop)
                    chosen_reply = "leased"
                elif tag == 34:
                    value_reply = decode_group_batches(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "batches" else None, at, stop)
                    chosen_reply = "batches"
                elif tag == 42:
                    value_reply = decode_ack_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "acked" else None, at, stop)
                    chosen_reply = "acked"
                elif tag == 50:
                    value_reply = decode_nack_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "nacked" else None, at, stop)
                    chosen_reply = "nacked"
                elif tag == 58:
                    value_reply = decode_reject_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "rejected" else None, at, stop)
                    chosen_reply = "rejected"
                elif tag == 66:
                    value_reply = decode_extend_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "extended" else None, at, stop)
                    chosen_reply = "extended"
                elif tag == 74:
                    value_reply = decode_commit_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "committed" else None, at, stop)
                    chosen_reply = "committed"
                elif tag == 82:
                    value_reply = decode_heartbeat_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "assignment" else None, at, stop)
                    chosen_reply = "assignment"
                elif tag == 90:
                    value_reply = decode_revoke_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "revoked" else None, at, stop)
                    chosen_reply = "revoked"
                elif tag == 98:
                    value_reply = decode_leave_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "left" else None, at, stop)
                    chosen_reply = "left"
                elif tag == 106:
                    value_reply = decode_refusal(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "refusal" else None, at, stop)
                    chosen_reply = "refusal"
                elif tag == 114:
                    value_reply = decode_seek_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "sought" else None, at, stop)
                    chosen_reply = "sought"
                elif tag == 122:
                    value_reply = decode_leaving(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "leaving" else None, at, stop)
                    chosen_reply = "leaving"
                elif tag == 130:
                    value_reply = decode_release_reply(data, at, stop, room)
                    places_reply = (places_reply if chosen_reply == "released" else None, at, stop)
                    chosen_reply = "released"
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_request_id = data[at]
                at += 1
                if of_request_id > 127:
                    of_request_id, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ConsumeReply", NAMES_ConsumeReply, tag, error) from None
    if places_reply is not None and places_reply[0] is not None:
        value_reply = merged({"joined": decode_join_reply, "leased": decode_leased_batches, "batches": decode_group_batches, "acked": decode_ack_reply, "nacked": decode_nack_reply, "rejected": decode_reject_reply, "extended": decode_extend_reply, "committed": decode_commit_reply, "assignment": decode_heartbeat_reply, "revoked": decode_revoke_reply, "left": decode_leave_reply, "refusal": decode_refusal, "sought": decode_seek_reply, "leaving": decode_leaving, "released": decode_release_reply}[chosen_reply], data, places_reply, room)
    message = new(ConsumeReply)
    fields = {
        "request_id": of_request_id,
        "joined": UNSET,
        "leased": UNSET,
        "batches": UNSET,
        "acked": UNSET,
        "nacked": UNSET,
        "rejected": UNSET,
        "extended": UNSET,
        "committed": UNSET,
        "assignment": UNSET,
        "revoked": UNSET,
        "left": UNSET,
        "refusal": UNSET,
        "sought": UNSET,
        "leaving": UNSET,
        "released": UNSET,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {"reply": chosen_reply},
    }
    if chosen_reply is not None:
        fields[chosen_reply] = value_reply
    fill(message, fields)
    return message


def encode_list_delayed_request(message: ListDelayedRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["limit"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "ListDelayedRequest.limit"))
    value = fields["after"]
    if value is not UNSET and value:
        packed = b"".join([SHORT[item] if 0 <= item < SHORT_MAX else int64(item, "ListDelayedRequest.after") for item in value])
        size = len(packed)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), packed)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListDelayedRequest = {1: "topic", 2: "limit", 3: "after"}


def decode_list_delayed_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListDelayedRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topic = ""
    of_limit = 0
    of_after = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    room[0] -= size
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    while at < stop:
                        item = data[at]
                        at += 1
                        if item > 127:
                            item, at = varint(data, at - 1)
                            item = (item ^ 1 << 63) - (1 << 63)
                        of_after.append(item)
                    if at != stop:
                        raise Flaw(CUT)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_limit = data[at]
                at += 1
                if of_limit > 127:
                    of_limit, at = varint(data, at - 1)
                    of_limit &= 0xFFFFFFFF
            elif tag == 24:
                room[0] -= 1
                if room[0] < 0:
                    raise Flaw(CROWDED)
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                of_after.append(item)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListDelayedRequest", NAMES_ListDelayedRequest, tag, error) from None
    message = new(ListDelayedRequest)
    fields = {
        "topic": of_topic,
        "limit": of_limit,
        "after": of_after,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_delayed_reply(message: ListDelayedReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["messages"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_delayed_message(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["count"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "ListDelayedReply.count"))
    value = fields["after"]
    if value is not UNSET and value:
        packed = b"".join([SHORT[item] if 0 <= item < SHORT_MAX else int64(item, "ListDelayedReply.after") for item in value])
        size = len(packed)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), packed)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListDelayedReply = {1: "messages", 2: "count", 3: "after"}


def decode_list_delayed_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListDelayedReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_messages = []
    of_count = 0
    of_after = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_messages.append(decode_delayed_message(data, at, stop, room))
                elif tag == 26:
                    room[0] -= size
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    while at < stop:
                        item = data[at]
                        at += 1
                        if item > 127:
                            item, at = varint(data, at - 1)
                            item = (item ^ 1 << 63) - (1 << 63)
                        of_after.append(item)
                    if at != stop:
                        raise Flaw(CUT)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_count = data[at]
                at += 1
                if of_count > 127:
                    of_count, at = varint(data, at - 1)
            elif tag == 24:
                room[0] -= 1
                if room[0] < 0:
                    raise Flaw(CROWDED)
                item = data[at]
                at += 1
                if item > 127:
                    item, at = varint(data, at - 1)
                    item = (item ^ 1 << 63) - (1 << 63)
                of_after.append(item)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListDelayedReply", NAMES_ListDelayedReply, tag, error) from None
    message = new(ListDelayedReply)
    fields = {
        "messages": of_messages,
        "count": of_count,
        "after": of_after,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_delayed_message(message: DelayedMessage) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "DelayedMessage.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "DelayedMessage.offset"))
    value = fields["deliver_at_ms"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "DelayedMessage.deliver_at_ms"))
    value = fields["priority"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int32(value, "DelayedMessage.priority"))
    value = fields["key"]
    if value is not None:
        size = len(value)
        parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["value"]
    if value is not None:
        size = len(value)
        parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["headers"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_header(item)
            size = len(inner)
            parts += (b'B', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DelayedMessage = {1: "topic", 2: "partition", 3: "offset", 4: "deliver_at_ms", 5: "priority", 6: "key", 7: "value", 8: "headers"}


def decode_delayed_message(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DelayedMessage:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    of_deliver_at_ms = 0
    of_priority = Priority_0
    of_key = None
    of_value = None
    of_headers = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 50:
                    of_key = bytes(data[at:stop])
                elif tag == 58:
                    of_value = bytes(data[at:stop])
                elif tag == 66:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_headers.append(decode_header(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_deliver_at_ms = data[at]
                at += 1
                if of_deliver_at_ms > 127:
                    of_deliver_at_ms, at = varint(data, at - 1)
                    of_deliver_at_ms = (of_deliver_at_ms ^ 1 << 63) - (1 << 63)
            elif tag == 40:
                of_priority = data[at]
                at += 1
                if of_priority > 127:
                    of_priority, at = varint(data, at - 1)
                    of_priority = (of_priority & 0xFFFFFFFF ^ 0x80000000) - 0x80000000
                of_priority = Priority_known[of_priority] if of_priority in Priority_known else Priority.try_value(of_priority)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DelayedMessage", NAMES_DelayedMessage, tag, error) from None
    message = new(DelayedMessage)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "deliver_at_ms": of_deliver_at_ms,
        "priority": of_priority,
        "key": of_key,
        "value": of_value,
        "headers": of_headers,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_get_delayed_request(message: GetDelayedRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "GetDelayedRequest.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "GetDelayedRequest.offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_GetDelayedRequest = {1: "topic", 2: "partition", 3: "offset"}


def decode_get_delayed_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> GetDelayedRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("GetDelayedRequest", NAMES_GetDelayedRequest, tag, error) from None
    message = new(GetDelayedRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_cancel_delayed_request(message: CancelDelayedRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "CancelDelayedRequest.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "CancelDelayedRequest.offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CancelDelayedRequest = {1: "topic", 2: "partition", 3: "offset"}


def decode_cancel_delayed_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CancelDelayedRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CancelDelayedRequest", NAMES_CancelDelayedRequest, tag, error) from None
    message = new(CancelDelayedRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_cancel_delayed_reply(message: CancelDelayedReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CancelDelayedReply = {}


def decode_cancel_delayed_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CancelDelayedReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CancelDelayedReply", NAMES_CancelDelayedReply, tag, error) from None
    message = new(CancelDelayedReply)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_reschedule_delayed_request(message: RescheduleDelayedRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RescheduleDelayedRequest.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "RescheduleDelayedRequest.offset"))
    value = fields["delay_ms"]
    if value is not None:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RescheduleDelayedRequest.delay_ms"))
    value = fields["deliver_at_ms"]
    if value is not None:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "RescheduleDelayedRequest.deliver_at_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RescheduleDelayedRequest = {1: "topic", 2: "partition", 3: "offset", 4: "delay_ms", 5: "deliver_at_ms"}


def decode_reschedule_delayed_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RescheduleDelayedRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_partition = 0
    of_offset = 0
    of_delay_ms = None
    of_deliver_at_ms = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 24:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 32:
                of_delay_ms = data[at]
                at += 1
                if of_delay_ms > 127:
                    of_delay_ms, at = varint(data, at - 1)
            elif tag == 40:
                of_deliver_at_ms = data[at]
                at += 1
                if of_deliver_at_ms > 127:
                    of_deliver_at_ms, at = varint(data, at - 1)
                    of_deliver_at_ms = (of_deliver_at_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RescheduleDelayedRequest", NAMES_RescheduleDelayedRequest, tag, error) from None
    message = new(RescheduleDelayedRequest)
    fields = {
        "topic": of_topic,
        "partition": of_partition,
        "offset": of_offset,
        "delay_ms": of_delay_ms,
        "deliver_at_ms": of_deliver_at_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_letter_filter(message: LetterFilter) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["reason"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["key"]
    if value is not None:
        size = len(value)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["headers"]
    if value is not UNSET and value:
        for key in texts_in_order(value):
            entry: list[bytes] = []
            inner = key.encode()
            size = len(inner)
            entry += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
            item = value[key]
            size = len(item)
            entry += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), item)
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["died_from_ms"]
    if value is not None:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "LetterFilter.died_from_ms"))
    value = fields["died_until_ms"]
    if value is not None:
        parts += (b'0', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "LetterFilter.died_until_ms"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_LetterFilter_headers = {1: "key", 2: "value"}


def decode_letter_filter_headers_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_key = ""
    of_value = b""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_key = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_value = bytes(data[at:stop])
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    raise Flaw(STRANGE)
                at = stop
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("LetterFilter.headers", NAMES_LetterFilter_headers, tag, error) from None
    return of_key, of_value


NAMES_LetterFilter = {1: "reason", 2: "group", 3: "key", 4: "headers", 5: "died_from_ms", 6: "died_until_ms"}


def decode_letter_filter(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> LetterFilter:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_reason = ""
    of_group = ""
    of_key = None
    of_headers = {}
    of_died_from_ms = None
    of_died_until_ms = None
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_reason = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_key = bytes(data[at:stop])
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_letter_filter_headers_entry(data, at, stop, room)
                    of_headers[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 40:
                of_died_from_ms = data[at]
                at += 1
                if of_died_from_ms > 127:
                    of_died_from_ms, at = varint(data, at - 1)
                    of_died_from_ms = (of_died_from_ms ^ 1 << 63) - (1 << 63)
            elif tag == 48:
                of_died_until_ms = data[at]
                at += 1
                if of_died_until_ms > 127:
                    of_died_until_ms, at = varint(data, at - 1)
                    of_died_until_ms = (of_died_until_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("LetterFilter", NAMES_LetterFilter, tag, error) from None
    message = new(LetterFilter)
    fields = {
        "reason": of_reason,
        "group": of_group,
        "key": of_key,
        "headers": of_headers,
        "died_from_ms": of_died_from_ms,
        "died_until_ms": of_died_until_ms,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_dead_topics_request(message: ListDeadTopicsRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListDeadTopicsRequest = {}


def decode_list_dead_topics_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListDeadTopicsRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if True:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListDeadTopicsRequest", NAMES_ListDeadTopicsRequest, tag, error) from None
    message = new(ListDeadTopicsRequest)
    fields = {
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_dead_topics_reply(message: ListDeadTopicsReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topics"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_dead_topic(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListDeadTopicsReply = {1: "topics"}


def decode_list_dead_topics_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListDeadTopicsReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_topics = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_topics.append(decode_dead_topic(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListDeadTopicsReply", NAMES_ListDeadTopicsReply, tag, error) from None
    message = new(ListDeadTopicsReply)
    fields = {
        "topics": of_topics,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_dead_topic(message: DeadTopic) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["letters"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "DeadTopic.letters"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeadTopic = {1: "topic", 2: "letters"}


def decode_dead_topic(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeadTopic:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    of_letters = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 16:
                of_letters = data[at]
                at += 1
                if of_letters > 127:
                    of_letters, at = varint(data, at - 1)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeadTopic", NAMES_DeadTopic, tag, error) from None
    message = new(DeadTopic)
    fields = {
        "topic": of_topic,
        "letters": of_letters,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_browse_request(message: BrowseRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["filter"]
    if value is not UNSET and value is not None:
        inner = encode_letter_filter(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["limit"]
    if value is not UNSET and value:
        parts += (b'\x18', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "BrowseRequest.limit"))
    value = fields["after"]
    if value is not UNSET and value:
        for key in numbers_in_order(value):
            entry: list[bytes] = []
            entry += (b'\x08', SHORT[key] if 0 <= key < SHORT_MAX else uint32(key, "BrowseRequest.after.key"))
            item = value[key]
            entry += (b'\x10', SHORT[item] if 0 <= item < SHORT_MAX else int64(item, "BrowseRequest.after.value"))
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_BrowseRequest_after = {1: "key", 2: "value"}


def decode_browse_request_after_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_key = 0
    of_value = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_key = data[at]
                at += 1
                if of_key > 127:
                    of_key, at = varint(data, at - 1)
                    of_key &= 0xFFFFFFFF
            elif tag == 16:
                of_value = data[at]
                at += 1
                if of_value > 127:
                    of_value, at = varint(data, at - 1)
                    of_value = (of_value ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("BrowseRequest.after", NAMES_BrowseRequest_after, tag, error) from None
    return of_key, of_value


NAMES_BrowseRequest = {1: "topic", 2: "filter", 3: "limit", 4: "after"}


def decode_browse_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> BrowseRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_topic = ""
    of_filter = UNSET
    of_limit = 0
    of_after = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_filter = decode_letter_filter(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                elif tag == 34:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_browse_request_after_entry(data, at, stop, room)
                    of_after[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_limit = data[at]
                at += 1
                if of_limit > 127:
                    of_limit, at = varint(data, at - 1)
                    of_limit &= 0xFFFFFFFF
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("BrowseRequest", NAMES_BrowseRequest, tag, error) from None
    if places_2 is not None and places_2[0] is not None:
        of_filter = merged(decode_letter_filter, data, places_2, room)
    message = new(BrowseRequest)
    fields = {
        "topic": of_topic,
        "filter": of_filter,
        "limit": of_limit,
        "after": of_after,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_browse_reply(message: BrowseReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["letters"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_dead_letter(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["after"]
    if value is not UNSET and value:
        for key in numbers_in_order(value):
            entry: list[bytes] = []
            entry += (b'\x08', SHORT[key] if 0 <= key < SHORT_MAX else uint32(key, "BrowseReply.after.key"))
            item = value[key]
            entry += (b'\x10', SHORT[item] if 0 <= item < SHORT_MAX else int64(item, "BrowseReply.after.value"))
            inner = b"".join(entry)
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_BrowseReply_after = {1: "key", 2: "value"}


def decode_browse_reply_after_entry(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> tuple[object, object]:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_key = 0
    of_value = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag == 8:
                of_key = data[at]
                at += 1
                if of_key > 127:
                    of_key, at = varint(data, at - 1)
                    of_key &= 0xFFFFFFFF
            elif tag == 16:
                of_value = data[at]
                at += 1
                if of_value > 127:
                    of_value, at = varint(data, at - 1)
                    of_value = (of_value ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                raise Flaw(STRANGE)
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("BrowseReply.after", NAMES_BrowseReply_after, tag, error) from None
    return of_key, of_value


NAMES_BrowseReply = {1: "letters", 2: "after"}


def decode_browse_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> BrowseReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_letters = []
    of_after = {}
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_letters.append(decode_dead_letter(data, at, stop, room))
                elif tag == 18:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    key, value = decode_browse_reply_after_entry(data, at, stop, room)
                    of_after[key] = value
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("BrowseReply", NAMES_BrowseReply, tag, error) from None
    message = new(BrowseReply)
    fields = {
        "letters": of_letters,
        "after": of_after,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_dead_letter(message: DeadLetter) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["partition"]
    if value is not UNSET and value:
        parts += (b'\x08', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "DeadLetter.partition"))
    value = fields["offset"]
    if value is not UNSET and value:
        parts += (b'\x10', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "DeadLetter.offset"))
    value = fields["key"]
    if value is not None:
        size = len(value)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["value"]
    if value is not None:
        size = len(value)
        parts += (b'"', SHORT[size] if size < SHORT_MAX else unsigned(size), value)
    value = fields["headers"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_header(item)
            size = len(inner)
            parts += (b'*', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["reason"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["group"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b':', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["attempts"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "DeadLetter.attempts"))
    value = fields["died_ms"]
    if value is not UNSET and value:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "DeadLetter.died_ms"))
    value = fields["source_topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'R', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["source_partition"]
    if value is not UNSET and value:
        parts += (b'X', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "DeadLetter.source_partition"))
    value = fields["source_offset"]
    if value is not UNSET and value:
        parts += (b'`', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "DeadLetter.source_offset"))
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DeadLetter = {1: "partition", 2: "offset", 3: "key", 4: "value", 5: "headers", 6: "reason", 7: "group", 8: "attempts", 9: "died_ms", 10: "source_topic", 11: "source_partition", 12: "source_offset"}


def decode_dead_letter(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DeadLetter:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_partition = 0
    of_offset = 0
    of_key = None
    of_value = None
    of_headers = []
    of_reason = ""
    of_group = ""
    of_attempts = 0
    of_died_ms = 0
    of_source_topic = ""
    of_source_partition = 0
    of_source_offset = 0
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 26:
                    of_key = bytes(data[at:stop])
                elif tag == 34:
                    of_value = bytes(data[at:stop])
                elif tag == 42:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_headers.append(decode_header(data, at, stop, room))
                elif tag == 50:
                    of_reason = str(data[at:stop], "utf-8")
                elif tag == 58:
                    of_group = str(data[at:stop], "utf-8")
                elif tag == 82:
                    of_source_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 8:
                of_partition = data[at]
                at += 1
                if of_partition > 127:
                    of_partition, at = varint(data, at - 1)
                    of_partition &= 0xFFFFFFFF
            elif tag == 16:
                of_offset = data[at]
                at += 1
                if of_offset > 127:
                    of_offset, at = varint(data, at - 1)
                    of_offset = (of_offset ^ 1 << 63) - (1 << 63)
            elif tag == 64:
                of_attempts = data[at]
                at += 1
                if of_attempts > 127:
                    of_attempts, at = varint(data, at - 1)
                    of_attempts &= 0xFFFFFFFF
            elif tag == 72:
                of_died_ms = data[at]
                at += 1
                if of_died_ms > 127:
                    of_died_ms, at = varint(data, at - 1)
                    of_died_ms = (of_died_ms ^ 1 << 63) - (1 << 63)
            elif tag == 88:
                of_source_partition = data[at]
                at += 1
                if of_source_partition > 127:
                    of_source_partition, at = varint(data, at - 1)
                    of_source_partition &= 0xFFFFFFFF
            elif tag == 96:
                of_source_offset = data[at]
                at += 1
                if of_source_offset > 127:
                    of_source_offset, at = varint(data, at - 1)
                    of_source_offset = (of_source_offset ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DeadLetter", NAMES_DeadLetter, tag, error) from None
    message = new(DeadLetter)
    fields = {
        "partition": of_partition,
        "offset": of_offset,
        "key": of_key,
        "value": of_value,
        "headers": of_headers,
        "reason": of_reason,
        "group": of_group,
        "attempts": of_attempts,
        "died_ms": of_died_ms,
        "source_topic": of_source_topic,
        "source_partition": of_source_partition,
        "source_offset": of_source_offset,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_redrive_request(message: RedriveRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["to"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["filter"]
    if value is not UNSET and value is not None:
        inner = encode_letter_filter(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["rate"]
    if value is not UNSET and value:
        parts += (b' ', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RedriveRequest.rate"))
    value = fields["limit"]
    if value is not UNSET and value:
        parts += (b'(', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RedriveRequest.limit"))
    value = fields["dry_run"]
    if value is not UNSET and value:
        parts.append(b'0\x01' if value else b'0\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RedriveRequest = {1: "topic", 2: "to", 3: "filter", 4: "rate", 5: "limit", 6: "dry_run"}


def decode_redrive_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RedriveRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_3 = None
    of_topic = ""
    of_to = ""
    of_filter = UNSET
    of_rate = 0
    of_limit = 0
    of_dry_run = False
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_to = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_filter = decode_letter_filter(data, at, stop, room)
                    places_3 = (places_3, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_rate = data[at]
                at += 1
                if of_rate > 127:
                    of_rate, at = varint(data, at - 1)
                    of_rate &= 0xFFFFFFFF
            elif tag == 40:
                of_limit = data[at]
                at += 1
                if of_limit > 127:
                    of_limit, at = varint(data, at - 1)
            elif tag == 48:
                of_dry_run = data[at]
                at += 1
                if of_dry_run > 127:
                    of_dry_run, at = varint(data, at - 1)
                of_dry_run = of_dry_run != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RedriveRequest", NAMES_RedriveRequest, tag, error) from None
    if places_3 is not None and places_3[0] is not None:
        of_filter = merged(decode_letter_filter, data, places_3, room)
    message = new(RedriveRequest)
    fields = {
        "topic": of_topic,
        "to": of_to,
        "filter": of_filter,
        "rate": of_rate,
        "limit": of_limit,
        "dry_run": of_dry_run,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_purge_request(message: PurgeRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["filter"]
    if value is not UNSET and value is not None:
        inner = encode_letter_filter(value)
        if inner or fields_of(value)["_serialized_on_wire"]:
            size = len(inner)
            parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["dry_run"]
    if value is not UNSET and value:
        parts.append(b'\x18\x01' if value else b'\x18\x00')
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_PurgeRequest = {1: "topic", 2: "filter", 3: "dry_run"}


def decode_purge_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> PurgeRequest:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    places_2 = None
    of_topic = ""
    of_filter = UNSET
    of_dry_run = False
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_filter = decode_letter_filter(data, at, stop, room)
                    places_2 = (places_2, at, stop)
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 24:
                of_dry_run = data[at]
                at += 1
                if of_dry_run > 127:
                    of_dry_run, at = varint(data, at - 1)
                of_dry_run = of_dry_run != 0
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("PurgeRequest", NAMES_PurgeRequest, tag, error) from None
    if places_2 is not None and places_2[0] is not None:
        of_filter = merged(decode_letter_filter, data, places_2, room)
    message = new(PurgeRequest)
    fields = {
        "topic": of_topic,
        "filter": of_filter,
        "dry_run": of_dry_run,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_redrive_reply(message: RedriveReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["redrive_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x12', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["to"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\x1a', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["purge"]
    if value is not UNSET and value:
        parts.append(b' \x01' if value else b' \x00')
    value = fields["dry_run"]
    if value is not UNSET and value:
        parts.append(b'(\x01' if value else b'(\x00')
    value = fields["state"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'2', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    value = fields["total"]
    if value is not UNSET and value:
        parts += (b'8', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RedriveReply.total"))
    value = fields["looked"]
    if value is not UNSET and value:
        parts += (b'@', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RedriveReply.looked"))
    value = fields["matched"]
    if value is not UNSET and value:
        parts += (b'H', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RedriveReply.matched"))
    value = fields["moved"]
    if value is not UNSET and value:
        parts += (b'P', SHORT[value] if 0 <= value < SHORT_MAX else uint64(value, "RedriveReply.moved"))
    value = fields["rate"]
    if value is not UNSET and value:
        parts += (b'X', SHORT[value] if 0 <= value < SHORT_MAX else uint32(value, "RedriveReply.rate"))
    value = fields["started_ms"]
    if value is not UNSET and value:
        parts += (b'`', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "RedriveReply.started_ms"))
    value = fields["ended_ms"]
    if value is not UNSET and value:
        parts += (b'h', SHORT[value] if 0 <= value < SHORT_MAX else int64(value, "RedriveReply.ended_ms"))
    value = fields["error"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'r', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_RedriveReply = {1: "redrive_id", 2: "topic", 3: "to", 4: "purge", 5: "dry_run", 6: "state", 7: "total", 8: "looked", 9: "matched", 10: "moved", 11: "rate", 12: "started_ms", 13: "ended_ms", 14: "error"}


def decode_redrive_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> RedriveReply:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_redrive_id = ""
    of_topic = ""
    of_to = ""
    of_purge = False
    of_dry_run = False
    of_state = ""
    of_total = 0
    of_looked = 0
    of_matched = 0
    of_moved = 0
    of_rate = 0
    of_started_ms = 0
    of_ended_ms = 0
    of_error = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_redrive_id = str(data[at:stop], "utf-8")
                elif tag == 18:
                    of_topic = str(data[at:stop], "utf-8")
                elif tag == 26:
                    of_to = str(data[at:stop], "utf-8")
                elif tag == 50:
                    of_state = str(data[at:stop], "utf-8")
                elif tag == 114:
                    of_error = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            elif tag == 32:
                of_purge = data[at]
                at += 1
                if of_purge > 127:
                    of_purge, at = varint(data, at - 1)
                of_purge = of_purge != 0
            elif tag == 40:
                of_dry_run = data[at]
                at += 1
                if of_dry_run > 127:
                    of_dry_run, at = varint(data, at - 1)
                of_dry_run = of_dry_run != 0
            elif tag == 56:
                of_total = data[at]
                at += 1
                if of_total > 127:
                    of_total, at = varint(data, at - 1)
            elif tag == 64:
                of_looked = data[at]
                at += 1
                if of_looked > 127:
                    of_looked, at = varint(data, at - 1)
            elif tag == 72:
                of_matched = data[at]
                at += 1
                if of_matched > 127:
                    of_matched, at = varint(data, at - 1)
            elif tag == 80:
                of_moved = data[at]
                at += 1
                if of_moved > 127:
                    of_moved, at = varint(data, at - 1)
            elif tag == 88:
                of_rate = data[at]
                at += 1
                if of_rate > 127:
                    of_rate, at = varint(data, at - 1)
                    of_rate &= 0xFFFFFFFF
            elif tag == 96:
                of_started_ms = data[at]
                at += 1
                if of_started_ms > 127:
                    of_started_ms, at = varint(data, at - 1)
                    of_started_ms = (of_started_ms ^ 1 << 63) - (1 << 63)
            elif tag == 104:
                of_ended_ms = data[at]
                at += 1
                if of_ended_ms > 127:
                    of_ended_ms, at = varint(data, at - 1)
                    of_ended_ms = (of_ended_ms ^ 1 << 63) - (1 << 63)
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("RedriveReply", NAMES_RedriveReply, tag, error) from None
    message = new(RedriveReply)
    fields = {
        "redrive_id": of_redrive_id,
        "topic": of_topic,
        "to": of_to,
        "purge": of_purge,
        "dry_run": of_dry_run,
        "state": of_state,
        "total": of_total,
        "looked": of_looked,
        "matched": of_matched,
        "moved": of_moved,
        "rate": of_rate,
        "started_ms": of_started_ms,
        "ended_ms": of_ended_ms,
        "error": of_error,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_describe_redrive_request(message: DescribeRedriveRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["redrive_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_DescribeRedriveRequest = {1: "redrive_id"}


def decode_describe_redrive_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> DescribeRedriveRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_redrive_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_redrive_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("DescribeRedriveRequest", NAMES_DescribeRedriveRequest, tag, error) from None
    message = new(DescribeRedriveRequest)
    fields = {
        "redrive_id": of_redrive_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_redrives_request(message: ListRedrivesRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["topic"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListRedrivesRequest = {1: "topic"}


def decode_list_redrives_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListRedrivesRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_topic = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_topic = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListRedrivesRequest", NAMES_ListRedrivesRequest, tag, error) from None
    message = new(ListRedrivesRequest)
    fields = {
        "topic": of_topic,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_list_redrives_reply(message: ListRedrivesReply) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["redrives"]
    if value is not UNSET and value:
        for item in value:
            inner = encode_redrive_reply(item)
            size = len(inner)
            parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_ListRedrivesReply = {1: "redrives"}


def decode_list_redrives_reply(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> ListRedrivesReply:
    if end is None:
        end = len(data)
    if room is None:
        room = [ITEMS_MAX]
    unknown = b""
    tag = 0
    of_redrives = []
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    room[0] -= 1
                    if room[0] < 0:
                        raise Flaw(CROWDED)
                    of_redrives.append(decode_redrive_reply(data, at, stop, room))
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("ListRedrivesReply", NAMES_ListRedrivesReply, tag, error) from None
    message = new(ListRedrivesReply)
    fields = {
        "redrives": of_redrives,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


def encode_cancel_redrive_request(message: CancelRedriveRequest) -> bytes:
    fields = fields_of(message)
    parts: list[bytes] = []
    value = fields["redrive_id"]
    if value is not UNSET and value:
        inner = value.encode()
        size = len(inner)
        parts += (b'\n', SHORT[size] if size < SHORT_MAX else unsigned(size), inner)
    if fields["_unknown_fields"]:
        parts.append(fields["_unknown_fields"])
    return b"".join(parts)


NAMES_CancelRedriveRequest = {1: "redrive_id"}


def decode_cancel_redrive_request(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,
        room: list[int] | None = None) -> CancelRedriveRequest:
    if end is None:
        end = len(data)
    unknown = b""
    tag = 0
    of_redrive_id = ""
    try:
        while at < end:
            begin = at
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_tag(data, begin)
            if tag & 7 == 2:
                size = data[at]
                at += 1
                if size > 127:
                    second = data[at]
                    at += 1
                    if second < 128:
                        size += (second << 7) - 128
                    else:
                        size, at = length(data, at - 2)
                stop = at + size
                if stop > end:
                    raise Flaw(CUT)
                if tag == 10:
                    of_redrive_id = str(data[at:stop], "utf-8")
                else:
                    if tag == 2:
                        raise Flaw("a field has the number 0")
                    if not unknown:
                        unknown = bytearray()
                    unknown += data[begin:stop]
                at = stop
            else:
                at = skip(data, at, end, tag)
                if not unknown:
                    unknown = bytearray()
                unknown += data[begin:at]
        if at != end:
            raise Flaw(CUT)
    except (IndexError, UnicodeDecodeError, Flaw) as error:
        raise refused("CancelRedriveRequest", NAMES_CancelRedriveRequest, tag, error) from None
    message = new(CancelRedriveRequest)
    fields = {
        "redrive_id": of_redrive_id,
        "_serialized_on_wire": True,
        "_unknown_fields": bytes(unknown) if unknown else b"",
        "_group_current": {},
    }
    fill(message, fields)
    return message


CODES: dict[Any, tuple[Callable[[Any], bytes], Callable[..., Any]]] = {
    Refusal: (encode_refusal, decode_refusal),
    Header: (encode_header, decode_header),
    TopicPartition: (encode_topic_partition, decode_topic_partition),
    Setting: (encode_setting, decode_setting),
    CreateTopicRequest: (encode_create_topic_request, decode_create_topic_request),
    DescribeTopicRequest: (encode_describe_topic_request, decode_describe_topic_request),
    ListTopicsRequest: (encode_list_topics_request, decode_list_topics_request),
    ListTopicsReply: (encode_list_topics_reply, decode_list_topics_reply),
    AlterTopicRequest: (encode_alter_topic_request, decode_alter_topic_request),
    DeleteTopicRequest: (encode_delete_topic_request, decode_delete_topic_request),
    DeleteTopicReply: (encode_delete_topic_reply, decode_delete_topic_reply),
    Topic: (encode_topic, decode_topic),
    PartitionOffsets: (encode_partition_offsets, decode_partition_offsets),
    DescribePartitionsRequest: (encode_describe_partitions_request, decode_describe_partitions_request),
    DescribePartitionsReply: (encode_describe_partitions_reply, decode_describe_partitions_reply),
    Partition: (encode_partition, decode_partition),
    DescribeNodeRequest: (encode_describe_node_request, decode_describe_node_request),
    Node: (encode_node, decode_node),
    NewMessage: (encode_new_message, decode_new_message),
    PublishRequest: (encode_publish_request, decode_publish_request),
    PublishReply: (encode_publish_reply, decode_publish_reply),
    PublishResult: (encode_publish_result, decode_publish_result),
    PublishBatchRequest: (encode_publish_batch_request, decode_publish_batch_request),
    PublishBatchReply: (encode_publish_batch_reply, decode_publish_batch_reply),
    InitProducerRequest: (encode_init_producer_request, decode_init_producer_request),
    InitProducerReply: (encode_init_producer_reply, decode_init_producer_reply),
    FetchRequest: (encode_fetch_request, decode_fetch_request),
    FetchReply: (encode_fetch_reply, decode_fetch_reply),
    Position: (encode_position, decode_position),
    SubscribeRequest: (encode_subscribe_request, decode_subscribe_request),
    SubscribeReply: (encode_subscribe_reply, decode_subscribe_reply),
    FindOffsetRequest: (encode_find_offset_request, decode_find_offset_request),
    FindOffsetReply: (encode_find_offset_reply, decode_find_offset_reply),
    JoinRequest: (encode_join_request, decode_join_request),
    JoinReply: (encode_join_reply, decode_join_reply),
    HeartbeatRequest: (encode_heartbeat_request, decode_heartbeat_request),
    WatchRequest: (encode_watch_request, decode_watch_request),
    HeartbeatReply: (encode_heartbeat_reply, decode_heartbeat_reply),
    LeaveRequest: (encode_leave_request, decode_leave_request),
    LeaveReply: (encode_leave_reply, decode_leave_reply),
    RevokeRequest: (encode_revoke_request, decode_revoke_request),
    RevokeReply: (encode_revoke_reply, decode_revoke_reply),
    PartitionOffset: (encode_partition_offset, decode_partition_offset),
    CommitRequest: (encode_commit_request, decode_commit_request),
    CommitReply: (encode_commit_reply, decode_commit_reply),
    CommitRefusal: (encode_commit_refusal, decode_commit_refusal),
    FetchOffsetsRequest: (encode_fetch_offsets_request, decode_fetch_offsets_request),
    FetchOffsetsReply: (encode_fetch_offsets_reply, decode_fetch_offsets_reply),
    GroupOffset: (encode_group_offset, decode_group_offset),
    ResetOffsetsRequest: (encode_reset_offsets_request, decode_reset_offsets_request),
    ResetOffsetsReply: (encode_reset_offsets_reply, decode_reset_offsets_reply),
    OffsetChange: (encode_offset_change, decode_offset_change),
    ListGroupsRequest: (encode_list_groups_request, decode_list_groups_request),
    ListGroupsReply: (encode_list_groups_reply, decode_list_groups_reply),
    DescribeGroupRequest: (encode_describe_group_request, decode_describe_group_request),
    Group: (encode_group, decode_group),
    GroupMember: (encode_group_member, decode_group_member),
    AlterGroupRequest: (encode_alter_group_request, decode_alter_group_request),
    DescribeRebalancesRequest: (encode_describe_rebalances_request, decode_describe_rebalances_request),
    Rebalances: (encode_rebalances, decode_rebalances),
    DeleteGroupRequest: (encode_delete_group_request, decode_delete_group_request),
    DeleteGroupReply: (encode_delete_group_reply, decode_delete_group_reply),
    ReceiptRange: (encode_receipt_range, decode_receipt_range),
    PollRequest: (encode_poll_request, decode_poll_request),
    PollReply: (encode_poll_reply, decode_poll_reply),
    LeasedBatches: (encode_leased_batches, decode_leased_batches),
    Lease: (encode_lease, decode_lease),
    ReceiptRefusal: (encode_receipt_refusal, decode_receipt_refusal),
    AckRequest: (encode_ack_request, decode_ack_request),
    AckReply: (encode_ack_reply, decode_ack_reply),
    NackRequest: (encode_nack_request, decode_nack_request),
    NackReply: (encode_nack_reply, decode_nack_reply),
    RejectRequest: (encode_reject_request, decode_reject_request),
    RejectReply: (encode_reject_reply, decode_reject_reply),
    ExtendRequest: (encode_extend_request, decode_extend_request),
    ExtendReply: (encode_extend_reply, decode_extend_reply),
    ReleaseRequest: (encode_release_request, decode_release_request),
    ReleaseReply: (encode_release_reply, decode_release_reply),
    Credit: (encode_credit, decode_credit),
    SeekRequest: (encode_seek_request, decode_seek_request),
    SeekReply: (encode_seek_reply, decode_seek_reply),
    ConsumeRequest: (encode_consume_request, decode_consume_request),
    GroupBatches: (encode_group_batches, decode_group_batches),
    Leaving: (encode_leaving, decode_leaving),
    ConsumeReply: (encode_consume_reply, decode_consume_reply),
    ListDelayedRequest: (encode_list_delayed_request, decode_list_delayed_request),
    ListDelayedReply: (encode_list_delayed_reply, decode_list_delayed_reply),
    DelayedMessage: (encode_delayed_message, decode_delayed_message),
    GetDelayedRequest: (encode_get_delayed_request, decode_get_delayed_request),
    CancelDelayedRequest: (encode_cancel_delayed_request, decode_cancel_delayed_request),
    CancelDelayedReply: (encode_cancel_delayed_reply, decode_cancel_delayed_reply),
    RescheduleDelayedRequest: (encode_reschedule_delayed_request, decode_reschedule_delayed_request),
    LetterFilter: (encode_letter_filter, decode_letter_filter),
    ListDeadTopicsRequest: (encode_list_dead_topics_request, decode_list_dead_topics_request),
    ListDeadTopicsReply: (encode_list_dead_topics_reply, decode_list_dead_topics_reply),
    DeadTopic: (encode_dead_topic, decode_dead_topic),
    BrowseRequest: (encode_browse_request, decode_browse_request),
    BrowseReply: (encode_browse_reply, decode_browse_reply),
    DeadLetter: (encode_dead_letter, decode_dead_letter),
    RedriveRequest: (encode_redrive_request, decode_redrive_request),
    PurgeRequest: (encode_purge_request, decode_purge_request),
    RedriveReply: (encode_redrive_reply, decode_redrive_reply),
    DescribeRedriveRequest: (encode_describe_redrive_request, decode_describe_redrive_request),
    ListRedrivesRequest: (encode_list_redrives_request, decode_list_redrives_request),
    ListRedrivesReply: (encode_list_redrives_reply, decode_list_redrives_reply),
    CancelRedriveRequest: (encode_cancel_redrive_request, decode_cancel_redrive_request),
}
