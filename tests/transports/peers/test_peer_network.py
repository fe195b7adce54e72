"""Nodes on real sockets: they find each other, say what they have to say, and are rid of those who are no peers."""

import os
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
import trio.testing
import trustme
from attrs import evolve

from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.connection import PeerLimits
from goqueue.transports.peers.frames import Kind, framed
from goqueue.transports.peers.hello import MAGIC, Hello
from goqueue.transports.peers.tls import PeerTls, peer_tls
from tests.transports.peers.peering import HOST, LIMITS, Station, raw, station, until
from tests.transports.serving import in_thread, run


def joined(one: Station, other: Station) -> Callable[[], bool]:
    return lambda: other.hello.node_id in one.network.peers and one.hello.node_id in other.network.peers


def test_letters_go_both_ways_over_whichever_connection_there_is() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            a.send("b", b"one", b"two")
            b.send("a", b"three")
            await until(lambda: len(b.letters) == 2 and a.letters)
            assert b.letters == [("a", b"one"), ("a", b"two")]
            assert a.letters == [("b", b"three")]
            assert (a.met, b.met, a.said, b.said) == (["b"], ["a"], [], [])

    run(test)


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_letters_of_any_size_arrive_whole_and_in_order(compression: str) -> None:
    sizes = [0, 1, 100, 16 << 10, 128 << 10, 3 << 20]
    contents = [os.urandom(size // 2) + bytes(size - size // 2) for size in sizes] * 3

    async def test() -> None:
        async with station("a").open() as a, station("b", a.place, compression=compression).open() as b:
            await until(joined(a, b))
            for content in contents:
                b.send("a", content)
            await until(lambda: len(a.letters) == len(contents))
            assert [content for _, content in a.letters] == contents

    run(test)


def test_a_letter_to_nobody_is_lost_and_counted() -> None:
    async def test() -> None:
        async with station("a").open() as a:
            a.send("b", b"one")
            assert a.network.meters.letters_dropped == 1

    run(test)


def test_a_letter_that_has_no_bytes_is_lost_alone_and_reported() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            b.send("a", b"unspeakable", b"spoken")
            await until(lambda: a.letters)
            assert b.network.meters.letters_dropped == 1
            assert b.said == ["a bytes cannot be sent: there are no words for it"]

    run(test)


def test_a_node_is_called_again_when_it_comes_back() -> None:
    async def test() -> None:
        b = station("b")
        async with b.open():
            pass
        async with station("a", b.place).open() as a:
            async with b.open():
                await until(joined(a, b))
            await until(lambda: a.lost == ["b"])
            again = Station(evolve(b.hello, incarnation=1000), port=b.port)
            async with again.open():
                await until(joined(a, again))
                a.send("b", b"hello")
                await until(lambda: again.letters)
            assert a.met == ["b", "b"]
            # Nothing listens there, so that process is gone, and not only out of reach.
            await until(lambda: a.gone)
            assert (a.lost[-1], set(a.gone)) == ("b", {"b"})

    run(test)


def test_a_peer_whose_port_refuses_while_it_lives_is_not_gone() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            with socket.create_server((HOST, 0)) as taken:
                refusing = taken.getsockname()[1]
            b.hello = evolve(b.hello, internal=f"{HOST}:{refusing}")
            await until(joined(a, b))
            while len(a.met) < 8:
                # It ends the link itself, and calls again: whoever refuses on its behalf, its process lives.
                for connection in [*b.network._connections.get("a", ())]:
                    connection.close()
                await trio.sleep(0.005)
            assert a.gone == []

    run(test)


def test_a_link_says_which_side_ended_it() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            [here], [there] = a.network._connections["b"], b.network._connections["a"]
            there.close()
            await until(lambda: here not in a.network._connections.get("b", ()))
            assert here.is_ended_there
            assert not there.is_ended_there

    run(test)


def test_a_peer_that_is_lost_and_still_listens_is_not_gone() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            while len(b.met) < 4:
                # There may be another one under way already.
                for connection in a.network._connections.get("b", ()):
                    connection.close()
                await trio.sleep(0.02)
            assert (a.gone, b.gone) == ([], [])

    run(test)


def test_who_was_called_by_an_address_alone_is_known_by_the_name_it_gives() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", PeerAddress("", HOST, a.port)).open() as b:
            await until(joined(a, b))
            assert b.met == ["a"]

    run(test)


def test_a_node_calls_those_that_the_metadata_names_and_forgets_those_it_names_no_more() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b").open() as b:
            a.network.route({"a": a.place.place, "b": b.place.place, "c": "nowhere"})
            await until(joined(a, b))
            assert a.network.callees == ["b"]
            a.network.route({"a": a.place.place})
            assert (a.network.callees, a.network.peers) == ([], ["b"])

    run(test)


def test_a_node_that_has_called_is_called_back_at_the_address_that_it_gave() -> None:
    async def test() -> None:
        async with station("a").open() as a:
            b = station("b", a.place)
            async with b.open():
                await until(joined(a, b))
            again = Station(evolve(b.hello, incarnation=9), port=b.port)
            async with again.open():
                # It knows nobody, so it is the other that calls.
                await until(joined(a, again))

    run(test)


@pytest.mark.parametrize("host", ["a..b", "a" * 70, "\0", "nowhere.invalid"])
def test_a_host_that_is_no_name_is_reported_and_hurts_nobody(host: str) -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            a.network.find(PeerAddress("x", host, 7000))
            await until(lambda: a.said)
            assert a.said[0].startswith("peer x@")
            b.send("a", b"still here")
            await until(lambda: a.letters)

    run(test)


def test_a_rumour_is_given_up_and_a_peer_that_was_named_is_not() -> None:
    async def test() -> None:
        nobody = [station(name) for name in "bcd"]
        for one in nobody:
            async with one.open():
                pass
        rumoured, listed, agreed = (one.place for one in nobody)
        async with station("a", listed, limits=evolve(LIMITS, attempts_max=2)).open() as a:
            a.network.find(rumoured)
            a.network.route({"d": agreed.place})
            assert sorted(a.network.callees) == ["b", "c", "d"]
            await until(lambda: sorted(a.network.callees) == ["c", "d"])
            again = Station(evolve(nobody[0].hello), port=rumoured.port)
            async with again.open():
                a.network.find(rumoured)
                await until(joined(a, again))

    run(test)


def test_three_nodes_that_call_each_other_at_once_all_meet() -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            stations = [await stack.enter_async_context(station(name).open()) for name in "abc"]
            for one in stations:
                one.network.route({other.hello.node_id: other.place.place for other in stations})
            await until(lambda: all(len(one.network.peers) == 2 for one in stations))
            for one in stations:
                assert len(one.met) == 2
                assert one.said == []

    run(test)


def test_a_node_that_finds_its_own_address_leaves_itself_alone() -> None:
    async def test() -> None:
        async with station("a").open() as a:
            a.network.find(a.place)
            assert a.network.callees == []
            a.network.find(PeerAddress("", HOST, a.port))
            assert a.network.callees == [f"{HOST}:{a.port}"]
            await until(lambda: a.network.callees == [])
            assert a.network.peers == []
            assert a.said == []

    run(test)


def refusals(change: Callable[[Hello], Hello], expected: str = "") -> tuple[list[str], list[str]]:
    """What both nodes report when one that is changed so calls the other."""
    found: list[list[str]] = []

    async def test() -> None:
        async with station("a").open() as a:
            place = evolve(a.place, node_id=expected)
            async with Station(change(station("b").hello), known=[place]).open() as b:
                await until(lambda: a.said and b.said)
                assert (a.network.peers, b.network.peers, a.met, b.met) == ([], [], [], [])
                assert a.network.meters.connections_refused >= 1
                # However often it calls, one sentence is enough.
                await until(lambda: a.network.meters.connections_refused >= 3)
                found.extend([[*a.said], [*b.said]])

    run(test)
    for said in found:
        assert len(said) == 1
    return found[0], found[1]


def test_two_nodes_under_one_name_are_told_so_on_both_sides() -> None:
    here, there = refusals(lambda hello: evolve(hello, node_id="a"))
    for said in (here, there):
        assert "two nodes are named a" in said[0]
        assert "give one of them another --node-id" in said[0]


def test_a_node_of_a_version_too_new_is_told_so_on_both_sides() -> None:
    here, there = refusals(lambda hello: evolve(hello, version_min=5, version_max=6))
    for said in (here, there):
        assert "upgrade the older one" in said[0]


def test_a_node_under_another_name_than_expected_is_told_so_on_both_sides() -> None:
    here, there = refusals(lambda hello: hello, expected="z")
    for said in (here, there):
        assert "is named a and was expected to be z" in said[0]


def test_nodes_of_two_clusters_are_told_so_on_both_sides() -> None:
    async def test() -> None:
        a = station("a")
        a.hello = evolve(a.hello, cluster_id="first")
        b = Station(evolve(station("b").hello, cluster_id="second"))
        async with a.open(), b.open():
            b.network.find(a.place)
            await until(lambda: a.said and b.said)
            for said in (a.said, b.said):
                assert "belongs to cluster" in said[0]

    run(test)


def test_a_second_node_under_a_name_that_is_connected_is_refused_and_the_first_stays() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            async with Station(evolve(station("b").hello, disk_id="another"), known=[a.place]).open() as impostor:
                await until(lambda: impostor.said)
                assert "with another data folder is connected" in impostor.said[0]
            assert joined(a, b)()
            assert a.lost == []

    run(test)


def test_clocks_that_are_apart_are_warned_of_and_no_reason_to_part() -> None:
    async def test() -> None:
        a, b = station("a"), station("b")
        a.hello, b.hello = evolve(a.hello, wall_ms=1_000_000), evolve(b.hello, wall_ms=1_400_000)
        async with a.open(), b.open():
            b.network.find(a.place)
            await until(joined(a, b))
            await until(lambda: a.said and b.said)
            assert "node b is 400 s ahead of" in a.said[0]
            assert "node a is 400 s behind" in b.said[0]

    run(test)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        bytes(40),
        MAGIC + bytes(40),
        MAGIC + b"".join(framed(Kind.LETTERS, [b"x"])),
        MAGIC + b"".join(framed(Kind.HELLO, [b"{}"])),
        MAGIC + b"".join(framed(Kind.HELLO, [bytes(100_000)])),
    ],
)
def test_what_is_no_peer_is_cut_off_and_costs_nobody_else_anything(garbage: bytes) -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))

            def speak() -> bytes:
                with raw(a.place) as link:
                    link.sendall(garbage)
                    try:
                        return link.recv(100)
                    except ConnectionResetError:
                        return b""

            assert await in_thread(speak) == b""
            await until(lambda: a.said)
            b.send("a", b"still here")
            await until(lambda: a.letters)
            assert a.lost == []

    run(test)


