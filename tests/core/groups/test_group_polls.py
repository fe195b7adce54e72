"""What a poll brings: what comes next, of what the member has, in turn, and never of anything that it lost."""

from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import (
    CommitOffsets,
    GroupHeartbeat,
    GroupMode,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
    Polled,
    PollGroup,
    RevokePartitions,
)
from goqueue.core.requests.messages import Fetch
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.groups.polled_groups import MS, PolledGroups, S, offsets, spans


def polled(groups: PolledGroups, to: Call) -> Polled:
    """The answer to a poll that came meanwhile."""
    answer = groups.answers.pop(to)
    assert isinstance(answer, Polled), answer
    return answer


def commit(groups: PolledGroups, member_id: str, topic: str, partition: int, offset: int) -> None:
    generation = groups.coordinator.groups.groups["g"].generation
    groups.answer(CommitOffsets("g", member_id, generation, [PartitionOffset(topic, partition, offset)]))


def let_go(groups: PolledGroups, member_id: str) -> None:
    """Confirm everything that the member is to let go of."""
    group = groups.coordinator.groups.groups["g"]
    groups.answer(RevokePartitions("g", member_id, group.generation, {"t": [0, 1, 2, 3]}))


# --- where it begins and goes on


def test_a_member_begins_where_the_partition_does_and_goes_on_behind_what_it_was_given() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    groups.add("t", 0, 3)
    assert offsets(groups.poll(member)) == [0, 1, 2]
    assert groups.poll(member) == []
    groups.add("t", 0, 2)
    assert offsets(groups.poll(member)) == [3, 4]


def test_a_member_begins_at_the_committed_offset() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    groups.answer(CommitOffsets("g", "", 0, [PartitionOffset("t", 0, 4)]))
    assert offsets(groups.poll(groups.join("t"))) == [4, 5, 6, 7, 8, 9]


def test_a_group_that_begins_with_the_latest_is_given_what_comes_after_its_first_poll() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t", start="latest")
    assert groups.poll(member) == []
    groups.add("t", 0, 2)
    assert offsets(groups.poll(member)) == [10, 11]


def test_a_commit_does_not_move_a_member_that_reads() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    assert len(offsets(groups.poll(member, 2))) == 2
    commit(groups, member, "t", 0, 7)
    assert offsets(groups.poll(member, 2)) == [2, 3]


def test_whoever_gets_a_partition_begins_at_what_was_committed_and_not_at_what_was_given_to_the_last_owner() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    assert len(offsets(groups.poll(member, 6))) == 6
    commit(groups, member, "t", 0, 4)
    groups.answer(LeaveGroup("g", member))
    assert offsets(groups.poll(groups.join("t"), 2)) == [4, 5]


def test_a_member_that_gets_a_partition_back_begins_at_what_was_committed() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 1, 10)
    first = groups.join("t")
    assert len(offsets(groups.poll(first, 6))) == 6
    second = groups.join("t")
    let_go(groups, first)
    assert offsets(groups.poll(second, 3)) == [0, 1, 2]
    commit(groups, second, "t", 1, 2)
    groups.answer(LeaveGroup("g", second))
    groups.wait(2 * S)
    assert offsets(groups.poll(first, 2)) == [2, 3]


def test_a_place_that_retention_has_overtaken_moves_to_the_start() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 5)
    groups.add("t", 0, 5)
    member = groups.join("t")
    assert offsets(groups.poll(member, 2)) == [0, 1]
    groups.shelves["t", 0].start = 7
    assert offsets(groups.poll(member)) == [7, 8, 9]


def test_a_read_that_retention_overtakes_begins_again_at_the_start() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member))
    groups.turn()
    groups.shelves["t", 0].start = 5
    groups.holds_reads = False
    groups.turn()
    assert offsets(polled(groups, to).parts) == [5, 6, 7, 8, 9]


