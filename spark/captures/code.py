"""A core that is not the one installed: named in words, in force for as long as one piece of work lasts.

`module:function` or `module:function:argument` names something that gives a context manager: entered, it changes the
core; left, it has changed it back. Spark uses its workers again, so a change that stayed would be in the next task.
What a module needs must be importable by the workers (`--py-files`, or the folder that they run in).
"""

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from goqueue.core.errors import GoQueueError


class UnknownCode(GoQueueError):
    """Words that name no change of the core."""


@contextmanager
def running(code: str) -> Iterator[None]:
    """Have other code in force; as installed where nothing is named. Raises UnknownCode."""
    if not code:
        yield
        return
    with _change(code):
        yield


def check_code(code: str) -> None:
    """Put it in force once and take it back: say now what every task would die of. Raises UnknownCode."""
    try:
        with running(code):
            pass
    except GoQueueError:
        raise
    except Exception as error:
        raise UnknownCode(f"{code} cannot be put in force: {type(error).__name__}: {error}") from error


def _change(code: str) -> AbstractContextManager[Any]:
    make, argument = _maker(code)
    try:
        change = make(*argument)
    except Exception as error:
        raise UnknownCode(f"{code} cannot be had: {type(error).__name__}: {error}") from error
    if not isinstance(change, AbstractContextManager):
        raise UnknownCode(f"{code} gives a {type(change).__name__}, not a context manager")
    return change


def _maker(code: str) -> tuple[Any, list[str]]:
    """What makes the change, and what it is to be called with."""
    module, _, rest = code.partition(":")
    function, colon, argument = rest.partition(":")
    if not module or not function:
        raise UnknownCode(f"{code!r} is not module:function or module:function:argument")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownCode(f"{code} names nothing that can be imported: {error}") from error
    return make, [argument] if colon else []
