"""Committed offsets: taken is durable, back leads only a reset, none is beyond the end or ahead of what was delivered.

What a commit was answered, or a question was told, is the least that may be told from then on. A reset, a deletion or a
commit by somebody who is no member may come about as long as it is not answered, and for ever if its process died; then
the next answer says what is.
Offsets belong to a topic and not to its name: another one of that name begins anew.

A question is judged by what was known when it was asked: between nodes, its answer may be on its way while a commit is
answered.

Where a topic promises little, a crash takes its end back, and an offset may be beyond it.
"""

from goqueue.core.partition.partition import Partition
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    FetchOffsets,
    GroupOffset,
    JoinGroup,
    OffsetChange,
    PartitionOffset,
    Polled,
    PollGroup,
    ResetOffsets,
)
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Place, Violation
from goqueue.fuzz.workloads.visitor import VISITED

Key = tuple[str, int, int]
"""A group, a topic by its id, and a partition."""
_ANYWHERE = 1 << 63


class Offsets(Checker):
    """Remembers how far each group is at least and at most, and what its members were given."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._least: dict[Key, int] = {}
        self._most: dict[Key, int] = {}
        # Of these nothing is known until they are told again.
        self._doubtful: set[Key] = set()
        self._delivered: dict[Key, list[tuple[int, int]]] = {}
        self._group_of: dict[str, str] = {}
        self._topics_at: dict[int, dict[str, int]] = {}
        # What was known for certain when a question was asked.
        self._least_at: dict[int, dict[Key, int]] = {}
        self._first_of_name: dict[str, int] = {}
        # In a cluster: commits that were not taken for sure, and the least ids of the topics that may get them.
        self._lingering: dict[int, tuple[CommitOffsets, dict[str, int]]] = {}
        # Groups that somebody wanted to begin at the end.
        self._skips: set[str] = set()

    # --- what is asked

    def asked(self, asked: Asked) -> None:
        """Note what may come of it; of groups that are forgotten sooner or later others know (`forgetting`)."""
        if _is_visited(asked):
            return
        request, topics = asked.request, self.sight.topic_ids()
        for name, topic_id in topics.items():
            self._first_of_name.setdefault(name, topic_id)
        if isinstance(request, JoinGroup):
            self._group_of[asked.client] = request.group
        elif isinstance(request, AlterGroup) and request.config.get("start") == "latest":
            self._skips.add(request.group)
        if isinstance(request, CommitOffsets | FetchOffsets | ResetOffsets | PollGroup):
            self._topics_at[asked.to] = topics
        if isinstance(request, FetchOffsets):
            self._least_at[asked.to] = {
                key: least for key, least in self._least.items() if key[0] == request.group and self._is_known(key)
            }
        if isinstance(request, CommitOffsets) and self.sight.is_cluster:
            self._lingering[asked.to] = request, self._least_ids(request)
        touched = self._allow(asked, topics)
        if _shakes(asked):
            # Also where nothing was committed yet: if no answer comes, something may have been.
            self._doubtful.update(touched)
            self._doubtful.update(key for key in self._least if key[0] == getattr(request, "group", ""))

    def _allow(self, asked: Asked, topics: dict[str, int]) -> list[Key]:
        """Offsets may be led to where a request says; of which partitions."""
        request, touched = asked.request, list[Key]()
        if isinstance(request, CommitOffsets):
            for one in request.offsets:
                if one.topic in topics:
                    key = request.group, topics[one.topic], one.partition
                    self._most[key] = max(self._most.get(key, -1), one.offset)
                    touched.append(key)
        elif isinstance(request, ResetOffsets) and not request.dry_run and request.topic in topics:
            touched = [(request.group, topics[request.topic], partition) for partition in range(64)]
            self._most.update(dict.fromkeys(touched, _ANYWHERE))
        return touched

    def started(self) -> None:
        """Whatever was asked of a process that is gone is not answered any more."""
        self._topics_at = {to: topics for to, topics in self._topics_at.items() if to in self.history.open}
        self._least_at = {to: least for to, least in self._least_at.items() if to in self.history.open}

    # --- what is answered

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge an answer about offsets, and note what was delivered."""
        if _is_visited(asked):
            return
        request, before = asked.request, self._topics_at.pop(asked.to, {})
        least_then = self._least_at.pop(asked.to, {})
        now = self.sight.topic_ids()
        topics = {name: topic_id for name, topic_id in before.items() if now.get(name) == topic_id}
        for name, topic_id in before.items():
            if topic_id in self.history.is_doomed:
                topics.pop(name, None)
        if isinstance(request, CommitOffsets) and isinstance(reply, CommittedOffsets):
            self._took(asked.to)
            self._committed(request, reply, topics)
        elif isinstance(request, FetchOffsets) and request.group not in self.history.deliveries.terms:
            self._told(reply, request.group, topics, least_then)
        elif isinstance(request, ResetOffsets) and isinstance(reply, list) and _shakes(asked):
            for change in reply:
                assert isinstance(change, OffsetChange)
                if request.topic in topics:
                    self._know((request.group, topics[request.topic], change.partition), change.after)
        elif isinstance(request, DeleteGroup) and reply is None:
            self._forget(request.group)
        else:
            # A poll may bring messages of a topic that was not there when it was asked for.
            self._deliver(asked, reply, {name: one for name, one in now.items() if name not in before} | topics)

    def _is_shaken(self, group: str) -> bool:
        """Whether something is under way by which offsets may become others."""
        return any(_shakes(one) and getattr(one.request, "group", "") == group for one in self.history.open.values())

    def _know(self, key: Key, offset: int) -> None:
        self._least[key] = offset
        if self._is_shaken(key[0]):
            self._doubtful.add(key)
        else:
            self._doubtful.discard(key)

    def _forget(self, group: str) -> None:
        for offsets in (self._least, self._most):
            for key in [key for key in offsets if key[0] == group]:
                del offsets[key]
        self._doubtful = {key for key in self._doubtful if key[0] != group}
        # What was under way meanwhile may have come behind the deletion.
        for to, topics in self._topics_at.items():
            asked = self.history.open.get(to)
            if asked is not None and getattr(asked.request, "group", "") == group:
                self._allow(asked, topics)

    def _least_ids(self, request: CommitOffsets) -> dict[str, int]:
        names = {one.topic for one in request.offsets}
        return {name: min(self.sight.ids_believed(name), default=0) for name in names}

    def _took(self, to: int) -> None:
        """A commit was taken for whichever topics had the names meanwhile."""
        request, least_ids = self._lingering.pop(to, (None, {}))
        if request is None:
            return
        for one in request.offsets:
            for topic_id in self.sight.ids_since(one.topic, least_ids[one.topic]):
                key = request.group, topic_id, one.partition
                self._most[key] = max(self._most.get(key, -1), one.offset)

    def _may_have(self, key: Key, name: str) -> int:
        """The furthest that anybody may have committed."""
        lingering = [
            one.offset
            for request, least_ids in self._lingering.values()
            for one in request.offsets
            if (request.group, one.topic, one.partition) == (key[0], name, key[2]) and least_ids[name] <= key[1]
        ]
        return max([self._most.get(key, -1), *lingering])

    def _committed(self, request: CommitOffsets, reply: CommittedOffsets, topics: dict[str, int]) -> None:
        refused = {(one.topic, one.partition) for one in reply.refusals}
        for one in request.offsets:
            if one.topic not in topics or (one.topic, one.partition) in refused:
                continue
            key = request.group, topics[one.topic], one.partition
            self._check_end(key, one.offset)
            if request.member_id:
                self._check_delivered(key, one)
            least = -1 if key in self._doubtful else self._least.get(key, -1)
            self._know(key, max(least, one.offset))

    def _told(self, reply: Reply, group: str, topics: dict[str, int], least_then: dict[Key, int]) -> None:
        if isinstance(reply, Refusal):
            known = [key for key in least_then if key in self._least and self._is_known(key)]
            if reply.code is Code.GROUP_NOT_FOUND and known:
                raise Violation(f"{group} had offsets, as {known[0]}, and there is no such group")
            return
        assert isinstance(reply, list)
        for told in reply:
            assert isinstance(told, GroupOffset)
            if told.topic in topics:
                key = group, topics[told.topic], told.partition
                self._check_told(key, told, least_then.get(key, -1))

    def _check_told(self, key: Key, told: GroupOffset, least_then: int) -> None:
        least = self._least.get(key, -1)
        if self._is_known(key) and told.offset < min(least, least_then):
            raise Violation(f"the offset of {key} was {least_then}, and is {told.offset}")
        if told.offset > self._may_have(key, told.topic):
            raise Violation(f"the offset of {key} is {told.offset}, which nobody committed")
        if told.offset >= 0:
            self._check_end(key, told.offset)
            if told.offset >= least or not self._is_known(key):
                self._know(key, told.offset)

    def _is_known(self, key: Key) -> bool:
        return not (key in self._doubtful or key[1] in self.history.is_doomed or self._is_shaken(key[0]))

    def _partition(self, place: Place) -> Partition | None:
        """A partition of a topic that promises much, if it is open and sound."""
        if not self.history.is_strong(place[0]) or place in self.history.rotten:
            return None
        parts = self.sight.partitions()
        return next((part for topic_id, part in parts if (topic_id, part.number) == place), None)

    def _check_end(self, key: Key, offset: int) -> None:
        partition = self._partition(key[1:])
        if partition is not None and offset > partition.high_watermark:
            raise Violation(f"the offset of {key} is {offset}, beyond the end at {partition.high_watermark}")

    # --- what was delivered

    def _deliver(self, asked: Asked, reply: Reply, topics: dict[str, int]) -> None:
        request, group = asked.request, self._group_of.get(asked.client, "")
        if not group:
            return
        if isinstance(request, Fetch) and isinstance(reply, Fetched) and asked.topic_id is not None:
            self._add((group, asked.topic_id, request.partition), request.offset, reply.next_offset)
        elif isinstance(request, FindOffset) and isinstance(reply, FoundOffset) and asked.topic_id is not None:
            # It asked for the first message: there is none below.
            self._add((group, asked.topic_id, request.partition), 0, reply.offset)
        elif isinstance(reply, Polled):
            for part in reply.parts:
                if part.topic in topics:
                    key = group, topics[part.topic], part.partition
                    self._add(key, self._polled_from(key, part.first_offset), part.end_offset)

    def _polled_from(self, key: Key, first: int) -> int:
        """Where a poll's part begins; what compaction has left out before it is not missing."""
        if not self.compacts(key[1]):
            return first
        return max((end for _, end in self._delivered.get(key, []) if end <= first), default=0)

    def _add(self, key: Key, first: int, end: int) -> None:
        spans = sorted([*self._delivered.get(key, []), (first, end)])
        merged = [spans[0]]
        for begin, stop in spans[1:]:
            if begin <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], stop)
            else:
                merged.append((begin, stop))
        self._delivered[key] = merged

    def _check_delivered(self, key: Key, one: PartitionOffset) -> None:
        """Every message between where the group was and where it is was given to one of its members."""
        partition = self._partition(key[1:])
        is_first = self._first_of_name.get(one.topic) == key[1]
        if partition is None or not is_first or not self._is_known(key) or (key[0] in self._skips):
            return
        first = max(self._least.get(key, 0), partition.log.start_offset)
        spans = self._delivered.get(key, [])
        if one.offset > first and not any(begin <= first and one.offset <= end for begin, end in spans):
            raise Violation(f"{one} was committed by {key[0]}, which was at {first} and was given {spans}")


def _is_visited(asked: Asked) -> bool:
    group = getattr(asked.request, "group", "")
    return isinstance(group, str) and group.startswith(VISITED)


def _shakes(asked: Asked) -> bool:
    """Whether an offset may become any other by a request."""
    request = asked.request
    if isinstance(request, ResetOffsets):
        return not request.dry_run
    return isinstance(request, DeleteGroup) or (isinstance(request, CommitOffsets) and not request.member_id)