def test_a_peer_that_begins_to_speak_garbage_is_cut_off_with_a_sentence_and_may_come_again() -> None:
    async def test() -> None:
        async with station("a").open() as a, station("b", a.place).open() as b:
            await until(joined(a, b))
            while not a.lost:
                for connection in b.network._connections.get("a", ()):
                    connection.send([[b"no such thing"]])
                await trio.sleep(0.02)
            await until(lambda: len(a.met) >= 2)
            assert "this is no letter" in a.said[0]

    run(test)


def test_who_connects_and_says_nothing_is_sent_away_in_time() -> None:
    async def test() -> None:
        async with station("a", limits=evolve(LIMITS, hello_s=0.05)).open() as a:

            def wait() -> bytes:
                with raw(a.place) as link:
                    return link.recv(1)

            assert await in_thread(wait) == b""

    run(test)


def test_a_peer_that_falls_silent_is_lost() -> None:
    limits = PeerLimits(pause_first_s=0.01, sign_of_life_s=0.02, silence_s=0.2)
    mute = evolve(limits, sign_of_life_s=1000)

    async def test() -> None:
        async with station("a", limits=limits).open() as a, station("b", a.place, limits=mute).open() as b:
            await until(joined(a, b))
            await until(lambda: a.lost)
            assert "was silent for 0.2 s" in a.said[0]

    run(test)


