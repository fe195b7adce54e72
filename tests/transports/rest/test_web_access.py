"""Which requests are taken for those of a web page that has no business here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.rest.web_access import Origination, Verdict, WebAccess

HERE = "10.0.0.5"


def judged(
    access: WebAccess | None = None,
    *,
    host: bytes = b"localhost:8080",
    origin: bytes = b"",
    site: bytes = b"",
    mode: bytes = b"",
    destination: bytes = b"",
) -> Verdict:
    """The verdict on a request that arrived at HERE and says this."""
    return (access or WebAccess()).judge(Origination(host, HERE, origin, site, mode, destination))


def status(verdict: Verdict, *, unsafe: bool = False) -> int:
    """The status of a request that changes something, or not."""
    refusal = verdict.refusal or (verdict.unsafe_refusal if unsafe else None)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize(
    "host",
    [
        b"localhost", b"LOCALHOST:8080", b"localhost.", b"127.0.0.1", b"127.9.9.9:1", b"[::1]:8080", b"[::1]", b"",
        b"10.0.0.5", b"10.0.0.5:8080", b"[::ffff:10.0.0.5]:8080", b"[::ffff:127.0.0.1]",
    ],
)  # fmt: skip
def test_loopback_and_the_address_of_the_connection_are_names_of_the_broker(host: bytes) -> None:
    assert status(judged(host=host), unsafe=True) == 200


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example", b"localhost.evil.example", b"evil.example:8080", b"10.0.0.6", b"0.0.0.0", b"[::2]",
        b"127.0.0.1.evil.example", b"[::1].evil.example", b"010.0.0.5", b"\xff\xfe", b"mq.example.com",
    ],
)  # fmt: skip
def test_any_other_name_is_refused_for_every_method_with_the_setting_in_the_sentence(host: bytes) -> None:
    verdict = judged(host=host)
    assert verdict.refusal is not None
    assert (verdict.refusal.status, verdict.refusal.field) == (421, "host")
    assert "http.allowedHosts" in verdict.refusal.message


def test_a_connection_of_ipv6_tells_an_address_of_ipv4_by_another_spelling() -> None:
    said = Origination(b"10.0.0.5:8080", "::ffff:10.0.0.5", b"", b"", b"", b"")
    assert WebAccess().judge(said).refusal is None


@pytest.mark.parametrize(
    ("given", "host", "expected"),
    [
        ("mq.example.com", b"MQ.example.com:80", 200),
        ("mq.example.com", b"a.mq.example.com", 421),
        (".example.com", b"a.b.example.com", 200),
        (".example.com", b"example.com", 421),
        (".example.com", b"evilexample.com", 421),
        ("*", b"anything", 200),
        ("10.9.9.9", b"10.9.9.9:1", 200),
        ("2001:db8::1", b"[2001:DB8::1]:80", 200),
    ],
)
def test_names_may_be_given(given: str, host: bytes, expected: int) -> None:
    assert status(judged(WebAccess([given]), host=host)) == expected


@pytest.mark.parametrize(
    "said",
    [
        {"origin": b"http://evil.example"},
        {"origin": b"null"},
        {"origin": b"http://localhost:3000"},
        {"origin": b"http://localhost"},
        {"origin": b"http://localhost:8080.evil.example"},
        {"site": b"cross-site"},
        {"site": b"same-site"},
        {"site": b"cross-site", "mode": b"no-cors", "destination": b"image"},
        {"site": b"cross-site", "mode": b"navigate", "destination": b"iframe"},
        {"site": b"cross-site", "mode": b"cors", "origin": b"http://evil.example"},
    ],
)
def test_what_a_page_of_another_origin_asks_is_refused_reading_included(said: dict[str, bytes]) -> None:
    verdict = judged(None, **said)
    assert (status(verdict), status(verdict, unsafe=True)) == (403, 403)
    assert verdict.refusal is not None
    assert "http.corsOrigins" in verdict.refusal.message


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"origin": b"http://localhost:8080"},
        {"origin": b"https://LOCALHOST:8080"},
        {"site": b"same-origin"},
        {"site": b"none"},
        # A proxy that speaks for the broker may change the host; a page cannot change what the browser says of it.
        {"site": b"same-origin", "origin": b"https://mq.example.com"},
    ],
)
def test_programs_and_the_brokers_own_pages_are_served(said: dict[str, bytes]) -> None:
    assert status(judged(None, **said), unsafe=True) == 200


@given(st.binary(max_size=40), st.text(max_size=20), st.binary(max_size=40), st.binary(max_size=12))
def test_any_headers_have_a_verdict(host: bytes, local_host: str, origin: bytes, site: bytes) -> None:
    for access in (WebAccess(), WebAccess(["*"], ["*"]), WebAccess([".example.com"], ["https://a"])):
        verdict = access.judge(Origination(host, local_host, origin, site, site, site))
        assert verdict.refusal is None or verdict.refusal.status in (421, 403)


def test_links_of_other_pages_lead_here_and_their_forms_do_not() -> None:
    verdict = judged(site=b"cross-site", mode=b"navigate", destination=b"document")
    assert (status(verdict), status(verdict, unsafe=True)) == (200, 403)


@pytest.mark.parametrize("given", ["http://localhost:3000", "*"])
def test_an_origin_that_was_given_is_shared_with_and_no_other(given: str) -> None:
    access = WebAccess([], [given])
    shared = judged(access, origin=b"http://localhost:3000", site=b"same-site", mode=b"cors")
    assert (status(shared, unsafe=True), shared.is_shared) == (200, True)
    other = judged(access, origin=b"http://localhost:3001")
    assert other.is_shared is (given == "*")
    # An image says no origin, and the page that shows it could be anybody's.
    assert status(judged(access, site=b"cross-site", mode=b"no-cors")) == 403
