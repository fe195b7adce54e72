"""Receipts: what whoever was given a message shows to say what became of it.

    version | attempt | home | lease | member | tag     42 bytes, 56 letters: the stem
    offset | check                                      12 bytes, 16 letters

    topic's id | partition | hash of the group          3, 2 and 3 bytes: the home

By the home any broker finds the partition, and so its leader, and the leader the queue; where the hashes of two groups
are the same, the tag tells whose receipt it is. The tag is a keyed hash (`secrets`) of all that stands before it, and
of what the home only hints at: group, topic and its id, partition. So a receipt that is altered or made up is told from
one that is out of date, also when the lease is long forgotten; and one of a topic that was deleted is none of the next
topic of that name. `member` is a hash of whom the lease was given to.

The tag is made once a lease and not once a message, and knows nothing of offsets: whoever has a stem may name by it any
message that the lease has open, all of which are his, and no other. The check is a CRC of the stem and the offset. It
proves nothing, and finds what was altered by mistake.

All letters may stand in a URL. What a poll was given shares its stem, which is so made and proved once for all of it.

A lease's number begins with the epoch of the ledger, another one each time it is read. A lease that was lost in a
crash, because its record was not durable, thus never shares its number with a later one.
"""

from binascii import Error, a2b_base64, b2a_base64
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from attrs import define, field
from crc32c import crc32c
from mmh3 import hash64

from goqueue.core.errors import ProtocolError
from goqueue.core.requests.queues import ReceiptRun
from goqueue.core.services.secrets import TAG_BYTES, Key, Secrets

_MEMBER_BYTES = 7
_STEM = Struct(f"<BHQQ{_MEMBER_BYTES}s{TAG_BYTES}s")
# What the tag is of, besides the names.
_TOLD = Struct(f"<BHQQ{_MEMBER_BYTES}s")
_END = Struct("<QI")
_OFFSET = Struct("<Q")
_VERSION = 1
# Of a topic's id so many bits are in a home, of a partition's number these, and of the hash of a group's name.
_TOPIC_BITS, _PARTITION_BITS, _GROUP_BITS = 24, 16, 24
STEM_LETTERS = 56
_END_LETTERS = 16
# Stems that are remembered, since whoever was given messages shows them again soon.
_PROVED_MAX = 512
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


class Stem(NamedTuple):
    """What a receipt says of its lease; whether it is genuine, only its home can say."""

    version: int
    attempt: int
    home: int
    lease: int
    member: bytes
    tag: bytes

    @property
    def place(self) -> tuple[int, int]:
        """What the topic's id ends in, and the partition."""
        return self.home >> _PARTITION_BITS + _GROUP_BITS, self.home >> _GROUP_BITS & (1 << _PARTITION_BITS) - 1


def ending_of(topic_id: int) -> int:
    """What a home keeps of a topic's id."""
    return topic_id & (1 << _TOPIC_BITS) - 1


def mark_of(member_id: str) -> bytes:
    """What a stem keeps of a member's id."""
    return blake2b(member_id.encode("utf-8", "surrogatepass"), digest_size=_MEMBER_BYTES).digest()


def read_stem(letters: str) -> Stem:
    """Read the first letters of a receipt; ProtocolError when they cannot be its."""
    content = _content(letters)
    if len(letters) != STEM_LETTERS or len(content) != _STEM.size or content[0] != _VERSION:
        raise ProtocolError(f"{letters[:STEM_LETTERS]!r} is the stem of no receipt of this release")
    return Stem._make(_STEM.unpack(content))


def read_receipt(text: str) -> ReceiptRun:
    """Take a receipt apart; ProtocolError when it is none. Whether its stem is one shows when it is used."""
    stem, end = text[:STEM_LETTERS], text[STEM_LETTERS:]
    content = _content(end)
    if len(end) == _END_LETTERS and len(content) == _END.size:
        offset, check = _END.unpack(content)
        if check == _check(stem, offset):
            return ReceiptRun(stem, offset)
    raise ProtocolError(f"{text[: STEM_LETTERS + _END_LETTERS]!r} is no receipt of this release, or was altered")


def spelled_receipt(stem: str, offset: int) -> str:
    """The receipt of a message as one text."""
    return stem + _letters(_END.pack(offset, _check(stem, offset)))


def _check(stem: str, offset: int) -> int:
    check: int = crc32c(_OFFSET.pack(offset), _crc_of(stem))
    return check


@lru_cache(_PROVED_MAX)
def _crc_of(stem: str) -> int:
    crc: int = crc32c(stem.encode("utf-8", "surrogatepass"))
    return crc


def _content(letters: str) -> bytes:
    try:
        return a2b_base64(letters.encode("ascii").translate(_FROM_URL))
    except (UnicodeEncodeError, Error):
        return b""


def _letters(content: bytes) -> str:
    return b2a_base64(content, newline=False).translate(_TO_URL).decode()


@define
class Seal:
    """Makes and proves the receipts of one group and partition; the secret is the same on all nodes, and stays."""

    _secrets: Secrets
    _key: Key
    group: str
    topic: str
    partition: int
    topic_id: int = 0
    home: int = field(init=False)
    _names: bytes = field(init=False)
    _proved: dict[str, Stem] = field(factory=dict, init=False)
    _marks: dict[str, bytes] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._names = f"{self.group}/{self.topic}/{self.topic_id}/{self.partition}/".encode()
        place = ending_of(self.topic_id) << _PARTITION_BITS | self.partition & (1 << _PARTITION_BITS) - 1
        self.home = place << _GROUP_BITS | hash64(self.group.encode(), signed=False)[0] & (1 << _GROUP_BITS) - 1

    def stem(self, lease: int, attempt: int, member_id: str) -> str:
        """What the receipts of one attempt of a lease begin with."""
        mark = self.mark(member_id)
        told = _TOLD.pack(_VERSION, attempt, self.home, lease, mark)
        tag = self._secrets.tag(self._key, self._names + told)
        letters = _letters(told + tag)
        self._remember(letters, Stem(_VERSION, attempt, self.home, lease, mark, tag))
        return letters

    def mark(self, member_id: str) -> bytes:
        """What a stem keeps of a member's id."""
        mark = self._marks.get(member_id)
        if mark is None:
            if len(self._marks) >= _PROVED_MAX:
                self._marks.clear()
            mark = self._marks[member_id] = mark_of(member_id)
        return mark

    def proved(self, letters: str) -> Stem | None:
        """What the stem of a receipt says; None when this seal has not made it."""
        stem = self._proved.get(letters)
        if stem is not None:
            return stem
        try:
            stem = read_stem(letters)
        except ProtocolError:
            return None
        if not self.is_genuine(stem):
            return None
        self._remember(letters, stem)
        return stem

    def _remember(self, letters: str, stem: Stem) -> None:
        if len(self._proved) >= _PROVED_MAX:
            self._proved.clear()
        self._proved[letters] = stem

    def is_genuine(self, stem: Stem) -> bool:
        """Whether this seal made a stem."""
        told = _TOLD.pack(*stem[:-1])
        return stem.home == self.home and self._secrets.is_right(self._key, self._names + told, stem.tag)
