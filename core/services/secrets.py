"""Secrets: where they come from, what is proved by them, and what a capture holds in their place.

A secret must not be guessed, so it is drawn by whoever starts the node, from the operating system's generator, and
never from the generator that ids and pauses come from: whoever sees enough of its numbers can tell all others. The core
asks for one when it needs one. What is made of a secret is a tag, a keyed BLAKE2 hash of some text.

A capture holds no secret, since whoever reads it could prove by it what he likes. In all of it the name of a secret
stands in its place (`secret_names`). What came of secrets while the capture was written is noted instead (`Notes`): the
names of those that were drawn, and the tags that were made or found right. Told again, a node looks tags up there, and
holds a tag that is not there for forged.

Invariant: what a capture writes of a node's state, `UNCAPTURED` fields left out, is the same whether secrets are known
or are names.
"""

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from hmac import compare_digest

from attrs import define, field
from mmh3 import hash64

from goqueue.core.services.secret_names import SECRET_BYTES, name_of

TAG_BYTES = 16
# What is known of past tags while a capture is told again.
_RECALLED_MAX = 1 << 20


@define
class Notes:
    """What came of secrets: names of those drawn, and tags by the hash of what they are of."""

    drawn: list[bytes] = field(factory=list)
    tags: list[tuple[int, bytes]] = field(factory=list)


class Key:
    """A secret by its name; without `content` where it is not known, since a capture is told again."""

    UNCAPTURED = ("content",)
    content = b""

    def __init__(self, name: bytes, content: bytes) -> None:
        self.name = name
        self.content = content


class Secrets:
    """Draws secrets by `draw`, which is asked for so many bytes; without one it is what a capture knows."""

    UNCAPTURED = ("_draw", "_noted", "_recalled", "_tags")
    _draw: Callable[[int], bytes] | None = None
    _noted: Notes | None = None

    def __init__(self, draw: Callable[[int], bytes] | None = None) -> None:
        self._draw = draw

    @property
    def has_source(self) -> bool:
        """Whether new ones can be drawn."""
        return self._draw is not None

    def fresh(self) -> Key:
        """A new secret."""
        if self._draw is None:
            recalled: deque[bytes] = self.__dict__.get("_recalled") or deque()
            assert recalled, "the node was given no source of secrets"
            return Key(recalled.popleft(), b"")
        key = self.key(self._draw(SECRET_BYTES))
        if self._noted is not None:
            self._noted.drawn.append(key.name)
        return key

    def key(self, content: bytes) -> Key:
        """A secret that was kept."""
        return Key(content, b"") if self._draw is None else Key(name_of(content), content)

    # --- tags

    def tag(self, key: Key, text: bytes) -> bytes:
        """What proves a text."""
        if not key.content:
            return self._recall(key, text)
        tag = blake2b(text, digest_size=TAG_BYTES, key=key.content).digest()
        if self._noted is not None:
            self._note(text, tag)
        return tag

    def is_right(self, key: Key, text: bytes, tag: bytes) -> bool:
        """Whether a tag is that of a text."""
        if not key.content:
            return compare_digest(self._recall(key, text), tag)
        made = blake2b(text, digest_size=TAG_BYTES, key=key.content).digest()
        if not compare_digest(made, tag):
            # The right one is in no note: whoever tries tags out and reads captures would find it there.
            return False
        if self._noted is not None:
            self._note(text, tag)
        return True

    def _note(self, text: bytes, tag: bytes) -> None:
        assert self._noted is not None
        self._noted.tags.append((hash64(text, signed=False)[0], tag))

    # --- captures

    def begin_notes(self) -> None:
        """Note what comes of secrets from here on."""
        self._noted = self._noted or Notes()

    def end_notes(self) -> None:
        """Nobody takes notes any more."""
        self._noted = None

    def take_notes(self) -> Notes | None:
        """What was noted since the last call; None for nothing."""
        noted = self._noted
        if noted is None or not (noted.tags or noted.drawn):
            return None
        self._noted = Notes()
        return noted

    def recall(self, notes: Notes) -> None:
        """What comes of secrets in the next verb came of them when that was captured."""
        known: dict[int, bytes] = self.__dict__.setdefault("_tags", {})
        drawn: deque[bytes] = self.__dict__.setdefault("_recalled", deque())
        if len(known) > _RECALLED_MAX:
            known.clear()
        known.update(notes.tags)
        drawn.extend(notes.drawn)

    def _recall(self, key: Key, text: bytes) -> bytes:
        known: dict[int, bytes] = self.__dict__.get("_tags") or {}
        found = known.get(hash64(text, signed=False)[0])
        # In a replay with other settings there are leases that there never were, and each has to have a tag.
        return found or blake2b(text, digest_size=TAG_BYTES, key=key.name).digest()
