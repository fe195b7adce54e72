"""Who waits for whom, in a world that does not come to rest: for each request how far it has come, and why no further.

A request is followed from the client to the node that was asked, from there to the node that it was passed on to, and
in there to what holds it: a partition and who of those in sync lacks what, an entry of the metadata that is not agreed
on, a read of the disk, a room that keeps it. Before that comes what every node believes and how far it knows.

It is read from the nodes as they are, changes nothing, and is for people.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from goqueue.core.node import Node
from goqueue.core.requests.call import Call
from goqueue.core.routing.errands import Attempt
from goqueue.fuzz import insight
from goqueue.fuzz.history import Asked

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_REQUESTS_MAX = 12
_HOPS_MAX = 3


def who_waits(world: "World") -> list[str]:
    """Everything that waits at this moment, one line each."""
    lines = [*_nodes(world)]
    waiting = [asked for asked in world.history.open.values() if not asked.is_forgotten]
    waiting.sort(key=lambda asked: asked.at)
    for asked in waiting[:_REQUESTS_MAX]:
        lines.append(_request(world, asked))
        lines += [f"  {line}" for line in _inside(world, world.machine(asked.node_id), asked.to, _HOPS_MAX)]
    if len(waiting) > _REQUESTS_MAX:
        lines.append(f"and {len(waiting) - _REQUESTS_MAX} requests more")
    return lines


def _request(world: "World", asked: Asked) -> str:
    topic = getattr(asked.request, "topic", "") or getattr(asked.request, "name", "") or ""
    about = f" of {topic}" if topic else ""
    group = getattr(asked.request, "group", "")
    about += f" for group {group}" if group else ""
    span = f"{(world.now - asked.at) / 1e9:.1f} s"
    return f"{asked.client} waits for {span} for {asked.node_id} to answer {type(asked.request).__name__}{about}:"


# --- what nodes are and know


def _nodes(world: "World") -> Iterator[str]:
    for process in world.processes:
        node = process.node
        if node is None:
            yield f"{process.node_id} is down"
            continue
        if not node.has_metadata:
            yield f"{process.node_id} has not read its metadata yet"
            continue
        role, end, agreed, applied = insight.quorum_standing(node)
        knows = f"has entries to {end}, knows {agreed} to be agreed and has applied {applied}"
        office = f"is {role} in term {insight.term(node)} and {knows}" if len(world.processes) > 1 else knows
        still = f", and stands still until {process.still_until / 1e9:.1f} s" if process.still_until > world.now else ""
        yield f"{process.node_id} {office}{still}"
    if len(world.processes) > 1:
        yield from _placements(world)


def _placements(world: "World") -> Iterator[str]:
    """The partitions that are not as they should be."""
    for topic in world.sight.topics().values():
        for number, placed in topic.placements.items():
            lacking = [one for one in placed.replicas if one not in placed.isr]
            leader = world.machine(placed.leader)
            if placed.leader and not lacking and leader is not None and leader.node is not None:
                continue
            led = f"is led by {placed.leader} under epoch {placed.leader_epoch}" if placed.leader else "has no leader"
            without = f", and {', '.join(lacking)} is not in sync" if lacking else ""
            yield f"{topic.name}/{number} {led}{without}"
            if leader is not None and leader.node is not None:
                stream = topic.stream(number)
                yield from (f"  {line}" for line in insight.replication_of(leader.node, stream, lacking))


# --- where a request is


def _inside(world: "World", process: "Process | None", to: int, hops: int) -> list[str]:
    """What a node does about a request that it knows under a number."""
    if process is None or process.node is None:
        return ["which is down"]
    if process.has_in_inbox(to):
        return [f"{process.node_id} has not taken it in, its next turn is {_due(world, process)}"]
    call = insight.call_of(process.node, to)
    if call is None:
        return [f"{process.node_id} has nothing any more that is about it"]
    return _about(world, process, process.node, call, hops)


def _about(world: "World", process: "Process", node: Node, call: Call, hops: int) -> list[str]:
    """What a node does about a call."""
    found = [*_errand(world, process, node, call, hops)]
    found += [*insight.publishes_waiting(node, call)]
    found += [*insight.reads_waiting(node, call)]
    found += [*insight.changes_waiting(node, call)]
    if not found:
        found = [f"{process.node_id} keeps it in {place.lstrip('.')}" for place in insight.kept_in(node, call)]
    return found or [f"{process.node_id} has nothing any more that is about it"]


def _due(world: "World", process: "Process") -> str:
    due = process.turn_due
    return "never" if due is None else f"in {(due - world.now) / 1e6:.1f} ms"


def _errand(world: "World", process: "Process", node: Node, call: Call, hops: int) -> Iterator[str]:
    """Whom a node has asked on behalf of whoever asked it."""
    errand = insight.errand(node, call)
    if errand is None:
        return
    left_s = (errand.deadline - process.local_ns()) / 1e9
    if not errand.attempts:
        why = "nothing" if errand.refusal is None else errand.refusal.message
        yield f"{process.node_id} holds it, tries again until {left_s:.1f} s from here, and was told: {why}"
    for attempt in errand.attempts.values():
        if attempt.node == process.node_id:
            yield f"{process.node_id} carries it out itself, for {left_s:.1f} s more"
            yield from (f"  {line}" for line in _about(world, process, node, attempt.call, hops - 1) if hops)
        else:
            yield f"{process.node_id} has passed it on to {attempt.node}, and waits for {left_s:.1f} s more"
            yield from (f"  {line}" for line in _there(world, process, attempt, hops))


def _there(world: "World", process: "Process", attempt: Attempt, hops: int) -> list[str]:
    """What the node that was asked in turn does about it."""
    there = world.machine(attempt.node)
    if there is None or there.node is None:
        return [f"{attempt.node} is down"]
    if world.post.is_cut(process, there) or world.post.is_cut(there, process):
        return [f"{process.node_id} and {attempt.node} do not hear each other"]
    assert process.node is not None
    number = insight.number_sent(process.node, attempt)
    taken = insight.taken_from(there.node, process.node, number)
    if taken is None:
        return [f"{attempt.node} knows nothing of it"]
    return _about(world, there, there.node, taken, hops - 1) if hops else []
