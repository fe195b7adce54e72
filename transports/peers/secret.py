"""Proof that both ends of a connection know the cluster's secret, which itself is never sent.

Each side puts a number into its hello that it draws for this connection. Then each shows a code that only who knows
the secret can compute: HMAC-SHA256, keyed with the secret, over the role of the side, both hellos as they travelled,
and what TLS knows of both ends. The hellos hold both numbers, ids of nodes, disks and the cluster, and the versions:

- a code that was heard is of no use for another connection, whose numbers are others;
- a code that a node has shown is of no use against it, for the two roles have different codes;
- who changes a hello on its way makes both codes wrong.

Who calls shows its code first, so that nobody gets one to guess at by calling. Whoever listens where nodes call gets
one all the same: a secret has to be too long to be guessed. What follows a proof is protected by TLS or by nothing, so
who can change bytes on their way can take over a connection after it was proven.

Several secrets may be known at once, while one replaces the other: the first is shown, all are believed.
"""

import hmac
import secrets
from collections.abc import Iterable
from hashlib import sha256

SECRET_BYTES_MIN = 16
SECRET_BYTES_MAX = 1024
SECRETS_MAX = 8
CALLER, CALLED = b"caller", b"called"

_SCHEME = b"goqueue peer proof 1"
_NONCE_BYTES = 32


def nonce() -> str:
    """A number that no connection had before."""
    return secrets.token_hex(_NONCE_BYTES)


class ClusterSecrets:
    """The secrets that a node knows, the one that it shows first; nothing prints them."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = tuple(key.encode() for key in keys)
        assert self._keys, "no secret is None"

    def __repr__(self) -> str:
        return f"<{len(self._keys)} cluster secrets>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSecrets) and self._keys == other._keys

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> str:
        raise TypeError("secrets are not to be written")

    def proof(self, role: bytes, hellos: tuple[bytes, bytes], binding: bytes) -> bytes:
        """What a side shows; the caller's hello stands first."""
        return _code(self._keys[0], role, hellos, binding)

    def believe(self, shown: bytes, role: bytes, hellos: tuple[bytes, bytes], binding: bytes) -> bool:
        """Whether the other side knows one of the secrets; all are tried, however early one fits."""
        fits = [hmac.compare_digest(_code(key, role, hellos, binding), shown) for key in self._keys]
        return any(fits)


def _code(key: bytes, role: bytes, hellos: tuple[bytes, bytes], binding: bytes) -> bytes:
    told = b"".join(len(part).to_bytes(4, "big") + part for part in (_SCHEME, role, *hellos, binding))
    return hmac.digest(key, told, sha256)


def parse_secrets(text: str) -> list[str]:
    """The secrets in a text, by commas or lines; ValueError with a sentence that says nothing of them."""
    found = [each.strip() for each in text.replace("\n", ",").split(",") if each.strip()]
    for number, each in enumerate(found, 1):
        which = "the secret" if len(found) == 1 else f"secret {number} of {len(found)}"
        if not each.isprintable() or any(letter.isspace() for letter in each):
            raise ValueError(f"{which} holds spaces or characters that cannot be printed")
        if not SECRET_BYTES_MIN <= len(each.encode()) <= SECRET_BYTES_MAX:
            bounds = f"{SECRET_BYTES_MIN} bytes or more are needed, and {SECRET_BYTES_MAX} at most"
            raise ValueError(f"{which} has {len(each.encode())} bytes; {bounds}: openssl rand -hex 32 makes one")
    if len(found) > SECRETS_MAX:
        raise ValueError(f"{len(found)} secrets are too many: the current one and those before, {SECRETS_MAX} at most")
    if len({*found}) < len(found):
        raise ValueError("one secret is there twice")
    return found
