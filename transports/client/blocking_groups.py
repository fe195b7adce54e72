"""Consumer groups without a loop: what `groups.py` offers, with no `await`."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from goqueue.transports.client.blocking_loop import BlockingLoop
from goqueue.transports.client.groups import Group, GroupOffset, Groups, OffsetChange, Place, Rebalances
from goqueue.transports.client.settings import SettingGiven

# Within the class `list` is a method.
_GroupList: TypeAlias = list[Group]
_OffsetList: TypeAlias = list[GroupOffset]
_ChangeList: TypeAlias = list[OffsetChange]


class BlockingGroups:
    """See Groups."""

    def __init__(self, loop: BlockingLoop, groups: Groups) -> None:
        self._loop = loop
        self._groups = groups

    def list(self) -> _GroupList:
        """See Groups."""
        return self._loop.run(self._groups.list())

    def describe(self, group: str) -> Group:
        """See Groups."""
        return self._loop.run(self._groups.describe(group))

    def offsets(self, group: str, *topics: str) -> _OffsetList:
        """See Groups."""
        return self._loop.run(self._groups.offsets(group, *topics))

    def reset(
        self,
        group: str,
        topic: str,
        *,
        to: Place,
        partitions: int | Sequence[int] | None = None,
        dry_run: bool = False,
    ) -> _ChangeList:
        """See Groups."""
        return self._loop.run(self._groups.reset(group, topic, to=to, partitions=partitions, dry_run=dry_run))

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """See Groups."""
        self._loop.run(self._groups.commit(group, offsets))

    def alter(self, group: str, config: Mapping[str, SettingGiven]) -> Group:
        """See Groups."""
        return self._loop.run(self._groups.alter(group, config))

    def delete(self, group: str) -> None:
        """See Groups."""
        self._loop.run(self._groups.delete(group))

    def rebalances(self, group: str = "") -> Rebalances:
        """See Groups."""
        return self._loop.run(self._groups.rebalances(group))
