"""How to reach a cluster: what options say of it. Nothing is connected here, and nothing imported that connects."""

from typing import Final

from attrs import define, evolve

from goqueue.spark.records.edges import UnreadableError

TIMEOUT_S: Final = 30


@define
class Bootstrap:
    """Some brokers of a cluster, `host:port` each; `ca_file` says whom to trust, if not whom the system trusts."""

    addresses: tuple[str, ...]
    is_secure: bool = False
    timeout_ns: int = TIMEOUT_S * 1_000_000_000
    ca_file: str = ""

    def led_by(self, address: str) -> "Bootstrap":
        """The same cluster, asking this broker first."""
        if not address:
            return self
        return evolve(self, addresses=(address, *(each for each in self.addresses if each != address)))


def bootstrap_of(text: str, *, is_secure: bool = False, timeout_s: int = TIMEOUT_S, ca_file: str = "") -> Bootstrap:
    """A cluster by addresses with commas between. Raises UnreadableError."""
    from goqueue.transports.client.channel import split_address

    addresses = tuple(each.strip() for each in text.split(",") if each.strip())
    if not addresses:
        raise UnreadableError("the option 'bootstrap' is empty; say host:port, or several with commas between")
    try:
        for each in addresses:
            split_address(each)
    except ValueError as error:
        raise UnreadableError(f"the option 'bootstrap': {error}") from None
    return Bootstrap(addresses, is_secure, timeout_s * 1_000_000_000, ca_file)
