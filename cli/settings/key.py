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
    # The option of `goqueue serve`, without its dashes, and the variable; "" for what only a file says. What has a
    # variable and no flag is not to be seen on a command line.
    flag: str = ""
    variable: str = ""
    # What the flag says where nothing stands behind it; "" where something has to.
    bare: str = ""
    # Whether nobody may be shown what it holds.
    is_secret: bool = False

    @property
    def label(self) -> str:
        """How a problem names it that the file is not to blame for."""
        if self.flag:
            return f"--{self.flag} ({self.variable})"
        return f"{self.name} ({self.variable})" if self.variable else self.name

    @property
    def option(self) -> str:
        """Its name among the values that click hands over."""
        return self.flag.replace("-", "_")


def flagged(
    flag: str, name: str, kind: Kind[T], default: str, meaning: str, *, variable: str = "", bare: str = ""
) -> Key[T]:
    """A key with a flag; its variable is named after the flag unless it has a name of its own."""
    variable = variable or "GOQUEUE_" + flag.upper().replace("-", "_")
    return Key(name, kind, default, meaning, flag, variable, bare)
