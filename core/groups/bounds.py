"""How much is kept of groups, whoever makes them: names are chosen by clients, and cost nothing to choose.

Groups and offsets stay when nobody uses them, so both have a bound over all groups, besides the time after which they
are forgotten (`expiries`). So have members and the topics that they read, of which each is kept with its name.
"""

from attrs import define

from goqueue.core.requests.refusals import Code, Refusal

DAY_MS = 24 * 3_600_000
# Partitions that a commit may name.
COMMIT_MAX = 100_000
# Members of one group, and topics of one member.
MEMBERS_MAX = 1_000
TOPICS_MAX = 1_000
# The same over all groups.
ALL_MEMBERS_MAX = 100_000
ALL_TOPICS_MAX = 1_000_000
RETENTION_MS_MAX = 36_500 * DAY_MS


@define
class GroupBounds:
    """What an operator chooses: how many groups and offsets are kept, and how long after nobody uses them any more."""

    groups: int = 10_000
    offsets: int = 1_000_000
    retention_ms: int = 7 * DAY_MS


def groups_refusal(bounds: GroupBounds) -> Refusal:
    """Refuse a further group: the node keeps as many as it may."""
    message = f"there are {bounds.groups} groups already (groups.max); delete those that nobody uses"
    return Refusal(Code.QUOTA_EXCEEDED, message, "group")


def offsets_refusal(bounds: GroupBounds, name: str) -> Refusal:
    """Refuse an offset of a further partition; `name` is the field that the refusal names."""
    message = f"{bounds.offsets} offsets are kept already (groups.maxOffsets); delete groups that nobody uses"
    return Refusal(Code.QUOTA_EXCEEDED, message, name)


def members_refusal(group: str, count: int, of_all: int, topics: int) -> Refusal | None:
    """Refuse a further member when the group, all groups or the topics that members read have reached a bound."""
    if count >= MEMBERS_MAX:
        return Refusal(Code.QUOTA_EXCEEDED, f"group {group} has {MEMBERS_MAX} members already", "group")
    if of_all >= ALL_MEMBERS_MAX:
        message = f"all groups have {ALL_MEMBERS_MAX} members already"
        return Refusal(Code.QUOTA_EXCEEDED, message, "group", retry_after_ms=30_000)
    return topics_refusal(topics)


def topics_refusal(topics: int) -> Refusal | None:
    """Refuse when the members of all groups would read too many topics."""
    if topics <= ALL_TOPICS_MAX:
        return None
    message = f"the members of all groups would read more than {ALL_TOPICS_MAX} topics, each counted for itself"
    return Refusal(Code.QUOTA_EXCEEDED, message, "topics", retry_after_ms=30_000)
