"""What a broker makes of the settings that concern other nodes."""

import json
from pathlib import Path

import pytest
import trustme

from goqueue.cli.serve_cluster import ClusterSettings
from goqueue.cli.serve_settings import ServeSettings, WrongSettings, gather_settings, serve_settings
from goqueue.cli.settings.keys import FLAGGED
from goqueue.cli.settings.sources import FLAG, VARIABLE, Given
from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.secret import ClusterSecrets

THREE = "a@10.0.0.1:7000,b@10.0.0.2:7000,c@10.0.0.3:7001"
BOUND = {
    "broker.listeners.http": ("127.0.0.1", 8080),
    "broker.listeners.grpc": ("0.0.0.0", 9000),
    "broker.listeners.internal": ("0.0.0.0", 7000),
}


def written(path: Path, text: str) -> str:
    """A file of settings."""
    (path / "f.yaml").write_text(text)
    return str(path / "f.yaml")


def served(file: str = "", **flags: str) -> ServeSettings:
    """The settings of a broker that was given these flags, and this file."""
    keys = {key.option: key.name for key in FLAGGED}
    return serve_settings(gather_settings({keys[flag]: Given(value, FLAG) for flag, value in flags.items()}, file, {}))


def allowed(**flags: str) -> ClusterSettings:
    """What these flags say of others, where the network keeps strangers away."""
    return cluster(insecure="on", **flags)


def cluster(**flags: str) -> ClusterSettings:
    """What these flags say of others, which they have to."""
    found = served(**flags).cluster
    assert found is not None
    return found


def problems(file: str = "", **flags: str) -> str:
    """What is wrong with these flags, and this file."""
    with pytest.raises(WrongSettings) as error:
        served(file, **flags)
    return "\n".join(error.value.problems)


def test_a_broker_that_was_told_nothing_is_alone() -> None:
    assert served().cluster is None


