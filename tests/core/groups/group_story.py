"""A story about one group, told in commands and answered with a trace; the words are in `COMMANDS`.

    topics orders=4             these are all topics there are
    join A orders session=3s    a member by a name of the story's; also eager, instance=x, assignor=x, mode=x
    rejoin A                    the same member once more, with what it joined with or with other topics
    beat A [2]                  a heartbeat, in the generation it was told last or in another
    watch A 10s                 wait for news; `watch A 10s silently` on its behalf, which is no sign of life
    revoke A                    let go of all it was told to
    commit A orders-0=5 [1]     in the generation it was told last or in another; `-` for nobody
    wait 100ms                  time passes
    restart                     the coordinator begins anew with what the journal holds
    lose 1                      the same, after the disk lost that many of the last entries

A line with `journal` is an entry as it would be appended: each member with what it has, `-` what it is to let go of,
and `+` what is to come to it.
"""

import re
from collections.abc import Callable
from random import Random

from goqueue.core.clock import Clock
from goqueue.core.cluster.durations import parse_duration_ms
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.rebalance import assigned, to_revoke
from goqueue.core.groups.state import Group, GroupStands, Member, change_of
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupMode,
    GroupOffset,
    GroupReply,
    Joined,
    JoinGroup,
    LeaveGroup,
    OffsetChange,
    PartitionOffset,
    Partitions,
    RebalancesReply,
    ResetOffsets,
    ResetTo,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from tests.core.calls import call

WALL_MS = 1_700_000_000_000
MS = 1_000_000


