"""Requests and answers of consumer groups come out of a journey as they went in; what cannot be meant is refused."""

from collections.abc import Callable
from typing import Any

import betterproto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.peers.codec import encode
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests import groups as requests
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import GroupMode, GroupState, PartitionOffset, ResetTo
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.routing.messages import Forwarded
from goqueue.proto import groups, v1
from goqueue.proto.codec import StrictCodec

CODEC = StrictCodec()

words = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text("abcz.-_", min_size=1, max_size=8)
uint32 = st.integers(0, (1 << 32) - 1)
uint64 = st.integers(0, (1 << 64) - 1)
# A number of 63 bits, as nodes pass it on.
fingerprints = st.integers(0, INT64_MAX)
offsets = st.integers(0, (1 << 63) - 1)
places = st.integers(-1, (1 << 63) - 1)
flags = st.booleans()
topics = st.lists(names, max_size=3)
values = st.none() | flags | st.integers(-(1 << 62), 1 << 62) | st.floats(allow_nan=False) | words
settings = st.dictionaries(names, values.filter(lambda value: value is not None), max_size=3)
changes = st.dictionaries(names, values, max_size=3)
partition_sets = st.sets(st.tuples(names, uint32), max_size=5)
committed = st.lists(st.builds(PartitionOffset, names, uint32, offsets), max_size=4)
refusals = st.builds(Refusal, st.sampled_from(Code), words, words, uint32)


def grouped(pairs: set[tuple[str, int]]) -> requests.Partitions:
    """Partitions by topic, in order."""
    found: requests.Partitions = {}
    for topic, partition in sorted(pairs):
        found.setdefault(topic, []).append(partition)
    return found


partitions = partition_sets.map(grouped)
members = st.builds(
    requests.GroupMemberReply, words, words, words, topics, partitions, partitions, uint32, flags, offsets
)
states, modes = st.sampled_from(GroupState), st.sampled_from(GroupMode)
group_replies = st.builds(
    requests.GroupReply, words, states, uint32, words, modes, settings, st.lists(members, max_size=3)
)

REQUESTS: dict[str, st.SearchStrategy[Any]] = {
    "join_group": st.builds(
        requests.JoinGroup, names, topics, words, words, words, uint32, st.none() | modes, words, flags, settings
    ),
    "group_heartbeat": st.builds(requests.GroupHeartbeat, names, names, uint32),
    "watch_group": st.builds(
        requests.WatchGroup, names, names, fingerprints, uint32.map(lambda milliseconds: milliseconds * 1_000_000)
    ),
    "leave_group": st.builds(requests.LeaveGroup, names, names),
    "revoke_partitions": st.builds(requests.RevokePartitions, names, names, uint32, partitions),
    "commit_offsets": st.builds(requests.CommitOffsets, names, words, uint32, committed),
    "fetch_offsets": st.builds(requests.FetchOffsets, names, topics),
    "reset_offsets": st.one_of(
        st.builds(
            requests.ResetOffsets,
            names,
            names,
            st.sampled_from([ResetTo.EARLIEST, ResetTo.LATEST]),
            st.lists(uint32, max_size=3),
            dry_run=flags,
        ),
        st.builds(requests.ResetOffsets, names, names, st.just(ResetTo.OFFSET), st.just([]), offsets, dry_run=flags),
        st.builds(requests.ResetOffsets, names, names, st.just(ResetTo.TIME), st.just([3]), at_ms=offsets),
    ),
    "list_groups": st.builds(requests.ListGroups),
    "describe_group": st.builds(requests.DescribeGroup, names),
    "alter_group": st.builds(requests.AlterGroup, names, changes),
    "delete_group": st.builds(requests.DeleteGroup, names),
    "describe_rebalances": st.builds(requests.DescribeRebalances, words),
}
ANSWERS: dict[str, st.SearchStrategy[Any]] = {
    "joined": st.builds(
        requests.Joined, words, uint32, modes, partitions, partitions, uint32, flags, st.lists(words), uint64
    ),
    "group_beat": st.builds(requests.GroupBeat, uint32, states, partitions, partitions, offsets, flags, uint64),
    "revoked_partitions": st.builds(requests.RevokedPartitions, uint32, states),
    "committed_offsets": st.builds(
        requests.CommittedOffsets, st.lists(st.builds(requests.CommitRefusal, names, uint32, refusals), max_size=3)
    ),
    "group_offsets": st.lists(st.builds(requests.GroupOffset, words, uint32, places, places), max_size=3),
    "offset_changes": st.lists(st.builds(requests.OffsetChange, uint32, places, places), max_size=3),
    "group": group_replies,
    "groups": st.lists(group_replies, max_size=2),
    "rebalances": st.builds(
        requests.RebalancesReply,
        *[uint64] * 8,
        offsets,
        st.dictionaries(words, uint64, max_size=3),
    ),
}


