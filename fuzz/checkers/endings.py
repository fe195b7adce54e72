"""Each message of a shared group ends once: acknowledged, among the dead letters, or expired.

A letter is there once for a message and group, names where it came from, and is no letter of what was acknowledged.
It says that a message has expired only of one that was not to be delivered for ever, and whose time can be over.
What was sent back from among the dead letters may die again. Once nothing fails any more, nothing is left over.
"""

from goqueue.core.records.record import Record
from goqueue.core.requests.deadletters import PurgeDead, StartRedrive
from goqueue.core.requests.messages import Fetch
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import LETTERS_ENDING, Asked, Violation, name_of


class Endings(Checker):
    """Remembers the letters that were read."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._letters: dict[tuple[str, bytes], tuple[str, int, int]] = {}

    def asked(self, asked: Asked) -> None:
        """Whatever is among the dead letters may come back, or be gone."""
        if isinstance(asked.request, StartRedrive | PurgeDead) and not asked.request.dry_run:
            for message in self.history.messages.values():
                message.is_redriven = True

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge letters."""
        request = asked.request
        if isinstance(request, Fetch) and request.topic.endswith(LETTERS_ENDING):
            for record in asked.records:
                self._check_letter(request, record)

    def _check_letter(self, request: Fetch, record: Record) -> None:
        headers, name = dict(record.headers), name_of(record)
        message = self.history.messages.get(name)
        group = (headers.get("goqueue.dlq.group") or b"").decode()
        if message is None or group not in self.history.deliveries.terms:
            raise Violation(f"a letter of {group!r} is {name!r}, which nobody sent")
        if headers.get("goqueue.dlq.reason") == b"expired" and not message.may_repeat:
            if not message.ttl_ms or message.expires_ms > self.sight.latest_ms:
                what = f"{name!r} is to be delivered until {message.expires_ms if message.ttl_ms else 'ever'}"
                raise Violation(f"{what}, and a letter says by {self.sight.latest_ms} that it has expired")
        at = request.topic, request.partition, record.offset
        before = self._letters.setdefault((group, name), at)
        if message.place is None or not self.history.is_strong(message.place[0]) or message.may_repeat:
            return
        if group in self.history.deliveries.meddled:
            # A group that was deleted or set back works on everything again.
            return
        if before != at:
            raise Violation(f"{name!r} is a letter of {group} at {before} and at {at}")
        spot = group, *message.place, message.offset
        told = (headers.get("goqueue.dlq.partition"), headers.get("goqueue.dlq.offset"))
        if told != (b"%d" % spot[2], b"%d" % spot[3]):
            raise Violation(f"{name!r} lies at {spot}, and its letter says {told}")
        fate, now = self.history.deliveries.fate(spot), self.sight.now
        if fate.is_acked and not message.ttl_ms and not self.history.deliveries.may_have_failed(now, spot):
            raise Violation(f"{spot} was acknowledged, and is among the dead letters")

    def unsettled(self) -> str:
        """A message of a group that has not ended, "" when there is none."""
        deliveries = self.history.deliveries
        for group in deliveries.groups():
            for place, promised in self.history.promised.items():
                terms = self.history.terms.get(place[0])
                if terms is None or terms.was_weak or terms.retains or place in self.history.rotten:
                    continue
                for offset, message in promised.items():
                    spot = group, *place, offset
                    may_be_over = message.ttl_ms and message.expires_ms <= self.sight.latest_ms
                    if may_be_over or message.is_redriven or (group, message.name) in self._letters:
                        continue
                    if not deliveries.fate(spot).may_be_acked:
                        return f"{message.name!r} at {spot} was neither acknowledged nor given up"
        return ""

    def lost(self, topic_id: int | None) -> None:
        """Letters of weak topics may be gone, and come again elsewhere."""
        for group, name in list(self._letters):
            message = self.history.messages[name]
            place = message.place
            if place is None or not self.history.is_strong(place[0]):
                del self._letters[group, name]