class Story:
    """One coordinator, and the members of one group by their names in the story."""

    def __init__(self) -> None:
        self.now = 0
        self.trace: list[str] = []
        self.journal: list[Entry] = []
        self._ends: dict[tuple[str, int], tuple[int, int]] = {}
        self._topics: dict[str, int] = {}
        self._ids: dict[str, str] = {}
        self._joins: dict[str, JoinGroup] = {}
        self._told: dict[str, Joined | GroupBeat] = {}
        self._asked: dict[int, str] = {}
        self.coordinator = Coordinator(Clock(0, WALL_MS), Random(1), self.ends, {})

    def ends(self, topic: str, partition: int) -> tuple[int, int] | None:
        """A partition's start and end, as the story has them."""
        return self._ends.get((topic, partition), (0, 100))

    def tell(self, line: str) -> None:
        """Carry out one line."""
        self.trace.append(f"> {line}")
        verb, *words = line.split()
        COMMANDS[verb](self, words)
        self._take()

    def _ask(self, name: str, request: Request) -> None:
        to = len(self._asked)
        self._asked[to] = name
        self.coordinator.ask(self.now, call(to), request)

    def _take(self) -> None:
        coordinator = self.coordinator
        coordinator.check()
        for entry in coordinator.entries:
            self.journal.append(entry)
        replies = coordinator.replies
        for to, answer in replies:
            self._learn(self._asked[to.number], answer)
        self.trace += [f"  journal {self._entry(entry)}" for entry in coordinator.entries]
        self.trace += [
            f"  {self._asked[to.number]}: {self._answer(answer)}".replace("  -: ", "  ") for to, answer in replies
        ]
        coordinator.entries, coordinator.replies = [], []
        assert rebuilt(self.journal, self._topics).groups == coordinator.groups

    def _learn(self, name: str, answer: Reply) -> None:
        if isinstance(answer, Joined | GroupBeat):
            self._told[name] = answer
        if isinstance(answer, Joined):
            self._ids[name] = answer.member_id

    # --- commands

    def topics(self, words: list[str]) -> None:
        """All topics."""
        pairs = (word.split("=") for word in words)
        self._topics = {topic: int(count) for topic, count in pairs}
        self.coordinator.topics_changed(self.now, self._topics, {})

    def join(self, words: list[str]) -> None:
        """A member more."""
        name, *rest = words
        options = dict(word.split("=") for word in rest if "=" in word)
        request = JoinGroup(
            "g",
            [word for word in rest if "=" not in word and word != "eager"],
            instance_id=options.get("instance", ""),
            client_id=name.lower(),
            session_timeout_ms=parse_duration_ms(options.get("session", "30s")),
            mode=GroupMode(options["mode"]) if "mode" in options else None,
            assignor=options.get("assignor", ""),
            eager="eager" in rest,
        )
        self._joins[name] = request
        self._ask(name, request)

    def rejoin(self, words: list[str]) -> None:
        """A member once more."""
        name, *topics = words
        request = self._joins[name]
        request.member_id = self._ids[name]
        request.topics = topics or request.topics
        self._ask(name, request)

    def beat(self, words: list[str]) -> None:
        """A heartbeat."""
        self._ask(words[0], GroupHeartbeat("g", self._ids[words[0]], self._generation(words[0], words[1:])))

    def _generation(self, name: str, words: list[str]) -> int:
        return int(words[0]) if words else self._told[name].generation

    def watch(self, words: list[str]) -> None:
        """Wait for news."""
        name, span, *how = words
        wait_ns = parse_duration_ms(span) * MS
        self._ask(name, WatchGroup("g", self._ids[name], self._told[name].seen, wait_ns, "silently" not in how))

    def revoke(self, words: list[str]) -> None:
        """Let go of what it was told to."""
        told = self._told[words[0]]
        self._ask(words[0], RevokePartitions("g", self._ids[words[0]], told.generation, told.to_revoke))

    def leave(self, words: list[str]) -> None:
        """A member goes."""
        self._ask(words[0], LeaveGroup("g", self._ids[words[0]]))

    def commit(self, words: list[str]) -> None:
        """Offsets, of a member or of nobody."""
        name, *rest = words
        offsets = [
            PartitionOffset(topic, int(partition), int(offset))
            for topic, partition, offset in re.findall(r"(\w+)-(\d+)=(\d+)", " ".join(rest))
        ]
        member_id = "" if name == "-" else self._ids[name]
        generation = self._generation(name, [word for word in rest if "=" not in word]) if member_id else 0
        self._ask(name, CommitOffsets("g", member_id, generation, offsets))

    def offsets(self, words: list[str]) -> None:
        """How far the group has come."""
        self._ask("-", FetchOffsets("g", words))

    def span(self, words: list[str]) -> None:
        """Where a partition begins and ends: orders-0=10:100."""
        for topic, partition, start, end in re.findall(r"(\w+)-(\d+)=(\d+):(\d+)", " ".join(words)):
            self._ends[topic, int(partition)] = (int(start), int(end))

    def reset(self, words: list[str]) -> None:
        """Go on from elsewhere: reset orders earliest, latest or an offset; then partitions=0,1 or dry."""
        topic, to, *rest = words
        options = dict(word.split("=") for word in rest if "=" in word)
        partitions = [int(each) for each in options.get("partitions", "").split(",") if each]
        where = ResetTo.OFFSET if to.isdigit() else ResetTo(to)
        offset = int(to) if to.isdigit() else 0
        found = dict.fromkeys(range(8), 7) if where is ResetTo.TIME else {}
        self._ask("-", ResetOffsets("g", topic, where, partitions, offset, found=found, dry_run="dry" in rest))

    def alter(self, words: list[str]) -> None:
        """Settings of the group."""
        self._ask("-", AlterGroup("g", {word.split("=")[0]: word.split("=")[1] for word in words}))

    def describe(self, words: list[str]) -> None:
        """The group at a glance."""
        self._ask("-", DescribeGroup("g"))

    def stats(self, words: list[str]) -> None:
        """What rebalances there were."""
        self._ask("-", DescribeRebalances("g"))

    def delete(self, words: list[str]) -> None:
        """Remove the group."""
        self._ask("-", DeleteGroup("g"))

    def wait(self, words: list[str]) -> None:
        """Time passes, and what is due happens when it is due."""
        end = self.now + parse_duration_ms(words[0]) * MS
        while (due := self.coordinator.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.coordinator.wake(self.now)
            if self.coordinator.entries or self.coordinator.replies:
                self.trace.append(f"  at {self.now // MS} ms")
            self._take()
        self.now = end

    def restart(self, words: list[str]) -> None:
        """Begin anew with what the journal holds."""
        self.coordinator.restore(self.now, self.journal)

    def lose(self, words: list[str]) -> None:
        """Begin anew with what the disk kept."""
        del self.journal[-int(words[0]) :]
        self.coordinator.restore(self.now, self.journal)

    # --- what is seen

    def _entry(self, entry: Entry) -> str:
        change = change_of(*entry)
        if not isinstance(change, GroupStands):
            committed = change.committed
            said = f"{committed.offset} of generation {committed.generation}" if committed else "gone"
            return f"{change.topic}-{change.partition}: {said}"
        return self._group(change.group) if change.group is not None else "group: gone"

    def _group(self, group: Group) -> str:
        members = [f"{self._name(member.member_id)} {_holding(member)}" for member in group.members.values()]
        return f"generation {group.generation}: {'; '.join(members) or 'nobody'}"

    def _name(self, member_id: str) -> str:
        names = {member: name for name, member in self._ids.items()}
        return names.get(member_id, "a new one")

    def _answer(self, answer: Reply) -> str:
        for kind, shown in _SHOWN.items():
            if isinstance(answer, kind):
                return shown(answer)
        if isinstance(answer, GroupReply):
            config = " ".join(f"{key}={value}" for key, value in answer.config.items() if key in ("assignor", "start"))
            members = [
                f"\n    {self._name(one.member_id)} {spelled(one.assigned)}, heard at {one.last_heartbeat_ms - WALL_MS}"
                for one in answer.members
            ]
            return f"{answer.state} {answer.mode} {answer.assignor} generation {answer.generation}, {config}" + "".join(
                members
            )
        if isinstance(answer, list):
            return ", ".join(_row(row) for row in answer) or "nothing"
        return "done"


def _no_ends(topic: str, partition: int) -> None:
    return None


def rebuilt(journal: list[Entry], topics: dict[str, int]) -> Coordinator:
    """A coordinator that begins with a journal."""
    coordinator = Coordinator(Clock(0, WALL_MS), Random(2), _no_ends, topics)
    coordinator.restore(0, journal)
    return coordinator


def spelled(partitions: Partitions) -> str:
    """Partitions as a person writes them: orders:0-2,5."""
    topics = []
    for topic, numbers in partitions.items():
        runs: list[list[int]] = []
        for number in numbers:
            if runs and runs[-1][-1] == number - 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
        topics.append(f"{topic}:{','.join(shown)}")
    return " ".join(topics) or "nothing"


def _holding(member: Member) -> str:
    coming = {
        topic: [partition for partition in partitions if partition not in member.owned.get(topic, {})]
        for topic, partitions in member.target.items()
    }
    coming = {topic: partitions for topic, partitions in coming.items() if partitions}
    going = to_revoke(member)
    said = spelled(assigned(member))
    return said + (f" -{spelled(going)}" if going else "") + (f" +{spelled(coming)}" if coming else "")


def _shown_joined(answer: Joined) -> str:
    more = ", more to come" if answer.rebalance_required else ""
    revoke = f", to revoke {spelled(answer.to_revoke)}" if answer.to_revoke else ""
    return f"joined generation {answer.generation}, has {spelled(answer.assigned)}{revoke}{more}"


def _shown_beat(answer: GroupBeat) -> str:
    deadline = f" until {answer.revocation_deadline_ms - WALL_MS} ms" if answer.to_revoke else ""
    revoke = f", to revoke {spelled(answer.to_revoke)}{deadline}" if answer.to_revoke else ""
    again = ", rebalance required" if answer.rebalance_required else ""
    return f"{answer.state} generation {answer.generation}, has {spelled(answer.assigned)}{revoke}{again}"


def _shown_refusal(answer: Refusal) -> str:
    return f"{answer.code}: {re.sub(r'[0-9a-f]{16}', '#', answer.message)}"


def _shown_commit(answer: CommittedOffsets) -> str:
    refused = [f"{one.topic}-{one.partition} {one.refusal.code}" for one in answer.refusals]
    return f"refused {', '.join(refused)}" if refused else "committed"


def _shown_revoked(answer: RevokedPartitions) -> str:
    return f"{answer.pending} pending, {answer.state}"


def _shown_stats(answer: RebalancesReply) -> str:
    reasons = " ".join(f"{reason}={count}" for reason, count in answer.by_reason.items())
    return (
        f"{answer.total} rebalances, {answer.successful} well and {answer.failed} not, {answer.partitions_assigned} "
        f"assigned, {answer.partitions_revoked} revoked, {answer.revocation_timeouts} cut off, "
        f"last {answer.last_duration_ms} ms; {reasons}"
    )


def _row(row: object) -> str:
    if isinstance(row, GroupOffset):
        return f"{row.topic}-{row.partition} at {row.offset} lag {row.lag}"
    assert isinstance(row, OffsetChange)
    return f"{row.partition} from {row.before} to {row.after}"


_SHOWN: dict[type, Callable[..., str]] = {
    Joined: _shown_joined,
    GroupBeat: _shown_beat,
    Refusal: _shown_refusal,
    CommittedOffsets: _shown_commit,
    RevokedPartitions: _shown_revoked,
    RebalancesReply: _shown_stats,
}

COMMANDS: dict[str, Callable[[Story, list[str]], None]] = {
    "topics": Story.topics,
    "join": Story.join,
    "rejoin": Story.rejoin,
    "beat": Story.beat,
    "watch": Story.watch,
    "revoke": Story.revoke,
    "leave": Story.leave,
    "commit": Story.commit,
    "offsets": Story.offsets,
    "span": Story.span,
    "reset": Story.reset,
    "alter": Story.alter,
    "describe": Story.describe,
    "stats": Story.stats,
    "delete": Story.delete,
    "wait": Story.wait,
    "restart": Story.restart,
    "lose": Story.lose,
}