def test_a_file_that_holds_every_key_with_its_default_asks_for_no_cluster(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "docs" / "goqueue.yaml"
    assert served(written(tmp_path, example.read_text())).cluster is None


@pytest.mark.parametrize("node_id", ["a", "b"])
def test_those_in_the_list_found_the_cluster(node_id: str) -> None:
    found = allowed(node_id=node_id, peers=THREE)
    assert found.founders == ["a", "b", "c"]
    assert node_id not in [place.node_id for place in found.known]
    assert len(found.known) == len(found.founders) - 1


def test_whoever_is_not_in_the_list_is_asked_who_it_is() -> None:
    assert "this node, node-1, is not among them: --node-id says which of a, b, c" in problems(peers=THREE)


def test_a_node_listens_where_the_list_says_that_it_is_unless_told_otherwise() -> None:
    assert allowed(node_id="c", peers=THREE).internal == ("10.0.0.3", 7001)
    assert allowed(node_id="c", peers=THREE, internal="0.0.0.0:7009").internal == ("0.0.0.0", 7009)


def test_who_joins_founds_nothing() -> None:
    found = cluster(join="10.0.0.1:7000")
    assert (found.founders, found.known) == ([], [PeerAddress("", "10.0.0.1", 7000)])


def test_a_node_with_an_address_for_others_alone_founds_a_cluster_of_one(tmp_path: Path) -> None:
    assert cluster(node_id="a", internal=":7000").founders == ["a"]
    in_file = served(
        written(tmp_path, 'broker: {nodeId: a, insecure: true, listeners: {internal: "0.0.0.0:7000"}}')
    ).cluster
    assert in_file is not None
    assert (in_file.founders, in_file.internal) == (["a"], ("0.0.0.0", 7000))


def test_what_is_found_by_a_name_or_by_calling_out_joins_unless_founders_are_named(tmp_path: Path) -> None:
    found = served(written(tmp_path, "cluster: {discovery: dns, dns: 'goqueue.internal:7000'}")).cluster
    assert found is not None
    assert (found.founders, found.dns, found.group) == ([], PeerAddress("", "goqueue.internal", 7000), None)
    found = served(written(tmp_path, "cluster: {discovery: multicast, founders: [b, a]}")).cluster
    assert found is not None
    assert (found.founders, found.dns, found.group) == (["a", "b"], None, ("239.71.81.1", 7001))


def test_others_are_told_where_this_node_can_be_reached() -> None:
    options = allowed(node_id="a", peers=THREE, internal="0.0.0.0:7000", rack="r1").options(BOUND)
    # Its entry in the list says its host; what is bound to loopback is reached from there alone.
    assert (options.internal, options.grpc, options.http) == ("10.0.0.1:7000", "10.0.0.1:9000", "127.0.0.1:8080")
    assert (options.founders, options.rack) == (["a", "b", "c"], "r1")
    advertised = allowed(internal="0.0.0.0:7000", advertise="queue-1.example").options(BOUND)
    assert advertised.internal == "queue-1.example:7000"


def test_each_start_is_told_from_the_others() -> None:
    found = cluster(internal=":7000")
    one, other = found.options(BOUND), found.options(BOUND)
    assert one.incarnation != other.incarnation
    assert one.incarnation > 0


def test_timings_are_the_files(tmp_path: Path) -> None:
    text = """\
cluster:
  peers: [a@h:1, node-1@127.0.0.1:2]
  heartbeatInterval: 100ms
  suspectAfter: 400ms
  deadAfter: 1s
  electionTimeout: 2s
  replicaLag: 5s
  requestTimeout: 7s
  catchUpRate: 10MiB
"""
    found = served(written(tmp_path, text)).cluster
    assert found is not None
    options = found.options(BOUND)
    spans = (options.heartbeat_ns, options.suspect_ns, options.dead_ns, options.election_ns, options.replica_lag_ns)
    assert [span // 1_000_000 for span in spans] == [100, 400, 1000, 2000, 5000]
    assert (options.request_ns, options.catch_up_bytes_per_s) == (7_000_000_000, 10 << 20)
    assert options.quorum_heartbeat_ns < options.election_ns // 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"peers": "a@h:1", "join": "h:2"}, "leave out --peers or --join"),
        ({"peers": "h:1"}, "written like node-2@h:1"),
        ({"peers": "a@h:1,a@h:2"}, "a is there twice"),
        ({"peers": "a@h"}, "'a@h' is no address of a peer"),
        ({"peers": "a@h:1", "internal": "off"}, "has to listen for them"),
        ({"discovery": "dns"}, "cluster.dns: it is needed"),
        ({"discovery": "guess"}, "'guess' is none of static, dns, multicast"),
    ],
)
def test_what_cannot_be_meant_is_said(flags: dict[str, str], said: str) -> None:
    assert said in problems(**flags)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster: {peers: [a@h:1], deadAfter: 1s}", "shorter than deadAfter"),
        ("cluster: {peers: [a@h:1], tls: {cert: x, key: y}}", "TLS between nodes needs cluster.tls.cert, key and ca"),
        ("cluster: {peers: [a@h:1], tls: {cert: x, key: y, ca: z}}", "one of x, y, z cannot be used"),
        ("cluster: {quorum: all}", "expected majority"),
        ("defaults: {topic: {replicationFactor: 3}}", "a broker alone keeps one copy"),
    ],
)
def test_what_a_file_cannot_mean_is_said(text: str, said: str, tmp_path: Path) -> None:
    assert said in problems(written(tmp_path, text))


def test_tls_between_nodes_is_read_from_its_files(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca")
    certificate.private_key_pem.write_to_path(tmp_path / "key")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert")
    text = f"cluster: {{peers: [node-1@h:1], tls: {{cert: {tmp_path}/cert, key: {tmp_path}/key, ca: {tmp_path}/ca}}}}"
    found = served(written(tmp_path, text)).cluster
    assert found is not None
    assert found.tls() is not None


# --- who may be a peer

SECRET = "a-secret-of-thirty-two-characters"
OPEN = "could pose as a node"


def in_environment(secret: str, **flags: str) -> ServeSettings:
    """The settings of a broker whose environment holds a secret."""
    keys = {key.option: key.name for key in FLAGGED}
    given = {keys[flag]: Given(value, FLAG) for flag, value in flags.items()}
    return serve_settings(gather_settings({**given, "cluster.secret": Given(secret, VARIABLE)}, "", {}))


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "queue-1.example", "[::]"])
def test_beyond_loopback_peers_need_a_secret_tls_or_a_word(host: str) -> None:
    said = problems(internal=f"{host}:7000", node_id="a")
    assert "--internal (GOQUEUE_INTERNAL_ADDR)" in said
    assert OPEN in said
    for way in ("--cluster-secret-file", "cluster.tls", "--insecure"):
        assert way in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "[::1]", ""])
