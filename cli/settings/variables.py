"""`${NAME}` and `${NAME:default}` in a file, and `$${` for the characters themselves.

Variables are put into single values, after the file was read, and not into its text: whatever they hold, they change no
other line. Before the file is read each `${...}` gives way to a mark, so that YAML sees no brace, colon or quote of it.
"""

import re
from collections.abc import Mapping

from attrs import define, field

# Private characters, which no file has a reason to hold.
OPENING, CLOSING = "\ue000", "\ue001"
_WRITTEN = re.compile(r"\$\$\{|\$\{([^{}\n]*)\}")
_MARK = re.compile(f"{OPENING}([0-9]+){CLOSING}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@define
class Filled:
    """A value with its variables put in: which of them were set, and what is wrong with it."""

    text: str
    has_variables: bool = False
    taken: list[str] = field(factory=list)
    problems: list[str] = field(factory=list)


class Variables:
    """The marks of one file, and the environment that they stand for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._written: list[str] = []

    def marked(self, text: str) -> str:
        """The text of a file, with a mark in place of each variable."""

        def mark(found: re.Match[str]) -> str:
            self._written.append(found[0])
            return f"{OPENING}{len(self._written) - 1}{CLOSING}"

        return _WRITTEN.sub(mark, text)

    def restored(self, text: str) -> str:
        """A piece of the file as it was written."""
        return _MARK.sub(lambda found: self._written[int(found[1])], text)

    def filled(self, text: str) -> Filled:
        """A value with what the marks in it stand for; one that is set to nothing counts as unset."""
        filled = Filled(text)
        if "${" in text:
            filled.problems.append("'${' is not closed on its line by '}', or holds another; '$${' writes it as it is")

        def fill(found: re.Match[str]) -> str:
            written = self._written[int(found[1])]
            if written == "$${":
                return "${"
            filled.has_variables = True
            return self._meaning(written, filled)

        filled.text = _MARK.sub(fill, text)
        return filled

    def _meaning(self, written: str, filled: Filled) -> str:
        name, has_default, default = written[2:-1].partition(":")
        if not _NAME.fullmatch(name):
            filled.problems.append(f"{written!r} names no variable; write it like ${{GOQUEUE_NODE_ID:node-1}}")
            return ""
        value = self._environment.get(name, "")
        if value:
            filled.taken.append(name)
            return value
        if not has_default:
            filled.problems.append(f"the variable {name} is not set, and the file has no default for it")
        return default
