"""What the library hands to readers of a group, and what it commits for them.

Every message that is promised is handed to somebody of the group. Of a partition they come in order for as long as a
reader has it, and nobody is handed what is not his. A commit lies behind nothing that no reader has done with. Where
nothing fails and no reader dies, and the library commits by itself, each message is handed out once.
"""

from goqueue.core.requests.groups import CommitOffsets, ResetOffsets
from goqueue.core.requests.messages import Published, PublishReply
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Message, Place, Violation
from goqueue.fuzz.users.handed import Given, Handed
from goqueue.fuzz.users.reader import GROUP, Reader


class Handing(Checker):
    """Holds what readers were handed against what is promised."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # How far each partition is known to be done with.
        self._seen: dict[Place, int] = {}
        # From where on each partition has what was stored once all readers had left.
        self._behind: dict[Place, int] = {}
        self._is_reset = False
        # By name, the ids of all topics that were seen.
        self._ids: dict[str, set[int]] = {}

    @property
    def _handed(self) -> Handed:
        assert self.sight.handed is not None
        return self.sight.handed

    def asked(self, asked: Asked) -> None:
        """See that what is to be committed is done with."""
        request = asked.request
        for name, topic_id in self.sight.topic_ids().items():
            self._ids.setdefault(name, set()).add(topic_id)
        if isinstance(request, ResetOffsets) and request.group == GROUP:
            self._is_reset = True
        if not isinstance(request, CommitOffsets) or request.group != GROUP or self._is_reset:
            return
        topics = self.sight.topic_ids()
        for one in request.offsets:
            if one.topic in topics and self._is_alone(one.topic):
                self._check_commit(asked.client, (topics[one.topic], one.partition), one.offset)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """What is stored once all readers have left, since its way was long, is for nobody."""
        if not isinstance(reply, PublishReply) or asked.topic_id is None:
            return
        if all(user.is_over for user in self.sight.users if isinstance(user, Reader)):
            for one in reply.results:
                if isinstance(one, Published):
                    place = asked.topic_id, one.partition
                    self._behind[place] = min(one.offset, self._behind.get(place, one.offset))

    def _is_alone(self, name: str) -> bool:
        """Whether there never was another topic of a name: readers know their places by names."""
        return len(self._ids.get(name, set()) | {*self.sight.ids_since(name, 0)}) <= 1

    def _check_commit(self, client: str, place: Place, end: int) -> None:
        if not self._keeps(place):
            return
        promised, done = self.history.promised.get(place, {}), self._handed.done
        begin = self._seen.get(place, 0)
        for offset in range(begin, end):
            message = promised.get(offset)
            if message is not None and message.name not in done:
                raise Violation(f"{client} commits {end} of {place}, and no reader is done with {message.name!r}")
        # What is promised later, of an offset before this, is one of these all the same: it is seen at the end.
        self._seen[place] = max(begin, end)

    def _keeps(self, place: Place) -> bool:
        """Whether a partition has for ever what it ever had, as far as readers see it."""
        terms = self.history.terms.get(place[0])
        if terms is None or terms.retains or terms.compacts or (terms.was_weak and not self.sight.was_quiet):
            return False
        return place not in self.history.rotten and place[0] not in self.history.is_doomed

    def stepped(self) -> None:
        """Judge what was handed out since."""
        handed = self._handed
        if handed.flaws:
            raise Violation(handed.flaws[0])
        if handed.fresh:
            fresh, handed.fresh = handed.fresh, []
            for program, given in fresh:
                self._judge(program, given)

    def _judge(self, program: str, given: Given) -> None:
        message = self.history.messages.get(given.name)
        if message is None:
            raise Violation(f"{program} was handed {given}, which nobody sent")
        if message.place is not None and message.is_strong and not message.may_repeat:
            at = message.place[1], message.offset
            if at != (given.partition, given.offset) and message.kept_at is None:
                raise Violation(f"{program} was handed {given}, which was acknowledged at {at}")
        if len(self._handed.times[given.name]) > 1 and self._is_exact(message):
            times = self._handed.times[given.name]
            raise Violation(f"{given} was handed to {times}, and nothing failed that would excuse it")

    def _is_exact(self, message: Message) -> bool:
        readers = [user for user in self.sight.users if isinstance(user, Reader)]
        is_steady = self.sight.was_quiet and not self._is_reset and not self._handed.losses
        are_careful = not any(user.every for user in readers)
        is_one = message.is_strong and not message.may_repeat and self.sight.calm_since is None
        return is_steady and are_careful and is_one and not readers[0].options.p_topic_change

    def ended(self) -> None:
        """Whatever is promised was handed to somebody."""
        has_readers = any(isinstance(user, Reader) for user in self.sight.users)
        if self._is_reset or self.history.rotten or not has_readers:
            return
        topics = self.sight.topic_ids()
        read = {topics[name] for name in topics if name.startswith("t") and self._is_alone(name)}
        for place, promised in self.history.promised.items():
            if not self._keeps(place) or place[0] not in read:
                continue
            for offset, message in promised.items():
                if offset >= self._behind.get(place, offset + 1) or message.client == HEALER:
                    continue
                if message.is_strong and message.name not in self._handed.times:
                    raise Violation(f"{message.name!r} at {offset} of {place} was handed to no reader of the library")
