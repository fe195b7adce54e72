"""Sees every request and every answer where they meet the node, enters them into the history, shows them to checkers.

An answer counts from when the node gave it, whether or not the network brings it to whoever asked: a promise is a
promise also to a client that is gone.
"""

from collections.abc import Iterable

from goqueue.core.cluster.apply import Topic
from goqueue.core.cluster.topic_settings import log_config, setting
from goqueue.core.errors import BatchError
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.log.config import UNLIMITED, Fsync
from goqueue.core.queues.receipts import ending_of, read_stem
from goqueue.core.records.batch import split, validate
from goqueue.core.requests.groups import WatchGroup
from goqueue.core.requests.messages import (
    NO_OFFSET,
    Acks,
    Due,
    Fetch,
    Fetched,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import AlterTopic, DeleteTopic
from goqueue.core.routing.messages import Forwarded
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import LETTERS_ENDING, Asked, Message, Place, TopicTerms, Violation, name_of, records_in

_FINAL = (Code.INVALID, Code.TOO_LARGE, Code.CORRUPT_BATCH, Code.INVALID_TIMESTAMP, Code.PARTITION_NOT_FOUND)


class Witness:
    """Keeps the history of a world."""

    def __init__(self, sight: Sight, checkers: list[Checker]) -> None:
        self._sight = sight
        self._history = sight.history
        self._checkers = checkers
        self._altered: set[str] = set()
        self._retaining: set[str] = set()
        # Signs of life that came to a coordinator; a copy of one is none.
        self._signs: set[tuple[str, int, int]] = set()
        self.acknowledged = 0

    def asked(self, node_id: str, to: int, name: str, request: Request) -> None:
        """A request is about to be handed to a node."""
        topics, topic = self._sight.topics(), self._topic(request)
        topic_id = None if topic is None else topic.topic_id
        asked = Asked(to, name, request, topic_id)
        if self._sight.is_cluster:
            self._guess(asked)
        asked.node_id = node_id
        asked.at, asked.least_ms = self._sight.now, self._sight.least_ms
        asked.topics = self._sight.topic_ids() if isinstance(request, PollWork) else {}
        self._history.asked(asked)
        if isinstance(request, Publish):
            self._note_times(asked, request)
        elif isinstance(request, PublishBatch) and request.due is not Due.NOW:
            since_ms = self._sight.least_ms if request.due is Due.AFTER else 0
            for message, record in zip(asked.messages, records_in(request.batch), strict=True):
                _note_due(message, since_ms + record.timestamp)
        coordinates = node_id == self._sight.coordinator()
        self._history.deliveries.asked(asked.at, request, coordinates=coordinates)
        self._history.memberships.asked(asked.serial, asked.at, request)
        if isinstance(request, AlterTopic):
            if "fsync" in request.config:
                self._altered.add(request.name)
            if "retention_hours" in request.config or "retention_bytes" in request.config:
                self._retaining.add(request.name)
        if JOURNAL_TOPIC in topics:
            self._learn(topics[JOURNAL_TOPIC])
        if topic is not None and topic_id is not None:
            self._learn(topic)
            if isinstance(request, DeleteTopic):
                self._history.doomed(topic_id)
        self._doom()
        for checker in self._checkers:
            checker.asked(asked)

    def _note_times(self, asked: Asked, request: Publish) -> None:
        """When messages are to come, and how long they are to be delivered."""
        for message, record in zip(asked.messages, request.records, strict=True):
            if record.ttl_ms:
                expires_ms = self._sight.least_ms + record.ttl_ms
                message.expires_ms = min(expires_ms, message.expires_ms) if message.ttl_ms else expires_ms
            message.ttl_ms = record.ttl_ms
            due_ms = self._sight.least_ms + record.delay_ms if record.due_ms is None else record.due_ms
            if record.due_ms is not None or record.delay_ms:
                _note_due(message, due_ms)

    def _learn(self, topic: Topic) -> None:
        """What a topic promises is in its settings."""
        terms = self._history.terms.get(topic.topic_id)
        if terms is None:
            config = log_config(topic.config)
            retains = config.retention_ms != UNLIMITED or config.retention_bytes != UNLIMITED
            terms = TopicTerms(config.fsync is not Fsync.EVERY, retains, config.cleanup.compacts)
            self._history.terms[topic.topic_id] = terms
        # A change that was asked for may come to be at any time, even in the next life.
        terms.was_weak = terms.was_weak or topic.name in self._altered
        terms.retains = terms.retains or topic.name in self._retaining

    def forgotten(self, requests: Iterable[int]) -> None:
        """Nobody waits for these any more."""
        for to in requests:
            asked = self._history.open.get(to)
            if asked is not None:
                asked.is_forgotten = True
                self._history.deliveries.unanswered(asked.request)

    def answered(self, to: int, reply: Reply) -> None:
        """The node answered."""
        asked = self._history.open.pop(to, None)
        if asked is None:
            raise Violation(f"request {to} was answered twice, or never asked: {reply}"[:500])
        if self._sight.is_cluster:
            self._settle(asked, reply)
        if isinstance(asked.request, Fetch) and isinstance(reply, Fetched):
            reply = self._believed(asked, asked.request, reply)
            if isinstance(reply, Fetched):
                asked.records = records_in(reply.batches)
                asked.found = {record.offset: name_of(record) for record in asked.records}
        if isinstance(asked.request, PollWork) and isinstance(reply, PolledWork):
            topics = self._leased_topics(asked, reply)
            rotten = self._history.rotten
            asked.given = [*self._history.deliveries.given(asked.request.group, topics, rotten, reply)]
        self._take_note(asked, reply)
        serials = asked.serial, self._history.count
        self._history.memberships.answered(*serials, asked.at, self._sight.now, asked.request, reply)
        for checker in self._checkers:
            checker.answered(asked, reply)
        if isinstance(asked.request, PollWork):
            for given in asked.given:
                self._history.deliveries.give(asked.at, asked.request.member_id, given)
        self._history.deliveries.answered(asked.at, self._sight.now, asked.request, reply)

    def _leased_topics(self, asked: Asked, reply: PolledWork) -> dict[str, int]:
        """The topics that messages were leased of: a poll may have waited for one to be made, or made anew."""
        known = self._sight.topic_ids()
        certain = {
            part.topic
            for part in reply.parts
            for run in part.leases
            if part.topic in known and read_stem(run.stem).place[0] == ending_of(known[part.topic])
        }
        return {name: one for name, one in known.items() if name in certain or asked.topics.get(name, one) == one}

    def read(self, node_id: str, sender: str, letter: object) -> None:
        """A node reads what another has written: the coordinator may hear of a member that asks elsewhere."""
        if not isinstance(letter, Forwarded) or node_id != self._sight.coordinator():
            return
        request, sign = letter.request, (sender, letter.origin, letter.number)
        if isinstance(request, WatchGroup) and request.counts and sign not in self._signs:
            self._signs.add(sign)
            self._history.deliveries.heard(request.member_id, self._sight.now)

    def _guess(self, asked: Asked) -> None:
        """In a cluster nodes may differ in which topic has a name: the request may come to any of these, or a later."""
        name = _topic_name(asked.request)
        if name is None:
            return
        believed = self._sight.ids_believed(name)
        known = self._sight.ids_since(name, 0)
        asked.least_id = min(believed) if believed else max(known, default=-1) + 1
        if len(believed) != 1:
            asked.topic_id = None

    def _settle(self, asked: Asked, reply: Reply) -> None:
        """What a request that is answered was about is sure where there was only one topic of that name meanwhile."""
        request, name = asked.request, _topic_name(asked.request)
        if isinstance(request, DeleteTopic) and reply is not None and not _is_refused(reply, Code.TOPIC_NOT_FOUND):
            self._history.is_wanted_gone.add(request.name)
        self._doom()
        if name is None:
            return
        possible = self._sight.ids_since(name, asked.least_id)
        asked.topic_id = possible[0] if len(possible) == 1 else None
        topic = self._topic(request)
        if topic is not None:
            self._learn(topic)
        for message in asked.messages:
            message.topic_ids += possible

    def _doom(self) -> None:
        """Where a deletion may still come to be, nothing is promised of what is made meanwhile."""
        if not self._sight.is_cluster:
            return
        wanted = {one.request.name for one in self._history.open.values() if isinstance(one.request, DeleteTopic)}
        for name in wanted | self._history.is_wanted_gone:
            for topic_id in self._sight.ids_since(name, 0):
                self._history.doomed(topic_id)

    def _topic(self, request: Request) -> Topic | None:
        """The topic of messages that a request is about."""
        name = _topic_name(request)
        return None if name is None else self._sight.topics().get(name)

    def _believed(self, asked: Asked, fetch: Fetch, reply: Fetched) -> Reply:
        """What a client makes of batches: where bits have rotted, it stops before the first whose sum is wrong.

        It stops before a gap as well: no sum covers a base offset, and one that rotted upwards looks like that.
        """
        if asked.topic_id is None or (asked.topic_id, fetch.partition) not in self._history.rotten:
            return reply
        end, next_offset, wrong = 0, fetch.offset, ""
        for batch in split(reply.batches):
            try:
                header = validate(batch, compacted=True)
            except BatchError as error:
                wrong = str(error)
            else:
                wrong = "" if header.base_offset <= next_offset else f"a gap before offset {header.base_offset}"
            if wrong:
                break
            end, next_offset = end + header.size, header.next_offset
        if not wrong:
            return reply
        if not end:
            return Refusal(Code.DAMAGED, wrong)
        return Fetched(reply.batches[:end], next_offset, reply.high_watermark, reply.start_offset)

    def _take_note(self, asked: Asked, reply: Reply) -> None:
        """Enter what an answer promises into the history."""
        request = asked.request
        if isinstance(request, Publish) and isinstance(reply, PublishReply):
            for message, result in zip(asked.messages, reply.results, strict=True):
                self._message_answered(asked, message, result, 0)
        elif isinstance(request, PublishBatch) and isinstance(reply, PublishReply):
            for place, message in enumerate(asked.messages):
                self._message_answered(asked, message, reply.results[0], place)

    def _message_answered(self, asked: Asked, message: Message, result: Published | Refusal, place: int) -> None:
        topic_id = asked.topic_id
        if self._sight.is_cluster and not self._is_promise(asked.request):
            return
        if isinstance(result, Refusal):
            message.is_refused = result.code in _FINAL and message.sends == 1
        elif topic_id is None and self._sight.ids_since(_topic_name(asked.request) or "", asked.least_id):
            # Nobody can tell in which of them it is.
            self.acknowledged += 1
        elif topic_id is None:
            raise Violation(f"{message.name!r} was taken for a topic that does not exist")
        elif result.due_ms >= 0 and result.offset == NO_OFFSET:
            message.is_kept = True
        elif result.due_ms >= 0:
            self.acknowledged += 1
            message.is_kept, message.is_kept_strongly = True, self._is_strong(topic_id)
            message.told_due_ms = result.due_ms
            self._history.kept_back(message, (topic_id, result.partition), result.offset + place)
        elif result.offset != NO_OFFSET:
            self.acknowledged += 1
            at, is_strong = (topic_id, result.partition), self._is_strong(topic_id)
            # The answer to many messages waits for the last of them.
            holders = frozenset[str]() if is_strong else self._holders(at, asked)
            if is_strong or (not self._history.was_voided(topic_id, asked) and (holders or not self._sight.is_cluster)):
                self._history.acknowledged(message, at, result.offset + place, is_strong=is_strong, holders=holders)

    def _holders(self, at: Place, asked: Asked) -> frozenset[str]:
        """Who has a message that was acknowledged in a cluster: all that were in sync, save who lost it meanwhile."""
        for topic in self._sight.topics().values():
            if topic.topic_id == at[0] and at[1] in topic.placements:
                return self._history.holders(at, topic.placements[at[1]].isr, asked)
        return frozenset()

    def _is_promise(self, request: Request) -> bool:
        """Whether an answer says more than that one node has a message, who may not lead any more soon."""
        return isinstance(request, Publish | PublishBatch) and request.acks is Acks.ALL

    def _is_strong(self, topic_id: int) -> bool:
        """Whether an acknowledgement at this moment promises to survive a crash."""
        if self._history.is_strong(topic_id):
            return True
        for topic in self._sight.topics().values():
            if topic.topic_id == topic_id:
                return not self._is_changing(topic.name) and setting(topic.config, "fsync") == Fsync.EVERY
        return False

    def _is_changing(self, name: str) -> bool:
        """Whether somebody waits for a change of a topic's settings."""
        requests = (asked.request for asked in self._history.open.values())
        return any(isinstance(request, AlterTopic) and request.name == name for request in requests)


def _note_due(message: Message, due_ms: int) -> None:
    """A message is to come at a time; one that is sent again may come by the first time it was sent."""
    message.due_ms = due_ms if message.due_ms is None else min(message.due_ms, due_ms)


def _topic_name(request: Request) -> str | None:
    """The name of the topic of messages that a request is about."""
    name: str | None = getattr(request, "topic", getattr(request, "name", None))
    # Letters are known by what they say of their past, and not as messages of the topic that they lie in.
    return None if name is None or name.endswith(LETTERS_ENDING) else name


def _is_refused(reply: Reply, code: Code) -> bool:
    return isinstance(reply, Refusal) and reply.code is code