def test_a_read_that_loses_its_file_to_retention_begins_again_at_the_start() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member))
    groups.turn()
    shelf = groups.shelves["t", 0]
    shelf.problem = Refusal(Code.UNAVAILABLE, "there is no such file")
    groups.read()
    shelf.start, shelf.problem = 5, None
    groups.holds_reads = False
    groups.turn()
    assert offsets(polled(groups, to).parts) == [5, 6, 7, 8, 9]


def test_a_place_beyond_the_end_moves_to_the_end() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    assert len(offsets(groups.poll(member))) == 10
    groups.shelves["t", 0].end = 6
    assert groups.poll(member) == []
    groups.shelves["t", 0].batches.clear()
    groups.add("t", 0, 2)
    assert offsets(groups.poll(member)) == [6, 7]


def test_a_topic_that_is_made_anew_is_read_from_its_start() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 5)
    member = groups.join("t")
    assert len(offsets(groups.poll(member))) == 5
    groups.delete("t")
    assert groups.poll(member) == []
    groups.make(t=1)
    groups.add("t", 0, 2)
    groups.wait(2 * S)
    assert offsets(groups.poll(member)) == [0, 1]


# --- how much


def test_a_poll_ends_within_a_batch_and_the_next_goes_on_there() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    groups.add("t", 0, 10)
    member = groups.join("t")
    given = [offsets(groups.poll(member, 7)) for _ in range(4)]
    assert [len(some) for some in given] == [7, 7, 6, 0]
    assert [offset for some in given for offset in some] == list(range(20))


def test_the_first_batch_comes_whole_and_further_ones_only_as_far_as_they_fit() -> None:
    groups = PolledGroups(t=2)
    for partition in (0, 0, 1):
        groups.add("t", partition, 1, 5_000)
    member = groups.join("t")
    assert spans(groups.poll(member, bytes_max=1)) == [("t", 0, 0, 1)]
    assert spans(groups.poll(member, bytes_max=6_000)) == [("t", 1, 0, 1)]
    assert spans(groups.poll(member, bytes_max=6_000)) == [("t", 0, 1, 2)]
    for partition in (0, 1, 0):
        groups.add("t", partition, 1, 5_000)
    assert sorted(spans(groups.poll(member, bytes_max=11_000))) == [("t", 0, 2, 4)]
    assert spans(groups.poll(member, bytes_max=11_000)) == [("t", 1, 1, 2)]


def test_a_partition_that_fills_every_poll_does_not_starve_the_others() -> None:
    groups = PolledGroups(t=3)
    groups.add("t", 0, 1000)
    groups.add("t", 1, 6)
    groups.add("t", 2, 3)
    member = groups.join("t")
    given = [spans(groups.poll(member, 3)) for _ in range(6)]
    assert [[one[1] for one in some] for some in given] == [[0], [1], [2], [0], [1], [0]]


def test_one_poll_brings_what_there_is_of_all_partitions() -> None:
    groups = PolledGroups(t=2, u=1)
    for topic, partition in (("t", 0), ("t", 1), ("u", 0)):
        groups.add(topic, partition, 4)
    assert spans(groups.poll(groups.join("t", "u"))) == [("t", 0, 0, 4), ("t", 1, 0, 4), ("u", 0, 0, 4)]


def test_a_long_partition_of_small_messages_is_not_read_a_megabyte_at_a_time() -> None:
    groups = PolledGroups(t=1)
    for _ in range(1000):
        groups.add("t", 0, 100)
    member = groups.join("t")
    sizes = [sum(len(part.batches) for part in groups.poll(member, 100)) for _ in range(20)]
    assert sum(len(batch) for batch in groups.shelves["t", 0].batches) > 1 << 20
    assert max(sizes[1:]) < 20_000


def test_gaps_that_compaction_left_are_stepped_over() -> None:
    groups = PolledGroups(t=1)
    shelf = groups.shelves["t", 0]
    shelf.skip(10_000)
    shelf.add(3)
    shelf.skip(10_000)
    shelf.add_sparse(2_000, 1_999)
    shelf.skip(10)
    member = groups.join("t")
    given: list[int] = []
    for _ in range(3):
        given += offsets(groups.poll(member, 5))
    assert given == [10_000, 10_001, 10_002, 22_002]
    assert groups.poll(member) == []


