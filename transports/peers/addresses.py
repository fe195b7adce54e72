"""Where peers are: `host:port`, with the id of the node there where it is known."""

from attrs import define

_PORT_MAX = 65535


@define(frozen=True)
class PeerAddress:
    """One place where a node listens for others; `node_id` is empty where only the place is known."""

    node_id: str
    host: str
    port: int

    def __str__(self) -> str:
        place = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        return f"{self.node_id}@{place}" if self.node_id else place

    @property
    def place(self) -> str:
        """`host:port`, with brackets where the host needs them."""
        return str(PeerAddress("", self.host, self.port))


def parse_peer(text: str) -> PeerAddress:
    """`host:port` or `id@host:port`; ValueError with a sentence for anything else."""
    node_id, at, place = text.strip().rpartition("@")
    host, colon, port = place.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= len(str(_PORT_MAX)) else 0
    if not colon or not host or (at and not node_id) or not 0 < number <= _PORT_MAX or " " in text.strip():
        raise ValueError(f"{text!r} is no address of a peer; write it like node-2@10.0.0.2:7000")
    return PeerAddress(node_id, host, number)