def arrived(message: betterproto.Message) -> Any:  # noqa: ANN401 - of the same class
    """A message as it is when it has travelled."""
    return CODEC.decode(type(message), CODEC.encode(message))


@pytest.mark.parametrize("verb", REQUESTS)
@given(drawn=st.data())
def test_a_request_of_a_client_is_the_same_at_the_server(verb: str, drawn: st.DataObject) -> None:
    request = drawn.draw(REQUESTS[verb])
    message = getattr(groups, f"{verb}_message")(request)
    read = getattr(groups, f"{verb}_request")
    assert read(arrived(message)) == request
    assert read(message) == request


@pytest.mark.parametrize("answer", ANSWERS)
@given(drawn=st.data())
def test_an_answer_of_the_server_is_the_same_at_a_client(answer: str, drawn: st.DataObject) -> None:
    reply = drawn.draw(ANSWERS[answer])
    message = getattr(groups, f"{answer}_reply")(reply)
    read = getattr(groups, f"read_{answer}")
    assert read(arrived(message)) == reply
    assert read(message) == reply


def test_what_says_nothing_arrives_as_such() -> None:
    assert arrived(groups.leave_reply(None)) == v1.LeaveReply()
    assert arrived(groups.delete_group_reply(None)) == v1.DeleteGroupReply()


def test_whoever_watches_a_wire_counts() -> None:
    watch = groups.watch_group_request(v1.WatchRequest("g", "m"))
    assert watch == requests.WatchGroup("g", "m", counts=True)


def test_what_nodes_could_not_pass_on_was_never_told_to_anybody() -> None:
    for told, seen in ((INT64_MAX, INT64_MAX), (INT64_MAX + 1, 0), ((1 << 64) - 1, 0)):
        watch = groups.watch_group_request(v1.WatchRequest("g", "m", seen=told))
        assert watch == requests.WatchGroup("g", "m", seen)
        assert encode(Forwarded(1, 1, 1, 1, False, Caller(), watch))


def test_partitions_are_sorted_and_named_once() -> None:
    given_twice = [v1.TopicPartition("b", 1), v1.TopicPartition("a", 2), v1.TopicPartition("b", 0)] * 2
    found = groups.revoke_partitions_request(v1.RevokeRequest("g", "m", 1, given_twice))
    assert isinstance(found, requests.RevokePartitions)
    assert list(found.revoked.items()) == [("a", [2]), ("b", [0, 1])]


def test_words_of_a_newer_broker_are_read_as_the_nearest_ones() -> None:
    for outcome, code in (
        ("NONE", Code.UNAVAILABLE),
        ("UNKNOWN", Code.OUTCOME_UNKNOWN),
        ("DONE", Code.DUPLICATE),
        ("UNSPECIFIED", Code.OUTCOME_UNKNOWN),
    ):
        told = v1.Refusal("tired", "later", "f", 5, outcome=v1.Outcome[outcome])
        assert groups.read_refusal(told) == Refusal(code, "later", "f", 5)
    beat = groups.read_group_beat(v1.HeartbeatReply(state="dreaming", generation=3))
    assert (beat.state, beat.generation) == (GroupState.STABLE, 3)
    assert groups.read_joined(v1.JoinReply("m", mode=v1.GroupMode.try_value(9))).mode is GroupMode.EXCLUSIVE


