"""Bugs of `core/groups` about offsets: who may commit which, what is kept of it, and what polls make of it."""

from typing import Any

from attrs import evolve

from goqueue.core.groups import plan, rebalance
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.journal import Journal
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.reader import Poll, Reader
from goqueue.core.groups.state import Change, Group, Groups, Member
from goqueue.core.requests.groups import CommitOffsets, CommittedOffsets, OffsetChange, ResetOffsets
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _commits_of_anybody(replace: Replace) -> None:
    real_refusal: Any = plan._commit_refusal

    def commit_refusal(group: Group, member: Member | None, *rest: object) -> Refusal | None:
        found: Refusal | None = real_refusal(group, None, *rest)
        return found

    replace(plan, "_commit_refusal", commit_refusal)


def _a_generation_that_ends_all_tenures(replace: Replace) -> None:
    """Who keeps a partition has it anew, and its commits that are under way are refused."""
    real_rebalanced = rebalance.rebalanced

    def rebalanced(group: Group, topics: dict[str, int]) -> Group | None:
        after = real_rebalanced(group, topics)
        if after is None:
            return None
        members = {
            member_id: evolve(
                member,
                owned={topic: dict.fromkeys(held, after.generation) for topic, held in member.owned.items()},
            )
            for member_id, member in after.members.items()
        }
        return after.next(members)

    replace(rebalance, "rebalanced", rebalanced)


def _resets_of_what_is_read(replace: Replace) -> None:
    real_reset = plan.plan_reset

    def reset(
        groups: Groups, request: ResetOffsets, partitions: int, ends: Ends, wall_ms: int
    ) -> tuple[list[Change], list[OffsetChange]] | Refusal:
        free = {name: Group(name, group.mode, group.config, group.generation) for name, group in groups.groups.items()}
        return real_reset(Groups(free, groups.offsets), request, partitions, ends, wall_ms)

    replace(plan, "plan_reset", reset)


def _groups_deleted_with_their_members(replace: Replace) -> None:
    def delete(groups: Groups, name: str) -> list[Change] | Refusal:
        found = plan.group_of(groups, name)
        return found if isinstance(found, Refusal) else plan.ending(groups, name)

    def end(coordinator: Coordinator, name: str) -> None:
        for member_id in coordinator.groups.groups[name].members:
            coordinator._sessions.end(name, member_id)
        for watch in coordinator._watches.of(name):
            coordinator._watches.forget(watch.call)
            coordinator.replies.append((watch.call, Refusal(Code.GROUP_NOT_FOUND, "the group is gone")))
        real_end(coordinator, name)
        coordinator._moving.pop(name, None)

    real_end = Coordinator._end
    replace(plan, "plan_delete", delete)
    replace(Coordinator, "_end", end)


def _answered_before_it_is_durable(replace: Replace) -> None:
    real_settle = GroupLeader.settle

    def settle(leader: GroupLeader, now: int) -> None:
        replies, leader.coordinator.replies = leader.coordinator.replies, []
        for to, reply in replies:
            leader._send(to, reply)
        real_settle(leader, now)

    replace(GroupLeader, "settle", settle)


def _half_of_the_journal(replace: Replace) -> None:
    real_take = Journal.take_loaded

    def take(journal: Journal) -> dict[bytes, bytes]:
        loaded = real_take(journal)
        return dict([*loaded.items()][: len(loaded) // 2 + 1])

    replace(Journal, "take_loaded", take)


def _commits_that_go_back(replace: Replace) -> None:
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        return real_commit(Groups(groups.groups, {}), request, topics, ends, wall_ms)

    replace(plan, "plan_commit", commit)


def _commits_beyond_the_end(replace: Replace) -> None:
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        return real_commit(groups, request, topics, lambda topic, partition: (0, 1 << 62), wall_ms)

    replace(plan, "plan_commit", commit)


def _offsets_of_the_neighbour(replace: Replace) -> None:
    """What is committed for one partition is kept for the first of its topic."""
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        planned = real_commit(groups, request, topics, ends, wall_ms)
        if not isinstance(planned, Refusal):
            for change in planned[0]:
                if hasattr(change, "partition"):
                    change.partition = 0
        return planned

    replace(plan, "plan_commit", commit)


def _polls_that_skip(replace: Replace) -> None:
    real_finish = Polls._finish

    def finish(polls: Polls, now: int, reader: Reader, poll: Poll, durable: int) -> None:
        found = [*poll.found]
        real_finish(polls, now, reader, poll, durable)
        for place, part in found:
            place.offset += part.partition == 0 and part.end_offset % 3 == 0

    replace(Polls, "_finish", finish)


PLANTS = (
    Plant(
        "commits-of-anybody",
        "Only the member that has a partition commits for it.",
        _commits_of_anybody,
        worlds=lone.contended,
        said="was taken",
    ),
    Plant(
        "a-generation-that-ends-all-tenures",
        "Who keeps a partition over a rebalance may go on committing.",
        _a_generation_that_ends_all_tenures,
        worlds=lone.grouped,
        said="may not commit",
    ),
    Plant(
        "resets-of-what-is-read",
        "Offsets of partitions that somebody reads are not reset.",
        _resets_of_what_is_read,
        worlds=lone.operated,
        said="was reset",
    ),
    Plant(
        "groups-deleted-with-their-members",
        "A group that has members is not deleted.",
        _groups_deleted_with_their_members,
        worlds=lone.operated,
        said="was dismissed",
    ),
    Plant(
        "answered-before-it-is-durable",
        "A commit that is answered survives a power cut.",
        _answered_before_it_is_durable,
        worlds=lone.mortal,
    ),
    Plant(
        "offset-commit-lost",
        "A commit is answered when another coordinator would know of it.",
        _answered_before_it_is_durable,
        nodes=3,
        worlds=clusters.committing,
        within=5,
        finder="Commits",
    ),
    Plant(
        "half-of-the-journal",
        "A coordinator begins with all that was committed.",
        _half_of_the_journal,
        worlds=lone.mortal,
    ),
    Plant(
        "commits-that-go-back",
        "A commit goes back by a reset only.",
        _commits_that_go_back,
        worlds=lone.hurried,
        said="nobody has reset it",
    ),
    Plant(
        "commits-beyond-the-end",
        "A commit is not beyond the end of its partition.",
        _commits_beyond_the_end,
        worlds=lone.grouped,
        said="beyond the end",
    ),
    Plant(
        "offsets-of-the-neighbour",
        "A commit is kept for its own partition.",
        _offsets_of_the_neighbour,
        worlds=lone.grouped,
    ),
    Plant(
        "polls-that-skip",
        "Polls leave out no message.",
        _polls_that_skip,
        worlds=lone.polling,
        said="was given",
    ),
)
"""All bugs of offsets."""
