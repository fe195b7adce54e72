"""A dead letter that was sent back or purged is gone, and stays gone; any other is there whoever browses.

What is known of letters comes from browsing alone: a whole answer names all letters that fit. One that an answer shows
and a later one leaves out is gone for good. It may be gone only if somebody has asked for a redrive or a purge that it
fits, and it must be once such a job is done that began when the letter was known.
"""

from attrs import define

from goqueue.core.cluster.topic_settings import log_config
from goqueue.core.log.config import UNLIMITED, Fsync
from goqueue.core.requests.deadletters import (
    BrowseDead,
    DeadLetter,
    DeadLetters,
    PurgeDead,
    RedriveReply,
    RedriveState,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation

Spot = tuple[int, int, int]
"""Where a letter lies: the id of its topic, the partition, the offset."""


@define(eq=False)
class _Letter:
    """A letter that somebody was shown."""

    spot: Spot
    letter: DeadLetter
    # When the first answer that shows it was given, and the first one that leaves it out.
    seen: int
    missed: int | None = None
    # When a job was done that took it away.
    taken: int | None = None


@define(eq=False)
class _Job:
    """A redrive or a purge, and the letters that were known when it was asked for and fit."""

    redrive_id: str
    letters: list[_Letter]


@define
class _Wanted:
    """Letters of a topic that somebody wanted to be gone, and when."""

    topic_id: int
    sieve: Sieve
    asked: int


class Burial(Checker):
    """Holds each page of dead letters against those before it."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._letters: dict[Spot, _Letter] = {}
        self._wanted: list[_Wanted] = []
        self._jobs: dict[str, _Job] = {}
        # By number of the request: the topic that it is about, as it was when it was asked, and what fits.
        self._asked: dict[int, tuple[int, list[_Letter]]] = {}

    def lost(self, topic_id: int | None) -> None:
        """What a topic or its ledger has lost may be there again, or be gone."""
        for spot in [*self._letters]:
            if not self._is_sure(spot[0]):
                del self._letters[spot]

    def asked(self, asked: Asked) -> None:
        """Note who is about to be gone."""
        request = asked.request
        if not isinstance(request, BrowseDead | StartRedrive | PurgeDead):
            return
        topic_id = self.sight.topic_ids().get(request.topic)
        if topic_id is None:
            if not isinstance(request, BrowseDead) and not request.dry_run:
                # It may be made before the request comes to whoever leads it.
                self._wanted.append(_Wanted(-1, request.sieve, self.sight.now))
            return
        known = [one for spot, one in self._letters.items() if spot[0] == topic_id and _fits(request.sieve, one.letter)]
        self._asked[asked.serial] = topic_id, known
        if not isinstance(request, BrowseDead) and not request.dry_run:
            self._wanted.append(_Wanted(topic_id, request.sieve, self.sight.now))

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge a page, and learn what jobs have come to."""
        topic_id, known = self._asked.pop(asked.serial, (-1, []))
        request = asked.request
        if isinstance(reply, DeadLetters) and isinstance(request, BrowseDead):
            if self._is_sure(topic_id) and self.sight.topic_ids().get(request.topic) == topic_id:
                self._judge(topic_id, asked, request, reply, known)
        elif isinstance(reply, RedriveReply) and isinstance(request, StartRedrive | PurgeDead):
            is_limited = isinstance(request, StartRedrive) and request.limit > 0
            if not (request.dry_run or is_limited):
                self._jobs[reply.redrive_id] = _Job(reply.redrive_id, known)
            self._learn(reply)
        elif isinstance(reply, RedriveReply):
            self._learn(reply)
        elif isinstance(reply, list):
            for one in reply:
                if isinstance(one, RedriveReply):
                    self._learn(one)

    def _is_sure(self, topic_id: int) -> bool:
        """Whether a topic loses nothing by itself."""
        topic = next((one for one in self.sight.topics().values() if one.topic_id == topic_id), None)
        if topic is None or topic_id in self.history.given_up:
            return False
        config = log_config(topic.config)
        if config.fsync is not Fsync.EVERY or config.retention_ms != UNLIMITED or config.retention_bytes != UNLIMITED:
            return False
        return not any(rotten == topic_id for rotten, _ in self.history.rotten)

    def _learn(self, reply: RedriveReply) -> None:
        """A job that is done has taken all letters that it was asked for."""
        if reply.state is not RedriveState.DONE:
            return
        job = self._jobs.pop(reply.redrive_id, None)
        for one in job.letters if job is not None else ():
            if one.taken is None:
                one.taken = self.sight.now

    def _judge(self, topic_id: int, asked: Asked, request: BrowseDead, page: DeadLetters, known: list[_Letter]) -> None:
        shown: set[Spot] = set()
        for letter in page.letters:
            spot = topic_id, letter.partition, letter.offset
            shown.add(spot)
            one = self._letters.setdefault(spot, _Letter(spot, letter, self.sight.now))
            if not _fits(request.sieve, letter):
                raise Violation(f"{request.sieve} shows the letter at {spot}, which does not fit")
            for when, what in ((one.missed, "was left out"), (one.taken, "was sent back or purged")):
                if when is not None and when < asked.at:
                    raise Violation(f"the letter at {spot} is there, and {what} by {when}")
        if page.after is not None or request.after or request.only >= 0:
            return
        for one in known:
            if one.spot in shown or one.missed is not None or one.spot not in self._letters:
                continue
            one.missed = self.sight.now
            wanted = (each for each in self._wanted if each.topic_id in (-1, topic_id))
            if not any(_fits(each.sieve, one.letter) for each in wanted):
                raise Violation(f"the letter at {one.spot} was there by {one.seen}, and nobody wanted it gone")


def _fits(sieve: Sieve, letter: DeadLetter) -> bool:
    """Whether a letter is meant by a sieve, as the documentation says it."""
    headers = dict(letter.headers)
    return (
        (not sieve.reason or letter.reason == sieve.reason)
        and (not sieve.group or letter.group == sieve.group)
        and (sieve.key is None or letter.key == sieve.key)
        and all(headers.get(name) == value for name, value in sieve.headers.items())
        and (sieve.died_from_ms is None or letter.died_ms >= sieve.died_from_ms)
        and (sieve.died_until_ms is None or letter.died_ms < sieve.died_until_ms)
    )
