"""What a message about the quorum cannot say, whoever sends it: numbers that no term, index or size has.

Such a message is refused before anything is made of it. What depends on the state of the node that reads it is for its
role to refuse (`follower.py`, `leader.py`), before it changes anything. Both raise ProtocolError with a sentence.
"""

from collections.abc import Callable, Sequence
from typing import Any

from goqueue.core.errors import ProtocolError
from goqueue.core.quorum.entries import SNAPSHOT, Entry
from goqueue.core.quorum.messages import (
    Append,
    Ballot,
    Beat,
    Conflict,
    Install,
    Installed,
    Matched,
    Outdated,
    QuorumMessage,
    StandUp,
    Voted,
)
from goqueue.core.quorum.snapshot import ENTRY_BYTES_MAX

# A term is the leader epoch of a batch on the disk, which has 32 bits; the one after it has to fit as well.
TERM_MAX = (1 << 31) - 2
# Far beyond any log, and far enough from where a number of 64 bits ends.
INDEX_MAX = 1 << 62


def demand_sane(message: QuorumMessage) -> None:
    """Refuse a message that cannot be meant, whatever the state is. Raises ProtocolError."""
    _within(message, "term", message.term, TERM_MAX)
    _CHECKS[type(message)](message)


def _within(message: object, name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise ProtocolError(f"a {type(message).__name__} has the {name} {value}, which cannot be")


def _numbers(*names: str, most: int = INDEX_MAX) -> Callable[[Any], None]:
    def check(message: Any) -> None:  # noqa: ANN401 - a message that has these fields
        for name in names:
            _within(message, name, getattr(message, name), most)

    return check


_PLACE = _numbers("at", "agreed")
_ENTRY = _numbers("index", "position")


def _append(message: Append) -> None:
    _PLACE(message)
    _within(message, "before_term", message.before_term, message.term)
    demand_in_order(message.entries, message.at, message.before_term, message.term)


def demand_in_order(entries: Sequence[Entry], at: int, term: int, term_max: int) -> None:
    """Refuse entries that do not follow one another from an index and a term on. Raises ProtocolError."""
    for entry in entries:
        if entry.index != at or not term <= entry.term <= term_max:
            raise ProtocolError(f"an entry {entry.index} of term {entry.term} came where {at} of term {term} is next")
        at, term = at + 1, entry.term


def _install(message: Install) -> None:
    _ENTRY(message)
    _within(message, "entry_term", message.entry_term, message.term)
    _within(message, "size", message.size, ENTRY_BYTES_MAX)
    if message.kind != SNAPSHOT:
        raise ProtocolError("a piece came of an entry that stands for no others")
    if message.position + len(message.piece) > message.size:
        raise ProtocolError("a piece reaches beyond the end of its entry")


_CHECKS: dict[type, Callable[[Any], None]] = {
    Ballot: _numbers("end", "last_term"),
    Voted: _numbers("silence_ns", most=(1 << 63) - 1),
    Append: _append,
    Beat: _numbers("agreed"),
    Matched: _numbers("matched", "durable"),
    Conflict: _numbers("at", "end", "end_term"),
    Install: _install,
    Installed: _ENTRY,
    StandUp: _numbers(),
    Outdated: _numbers(),
}
