"""Settings that a node did not have when it was captured, put into one that was made from its snapshot.

A setting is named by what it is set on: `topic.orders.max_attempts`, `group.billing.visibility_timeout`, or a
`node.…` one of `NODE_SETTINGS`; `*` in the place of a name means all of them. What is agreed in the captured cluster is
not disturbed: the node acts by other settings than it was told, and writes those that it was told, so that no record is
longer or shorter than it was. Whoever replays looks again whenever something was told, since a captured change of the
same topic or group brings others.

Reaches into a node by field, as a snapshot does: there is no verb by which a broker could be told to disagree.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from attrs import define, field

from goqueue.core.cluster.topic_settings import SETTINGS, settings_problems
from goqueue.core.errors import GoQueueError
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.settings import DEFAULTS, setting_problem
from goqueue.core.groups.state import Group
from goqueue.core.node import Node

ALL = "*"
_Named = TypeVar("_Named")


class UnknownAlteration(GoQueueError):
    """A setting that no node has, or a value that it does not take."""


def _groups_of(node: Node) -> Iterator[GroupLeader]:
    return (room for room in node._services.services if isinstance(room, GroupLeader))


def _set_recent_bytes(node: Node, value: int) -> None:
    node.options.recent_bytes = node._recent.bytes_max = value


def _set_session_timeout(node: Node, value: int) -> None:
    node.options.session_timeout_ms = value
    for room in _groups_of(node):
        room._session_timeout_ms = value


def _set_replica_lag(node: Node, value: int) -> None:
    assert node.options.cluster is not None
    node.options.cluster.replica_lag_ns = value * 1_000_000


def _set_request_timeout(node: Node, value: int) -> None:
    assert node.options.cluster is not None
    node.options.cluster.request_ns = value * 1_000_000


NODE_SETTINGS: Final[dict[str, Callable[[Node, int], None]]] = {
    "recent_bytes": _set_recent_bytes,
    "session_timeout_ms": _set_session_timeout,
    "replica_lag_ms": _set_replica_lag,
    "request_timeout_ms": _set_request_timeout,
}


# These are of nodes that are in a cluster.
CLUSTER_SETTINGS: Final = ("replica_lag_ms", "request_timeout_ms")


class _Overlaid(dict[str, Any]):
    """Settings as they were agreed, which answer for some keys with what was not agreed."""

    def __init__(self, agreed: Mapping[str, Any], given: dict[str, Any]) -> None:
        super().__init__(agreed)
        self._given = given

    def get(self, key: str, default: Any = None) -> Any:
        """What a key is to be."""
        return self._given.get(key, super().get(key, default))


@define
class Alterations:
    """Settings by name, `*` among the names, as they are to be; nothing is changed where there are none."""

    topics: dict[str, dict[str, Any]] = field(factory=dict)
    groups: dict[str, dict[str, Any]] = field(factory=dict)
    node: dict[str, int] = field(factory=dict)
    # Of what was to be changed, by kind and name, what there was in the node.
    met: set[str] = field(factory=set)

    def __bool__(self) -> bool:
        return bool(self.topics or self.groups or self.node)

    def begin(self, node: Node) -> None:
        """Put them into a node that was just made from its snapshot."""
        for key, value in self.node.items():
            if key not in CLUSTER_SETTINGS or node.options.cluster is not None:
                NODE_SETTINGS[key](node, value)
                self.met.add(f"node.{key}")
        self.hold(node)

    def hold(self, node: Node) -> None:
        """Put them back where something that the node was told has undone them."""
        if self.topics:
            self._hold_topics(node)
        if self.groups:
            for room in _groups_of(node):
                self._hold_groups(node, room.known)

    def _hold_topics(self, node: Node) -> None:
        for topic, given in self._meant("topic", self.topics, node._agreement.state.topics):
            if any(topic.config.get(key) != value for key, value in given.items()):
                topic.config = _Overlaid(topic.config, given)
                leader = node.led.topics.get(topic.name)
                if leader is not None:
                    node._leading._alter(leader, topic)

    def _hold_groups(self, node: Node, known: Mapping[str, Group]) -> None:
        for group, given in self._meant("group", self.groups, known):
            if any(group.config.get(key) != value for key, value in given.items()):
                # Every later state of the group goes on with this mapping.
                group.config = _Overlaid(group.config, given)
                node._services.topics_changed()

    def _meant(
        self, kind: str, settings: dict[str, dict[str, Any]], known: Mapping[str, _Named]
    ) -> Iterator[tuple[_Named, dict[str, Any]]]:
        """What is known by the names of some settings, each with all that it is given."""
        for name in known if ALL in settings else settings:
            if name in known:
                self.met.add(f"{kind}.{name if name in settings else ALL}")
                yield known[name], settings.get(ALL, {}) | settings.get(name, {})


def whose(name: str) -> str:
    """Of what a setting is, by the name that `met` has for it."""
    return name if name.startswith("node.") else name.rpartition(".")[0]


def known_names() -> list[str]:
    """Every name under which something can be set."""
    topics = [f"topic.NAME.{key}" for key in SETTINGS]
    groups = [f"group.NAME.{key}" for key in DEFAULTS]
    return [*topics, *groups, *(f"node.{key}" for key in NODE_SETTINGS)]


def parse_alterations(settings: Mapping[str, str]) -> Alterations:
    """Settings by their full names. Raises UnknownAlteration."""
    parsed = Alterations()
    for name, text in settings.items():
        kind, _, rest = name.partition(".")
        owner, _, key = rest.rpartition(".")
        if kind == "node" and rest in NODE_SETTINGS:
            parsed.node[rest] = _whole(name, text)
        elif kind == "topic" and owner:
            parsed.topics.setdefault(owner, {})[key] = _accepted(name, key, text, _topic_problem)
        elif kind == "group" and owner:
            parsed.groups.setdefault(owner, {})[key] = _accepted(name, key, text, _group_problem)
        else:
            known = ", ".join(f"node.{one}" for one in NODE_SETTINGS)
            raise UnknownAlteration(f"{name} cannot be altered; topic.NAME.KEY, group.NAME.KEY, {known} can")
    return parsed


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 19):
        raise UnknownAlteration(f"{name}: expected a whole number, found {text!r}")
    return int(text)


def _accepted(name: str, key: str, text: str, problem: Callable[[str, object], str]) -> object:
    """The value that a text stands for: the number or the truth that it spells where that is taken, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, bool | int | float) and not problem(key, value):
        return value
    if why := problem(key, text):
        raise UnknownAlteration(f"{name}: {why}")
    return text


def _topic_problem(key: str, value: object) -> str:
    return settings_problems({key: value}).get(key, "")


def _group_problem(key: str, value: object) -> str:
    found = setting_problem({key: value})
    return "" if found is None else found[1]