# --- waiting


def test_a_poll_waits_for_news_of_any_of_its_partitions_and_brings_all_of_a_turn() -> None:
    groups = PolledGroups(t=3)
    member = groups.join("t")
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    assert to not in groups.answers
    groups.add("t", 0, 1)
    groups.add("t", 2, 1)
    groups.turn()
    assert spans(polled(groups, to).parts) == [("t", 0, 0, 1), ("t", 2, 0, 1)]


def test_a_poll_without_news_is_answered_at_its_deadline_and_not_before() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.wait(4_999 * MS)
    assert to not in groups.answers
    groups.wait(1 * MS)
    assert polled(groups, to) == Polled([])


def test_news_of_what_the_member_does_not_have_wakes_nobody() -> None:
    groups = PolledGroups(t=1, u=1)
    member = groups.join("t")
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.add("u", 0, 1)
    groups.polls.news("t", 0)
    groups.turn()
    assert to not in groups.answers
    assert groups.read_count == 0


def test_no_poll_waits_so_long_that_its_member_is_taken_for_dead() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    for _ in range(10):
        to = groups.ask(PollGroup("g", member, wait_ns=3600 * S))
        groups.turn()
        groups.wait(29 * S)
        assert polled(groups, to) == Polled([])


def test_a_poll_that_waits_is_given_what_its_member_gets_meanwhile() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 1, 3)
    first = groups.join("t")
    second = groups.join("t")
    to = groups.ask(PollGroup("g", second, wait_ns=5 * S))
    groups.turn()
    assert to not in groups.answers
    let_go(groups, first)
    assert spans(polled(groups, to).parts) == [("t", 1, 0, 3)]


def test_a_second_poll_ends_the_first_and_nothing_is_skipped() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    first = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.add("t", 0, 3)
    groups.holds_reads = True
    groups.turn()
    second = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    assert polled(groups, first) == Polled([])
    groups.holds_reads = False
    groups.turn()
    assert offsets(polled(groups, second).parts) == [0, 1, 2]


def test_a_poll_that_nobody_waits_for_is_not_answered_and_skips_nothing() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 3)
    member = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member))
    groups.turn()
    groups.polls.forget(to)
    groups.holds_reads = False
    groups.turn()
    assert to not in groups.answers
    assert offsets(groups.poll(member)) == [0, 1, 2]


def test_polls_that_are_to_let_go_of_memory_begin_anew_and_skip_nothing() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 0, 3)
    groups.add("t", 1, 3)
    member = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member))
    groups.turn()
    groups.read()
    groups.settle()
    groups.polls.forget_found()
    groups.polls.check()
    groups.holds_reads = False
    groups.turn()
    assert sorted(spans(polled(groups, to).parts)) == [("t", 0, 0, 3), ("t", 1, 0, 3)]


def test_a_read_behind_what_was_let_go_of_is_of_no_use() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 1, 12_000)
    groups.add("t", 0, 1, 12_000)
    member = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member, 2))
    groups.turn()
    groups.read()
    groups.settle()
    assert [fetch.offset for _, fetch in groups.reads if isinstance(fetch, Fetch)] == [1]
    groups.polls.forget_found()
    groups.holds_reads = False
    groups.turn()
    assert offsets(polled(groups, to).parts) == [0, 1]


# --- what the member has


def test_a_partition_that_went_away_and_came_back_within_a_turn_is_a_new_tenure() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 1, 10)
    first = groups.join("t")
    assert len(offsets(groups.poll(first, 6))) == 6
    groups.ask(JoinGroup("g", ["t"]))
    groups.now += S
    groups.coordinator.wake(groups.now)
    group = groups.coordinator.groups.groups["g"]
    second = [*group.members][1]
    groups.ask(RevokePartitions("g", first, group.generation, {"t": [1]}))
    groups.ask(LeaveGroup("g", second))
    groups.now += S
    groups.coordinator.wake(groups.now)
    assert offsets(groups.poll(first, 2)) == [0, 1]


