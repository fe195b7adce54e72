"""A data folder says whose it is, and nobody else gets to use it."""

from random import Random

import pytest

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.storage.disk import Disk
from goqueue.storage.identity import (
    IDENTITY_FILE,
    Identity,
    claim_folder,
    demand_alone,
    name_cluster,
    read_identity,
)
from goqueue.storage.layout import FormatError, read_file, replace_file
from goqueue.storage.simulated import SimulatedDisk


def folder() -> Disk:
    return SimulatedDisk(Random(1))


def test_a_folder_keeps_the_id_that_it_was_given_first() -> None:
    disk = folder()
    assert claim_folder(disk, "a", "first") == Identity("a", "first")
    assert claim_folder(disk, "a", "second") == Identity("a", "first")


def test_another_node_is_refused_with_what_to_do() -> None:
    disk = folder()
    claim_folder(disk, "a", "first")
    with pytest.raises(FormatError, match="belongs to node a, and this node is b: start it with --node-id a"):
        claim_folder(disk, "b", "second")


def test_the_cluster_is_noted_once_and_another_is_refused() -> None:
    disk = folder()
    named = name_cluster(disk, claim_folder(disk, "a", "first"), "one")
    disk.make_folder(METADATA_STREAM)
    assert claim_folder(disk, "a", "x") == named == Identity("a", "first", "one")
    assert name_cluster(disk, named, "one") == named
    with pytest.raises(FormatError, match="belongs to cluster one, and its peers are cluster two"):
        name_cluster(disk, named, "two")


def test_a_folder_that_lost_its_metadata_does_not_pass_for_what_it_was() -> None:
    disk = folder()
    name_cluster(disk, claim_folder(disk, "a", "first"), "one")
    with pytest.raises(FormatError, match="goqueue cluster readmit a"):
        claim_folder(disk, "a", "second")
    disk.remove(IDENTITY_FILE)
    assert claim_folder(disk, "a", "second") == Identity("a", "second")


def test_a_node_alone_needs_no_identity_and_may_not_use_the_folder_of_a_cluster() -> None:
    disk = folder()
    demand_alone(disk, "a")
    assert read_identity(disk) is None
    identity = claim_folder(disk, "a", "first")
    demand_alone(disk, "a")
    name_cluster(disk, identity, "one")
    with pytest.raises(FormatError, match="node a of cluster one, and a was told of no cluster"):
        demand_alone(disk, "a")


def test_it_outlives_a_crash() -> None:
    disk = SimulatedDisk(Random(1))
    claimed = claim_folder(disk, "a", "first")
    disk.crash()
    assert read_identity(disk) == claimed


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[]", b"7", b'"a"', b"\xff", b'{"version": 1, "node_id": 3, "disk_id": "", "cluster_id": ""}',
        b'{"version": "x", "node_id": "a", "disk_id": "", "cluster_id": ""}', b"[" * 9000,
    ],
)  # fmt: skip
def test_what_is_no_identity_is_refused(content: bytes) -> None:
    disk = folder()
    replace_file(disk, "", IDENTITY_FILE, content)
    with pytest.raises(FormatError, match="expected the identity of a node"):
        read_identity(disk)


def test_one_of_a_newer_release_is_refused() -> None:
    disk = folder()
    claim_folder(disk, "a", "first")
    newer = read_file(disk, IDENTITY_FILE).replace(b'"version": 1', b'"version": 2')
    replace_file(disk, "", IDENTITY_FILE, newer)
    with pytest.raises(FormatError, match="version 2 is newer"):
        claim_folder(disk, "a", "first")