def test_a_peer_with_nothing_to_say_is_kept_by_its_signs_of_life() -> None:
    limits = PeerLimits(sign_of_life_s=0.02, silence_s=1)

    async def test() -> None:
        async with station("a", limits=limits).open() as a, station("b", a.place, limits=limits).open() as b:
            await until(joined(a, b))
            received = a.network.meters.bytes_received
            await until(lambda: a.network.meters.bytes_received > received + 100)
            assert a.lost == []

    run(test)


def test_what_waits_for_a_peer_that_reads_nothing_is_bounded() -> None:
    limits = PeerLimits(queue_bytes_max=1 << 20)

    async def test() -> None:
        async with station("a", limits=limits).open() as a:
            own = Hello("b", "disk of b", 2)

            def greet() -> object:
                link = raw(a.place)
                link.sendall(MAGIC + b"".join(framed(Kind.HELLO, [own.encode()]) + framed(Kind.WELCOME)))
                return link

            link = await in_thread(greet)
            await until(lambda: a.network.peers == ["b"])
            for _ in range(100):
                a.send("b", bytes(200_000))
                await trio.lowlevel.checkpoint()
            assert a.network.meters.letters_dropped > 0
            assert a.network._connections["b"][0].held_bytes <= 1 << 20
            link.close()  # type: ignore[attr-defined]
            await until(lambda: a.lost == ["b"])

    run(test)


