"""TLS between nodes: each shows a certificate, and believes those of one authority alone.

That authority is the cluster's own: whoever it has signed may pose as any node. The names in certificates are checked
by who calls, against the host that it calls.

Proofs of the cluster's secret are bound to both certificates (`binding`): where somebody stands between two nodes with
a certificate of its own, the proofs of both are wrong.
"""

import ssl
from hashlib import sha256
from pathlib import Path

import trio
from attrs import define

_PEM_END = "-----END CERTIFICATE-----"


@define
class PeerTls:
    """What a node that is called shows and demands, and what one that calls."""

    called: ssl.SSLContext
    calling: ssl.SSLContext
    # The digest of the certificate that this node shows.
    own: bytes = b""

    def binding(self, stream: trio.SSLStream[trio.SocketStream], *, calls: bool) -> bytes:
        """What both ends know of a connection and nobody in between can make so: the certificate of either."""
        shown = stream.getpeercert(binary_form=True)
        other = sha256(shown).digest() if shown else b""
        return self.own + other if calls else other + self.own


def peer_tls(cert: str, key: str, authority: str) -> PeerTls:
    """The contexts of a node, from files as they are at the moment. Raises OSError, of which SSLError is one."""
    called = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
    called.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
    for context in (called, calling):
        context.load_cert_chain(cert, key)
    return PeerTls(called, calling, _digest_of(cert))


def _digest_of(cert: str) -> bytes:
    """The digest of a file's first certificate, the node's own; those of authorities may follow."""
    first, end, _ = Path(cert).read_text("ascii", "replace").partition(_PEM_END)
    begin = first.find("-----BEGIN CERTIFICATE-----")
    return sha256(ssl.PEM_cert_to_DER_cert(first[begin:] + end)).digest()
