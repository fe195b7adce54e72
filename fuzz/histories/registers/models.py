"""What registers do, one step at a time: the offset of a group in a partition, and a topic."""

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

from attrs import define

from goqueue.fuzz.histories.operation import NO_OFFSET, Operation


@define(eq=False)
class Event:
    """An operation on one register: between which moments it takes effect, and whether it must.

    One that need not take effect is of unknown outcome, and `until_ns` is `NEVER`. `value` is what was read, written or
    seen, as the model understands it.
    """

    kind: str
    value: Any
    since_ns: int
    until_ns: int
    is_certain: bool
    operation: Operation


class Model(Protocol):
    """A register."""

    @property
    def initial(self) -> Hashable:
        """What it holds at the beginning."""

    def step(self, state: Any, event: Event) -> tuple[Hashable] | None:  # noqa: ANN401 - as the model has it
        """What it holds after an event; None where it cannot be that the event happens in this state."""


class OffsetModel:
    """A committed offset: commits raise it, resets put it anywhere, and it is gone with its group."""

    initial: Hashable = NO_OFFSET

    def step(self, state: int, event: Event) -> tuple[int] | None:
        """`commit` of an offset, `read` of one, `reset` to one."""
        if event.kind == "commit":
            return (max(state, event.value),)
        if event.kind == "reset":
            return (event.value,)
        return (state,) if state == event.value else None


Settings = frozenset[tuple[str, str]]


class TopicModel:
    """A topic: None where there is none, and else those of its settings that anybody ever gave."""

    initial: Hashable = None

    def step(self, state: Settings | None, event: Event) -> tuple[Settings | None] | None:
        """`create` and `alter` with settings, `delete`, `see` of settings, `there` and `not there`."""
        is_there = state is not None
        if event.kind == "create":
            return None if is_there else (event.value,)
        if event.kind in ("not there", "there"):
            return (state,) if is_there == (event.kind == "there") else None
        if state is None:
            return None
        if event.kind == "delete":
            return (None,)
        if event.kind == "alter":
            changed = {**dict(state), **event.value}
            return (frozenset((name, value) for name, value in changed.items() if value is not None),)
        return (state,) if _agrees(state, event.value) else None


def _agrees(state: Settings, seen: Mapping[str, str]) -> bool:
    """Whether what was seen is what is known, as far as it was looked at."""
    return all(seen.get(name, value) == value for name, value in state)
