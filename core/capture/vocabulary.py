"""The names under which a capture speaks of the core's classes and functions: `core.log.log:LogState`.

A capture is read by name and never imports anything: what is not a class or a function at the top of one of the given
modules cannot be named, so a capture from elsewhere brings no code with it.
"""

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from goqueue.core.capture.errors import CaptureError, OtherRelease

_PACKAGE = "goqueue."


class Vocabulary:
    """Names for what some modules define."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._named: dict[str, Any] = {}
        for module in modules:
            for value in vars(module).values():
                if isinstance(value, type | FunctionType) and value.__module__ == module.__name__:
                    self._named[_name(value)] = value

    def name(self, thing: Any) -> str:
        """The name of a class or a function."""
        name = _name(thing)
        if self._named.get(name) is not thing:
            raise CaptureError(f"{name} cannot be captured: it is not at the top of a module of the core")
        return name

    def thing(self, name: str) -> Any:
        """The class or function of that name."""
        found = self._named.get(name)
        if found is None:
            raise OtherRelease(f"{name} is unknown to this release")
        return found


def _name(thing: type | FunctionType) -> str:
    return f"{thing.__module__.removeprefix(_PACKAGE)}:{thing.__qualname__}"
