"""The cluster's secret over real sockets: who knows it is a peer, and nobody else gets further than the hello."""

import json
import pickle
import socket
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
import trio
import trustme
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.peers.frames import HEADER, Kind, framed
from goqueue.transports.peers.greeting import Greeting
from goqueue.transports.peers.hello import HELLO_BYTES_MAX, MAGIC, Hello
from goqueue.transports.peers.secret import CALLED, CALLER, ClusterSecrets, nonce, parse_secrets
from tests.transports.peers.peering import LIMITS, Station, raw, station, until
from tests.transports.peers.test_peer_network import joined, secured
from tests.transports.serving import in_thread, run

ONE, TWO, THREE = "one-secret-of-the-cluster", "two-secret-of-the-cluster", "three-secret-of-the-cluster"
HELLOS = b"caller's hello", b"called's hello"


def knows(*keys: str) -> ClusterSecrets:
    return ClusterSecrets(keys)


def proof(key: str, role: bytes = CALLER, hellos: tuple[bytes, bytes] = HELLOS, binding: bytes = b"") -> bytes:
    return knows(key).proof(role, hellos, binding)


# --- the codes


def test_a_code_fits_its_secret_role_hellos_and_certificates_and_nothing_else() -> None:
    shown = proof(ONE)
    assert knows(ONE).believe(shown, CALLER, HELLOS, b"")
    assert not knows(TWO).believe(shown, CALLER, HELLOS, b"")
    assert not knows(ONE).believe(shown, CALLED, HELLOS, b"")
    assert not knows(ONE).believe(shown, CALLER, (HELLOS[1], HELLOS[0]), b"")
    assert not knows(ONE).believe(shown, CALLER, HELLOS, b"other certificates")
    assert not knows(ONE).believe(b"", CALLER, HELLOS, b"")


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_no_two_pairs_of_hellos_have_one_code(first: bytes, second: bytes, moved: bytes) -> None:
    # What moves from the end of one hello to the beginning of the other makes another code.
    assert (proof(ONE, hellos=(first + moved, second)) == proof(ONE, hellos=(first, moved + second))) == (not moved)


def test_the_first_secret_is_shown_and_all_are_believed() -> None:
    assert knows(ONE, TWO).proof(CALLER, HELLOS, b"") == proof(ONE)
    assert knows(ONE, TWO).believe(proof(TWO), CALLER, HELLOS, b"")
    assert not knows(ONE, TWO).believe(proof(THREE), CALLER, HELLOS, b"")


def test_numbers_are_drawn_anew_for_each_connection() -> None:
    assert len({nonce() for _ in range(100)}) == 100


