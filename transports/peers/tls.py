"""TLS between nodes: each shows a certificate, and believes those of one authority alone.

That authority is the cluster's own: whoever it has signed may pose as any node. The names in certificates are checked
by who calls, against the host that it calls.
"""

import ssl

from attrs import define


@define
class PeerTls:
    """What a node that is called shows and demands, and what one that calls."""

    called: ssl.SSLContext
    calling: ssl.SSLContext


def peer_tls(cert: str, key: str, authority: str) -> PeerTls:
    """The contexts of a node, from files as they are at the moment. Raises OSError, of which SSLError is one."""
    called = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
    called.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
    for context in (called, calling):
        context.load_cert_chain(cert, key)
    return PeerTls(called, calling)
