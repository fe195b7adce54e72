"""Histories written by hand: each line asks and is answered, in a time that goes on by itself."""

from attrs import define, field

from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.operation import NS_PER_MS, GroupTerms, Operation, Terms, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.histories.verdict import Verdict

WALL_MS = 1_700_000_000_000
TOPIC = "orders"
WORK, KEYED = "workers", "keyed"


def terms() -> Terms:
    """Clocks that agree to a millisecond, and a group of either kind."""
    return Terms(clock_error_ms=1, groups={WORK: GroupTerms(4, False), KEYED: GroupTerms(4, True)})


@define
class Story:
    """Everything takes a millisecond, save where somebody waits."""

    ms: int = 0
    recorder: Recorder = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.recorder = Recorder(terms(), lambda: self.ms * NS_PER_MS, lambda: WALL_MS + self.ms)

    def wait(self, ms: int) -> None:
        """Time passes."""
        self.ms += ms

    def begin(self, process: str, verb: Verb, **asked: object) -> Operation:
        """Ask."""
        self.ms += 1
        return self.recorder.begin(process, verb, **asked)

    def ok(self, operation: Operation, **told: object) -> Operation:
        """Answer."""
        self.ms += 1
        self.recorder.ok(operation, **told)
        return operation

    def fail(self, operation: Operation, code: str = "not_leader") -> Operation:
        """Refuse."""
        self.ms += 1
        self.recorder.fail(operation, code)
        return operation

    def info(self, operation: Operation, code: str = "connection_lost") -> Operation:
        """Say nothing."""
        self.ms += 1
        self.recorder.unknown(operation, code)
        return operation

    # --- logs

    def asks_publish(self, process: str, *values: str, key: str | None = None, **others: object) -> Operation:
        """A publish that has no answer yet."""
        asked: dict[str, object] = {
            "topic": TOPIC, "values": [*values], "key": key, "lane": "normal", "acks": "all", "atomic": len(values) > 1,
            "numbered": True, "ordered": True, "ttl": False, **others,
        }  # fmt: skip
        return self.begin(process, Verb.PUBLISH, **asked)

    def publish(self, process: str, offset: int, *values: str, key: str | None = None, **others: object) -> Operation:
        """A publish that is acknowledged."""
        operation = self.asks_publish(process, *values, key=key, **others)
        return self.ok(operation, partition=0, offsets=[offset + at for at in range(len(values))])

    def publish_later(self, process: str, offset: int, value: str, delay_ms: int) -> Operation:
        """A delayed publish that is acknowledged."""
        operation = self.begin(
            process, Verb.PUBLISH_LATER, topic=TOPIC, values=[value], key=None, numbered=True, ttl=False,
            delay_ms=delay_ms, due_ms=None,
        )  # fmt: skip
        return self.ok(operation, partition=0, offsets=[offset], due_ms=WALL_MS + self.ms + delay_ms)

    def poll(self, process: str, begin: int | None, *values: str, at: int = 0, group: str = "") -> Operation:
        """A reading of values that lie one behind the other, from an offset on."""
        messages = [(at + place, value) for place, value in enumerate(values)]
        return self.poll_of(process, begin, messages, at + len(values), group=group)

    def poll_of(
        self, process: str, begin: int | None, messages: list[tuple[int, str]], position: int, *, group: str = ""
    ) -> Operation:
        """A reading."""
        part = {"topic": TOPIC, "partition": 0, "begin": begin, "position": position, "messages": messages}
        return self.ok(self.begin(process, Verb.POLL, group=group), parts=[part])

    def drained(self, process: str, group: str = "") -> Operation:
        """A reader has read everything."""
        return self.ok(self.begin(process, Verb.DRAINED, topic=TOPIC, group=group))

    # --- groups

    def commit(self, process: str, offset: int) -> Operation:
        """A commit that is taken."""
        return self.ok(self.begin(process, Verb.COMMIT, group="g", offsets=[(TOPIC, 0, offset)]), refused=[])

    def committed(self, process: str, offset: int) -> Operation:
        """What somebody is told of the offset."""
        return self.ok(self.begin(process, Verb.COMMITTED, group="g"), offsets=[(TOPIC, 0, offset)])

    # --- queues

    def receive(
        self, process: str, offset: int, value: str, *, attempt: int = 1, lease: str = "", left_ms: int = 1000,
        key: str | None = None, group: str = WORK,
    ) -> Operation:  # fmt: skip
        """A message under a lease."""
        message = {
            "topic": TOPIC, "partition": 0, "offset": offset, "value": value, "key": key, "attempt": attempt,
            "lease": lease or f"{process}-{offset}-{attempt}", "age_ms": 1, "left_ms": left_ms,
        }  # fmt: skip
        return self.ok(self.begin(process, Verb.RECEIVE, group=group), messages=[message])

    def settle(self, verb: Verb, received: Operation, process: str = "", **others: object) -> Operation:
        """Something that is said of a message that was received, and taken."""
        [one] = received.told["messages"]
        rows = [(one["topic"], one["partition"], one["offset"], one["lease"])]
        operation = self.begin(
            process or received.process, verb, group=received.asked["group"], messages=rows, **others
        )
        return self.ok(operation, refused=[])

    # --- the end

    def verdict(self) -> Verdict:
        """What the checkers say."""
        return judge(self.recorder.history)

    def anomalies(self) -> set[str]:
        """The names of what was found."""
        return {one.anomaly for one in self.verdict().findings}
