"""Which source a setting comes from: a flag before a variable, a variable before the file, the file before a default.

A value that a better source overrides is checked all the same. A mistake in the file is one today, not on the day on
which the flag is gone.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define, field

from goqueue.cli.settings.document import ANYTHING, Document, Entry
from goqueue.cli.settings.key import Key
from goqueue.cli.settings.keys import KEYS
from goqueue.cli.settings.kinds import LIST, NOTHING, NUMBER, TEXT, shown

T = TypeVar("T")
FLAG, VARIABLE, FILE, DEFAULT = "flag", "variable", "file", "default"
# `config view` and `config check` print this in the place of a secret.
HIDDEN_TEXT = "(not shown)"


@define
class Given:
    """What the command line or the environment says of a key."""

    text: str = field(repr=False)
    source: str


@define
class Setting:
    """What a key amounts to, and why."""

    key: Key[Any]
    text: str
    value: Any
    source: str
    # Where exactly: `--http`, `GOQUEUE_HTTP_ADDR`, `goqueue.yaml:7`; "" for a default.
    place: str
    # How a problem names it.
    label: str

    @property
    def plain(self) -> object:
        """The value as JSON has it: spans and addresses in the words in which they were given."""
        kind = self.key.kind
        if self.key.is_secret:
            return self.text
        return self.text if kind.written == {TEXT} or self.text in kind.words else self.value


def _visible(key: Key[Any], text: str) -> str:
    """A setting as people may see it."""
    return HIDDEN_TEXT if key.is_secret and text else text


class Settings:
    """All keys, read from all sources; `problems` is empty when they can be used as they are.

    `warnings` are about what can be used, and is most likely not what was meant.
    """

    def __init__(self, given: Mapping[str, Given], document: Document | None) -> None:
        self._found: dict[str, Setting] = {}
        self.problems: list[str] = []
        self.warnings: list[str] = []
        for key in KEYS:
            self._choose(key, given.get(key.name), document)
        if document is not None:
            self.problems += document.problems

    def __getitem__(self, key: Key[T]) -> T:
        """What a key means; its default where what was given cannot be meant."""
        value: T = self._found[key.name].value
        return value

    def all(self) -> list[Setting]:
        """All settings, in the order of the file."""
        return [*self._found.values()]

    def of(self, key: Key[Any]) -> Setting:
        """A setting with where it comes from."""
        return self._found[key.name]

    def problem(self, key: Key[Any], sentence: str) -> None:
        """Note what is wrong with a setting beside others."""
        self.problems.append(f"{self._found[key.name].label}: {sentence}")

    def _choose(self, key: Key[Any], given: Given | None, document: Document | None) -> None:
        chosen = Setting(key, key.default, key.kind.parse(key.default), DEFAULT, "", key.label)
        entry = document.entries.get(key.name) if document is not None else None
        if document is not None and entry is not None:
            place = f"{document.name}:{entry.line}"
            try:
                value = read_entry(key, entry)
            except ValueError as error:
                document.report(entry.line, str(error), key.name)
            else:
                through = f" ({', '.join(entry.variables)})" if entry.variables else ""
                chosen = Setting(key, _visible(key, entry.text), value, FILE, place + through, f"{place}: {key.name}")
        if given is not None:
            place = f"--{key.flag}" if given.source == FLAG else key.variable
            try:
                value = key.kind.parse(given.text)
            except ValueError as error:
                self.problems.append(f"{key.label}: {error}")
            else:
                chosen = Setting(key, _visible(key, given.text), value, given.source, place, key.label)
        self._found[key.name] = chosen


def read_entry(key: Key[T], entry: Entry) -> T:
    """What the file says of a key; ValueError with a sentence if it cannot be meant."""
    kind = key.kind
    if entry.written == ANYTHING or entry.written in kind.written:
        return kind.parse("" if entry.written == NOTHING else entry.text)
    descriptions = {
        NOTHING: "nothing",
        LIST: "a list",
        TEXT: f"the text {shown(entry.text)}",
        NUMBER: f"the number {entry.text}",
    }
    raise ValueError(f"found {descriptions.get(entry.written, entry.text)}, expected {kind.expected}")
