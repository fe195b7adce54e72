"""What a setting is: its name, what it may hold, its default, and the flag and variable that stand for it."""

from typing import Generic, TypeVar

from attrs import define

from goqueue.cli.settings.kinds import Kind

T = TypeVar("T")


@define
class Key(Generic[T]):
    """One setting."""

    name: str
    kind: Kind[T]
    default: str
    meaning: str
    # The option of `goqueue serve`, without its dashes, and the variable; "" for what only a file says.
    flag: str = ""
    variable: str = ""

    @property
    def label(self) -> str:
        """How a problem names it that the file is not to blame for."""
        return f"--{self.flag} ({self.variable})" if self.flag else self.name

    @property
    def option(self) -> str:
        """Its name among the values that click hands over."""
        return self.flag.replace("-", "_")


def flagged(flag: str, name: str, kind: Kind[T], default: str, meaning: str, *, variable: str = "") -> Key[T]:
    """A key with a flag; its variable is named after the flag unless it has a name of its own."""
    variable = variable or "GOQUEUE_" + flag.upper().replace("-", "_")
    return Key(name, kind, default, meaning, flag, variable)
