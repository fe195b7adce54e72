"""Receipts: what whoever was given a message shows to say what became of it.

    version | attempt | home | lease | offset | tag        36 bytes, spelled in 48 letters that a URL can hold

The home is a hash of group, topic and partition, by which a broker finds the ledger. The tag is a keyed hash of these
names and the lease's number, made once a lease and not once a message: within a lease a member could only forge the
receipt of another message that it holds itself, and what a past lease says is refused whatever the offset. So a receipt
that is altered or made up is told from one that is out of date, also when the lease is long forgotten.

A lease's number begins with the epoch of whoever leads the partition. A lease that was lost in a crash, because its
record was not durable, thus never shares its number with a later one.
"""

from binascii import Error, a2b_base64, b2a_base64
from hashlib import blake2b
from struct import Struct

from attrs import define, field
from mmh3 import hash64

from goqueue.core.errors import ProtocolError

_LAYOUT = Struct("<BxHQQQ8s")
_VERSION = 1
LETTERS = 48
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


@define
class Receipt:
    """A receipt that was read; whether it is genuine, only its home can say."""

    attempt: int
    home: int
    lease: int
    offset: int
    tag: bytes


def read_receipt(text: str) -> Receipt:
    """Read a receipt; ProtocolError when it cannot be one."""
    try:
        spelled = text.encode("ascii")
        content = a2b_base64(spelled.translate(_FROM_URL)) if len(spelled) == LETTERS else b""
    except (UnicodeEncodeError, Error):
        content = b""
    if len(content) != _LAYOUT.size or content[0] != _VERSION or content[1]:
        raise ProtocolError(f"{text[:LETTERS]!r} is no receipt of this release")
    _, attempt, home, lease, offset, tag = _LAYOUT.unpack(content)
    return Receipt(attempt, home, lease, offset, tag)


@define
class Seal:
    """Makes and proves the receipts of one group and partition; `secret` is the same on all nodes, and stays."""

    _secret: bytes
    group: str
    topic: str
    partition: int
    home: int = field(init=False)
    _names: bytes = field(init=False)
    # The last tag that was made: receipts come by lease.
    _last: tuple[int, bytes] = field(default=(-1, b""), init=False)

    def __attrs_post_init__(self) -> None:
        assert 16 <= len(self._secret) <= 64
        self._names = f"{self.group}/{self.topic}/{self.partition}/".encode()
        self.home = hash64(self._names, signed=False)[0]

    def tag(self, lease: int) -> bytes:
        """What proves a lease's number."""
        if self._last[0] != lease:
            content = self._names + lease.to_bytes(8, "little")
            self._last = (lease, blake2b(content, digest_size=8, key=self._secret).digest())
        return self._last[1]

    def receipt(self, lease: int, offset: int, attempt: int) -> str:
        """The receipt of a message."""
        content = _LAYOUT.pack(_VERSION, attempt, self.home, lease, offset, self.tag(lease))
        return b2a_base64(content, newline=False).translate(_TO_URL).decode()

    def is_genuine(self, receipt: Receipt) -> bool:
        """Whether this seal made a receipt."""
        return receipt.home == self.home and receipt.tag == self.tag(receipt.lease)