def test_what_peers_have_sent_that_the_node_has_not_taken_is_bounded_and_comes_when_it_has() -> None:
    limits = evolve(LIMITS, inbox_bytes_max=100_000)

    async def test() -> None:
        a = station("a", limits=limits, takes=False)
        async with a.open(), station("b", compression="zstd").open() as b:
            a.network.find(b.place)
            await until(joined(a, b))
            for number in range(60):
                b.send("a", bytes([number]) * 100 + os.urandom(10_000))
            await until(lambda: len(a.letters) >= 10)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert len(a.letters) == 10
            while len(a.letters) < 60:
                a.network.taken()
                await trio.sleep(0.002)
            assert [content[0] for _, content in a.letters] == [*range(60)]
            assert (a.said, b.said, a.lost) == ([], [], [])

    run(test)


def test_no_more_nodes_are_let_in_than_a_cluster_has() -> None:
    async def test() -> None:
        async with station("a", limits=evolve(LIMITS, peers_max=2)).open() as a, AsyncExitStack() as stack:
            for name in "bc":
                await stack.enter_async_context(station(name, a.place).open())
            await until(lambda: len(a.network.peers) == 2)
            d = await stack.enter_async_context(station("d", a.place).open())
            await until(lambda: d.said)
            assert "2 nodes are connected to node a, and no more may be" in d.said[0]
            assert sorted(a.network.peers) == ["b", "c"]

    run(test)


def test_rumours_of_nodes_are_bounded_and_what_the_metadata_names_is_called_all_the_same() -> None:
    async def test() -> None:
        async with station("a", limits=evolve(LIMITS, callees_max=5)).open() as a:
            for number in range(50):
                a.network.find(PeerAddress(f"rumour-{number}", HOST, 1))
            assert len(a.network.callees) == 5
            a.network.route({"b": f"{HOST}:2"})
            assert "b" in a.network.callees

    run(test)


def secured(authority: trustme.CA, name: str) -> PeerTls:
    """What a node goes by whose certificate is of this authority."""
    certificate = authority.issue_cert(HOST, common_name=name)
    chain = b"".join(each.bytes() for each in certificate.cert_chain_pems)
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("cert", "key", "ca")]
        contents = (chain, certificate.private_key_pem.bytes(), authority.cert_pem.bytes())
        for path, content in zip(files, contents, strict=True):
            path.write_bytes(content)
        return peer_tls(*map(str, files))


def test_nodes_that_trust_one_authority_speak_under_tls() -> None:
    authority = trustme.CA()

    async def test() -> None:
        a, b = (station(name, tls=secured(authority, name)) for name in "ab")
        async with a.open(), b.open():
            b.network.find(a.place)
            await until(joined(a, b))
            a.send("b", bytes(300_000))
            b.send("a", b"short")
            await until(lambda: a.letters and b.letters)
            assert b.letters == [("a", bytes(300_000))]

    run(test)


def test_certificates_are_renewed_while_nodes_run() -> None:
    async def test() -> None:
        first, second = trustme.CA(), trustme.CA()
        a, b = (station(name, tls=secured(first, name)) for name in "ab")
        async with a.open(), b.open():
            b.network.find(a.place)
            await until(joined(a, b))
            for one in (a, b):
                one.network.renew_tls(secured(second, one.hello.node_id))
            while len(a.met) < 2 or len(b.met) < 2:
                # There may be another one under way already.
                for connection in b.network._connections.get("a", ()):
                    connection.close()
                await trio.sleep(0.1)

    run(test)


@pytest.mark.parametrize("kind", ["another authority", "plain"])
def test_a_node_without_a_certificate_of_the_authority_is_refused(kind: str) -> None:
    async def test() -> None:
        async with station("a", tls=secured(trustme.CA(), "a"), limits=evolve(LIMITS, hello_s=1)).open() as a:
            tls = secured(trustme.CA(), "b") if kind != "plain" else None
            async with station("b", a.place, tls=tls).open() as b:
                await until(lambda: a.said)
                assert "TLS" in a.said[0]
                assert (a.network.peers, b.network.peers) == ([], [])

    run(test)


def test_a_node_with_tls_that_calls_one_without_is_told_so() -> None:
    async def test() -> None:
        a, b = station("a"), station("b", tls=secured(trustme.CA(), "b"))
        async with a.open(), b.open():
            b.network.find(a.place)
            await until(lambda: a.said)
            assert "it speaks TLS" in a.said[0]

    run(test)


def test_a_flood_of_strangers_is_reported_once_a_second_at_most() -> None:
    async def test() -> None:
        begun = trio.current_time()
        async with station("a").open() as a:
            for number in range(60):
                async with await trio.open_tcp_stream(a.place.host, a.place.port) as stranger:
                    # Strangers of two kinds, so that no sentence is the same as the one before.
                    await stranger.send_all((b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello")[number % 2])
                    await stranger.receive_some()
            assert a.network.meters.connections_refused == 60
            assert len(a.said) <= 2 + trio.current_time() - begun

    run(test)
