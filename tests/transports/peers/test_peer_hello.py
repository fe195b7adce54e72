"""What two nodes say of themselves, and which of them cannot be peers."""

import json

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import ProtocolError
from goqueue.transports.peers.addresses import PeerAddress, parse_peer
from goqueue.transports.peers.hello import (
    Hello,
    agreed_version,
    clocks_apart,
    disagreement,
    is_itself,
    parse_hello,
    stranger,
)

ONE = Hello("a", "disk-a", 7, "first", "1.0", "10.0.0.1:7000", 1_000_000)
OTHER = Hello("b", "disk-b", 8, "first", "1.0", "10.0.0.2:7000", 1_000_000)


def test_a_hello_comes_back_as_it_was() -> None:
    assert parse_hello(ONE.encode()) == ONE


def test_what_a_newer_release_adds_is_ignored_and_what_an_older_one_lacks_has_a_default() -> None:
    body = {"node_id": "a", "disk_id": "d", "incarnation": 1, "shoe_size": 44}
    assert parse_hello(json.dumps(body).encode()) == Hello("a", "d", 1)


@pytest.mark.parametrize(
    "change",
    [
        {"node_id": ""}, {"node_id": 4}, {"incarnation": "x"}, {"incarnation": True}, {"codecs": "lz4"},
        {"codecs": [1]}, {"version_min": 3, "version_max": 2}, {"version_min": 0}, {"release": "r" * 500},
    ],
)  # fmt: skip
def test_a_hello_that_cannot_be_meant_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        parse_hello(json.dumps({**json.loads(ONE.encode()), **change}).encode())


@given(st.one_of(st.binary(max_size=200), st.just(b"[]"), st.just(b"{}"), st.just(b"[" * 5000)))
def test_garbage_is_no_hello(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_hello(body)


def test_two_nodes_of_one_cluster_are_peers_and_so_are_those_of_none() -> None:
    assert disagreement(ONE, OTHER) == ""
    assert disagreement(ONE, evolve(OTHER, cluster_id="")) == ""
    assert disagreement(evolve(ONE, cluster_id=""), OTHER) == ""


def test_neighbouring_versions_are_peers_and_use_the_highest_that_both_speak() -> None:
    older, newer = evolve(ONE, version_max=1), evolve(OTHER, version_min=1, version_max=2)
    assert disagreement(older, newer) == ""
    assert agreed_version(older, newer) == agreed_version(newer, older) == 1
    assert agreed_version(evolve(older, version_max=2), evolve(newer, version_max=3)) == 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (evolve(OTHER, version_min=2, version_max=3), "upgrade the older one"),
        (evolve(OTHER, node_id="a"), "two nodes are named a, at 10.0.0.1:7000 and at 10.0.0.2:7000"),
        (evolve(OTHER, cluster_id="second"), "belongs to cluster second"),
    ],
)
def test_strangers_are_refused_with_what_to_do(other: Hello, said: str) -> None:
    assert said in disagreement(ONE, other)
    assert disagreement(other, ONE) != ""


def test_a_node_under_another_name_than_it_was_called_by_is_refused() -> None:
    assert "is named b and was expected to be c" in disagreement(ONE, OTHER, expected="c")


def test_a_second_folder_under_a_name_that_is_connected_is_refused_and_a_restart_is_not() -> None:
    assert "with another data folder is connected" in disagreement(ONE, evolve(OTHER, disk_id="new"), present=OTHER)
    assert disagreement(ONE, evolve(OTHER, incarnation=99), present=OTHER) == ""


def test_a_node_knows_itself() -> None:
    assert is_itself(ONE, evolve(ONE))
    assert not is_itself(ONE, evolve(ONE, incarnation=8))


def test_clocks_that_are_minutes_apart_are_named_and_others_are_not() -> None:
    assert clocks_apart(ONE, evolve(OTHER, wall_ms=1_060_000)) == ""
    assert "node b is 130 s ahead of" in clocks_apart(ONE, evolve(OTHER, wall_ms=1_130_000))
    assert "node b is 999 s behind" in clocks_apart(ONE, evolve(OTHER, wall_ms=1_000))


def test_who_speaks_tls_to_a_plain_node_is_told_apart() -> None:
    assert "TLS" in stranger(b"\x16\x03\x01\x02\x00")
    assert "no node" in stranger(b"GET / HT")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("b@10.0.0.2:7000", PeerAddress("b", "10.0.0.2", 7000)),
        ("queue-2.internal:7000", PeerAddress("", "queue-2.internal", 7000)),
        (" b@[::1]:1 ", PeerAddress("b", "::1", 1)),
    ],
)
def test_an_address_is_a_place_and_maybe_a_name(text: str, found: PeerAddress) -> None:
    assert parse_peer(text) == found
    assert parse_peer(str(found)) == found


@pytest.mark.parametrize(
    "text", ["", "b", "b@", ":7000", "b@:7000", "@h:7000", "h:0", "h:70000", "h:x", "::1:7000", "h:7000 x", "h:\u0667"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        parse_peer(text)
