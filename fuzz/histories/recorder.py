"""Makes a history while it happens: in memory, and line by line for whoever writes it down."""

from collections.abc import Callable

from attrs import define, field

from goqueue.fuzz.histories.form import begin_line, end_line, header_line
from goqueue.fuzz.histories.operation import End, History, Operation, Terms, Verb


def _nowhere(_: str) -> None:
    """Nobody writes it down."""


@define
class Recorder:
    """Notes operations; `clock_ns` and `wall_ms` tell the time, `write` takes each line as it comes to be."""

    terms: Terms
    clock_ns: Callable[[], int]
    wall_ms: Callable[[], int]
    write: Callable[[str], None] = _nowhere
    history: History = field(init=False)
    unknown_count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.history = History(self.terms)
        self._say(lambda: header_line(self.terms))

    def begin(self, process: str, verb: Verb, **asked: object) -> Operation:
        """A client asks for something."""
        operations = self.history.operations
        operation = Operation(len(operations), process, verb, asked, self.clock_ns(), self.wall_ms())
        operations.append(operation)
        self._say(lambda: begin_line(operation))
        return operation

    def ok(self, operation: Operation, **told: object) -> None:
        """It was told that it was done."""
        operation.told = told
        self._end(operation, End.OK, "")

    def fail(self, operation: Operation, code: str) -> None:
        """It was told that nothing was done."""
        self._end(operation, End.FAIL, code)

    def unknown(self, operation: Operation, code: str) -> None:
        """It will never know."""
        self.unknown_count += 1
        self._end(operation, End.INFO, code)

    def note(self, process: str, verb: Verb, **asked: object) -> Operation:
        """Something that a client says of itself, and that is done with that."""
        operation = self.begin(process, verb, **asked)
        self.ok(operation)
        return operation

    def _end(self, operation: Operation, end: End, code: str) -> None:
        now = self.clock_ns()
        self.history.end(operation, end, code, now)
        self._say(lambda: end_line(operation, now))

    def _say(self, line: Callable[[], str]) -> None:
        if self.write is not _nowhere:
            self.write(line())
