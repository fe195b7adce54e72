"""Whose data folder it is: the node that it belongs to, an id of its own, and the cluster once that has a name.

A node among others is its folder. Under another name it would pass for somebody else's replicas, in another cluster for
a member that has lost all it had, and a copy of the folder for the original. So the folder says whose it is, in a file
that a person can read. One that belongs to a node alone needs none.

The id of the disk stands for what the node has voted and acknowledged: others count on that as long as the id is the
same. So the file must not outlive the metadata. A folder that was emptied but for this file is refused; emptied with
it, it gets another id, and the cluster knows that everything is gone.
"""

import json

from attrs import asdict, define, evolve

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.storage.disk import Disk
from goqueue.storage.layout import FormatError, read_file, replace_file

IDENTITY_FILE = "IDENTITY"
IDENTITY_VERSION = 1


@define
class Identity:
    """What the file says."""

    node_id: str
    # Drawn when the folder was made a node's.
    disk_id: str
    # Empty until the cluster has named itself.
    cluster_id: str = ""
    version: int = IDENTITY_VERSION


def claim_folder(disk: Disk, node_id: str, disk_id: str) -> Identity:
    """The identity of a node among others in its folder, which gets `disk_id` if it had none. Raises FormatError."""
    found = read_identity(disk)
    if found is None:
        found = Identity(node_id, disk_id)
        _write(disk, found)
    if found.node_id != node_id:
        raise FormatError(
            f"{IDENTITY_FILE}: the folder belongs to node {found.node_id}, and this node is {node_id}: start it with "
            f"--node-id {found.node_id}, or give {node_id} a --data-dir of its own"
        )
    if found.cluster_id and not disk.exists(METADATA_STREAM):
        raise FormatError(
            f"{IDENTITY_FILE}: node {node_id} has lost {METADATA_STREAM}, and with it what it has voted and "
            "acknowledged: remove everything in the data folder, this file too, start it, and run "
            f"goqueue cluster readmit {node_id}"
        )
    return found


def demand_alone(disk: Disk, node_id: str) -> None:
    """Make sure that a node may use the folder without others. Raises FormatError."""
    found = read_identity(disk)
    if found is not None and found.cluster_id:
        raise FormatError(
            f"{IDENTITY_FILE}: the folder belongs to node {found.node_id} of cluster {found.cluster_id}, and "
            f"{node_id} was told of no cluster: start it with --peers or --internal, as before"
        )


def name_cluster(disk: Disk, identity: Identity, cluster_id: str) -> Identity:
    """Note which cluster the folder belongs to, durably. Raises FormatError where it is another's."""
    if identity.cluster_id not in ("", cluster_id):
        raise FormatError(
            f"{IDENTITY_FILE}: the folder belongs to cluster {identity.cluster_id}, and its peers are cluster "
            f"{cluster_id}: start it with the peers of its own cluster, or with another --data-dir"
        )
    named = evolve(identity, cluster_id=cluster_id)
    if named != identity:
        _write(disk, named)
    return named


def read_identity(disk: Disk) -> Identity | None:
    """What the folder says of itself; None where it says nothing. Raises FormatError for what cannot be meant."""
    if not disk.exists(IDENTITY_FILE):
        return None
    content = read_file(disk, IDENTITY_FILE)
    try:
        found = json.loads(content)
        version = found["version"]
        if version > IDENTITY_VERSION:
            raise FormatError(f"{IDENTITY_FILE}: version {version} is newer than {IDENTITY_VERSION}, which is known")
        identity = Identity(found["node_id"], found["disk_id"], found["cluster_id"], version)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FormatError(f"{IDENTITY_FILE}: expected the identity of a node, found {content[:60]!r}") from None
    if not all(isinstance(text, str) for text in (identity.node_id, identity.disk_id, identity.cluster_id)):
        raise FormatError(f"{IDENTITY_FILE}: expected the identity of a node, found {content[:60]!r}")
    return identity


def _write(disk: Disk, identity: Identity) -> None:
    replace_file(disk, "", IDENTITY_FILE, json.dumps(asdict(identity), indent=2).encode() + b"\n")