def test_nothing_prints_or_writes_a_secret() -> None:
    assert ONE not in f"{knows(ONE)} {knows(ONE)!r}"
    with pytest.raises(TypeError):
        pickle.dumps(knows(ONE))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("short", "the secret has 5 bytes; 16 bytes or more are needed"),
        (f"{ONE},short", "secret 2 of 2 has 5 bytes"),
        ("x" * 1025, "1024 at most"),
        ("sixteen bytes and spaces", "holds spaces"),
        (f"{ONE}\x00\x01", "cannot be printed"),
        (f"{ONE},{ONE}", "there twice"),
        (",".join(f"{ONE}-{number}" for number in range(9)), "9 secrets are too many"),
    ],
)
def test_what_is_no_secret_is_refused_without_being_shown(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        parse_secrets(text)
    assert not any(part in str(error.value) for part in (ONE, "sixteen", "short,"))


def test_secrets_stand_on_lines_or_behind_commas() -> None:
    assert parse_secrets(f"{ONE}\n\n  {TWO}\r\n") == parse_secrets(f"{ONE},{TWO}") == [ONE, TWO]
    assert parse_secrets(" \n") == []


# --- nodes


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_nodes_with_one_secret_are_peers(is_secure: bool) -> None:
    authority = trustme.CA()

    def made(name: str, **settings: object) -> Station:
        tls = secured(authority, name) if is_secure else None
        return station(name, tls=tls, secrets=knows(ONE), **settings)

    async def test() -> None:
        async with made("a").open() as a, made("b").open() as b:
            b.network.find(a.place)
            await until(joined(a, b))
            a.send("b", b"one")
            b.send("a", b"two")
            await until(lambda: a.letters and b.letters)
            assert (a.said, b.said) == ([], [])

    run(test)


def both_say(one: ClusterSecrets | None, other: ClusterSecrets | None, words: str) -> None:
    """Two nodes do not become peers, and both say why, and neither says a secret."""

    async def test() -> None:
        async with station("a", secrets=one).open() as a, station("b", a.place, secrets=other).open() as b:
            await until(lambda: a.said and b.said)
            assert words in a.said[0], a.said
            assert words in b.said[0], b.said
            assert not any(key in sentence for sentence in [*a.said, *b.said] for key in (ONE, TWO))
            assert (a.met, b.met, a.network.peers, b.network.peers) == ([], [], [], [])

    run(test)


def test_nodes_with_two_secrets_are_told_so_on_both_sides() -> None:
    both_say(knows(ONE), knows(TWO), "secret is another at node")


def test_a_node_without_a_secret_is_told_so_on_both_sides_whoever_calls() -> None:
    both_say(knows(ONE), None, "node b shows none: give node b the same cluster.secret")
    both_say(None, knows(ONE), "node a shows none: give node a the same cluster.secret")


def test_a_secret_is_replaced_in_three_steps_without_a_moment_apart() -> None:
    steps = [knows(ONE), knows(ONE, TWO), knows(TWO, ONE), knows(TWO)]

    async def test() -> None:
        for before, after in pairwise(steps):
            for caller, called in ((before, after), (after, before)):
                async with station("a", secrets=called).open() as a, station("b", a.place, secrets=caller).open() as b:
                    await until(joined(a, b))
                    assert (a.said, b.said) == ([], [])

    run(test)


def test_a_secret_that_is_read_again_counts_from_the_next_connection_on() -> None:
    async def test() -> None:
        async with station("a", secrets=knows(ONE)).open() as a, station("b", a.place, secrets=knows(TWO)).open() as b:
            await until(lambda: b.said)
            b.network.renew_secrets(knows(ONE))
            await until(joined(a, b))
            a.network.renew_secrets(knows(THREE))
            a.send("b", b"still here")
            await until(lambda: b.letters)

    run(test)


# --- those who only pretend


class Pretender:
    """A plain socket that speaks as a node would, as far as a test lets it."""

    def __init__(self, place: Any) -> None:  # noqa: ANN401 - an address
        self.socket = raw(place)
        self.hello = b""

    def say_hello(self, **fields: object) -> bytes:
        """Introduce itself; answers what it said."""
        body = json.loads(Hello("b", "disk of b", 98, nonce=nonce()).encode())
        said = json.dumps({**body, **fields}).encode()
        self.socket.sendall(MAGIC + b"".join(framed(Kind.HELLO, [said])))
        return said

    def frame(self) -> tuple[int, bytes]:
        """The next frame that came: its kind, and what is in it; 0 at the end."""
        head = self._bytes(HEADER.size)
        if not head:
            return 0, b""
        length, kind, *_ = HEADER.unpack(head)
        return kind, self._bytes(length)

    def hear_hello(self) -> bytes:
        """The other's hello."""
        assert self._bytes(len(MAGIC)) == MAGIC
        kind, body = self.frame()
        assert kind == Kind.HELLO
        return body

    def _bytes(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                more = self.socket.recv(size - len(found))
            except ConnectionResetError:
                return b""
            if not more:
                return b""
            found += more
        return found

    def send(self, kind: Kind, *body: bytes) -> None:
        """Send a frame, if the other side has not gone."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(b"".join(framed(kind, body)))


def pretend(act: Callable[[Pretender], None], said: str = "") -> None:
    """Somebody acts as a peer to a node with a secret: it is none, and is sent away."""

    async def test() -> None:
        async with station("a", secrets=knows(ONE)).open() as a:

            def attempt() -> None:
                pretender = Pretender(a.place)
                with pretender.socket:
                    act(pretender)
                    while pretender.frame()[0]:
                        pass

            await in_thread(attempt)
            await until(lambda: a.said)
            assert said in a.said[0], a.said
            assert (a.met, a.letters, a.network.peers) == ([], [], [])
            # A node that knows the secret is let in all the same.
            async with station("c", a.place, secrets=knows(ONE)).open() as c:
                await until(joined(a, c))

    run(test)


def test_who_claims_no_secret_is_refused() -> None:
    def act(pretender: Pretender) -> None:
        pretender.say_hello(nonce="")
        pretender.hear_hello()
        assert pretender.frame()[0] == Kind.REFUSED
        pretender.send(Kind.WELCOME)
        pretender.send(Kind.LETTERS, b"\0\0\0\x09letter hi")

    pretend(act, "node b shows none")


@pytest.mark.parametrize("kind", [Kind.WELCOME, Kind.LETTERS, Kind.PING, Kind.HELLO])
def test_who_goes_on_without_a_proof_is_cut_off(kind: Kind) -> None:
    def act(pretender: Pretender) -> None:
        pretender.say_hello()
        pretender.hear_hello()
        pretender.send(kind, b"\0\0\0\x09letter hi" if kind is Kind.LETTERS else b"")

    pretend(act, "without having proven that it knows the cluster's secret")


def test_a_proof_that_was_heard_before_is_of_no_use() -> None:
    def act(pretender: Pretender) -> None:
        said = pretender.say_hello()
        heard = pretender.hear_hello()
        # As it was right for an earlier connection, in which the node had drawn another number.
        earlier = json.dumps({**json.loads(heard), "nonce": nonce()}).encode()
        pretender.send(Kind.PROOF, proof(ONE, CALLER, (said, earlier)))
        assert pretender.frame()[0] == Kind.REFUSED

    pretend(act, "secret is another")


def test_the_nodes_own_code_is_of_no_use_against_it() -> None:
    def act(pretender: Pretender) -> None:
        said = pretender.say_hello()
        heard = pretender.hear_hello()
        pretender.send(Kind.PROOF, proof(ONE, CALLED, (said, heard)))
        assert pretender.frame()[0] == Kind.REFUSED

    pretend(act, "secret is another")


def test_who_changes_a_hello_on_its_way_is_noticed() -> None:
    def act(pretender: Pretender) -> None:
        said = pretender.say_hello(cluster_id="forged")
        heard = pretender.hear_hello()
        original = said.replace(b"forged", b"")
        pretender.send(Kind.PROOF, proof(ONE, CALLER, (original, heard)))
        assert pretender.frame()[0] == Kind.REFUSED

    pretend(act, "or what they said was changed on its way")


def test_a_node_that_is_called_shows_no_code_to_whoever_has_shown_none() -> None:
    def act(pretender: Pretender) -> None:
        pretender.say_hello()
        pretender.hear_hello()
        pretender.socket.shutdown(socket.SHUT_WR)
        assert pretender.frame() == (0, b"")

    pretend(act, "hung up before it was greeted")


def test_before_the_proof_nothing_is_read_that_is_larger_than_a_hello() -> None:
    def act(pretender: Pretender) -> None:
        pretender.say_hello()
        pretender.hear_hello()
        pretender.socket.sendall(framed(Kind.PROOF, [bytes(HELLO_BYTES_MAX + 1)])[0])

    pretend(act, f"longer than {HELLO_BYTES_MAX}")


def test_who_is_called_and_does_not_know_the_secret_gets_no_letters_and_learns_nothing_of_the_cluster() -> None:
    async def test() -> None:
        async with trio.open_nursery() as nursery:
            [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
            port = listener.socket.getsockname()[1]

            async def listen(stream: trio.SocketStream) -> None:
                body = Hello("b", "disk of b", 98, nonce=nonce()).encode()
                await stream.send_all(MAGIC + b"".join(framed(Kind.HELLO, [body])))
                await stream.send_all(b"".join(framed(Kind.PROOF, [bytes(32)])) + b"".join(framed(Kind.WELCOME)))
                heard = b""
                async for part in stream:
                    heard += part
                assert b"letter" not in heard
                assert ONE.encode() not in heard

            nursery.start_soon(trio.serve_listeners, listen, [listener])
            async with station("a", secrets=knows(ONE)).open() as a:
                a.network.find(evolve(a.place, node_id="b", port=port, host="127.0.0.1"))
                await until(lambda: a.said)
                assert "secret is another" in a.said[0]
                assert a.network.peers == []
            nursery.cancel_scope.cancel()

    run(test)


def test_certificates_of_one_authority_do_not_help_whoever_stands_between() -> None:
    """Each end has TLS with somebody whom the authority has signed as well, and who passes on what both say."""
    authority = trustme.CA()

    async def test() -> None:
        async with station("a", tls=secured(authority, "a"), secrets=knows(ONE)).open() as a:
            between = secured(authority, "m")
            [listener] = await trio.open_tcp_listeners(0, host=a.place.host)
            place = evolve(a.place, port=listener.socket.getsockname()[1])

            async def relay(stream: trio.SocketStream) -> None:
                caller = trio.SSLStream(stream, between.called, server_side=True)
                plain = await trio.open_tcp_stream(a.place.host, a.place.port)
                called = trio.SSLStream(plain, between.calling, server_hostname=a.place.host)

                async def pass_on(one: trio.SSLStream[Any], other: trio.SSLStream[Any]) -> None:
                    try:
                        while content := await one.receive_some(4096):
                            await other.send_all(content)
                    except (trio.BrokenResourceError, trio.ClosedResourceError):
                        pass
                    await trio.aclose_forcefully(other)

                async with trio.open_nursery() as both:
                    both.start_soon(pass_on, caller, called)
                    both.start_soon(pass_on, called, caller)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.serve_listeners, relay, [listener])
                async with station("b", place, tls=secured(authority, "b"), secrets=knows(ONE)).open() as b:
                    await until(lambda: a.said and b.said)
                    assert "secret is another" in a.said[0]
                    assert (a.network.peers, b.network.peers) == ([], [])
                nursery.cancel_scope.cancel()

    run(test)


def test_certificates_may_be_renewed_while_a_node_is_about_to_call() -> None:
    authority = trustme.CA()

    async def test() -> None:
        async with station("a", tls=secured(authority, "a"), secrets=knows(ONE)).open() as a:
            listener, tls = a.network._listener, secured(authority, "b")
            assert listener is not None
            plain = await trio.open_tcp_stream(a.place.host, a.place.port)
            await until(lambda: listener.connection_count == 1)
            await trio.testing.wait_all_tasks_blocked(0.01)
            a.network.renew_tls(secured(authority, "a"))
            stream = trio.SSLStream(plain, tls.calling, server_hostname=a.place.host)
            await stream.do_handshake()
            greeting = Greeting(stream, 1 << 20, knows(ONE), tls.binding(stream, calls=True))
            assert (await greeting.call(Hello("b", "disk of b", 98), lambda _: "")).node_id == "a"
            await plain.aclose()

    run(test)


def test_who_only_holds_connections_open_keeps_no_node_out() -> None:
    limits = evolve(LIMITS, strangers_max=4, hello_s=60)

    async def test() -> None:
        async with station("a", secrets=knows(ONE), limits=limits).open() as a:
            held = [await trio.open_tcp_stream(a.place.host, a.place.port) for _ in range(20)]
            await until(lambda: a.network.meters.connections_refused >= 16)
            async with station("b", a.place, secrets=knows(ONE)).open() as b:
                await until(joined(a, b))
            for stream in held:
                await stream.aclose()

    run(test)