def test_what_a_member_loses_while_it_is_read_is_not_handed_out() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 0, 3)
    groups.add("t", 1, 3)
    first = groups.join("t")
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", first))
    groups.turn()
    groups.read()
    groups.settle()
    groups.answer(JoinGroup("g", ["t"]))
    groups.wait(S)
    groups.holds_reads = False
    groups.turn()
    assert spans(polled(groups, to).parts) == [("t", 0, 0, 3)]


def test_what_was_found_and_is_lost_before_the_poll_is_full_is_taken_out() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 0, 3)
    groups.add("t", 1, 3)
    first = groups.join("t")
    assert offsets(groups.poll(first, 3)) == [0, 1, 2]
    groups.add("t", 0, 3)
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", first))
    groups.turn()
    groups.read()
    groups.settle()
    # Partition 1 was found, and is to go to the other member while 0 is being read.
    assert [fetch.partition for _, fetch in groups.reads] == [0]
    groups.answer(JoinGroup("g", ["t"]))
    groups.wait(S)
    groups.holds_reads = False
    groups.turn()
    assert spans(polled(groups, to).parts) == [("t", 0, 3, 6)]


def test_what_a_member_is_to_let_go_of_is_not_polled() -> None:
    groups = PolledGroups(t=2)
    first = groups.join("t")
    groups.join("t")
    groups.add("t", 0, 1)
    groups.add("t", 1, 1)
    assert spans(groups.poll(first)) == [("t", 0, 0, 1)]


def test_an_eager_member_is_given_only_what_its_last_join_told_it() -> None:
    groups = PolledGroups(t=2)
    first = groups.join("t")
    second = groups.join("t", eager=True)
    groups.add("t", 0, 1)
    groups.add("t", 1, 1)
    assert groups.poll(second) == []
    let_go(groups, first)
    assert groups.poll(second) == []
    groups.answer(JoinGroup("g", ["t"], second, eager=True))
    assert spans(groups.poll(second)) == [("t", 1, 0, 1)]


def test_an_eager_member_loses_at_once_what_moves() -> None:
    groups = PolledGroups(t=2)
    first = groups.join("t", eager=True)
    groups.add("t", 0, 1)
    groups.add("t", 1, 1)
    second = groups.join("t", eager=True)
    assert spans(groups.poll(first)) == [("t", 0, 0, 1)]
    generation = groups.coordinator.groups.groups["g"].generation
    groups.answer(GroupHeartbeat("g", first, generation))
    groups.answer(JoinGroup("g", ["t"], second, eager=True))
    assert spans(groups.poll(second)) == [("t", 1, 0, 1)]


def test_nothing_is_given_out_of_a_partition_before_the_journal_knows_whose_it_is() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 1, 1)
    first = groups.join("t")
    second = groups.join("t")
    groups.holds_journal = True
    group = groups.coordinator.groups.groups["g"]
    groups.ask(RevokePartitions("g", first, group.generation, {"t": [1]}))
    to = groups.ask(PollGroup("g", second))
    groups.turn()
    assert to not in groups.answers
    groups.holds_journal = False
    groups.turn()
    assert spans(polled(groups, to).parts) == [("t", 1, 0, 1)]


def test_what_the_journal_has_long_known_does_not_wait_for_it() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t")
    assert offsets(groups.poll(member, 1)) == [0]
    groups.holds_journal = True
    generation = groups.coordinator.groups.groups["g"].generation
    groups.ask(CommitOffsets("g", member, generation, [PartitionOffset("t", 0, 1)]))
    assert offsets(groups.poll(member, 1)) == [1]


# --- refusals


