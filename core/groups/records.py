"""The records of `__groups`: the last value of each key is the whole truth about it, and none at all is its end.

    key                                       value
    group/<group>                             GroupRecord, which holds its MemberRecords as bytes
    offset/<group>/<topic>/<partition>        OffsetRecord

Names of groups and topics hold no slash, so a key reads one way only. A member is bytes within its group's record so
that a change of one member spells one member: a group of a hundred would otherwise be spelled whole at every step.
"""

from attrs import define

from goqueue.core.codec.codec import Codec
from goqueue.core.errors import ProtocolError
from goqueue.core.requests.groups import GroupMode, Partitions


@define
class MemberRecord:
    """A member: what it reads, `owned` with the generation since which it has each partition, `target` it is to have.

    What is owned and no target is to be revoked. What is a target and not owned is on its way from somebody else.
    """

    member_id: str
    instance_id: str
    client_id: str
    topics: list[str]
    assignor: str
    session_timeout_ms: int
    eager: bool
    owned: dict[str, dict[int, int]]
    target: Partitions


@define
class GroupRecord:
    """A group; `config` is JSON text of the settings given, `emptied_ms` when the last member left, 0 with members.

    `lost` is the member that is gone with this record and has not said so, if it is one of these.
    """

    mode: GroupMode
    config: str
    generation: int
    emptied_ms: int
    members: list[bytes]
    lost: str = ""


@define
class OffsetRecord:
    """The next offset to be read, by whom of which generation it was committed, when, and in which topic of the name.

    Records of releases that did not say which topic have 0 there.
    """

    offset: int
    generation: int
    committed_ms: int
    topic_id: int = 0


GROUPS_CODEC = Codec({1: GroupRecord, 2: MemberRecord, 3: OffsetRecord}, version=3)


def group_key(group: str) -> bytes:
    """The key of a group."""
    return f"group/{group}".encode()


def offset_key(group: str, topic: str, partition: int) -> bytes:
    """The key of a committed offset."""
    return f"offset/{group}/{topic}/{partition}".encode()


def read_key(key: bytes) -> str | tuple[str, str, int]:
    """The group that a key is about, or the group, topic and partition; ProtocolError for any other key."""
    parts = key.decode(errors="replace").split("/")
    if len(parts) == 2 and parts[0] == "group":
        return parts[1]
    if len(parts) == 4 and parts[0] == "offset" and parts[3].isascii() and parts[3].isdigit() and len(parts[3]) < 10:
        return parts[1], parts[2], int(parts[3])
    raise ProtocolError(f"{key[:80]!r} is no key of a group or an offset")