def test_on_loopback_nothing_is_asked_for(host: str) -> None:
    assert cluster(internal=f"{host}:7000").secrets() is None


def test_the_address_in_the_list_of_peers_counts_as_much() -> None:
    assert OPEN in problems(node_id="a", peers=THREE, insecure="off")


def test_each_of_the_three_ways_is_enough(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    assert cluster(internal="0.0.0.0:7000", cluster_secret_file=str(tmp_path / "secret")).secrets() is not None
    assert in_environment(SECRET, internal="0.0.0.0:7000").cluster is not None
    open_one = gather_settings({"broker.listeners.internal": Given("0.0.0.0:7000", FLAG)}, "", {})
    assert open_one.problems == []
    text = "broker: {insecure: true, listeners: {internal: '0.0.0.0:7000'}}"
    settings = gather_settings({}, written(tmp_path, text), {})
    assert serve_settings(settings).cluster is not None
    assert settings.warnings == [
        "whoever reaches 0.0.0.0 can pose as a node: there is neither a secret nor TLS between nodes"
    ]


def test_the_file_of_secrets_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(SECRET)
    found = cluster(internal=":7000", cluster_secret_file=str(path))
    assert found.secrets() == ClusterSecrets([SECRET])
    path.write_text(f"{SECRET}-2\n{SECRET}\n")
    assert found.secrets() == ClusterSecrets([f"{SECRET}-2", SECRET])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        ("", "there is no secret in it"),
        ("short", "the secret has 5 bytes; 16 bytes or more are needed"),
        ("x" * 100_000, "larger than any secrets are"),
    ],
)
def test_a_file_without_a_secret_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
    assert said in problems(internal=":7000", cluster_secret_file=str(path))


def test_a_secret_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    text = f"cluster: {{secret: {SECRET}, secretFile: {tmp_path}/secret, peers: [node-1@127.0.0.1:1]}}"
    assert "cluster.secret is given as well" in problems(written(tmp_path, text))


@pytest.mark.parametrize("secret", ["short", f"{SECRET} with spaces", f"{SECRET},{SECRET}", "12345"])
def test_what_is_wrong_with_a_secret_is_said_without_showing_it(secret: str, tmp_path: Path) -> None:
    said = problems(written(tmp_path, f"cluster: {{secret: {json.dumps(secret)}, peers: [node-1@127.0.0.1:1]}}"))
    assert "cluster.secret" in said
    assert secret not in said
    with pytest.raises(WrongSettings) as error:
        in_environment(secret)
    assert "cluster.secret (GOQUEUE_CLUSTER_SECRET): " in error.value.problems[0]
    assert secret not in str(error.value)


def test_nothing_shows_a_secret(tmp_path: Path) -> None:
    text = f"cluster: {{secret: [{SECRET}, {SECRET}-2], peers: [node-1@127.0.0.1:1]}}"
    settings = gather_settings({}, written(tmp_path, text), {})
    served_ = serve_settings(settings)
    assert served_.cluster is not None
    assert served_.cluster.secrets() == ClusterSecrets([SECRET, f"{SECRET}-2"])
    shown = [each for each in settings.all() if each.key.name == "cluster.secret"]
    assert [(each.text, each.plain) for each in shown] == [("(not shown)", "(not shown)")]
    assert SECRET not in f"{served_!r} {settings.all()!r} {Given(SECRET, VARIABLE)!r}"