def test_a_stranger_and_a_member_of_no_group_are_told_so() -> None:
    groups = PolledGroups(t=1)
    groups.join("t")
    assert groups.refused("nobody").code is Code.UNKNOWN_MEMBER
    assert groups.refused("nobody", "h").code is Code.UNKNOWN_MEMBER


def test_a_member_whose_place_another_instance_has_taken_is_fenced() -> None:
    groups = PolledGroups(t=1)
    groups.answer(JoinGroup("g", ["t"], instance_id="a"))
    [member] = groups.coordinator.groups.groups["g"].members
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.answer(JoinGroup("g", ["t"], instance_id="a"))
    for answer in (groups.answers.pop(to), groups.refused(member)):
        assert isinstance(answer, Refusal)
        assert answer.code is Code.FENCED_INSTANCE


def test_a_shared_group_has_nothing_to_poll() -> None:
    groups = PolledGroups(t=1)
    groups.answer(JoinGroup("s", ["t"], mode=GroupMode.SHARED))
    [member] = groups.coordinator.groups.groups["s"].members
    assert groups.refused(member, "s").code is Code.WRONG_MODE


def test_a_member_that_leaves_while_it_waits_is_told_so_and_leaves_nothing_behind() -> None:
    groups = PolledGroups(t=2)
    member = groups.join("t")
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    groups.answer(LeaveGroup("g", member))
    refusal = groups.answers.pop(to)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNKNOWN_MEMBER
    assert groups.polls.deadline() is None
    assert groups.polls.end_all() == []


def test_polls_keep_a_member_alive_and_a_member_that_stops_polling_goes() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    for _ in range(5):
        groups.wait(27 * S)
        assert groups.poll(member) == []
    groups.wait(31 * S)
    assert groups.refused(member).code is Code.UNKNOWN_MEMBER


def test_a_partition_that_cannot_be_read_is_named_and_the_others_have_their_turn() -> None:
    groups = PolledGroups(t=3)
    for partition in range(3):
        groups.add("t", partition, 1)
    groups.shelves["t", 1].problem = Refusal(Code.DAMAGED, "the file is torn at byte 7")
    member = groups.join("t")
    assert spans(groups.poll(member)) == [("t", 0, 0, 1)]
    refusal = groups.refused(member)
    assert (refusal.code, refusal.message) == (Code.DAMAGED, "t-1 cannot be read: the file is torn at byte 7")
    assert spans(groups.poll(member)) == [("t", 2, 0, 1)]
    assert groups.refused(member).code is Code.DAMAGED
    groups.shelves["t", 1].problem = None
    assert spans(groups.poll(member)) == [("t", 1, 0, 1)]


def test_a_partition_that_is_not_open_is_named_whether_it_was_read_before_or_not() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 1, 3)
    member = groups.join("t")
    shelf = groups.shelves.pop(("t", 0))
    assert groups.refused(member).message.startswith("t-0 cannot be read")
    groups.shelves["t", 0] = shelf
    assert offsets(groups.poll(member)) == [0, 1, 2]
    shelf = groups.shelves.pop(("t", 1))
    assert groups.refused(member).message.startswith("t-1 cannot be read")
    groups.shelves["t", 1] = shelf
    groups.add("t", 1, 1)
    assert offsets(groups.poll(member)) == [3]


def test_when_the_groups_begin_anew_everybody_who_waits_is_known_and_places_are_forgotten() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 3)
    member = groups.join("t")
    assert len(offsets(groups.poll(member))) == 3
    to = groups.ask(PollGroup("g", member, wait_ns=5 * S))
    groups.turn()
    assert groups.polls.end_all() == [to]
    groups.polls.check()
    groups.coordinator.restore(groups.now, groups.journal)
    assert offsets(groups.poll(member)) == [0, 1, 2]


def test_polls_are_counted_with_those_that_brought_nothing() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    groups.add("t", 0, 1)
    groups.poll(member)
    groups.poll(member)
    assert (groups.polls.count, groups.polls.empty_count) == (2, 1)
