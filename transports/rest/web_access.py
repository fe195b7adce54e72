"""Which web pages may use a port of plain HTTP, told from the headers that browsers send and pages cannot change.

A page of any site can make the browser of whoever visits it send requests to this machine. Three things keep it out:

- **Names.** A page whose own name resolves to this machine (DNS rebinding) counts as one of the broker's pages for the
  browser; the name in `Host` or `:authority` is still that of the site. So a port answers only to names that are its
  own: loopback, those it was given, and an IP address that the connection arrived at. An address needs no list, since
  no site can claim it, and it is what probes and load balancers put into `Host`.
- **Origins.** A browser says from which site a request comes, by `Sec-Fetch-Site` or, where that is missing, `Origin`.
  What a page of another origin asks is refused, except that its links may lead here.
- **Content types** (`call.py`): the bodies that a browser sends without asking first are no JSON by their type.

Programs send neither `Origin` nor `Sec-Fetch-Site`, and are not concerned by the second point.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from attrs import define, field

from goqueue.transports.rest.errors import RestError
from goqueue.transports.rest.exchange import Question

LOCALHOST = "localhost"
ANY = "*"
MISDIRECTED, FORBIDDEN = 421, 403
OWN_SITE = (b"same-origin", b"none")
OTHER_SITE = (b"cross-site", b"same-site")
SHOWN_MAX = 200


@define(frozen=True)
class Origination:
    """What one request says of where it comes from, as it was sent; empty for what it does not say."""

    host: bytes
    local_host: str
    origin: bytes
    site: bytes
    mode: bytes
    destination: bytes


@define(frozen=True)
class Verdict:
    """What follows for all requests that say the same: why they are refused, and what a page may read.

    `refusal` goes for every method, `unsafe_refusal` for all but GET, HEAD and OPTIONS. `is_shared` says that the
    origin is one of those that were given.
    """

    refusal: RestError | None = None
    unsafe_refusal: RestError | None = None
    is_shared: bool = False


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower().rstrip(".") for name in names)


@define
class WebAccess:
    """The names that a port answers to besides loopback, and the origins whose pages may use it; `*` is any.

    A name that begins with a dot stands for all names that end with it.
    """

    hosts: frozenset[str] = field(default=frozenset(), converter=_lowered)
    origins: frozenset[str] = field(default=frozenset(), converter=_lowered)

    def judge(self, origination: Origination) -> Verdict:
        """The verdict on requests that say this."""
        if not self._is_own_name(origination):
            return Verdict(_misdirected(origination.host))
        if not _is_foreign(origination):
            return Verdict()
        if origination.origin and self._shares_with(origination.origin):
            return Verdict(is_shared=True)
        refusal = _foreign(origination)
        return Verdict(None if _is_link(origination) else refusal, refusal)

    def _is_own_name(self, origination: Origination) -> bool:
        host = origination.host.decode("latin-1")
        # Only HTTP/1.0 may leave it out, and no browser does.
        if not host or ANY in self.hosts:
            return True
        name = host_name(host)
        if name == LOCALHOST or name in self.hosts or _is_own_address(name, origination.local_host):
            return True
        return any(name.endswith(suffix) for suffix in self.hosts if suffix.startswith("."))

    def _shares_with(self, origin: bytes) -> bool:
        return ANY in self.origins or origin.decode("latin-1").lower() in self.origins


def host_name(written: str) -> str:
    """The name or address in a `Host`, without port, brackets and the last dot, in lower case."""
    if written.startswith("["):
        address, _, port = written[1:].partition("]")
        return address.lower() if port[:1] in ("", ":") else written
    return written.partition(":")[0].lower().rstrip(".")


def _is_own_address(name: str, local_host: str) -> bool:
    """Whether a name is an IP address that can only be meant for this machine."""
    address = _read_address(name)
    return address is not None and (address.is_loopback or address == _read_address(local_host))


def _read_address(text: str) -> IPv4Address | IPv6Address | None:
    """An IP address; one of IPv4 also where a socket of IPv6 writes it (`::ffff:10.0.0.1`), and None for a name."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _is_foreign(origination: Origination) -> bool:
    """Whether a page of another origin makes the request."""
    if origination.site in OWN_SITE:
        return False
    if origination.origin:
        return origination.origin.partition(b"://")[2].lower() != origination.host.lower()
    return origination.site in OTHER_SITE


def _is_link(origination: Origination) -> bool:
    """Whether the request opens a page of its own, as a link does, so that the other page gets nothing of it."""
    return origination.mode == b"navigate" and origination.destination in (b"document", b"")


def is_link_of_another_site(question: Question) -> bool:
    """Whether a request follows a link of another site, as `judge` allows it where nothing is changed."""
    said = question.headers.get
    return said(b"sec-fetch-mode") == b"navigate" and said(b"sec-fetch-site") in OTHER_SITE


def _misdirected(host: bytes) -> RestError:
    said = (
        f"{_shown(host)} is none of this broker's names; if it should be, add it to the setting http.allowedHosts "
        "(--allowed-hosts, GOQUEUE_ALLOWED_HOSTS)"
    )
    return RestError(MISDIRECTED, "host_not_allowed", said, "host")


def _foreign(origination: Origination) -> RestError:
    page = f"of {_shown(origination.origin)}" if origination.origin else "of another site"
    said = (
        f"a page {page} may not use this broker; if it should, add its origin to the setting http.corsOrigins "
        "(--cors-origins, GOQUEUE_CORS_ORIGINS)"
    )
    return RestError(FORBIDDEN, "origin_not_allowed", said, "origin" if origination.origin else "sec-fetch-site")


def _shown(written: bytes) -> str:
    return repr(written.decode("latin-1")[:SHOWN_MAX])
