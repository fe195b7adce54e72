"""What a peer may say that lies: any message that the codec can read, drawn from a seed, or a true one changed.

Numbers and words are mostly those that the nodes use themselves, or lie beside them: a lie that names nothing that
exists is noticed at the first look.
"""

import types
from enum import Enum
from random import Random
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from goqueue.core.errors import ProtocolError
from goqueue.core.peers.codec import LETTERS, decode, encode
from goqueue.core.quorum.entries import Entry
from goqueue.core.quorum.messages import QUORUM_MESSAGES, Append, Install, QuorumLetter
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import SENT
from goqueue.core.routing.messages import Answered, Forwarded

_EDGES = (0, 1, -1, 2, 3, 100, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))
_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of a class, found out once."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


class Liar:
    """Draws what is said; `numbers`, `words` and `contents` are those that it takes for its lies."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.numbers: list[int] = []
        self.words: list[str] = [""]
        self.contents: list[bytes] = [b""]
        self.heard: list[object] = []
        # What nearly every message bears right that is to get further than the first look.
        self.incarnations: list[int] = [1]
        self.owed: list[int] = [1]

    def hear(self, message: object) -> None:
        """Learn from what honest nodes say."""
        if len(self.heard) >= 400:
            self.heard[self.random.randrange(400)] = message
        else:
            self.heard.append(message)

    def lie(self, kinds: tuple[type, ...] = LETTERS) -> object:
        """Any message that can be sent."""
        while True:
            kind = self.random.choice(kinds)
            heard = [one for one in self.heard if isinstance(one, kind)]
            if heard and self.random.random() < 0.5:
                said = self._changed(self.random.choice(heard))
            else:
                said = self._plausible(self._drawn(kind))
            try:
                return decode(b"".join(encode(said)))
            except ProtocolError:
                continue

    def _drawn(self, cls: type) -> object:
        if cls is QuorumLetter:
            inner = self._value(self.random.choice([*QUORUM_MESSAGES.values()]), 0)
            return QuorumLetter(self._word(), self.random.choice((self._word(), "")), inner)
        return self._value(cls, 0)

    def _plausible(self, message: Any) -> Any:  # noqa: ANN401 - any message
        """A message that was drawn, as one that is not known for a lie by what all of its kind bear."""
        random, names = self.random, {each.name for each in attrs.fields(type(message))}
        changes: dict[str, object] = {
            name: random.choice(self.incarnations)
            for name in ("origin", "life", "incarnation")
            if name in names and not isinstance(message, QuorumLetter) and random.random() < 0.9
        }
        if isinstance(message, Forwarded) and random.random() < 0.9:
            changes |= {"number": random.randrange(1 << 40), "floor": 1}
        elif isinstance(message, Answered) and random.random() < 0.9:
            changes["number"] = random.choice(self.owed)
        return attrs.evolve(message, **changes)

    def lead(self, term: int, end: int, before_term: int, stamp: int, agreed: int) -> object:
        """Entries of somebody who says that it leads a term, behind a log that ends there."""
        random = self.random
        entries = [
            Entry(end + at, term, random.choice((None, None, b"together", b"voters", b"noop", b"x")), self._content())
            for at in range(random.randrange(4))
        ]
        said: Any = Append(term, stamp, end, before_term, random.choice((agreed, end, end + len(entries))), entries)
        if random.random() < 0.3:
            content = self._content()
            index = max(0, end + random.randrange(-2, 3))
            said = Install(term, stamp, index, term, b"snapshot", len(content), 0, content)
        if random.random() < 0.3:
            said = self._changed(said)
        return QuorumLetter(self._word(), "", said)

    def _number(self) -> int:
        random = self.random
        if self.numbers and random.random() < 0.7:
            return max(-(1 << 63), min((1 << 63) - 1, random.choice(self.numbers) + random.randrange(-2, 3)))
        return random.choice(_EDGES) if random.random() < 0.7 else random.getrandbits(random.randrange(1, 64))

    def _word(self) -> str:
        return self.random.choice(self.words) if self.random.random() < 0.9 else chr(self.random.randrange(32, 900)) * 3

    def _content(self) -> bytes:
        random = self.random
        content = bytearray(random.choice(self.contents))
        if random.random() < 0.4 and content:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        if random.random() < 0.1:
            del content[random.randrange(len(content) + 1) :]
        return bytes(content)

    def _value(self, hint: Any, depth: int) -> Any:  # noqa: ANN401 - whatever an annotation may be
        random = self.random
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._value(random.choice(arguments), depth)
        if origin in (list, tuple) and (origin is list or arguments[1:] == (...,)):
            count = random.randrange(4 if depth < 3 else 2)
            return origin(self._value(arguments[0], depth + 1) for _ in range(count))
        if origin is tuple:
            return tuple(self._value(argument, depth + 1) for argument in arguments)
        if origin is dict:
            pairs = ((self._value(arguments[0], depth + 1), self._value(arguments[1], depth + 1)) for _ in range(2))
            return dict(list(pairs)[: random.randrange(3)])
        return self._plain(hint, depth)

    def _plain(self, hint: Any, depth: int) -> Any:  # noqa: ANN401 - as above
        random = self.random
        if hint is type(None):
            return None
        if hint is bool:
            return random.random() < 0.5
        if hint is int:
            return self._number()
        if hint is float:
            return random.choice((0.0, -1.0, 1e300, random.random()))
        if hint is str:
            return self._word()
        if hint in (bytes, bytearray, memoryview):
            return bytearray(self._content()) if hint is not bytes else self._content()
        if hint is object:
            return random.choice((None, True, 1, -1, 1.5, "x", [1], {"a": 1}, 1 << 70, self._word(), self._number()))
        if hint is Request:
            hint = random.choice([*SENT])
        if issubclass(hint, Enum):
            return random.choice([*hint])
        inner = hints_of(hint)
        return hint(*(self._value(inner[each.name], depth + 1) for each in attrs.fields(hint)))

    def _changed(self, message: Any) -> Any:  # noqa: ANN401 - a message, or a part of one
        """A message in which one or two fields are others, or that is as it was."""
        if isinstance(message, QuorumLetter):
            inner = self._changed(message.message)
            return attrs.evolve(message, message=inner) if self.random.random() < 0.8 else self._altered(message)
        if not attrs.has(type(message)):
            return message
        said = message
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            said = self._altered(said)
        return said

    def _altered(self, message: Any) -> Any:  # noqa: ANN401 - a message, or a part of one
        random, fields = self.random, attrs.fields(type(message))
        if not fields:
            return message
        name = random.choice(fields).name
        value = getattr(message, name)
        if isinstance(value, list) and value and random.random() < 0.7:
            said = [*value]
            at = random.randrange(len(said))
            chosen = random.random()
            if chosen < 0.6:
                said[at] = self._changed(said[at])
            elif chosen < 0.8:
                said.append(said[at])
            else:
                del said[at]
        elif attrs.has(type(value)) and random.random() < 0.7:
            said = self._changed(value)
        else:
            said = self._value(hints_of(type(message))[name], 1)
        return attrs.evolve(message, **{name.removeprefix("_"): said})