def test_a_seek_is_positions() -> None:
    wanted = [v1.PartitionOffset("a", 1, 5), v1.PartitionOffset("a", 2, 0)]
    found = groups.seek_request(arrived(v1.SeekRequest(wanted)))
    assert found == groups.Seek([PartitionOffset("a", 1, 5), PartitionOffset("a", 2, 0)])


@pytest.mark.parametrize(
    ("request_of", "message", "field", "said"),
    [
        (groups.join_group_request, v1.JoinRequest(), "group", "group is required"),
        (groups.join_group_request, v1.JoinRequest("g", mode=v1.GroupMode.try_value(7)), "mode", "cannot be 7"),
        (
            groups.join_group_request, v1.JoinRequest("g", config={"start": v1.Setting(reset=True)}),
            "config.start", "by AlterGroup alone",
        ),
        (groups.join_group_request, v1.JoinRequest("g", config={"start": v1.Setting()}), "config.start", "no value"),
        (groups.group_heartbeat_request, v1.HeartbeatRequest("", "m"), "group", "is required"),
        (groups.group_heartbeat_request, v1.HeartbeatRequest("g"), "member_id", "is required"),
        (groups.watch_group_request, v1.WatchRequest("g"), "member_id", "is required"),
        (groups.leave_group_request, v1.LeaveRequest("g"), "member_id", "is required"),
        (groups.revoke_partitions_request, v1.RevokeRequest("g"), "member_id", "is required"),
        (
            groups.revoke_partitions_request, v1.RevokeRequest("g", "m", 1, [v1.TopicPartition("", 3)]),
            "revoked[0].topic", "is required",
        ),
        (groups.commit_offsets_request, v1.CommitRequest(), "group", "is required"),
        (
            groups.commit_offsets_request, v1.CommitRequest("g", "m", 1, [v1.PartitionOffset()]),
            "offsets[0].topic", "is required",
        ),
        (
            groups.commit_offsets_request, v1.CommitRequest("g", "m", 1, [v1.PartitionOffset("t", 0, -1)]),
            "offsets[0].offset", "not be negative, and is -1",
        ),
        (groups.fetch_offsets_request, v1.FetchOffsetsRequest(), "group", "is required"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest(topic="t", offset=1), "group", "is required"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest("g", offset=1), "topic", "is required"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest("g", "t"), "to", "or timestamp_ms is required"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest("g", "t", latest=False), "latest", "only be true"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest("g", "t", offset=-1), "offset", "not be negative"),
        (groups.reset_offsets_request, v1.ResetOffsetsRequest("g", "t", timestamp_ms=-1), "timestamp_ms", "is -1"),
        (groups.describe_group_request, v1.DescribeGroupRequest(), "group", "is required"),
        (groups.alter_group_request, v1.AlterGroupRequest(), "group", "is required"),
        (
            groups.alter_group_request, v1.AlterGroupRequest("g", {"start": v1.Setting(reset=False)}),
            "config.start", "not be not reset",
        ),
        (groups.delete_group_request, v1.DeleteGroupRequest(), "group", "is required"),
        (groups.seek_request, v1.SeekRequest([v1.PartitionOffset()]), "positions[0].topic", "is required"),
        (
            groups.seek_request, v1.SeekRequest([v1.PartitionOffset("t", 0, 1), v1.PartitionOffset("t", 0, 2)]),
            "positions[1]", "names t-0 once more",
        ),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_meant_is_refused_with_its_field(
    request_of: Callable[[Any], object], message: betterproto.Message, field: str, said: str
) -> None:
    refused = request_of(arrived(message))
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == (Code.INVALID, field)
    assert said in refused.message
    assert request_of(message) == refused
