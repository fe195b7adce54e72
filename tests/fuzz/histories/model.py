"""The simplest broker that is correct, and clients that ask it in any order: what histories are drawn from.

One partition, one group that commits, one work queue. Whatever is asked takes effect at one moment between its question
and its answer, or later, or never, where there is no answer.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from attrs import define, field

from goqueue.fuzz.histories.operation import Operation, Verb
from tests.fuzz.histories.story import TOPIC, WORK, Story

SPAN_MS = 40
Answer = dict[str, object] | str
"""What is told where it was done, or the code of a refusal."""


@define
class Asked:
    """An operation under way: what it comes to, and its answer once it has."""

    operation: Operation
    take_effect: Callable[[], Answer]
    answer: Answer | None = None


@define
class Lease:
    """Who has a message until when."""

    name: str
    until_ms: int
    attempt: int


@define
class Broker:
    """A log, an offset and a queue; and those who ask."""

    random: Random
    story: Story = field(factory=Story)
    log: list[str] = field(factory=list)
    offset: int = -1
    positions: dict[str, int] = field(factory=dict)
    leases: dict[int, Lease] = field(factory=dict)
    # Until when each lease lasts that there ever was.
    until_ms: dict[str, int] = field(factory=dict)
    settled: set[int] = field(factory=set)
    held: dict[str, list[tuple[int, str]]] = field(factory=dict)
    under_way: dict[str, Asked] = field(factory=dict)
    _count: int = 0

    def step(self) -> None:
        """Somebody asks, or something takes effect, or somebody is answered."""
        self.story.wait(self.random.choice((0, 1, 5)))
        who = self.random.choice(("p", "q", "r", "s", "m", "n", "v", "w"))
        asked = self.under_way.get(who)
        if asked is None:
            self.under_way[who] = self._ask(who)
        elif asked.answer is None and self.random.random() < 0.8:
            asked.answer = asked.take_effect()
        else:
            del self.under_way[who]
            self._end(asked)

    def _end(self, asked: Asked) -> None:
        """Tell the truth, or nothing."""
        story, drawn = self.story, self.random.random()
        if asked.operation.verb is Verb.PUBLISH and drawn < 0.2:
            # Nobody is told; what has not taken effect may still do so.
            story.info(asked.operation)
            if asked.answer is None and self.random.random() < 0.5:
                asked.take_effect()
        elif asked.answer is None:
            story.fail(asked.operation)
        elif isinstance(asked.answer, str):
            story.fail(asked.operation, asked.answer)
        else:
            if asked.operation.verb is Verb.RECEIVE:
                self._see_what_is_left(asked.answer)
            story.ok(asked.operation, **asked.answer)

    def _see_what_is_left(self, answer: dict[str, Any]) -> None:
        """How long a lease lasts from when its receiver is told, a millisecond from here."""
        for message in answer["messages"]:
            message["age_ms"] = self.story.ms - self.until_ms[message["lease"]] + SPAN_MS + 1
            message["left_ms"] = self.until_ms[message["lease"]] - self.story.ms - 1

    def _ask(self, who: str) -> Asked:
        if who in "pq":
            return self._publish(who)
        if who in "rs":
            return self._poll(who)
        if who in "mn":
            return self._commit(who) if self.random.random() < 0.5 else self._committed(who)
        return self._settle(who) if self.held.get(who) and self.random.random() < 0.6 else self._receive(who)

    def _publish(self, who: str) -> Asked:
        values = []
        for _ in range(self.random.choice((1, 1, 3))):
            self._count += 1
            values.append(f"{who}:{self._count}")

        def append() -> Answer:
            first = len(self.log)
            self.log.extend(values)
            return {"partition": 0, "offsets": [*range(first, len(self.log))]}

        return Asked(self.story.asks_publish(who, *values), append)

    def _poll(self, who: str) -> Asked:
        begin = self.positions.get(who, 0)

        def read() -> Answer:
            end = min(begin + self.random.choice((1, 2, 5)), len(self.log))
            self.positions[who] = end
            messages = [(offset, self.log[offset]) for offset in range(begin, end)]
            part = {"topic": TOPIC, "partition": 0, "begin": begin, "position": end, "messages": messages}
            return {"parts": [part]}

        return Asked(self.story.begin(who, Verb.POLL, group=""), read)

    def _commit(self, who: str) -> Asked:
        offset = self.random.randint(0, max(len(self.log), 1))

        def raise_it() -> Answer:
            self.offset = max(self.offset, offset)
            return {"refused": []}

        return Asked(self.story.begin(who, Verb.COMMIT, group="g", offsets=[(TOPIC, 0, offset)]), raise_it)

    def _committed(self, who: str) -> Asked:
        operation = self.story.begin(who, Verb.COMMITTED, group="g")
        return Asked(operation, lambda: {"offsets": [(TOPIC, 0, self.offset)]})

    def _receive(self, who: str) -> Asked:
        operation = self.story.begin(who, Verb.RECEIVE, group=WORK)

        def lease() -> Answer:
            now = self.story.ms
            for offset, value in enumerate(self.log):
                before = self.leases.get(offset)
                is_free = before is None or (before.until_ms <= now and before.attempt < 4)
                if offset not in self.settled and is_free:
                    attempt = 1 if before is None else before.attempt + 1
                    name = f"{offset}-{attempt}"
                    self.leases[offset] = Lease(name, now + SPAN_MS, attempt)
                    self.until_ms[name] = now + SPAN_MS
                    self.held.setdefault(who, []).append((offset, name))
                    message = {
                        "topic": TOPIC, "partition": 0, "offset": offset, "value": value, "key": None,
                        "attempt": attempt, "lease": name, "age_ms": 0, "left_ms": 0,
                    }  # fmt: skip
                    return {"messages": [message]}
            return {"messages": []}

        return Asked(operation, lease)

    def _settle(self, who: str) -> Asked:
        offset, name = self.held[who].pop()
        row = (TOPIC, 0, offset, name)

        def settle() -> Answer:
            lease = self.leases[offset]
            if lease.name != name or lease.until_ms <= self.story.ms:
                return {"refused": [(*row, "receipt_expired")]}
            self.settled.add(offset)
            return {"refused": []}

        return Asked(self.story.begin(who, Verb.ACK, group=WORK, messages=[row]), settle)

    def finish(self) -> None:
        """Everything that is under way is answered, and one reader reads what is left."""
        for who, asked in [*self.under_way.items()]:
            if asked.answer is None:
                asked.answer = asked.take_effect()
            del self.under_way[who]
            self._end(asked)
        self.story.poll("end", 0, *self.log)
        self.story.drained("end")


def correct_story(random: Random, steps: int) -> Story:
    """What clients of a correct broker saw."""
    broker = Broker(random)
    for _ in range(steps):
        broker.step()
    broker.finish()
    return broker.story
