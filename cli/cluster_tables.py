"""Clusters as tables for people, out of what the broker's REST interface answers."""

from typing import Any

import click

from goqueue.cli.output import counted, print_table

NONE = "-"
# Of how many partitions without a leader is said why.
_EXPLAINED_MAX = 5


def print_cluster(found: dict[str, Any]) -> None:
    """A cluster: what it is, how its partitions are, its nodes."""
    name = found["cluster_id"] or "of one node"
    controller = f"controller {found['controller']}, term {found['epoch']}" if found["controller"] else "no controller"
    click.echo(f"cluster {name}: {controller}, {counted(len(found['voters']), 'voter')}")
    lacking, leaderless = found["under_replicated_count"], found["offline_count"]
    moving = f", {found['reassigning']} under way to other nodes" if found["reassigning"] else ""
    click.echo(
        f"{counted(found['topics'], 'topic')}, {counted(found['partitions'], 'partition')}: "
        f"{lacking} without a replica, {leaderless} without a leader{moving}\n"
    )
    print_nodes(found["nodes"])
    for titled, places in (("without a leader", found["offline"]), ("lacking a replica", found["under_replicated"])):
        if places:
            click.echo(f"\n{titled}: " + ", ".join(f"{each['topic']}-{each['partition']}" for each in places))
    for each in found["offline"][:_EXPLAINED_MAX]:
        click.echo(f"  {each['why']}")


def print_nodes(nodes: list[dict[str, Any]]) -> None:
    """Nodes, a line each."""
    rows = [
        [
            each["node_id"],
            each["standing"] if each["healthy"] or each["standing"] == "dead" else f"{each['standing']}, late",
            _part(each),
            each["rack"] or NONE,
            each["leaders"],
            each["replicas"],
            each["in_sync"],
            each["http"] or NONE,
            each["internal"] or NONE,
            each["version"] or NONE,
        ]
        for each in nodes
    ]
    titles = ("NODE", "STANDING", "PART", "RACK", "LEADS", "REPLICAS", "IN SYNC", "HTTP", "PEERS", "RELEASE")
    print_table(titles, rows)


def _part(node: dict[str, Any]) -> str:
    if node["is_controller"]:
        return "controller"
    return "voter" if node["is_voter"] else "observer"


def print_health(found: dict[str, Any]) -> None:
    """Whether all is well, and what is not."""
    healthy, total = found["nodes_healthy"], found["nodes_total"]
    click.echo(f"{found['status']}: {healthy} of {counted(total, 'node')} there")
    for problem in found["problems"]:
        click.echo(f"  {problem}")


def print_moves(moves: list[dict[str, Any]]) -> None:
    """Moves of partitions, a line each."""
    rows = [
        [
            each["topic"],
            each["partition"],
            each["leader"] or NONE,
            each["adding"] or NONE,
            each["removing"] or NONE,
            each["in_sync"],
            f"{each['progress']:.0%}",
        ]
        for each in moves
    ]
    print_table(("TOPIC", "PARTITION", "LEADER", "ADDING", "REMOVING", "IN SYNC", "COPIED"), rows)
