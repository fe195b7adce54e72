"""Receipts: what whoever was given a message shows to say what became of it.

    version | attempt | home | lease | tag     27 bytes, 36 letters: the stem
    zero | offset                               9 bytes, 12 letters

    topic's id | partition | hash of the group      3, 2 and 3 bytes: the home

By the home any broker finds the partition, and so its leader, and the leader the queue; where the hashes of two groups
are the same, the tag tells whose receipt it is. Receipts of version 1 have a hash of all three names for a home, and
only the leader finds the queue by it. The tag is a keyed hash of the names and the lease's number, made once a lease
and not once a message: within a lease a member could only forge the receipt of another message that it holds itself,
and what a past lease says is refused whatever the offset. So a receipt that is altered or made up is told from one that
is out of date, also when the lease is long forgotten.

All letters may stand in a URL. What a poll was given shares its stem, which is so made and proved once for all of it.

A lease's number begins with the epoch of the ledger, another one each time it is read. A lease that was lost in a
crash, because its record was not durable, thus never shares its number with a later one.
"""

from binascii import Error, a2b_base64, b2a_base64
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from attrs import define, field
from mmh3 import hash64

from goqueue.core.errors import ProtocolError
from goqueue.core.work.verbs import ReceiptRun

_STEM = Struct("<BHQQ8s")
_OFFSET = Struct("<xQ")
_HASHED, _VERSION = 1, 2
# Of a topic's id so many bits are in a home, of a partition's number these, and of the hash of a group's name.
_TOPIC_BITS, _PARTITION_BITS, _GROUP_BITS = 24, 16, 24
STEM_LETTERS = 36
_OFFSET_LETTERS = 12
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
    tag: bytes

    @property
    def place(self) -> tuple[int, int] | None:
        """What the topic's id ends in, and the partition; None where the home is a hash."""
        if self.version == _HASHED:
            return None
        return self.home >> _PARTITION_BITS + _GROUP_BITS, self.home >> _GROUP_BITS & (1 << _PARTITION_BITS) - 1


def ending_of(topic_id: int) -> int:
    """What a home keeps of a topic's id."""
    return topic_id & (1 << _TOPIC_BITS) - 1


def read_stem(letters: str) -> Stem:
    """Read the first 36 letters of a receipt; ProtocolError when they cannot be its."""
    content = _content(letters)
    if len(letters) != STEM_LETTERS or len(content) != _STEM.size or not _HASHED <= content[0] <= _VERSION:
        raise ProtocolError(f"{letters!r} is the stem of no receipt of this release")
    return Stem._make(_STEM.unpack(content))


def read_offset(letters: str) -> int:
    """Read the other letters of a receipt; ProtocolError when they are no offset."""
    content = _content(letters)
    if len(letters) != _OFFSET_LETTERS or len(content) != _OFFSET.size or content[0]:
        raise ProtocolError(f"{letters[:_OFFSET_LETTERS]!r} is the end of no receipt of this release")
    offset: int = _OFFSET.unpack(content)[0]
    return offset


def read_receipt(text: str) -> ReceiptRun:
    """Take a receipt apart; ProtocolError when it is none. Whether its stem is one shows when it is used."""
    return ReceiptRun(text[:STEM_LETTERS], read_offset(text[STEM_LETTERS:]))


def _content(letters: str) -> bytes:
    try:
        return a2b_base64(letters.encode("ascii").translate(_FROM_URL))
    except (UnicodeEncodeError, Error):
        return b""


def spelled_offset(offset: int) -> str:
    """How a receipt ends."""
    return _letters(_OFFSET.pack(offset))


def _letters(content: bytes) -> str:
    return b2a_base64(content, newline=False).translate(_TO_URL).decode()


@define
class Seal:
    """Makes and proves the receipts of one group and partition; `secret` is the same on all nodes, and stays."""

    _secret: bytes
    group: str
    topic: str
    partition: int
    topic_id: int = 0
    home: int = field(init=False)
    # The home in receipts of version 1.
    hashed_home: int = field(init=False)
    _names: bytes = field(init=False)
    _proved: dict[str, Stem] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        assert 16 <= len(self._secret) <= 64
        self._names = f"{self.group}/{self.topic}/{self.partition}/".encode()
        self.hashed_home = hash64(self._names, signed=False)[0]
        place = ending_of(self.topic_id) << _PARTITION_BITS | self.partition & (1 << _PARTITION_BITS) - 1
        self.home = place << _GROUP_BITS | hash64(self.group.encode(), signed=False)[0] & (1 << _GROUP_BITS) - 1

    def tag(self, lease: int) -> bytes:
        """What proves a lease's number."""
        return blake2b(self._names + lease.to_bytes(8, "little"), digest_size=8, key=self._secret).digest()

    def stem(self, lease: int, attempt: int) -> str:
        """What the receipts of one attempt of a lease begin with."""
        stem = Stem(_VERSION, attempt, self.home, lease, self.tag(lease))
        letters = _letters(_STEM.pack(*stem))
        self._remember(letters, stem)
        return letters

    def receipt(self, lease: int, offset: int, attempt: int) -> str:
        """The receipt of a message."""
        return self.stem(lease, attempt) + spelled_offset(offset)

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
        home = self.hashed_home if stem.version == _HASHED else self.home
        return stem.home == home and stem.tag == self.tag(stem.lease)
