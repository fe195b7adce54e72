"""`goqueue cluster`: nodes and how they are, and what operators do with them, by the broker's REST interface.

Any node of a cluster answers for all. What the tables look like is `cluster_tables.py`; moves of partitions are
followed in `moves.py`; the cluster for people to try is `cluster_demo.py`.
"""

import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from goqueue.cli.changes import confirm
from goqueue.cli.cluster_tables import print_cluster, print_health, print_moves, print_nodes
from goqueue.cli.endings import FAILED
from goqueue.cli.moves import MOVES_PATH, begin_moves, follow, planned, take_back
from goqueue.cli.output import counted, form_option, print_structure
from goqueue.cli.server import Server, ask, complete_names, server_option, topic_argument


class _Lazy(click.Group):
    """A group with one command that lives elsewhere and is imported when it is wanted."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click.Group."""
        if cmd_name == "demo":
            from goqueue.cli.cluster_demo import demo

            return demo
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click.Group; in the order in which they are worth reading."""
        return [*self.commands, "demo"]


def node_path(node: str, rest: str = "") -> str:
    """The path of a node."""
    return f"/v1/admin/nodes/{quote(node, safe='')}{rest}"


def complete_node(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Nodes whose names begin so, for the shell; none if no broker says any."""
    return complete_names(ctx, "admin/cluster", "node_id", incomplete, "nodes")


_node = click.argument("node", shell_complete=complete_node)


@click.group(cls=_Lazy)
def cluster() -> None:
    """Nodes of a cluster: how they are, who leads, and where partitions are."""


@cluster.command("info")
@form_option
@server_option
def overview(form: str, server: Server) -> None:
    """Show the cluster: its controller, its nodes, and partitions that lack something."""
    found = ask(server, "GET", "/v1/admin/cluster")
    if form == "table":
        print_cluster(found)
    else:
        print_structure(form, found)


@cluster.command()
@form_option
@server_option
def nodes(form: str, server: Server) -> None:
    """List the nodes."""
    found = ask(server, "GET", "/v1/admin/cluster")["nodes"]
    if form == "table":
        print_nodes(found)
    else:
        print_structure(form, found)


@cluster.command()
@form_option
@server_option
def health(form: str, server: Server) -> None:
    """Say whether all is well; the exit status is 1 if it is not."""
    found = ask(server, "GET", "/v1/admin/health", taken=(503,))
    if form == "table":
        print_health(found)
    else:
        print_structure(form, found)
    if found["status"] != "ok":
        sys.exit(FAILED)


@cluster.command()
@_node
@form_option
@server_option
def drain(node: str, form: str, server: Server) -> None:
    """Let NODE lead nothing, as before a repair; it keeps its replicas, and others lead what it led."""
    found = ask(server, "POST", node_path(node, "/drain"))
    _tell(form, found, f"{node} drains and leads {counted(found['leaders_left'], 'partition')}")


@cluster.command()
@_node
@form_option
@server_option
def undrain(node: str, form: str, server: Server) -> None:
    """Let NODE lead again."""
    found = ask(server, "DELETE", node_path(node, "/drain"))
    _tell(form, found, f"{node} may lead again")


@cluster.command()
@_node
@click.option("--accept-loss", is_flag=True, help="What only that node had may be lost.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def forget(node: str, accept_loss: bool, yes: bool, form: str, server: Server) -> None:
    """Give up NODE, which is dead and will not come back: its replicas go to others."""
    if not yes:
        confirm(f"Forget {node}?", "forget the node", f"{node} was not forgotten")
    found = ask(server, "DELETE", node_path(node, f"?accept_loss={'true' if accept_loss else 'false'}"))
    _tell(form, found, f"{node} is no part of the cluster any more")


@cluster.command()
@_node
@click.option("--accept-loss", is_flag=True, help="What only that node had may be lost.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def readmit(node: str, accept_loss: bool, yes: bool, form: str, server: Server) -> None:
    """Let NODE, which has lost its data folder, come back with an empty one: it copies its replicas from others."""
    if not yes:
        confirm(f"Give up the old data folder of {node}?", "give it up", f"{node} was not readmitted")
    found = ask(server, "POST", node_path(node, f"/readmit?accept_loss={'true' if accept_loss else 'false'}"))
    _tell(form, found, f"{node} may come back with an empty data folder")


@cluster.command()
@click.argument("topic", required=False, default="")
@click.option("-p", "--partition", type=click.IntRange(min=0), help="Only this partition of it.")
@click.option("--unclean", is_flag=True, help="Let a replica lead that may lack acknowledged messages.")
@click.option("--node", default="", help="With --unclean: which replica; else who seems best.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def elect(topic: str, partition: int | None, unclean: bool, node: str, yes: bool, form: str, server: Server) -> None:
    """Let first replicas lead where they are in sync: of TOPIC, of one partition as TOPIC/NUMBER, or everywhere.

    With --unclean, let a replica lead a partition that nobody leads, though it may lack acknowledged messages.
    """
    name, slash, number = topic.partition("/")
    if slash and (partition is not None or not number.isdecimal()):
        raise click.UsageError("say which partition once, as in orders/0 or orders -p 0")
    body: dict[str, Any] = {"topic": name}
    if slash or partition is not None:
        body["partition"] = int(number) if slash else partition
    if not unclean:
        if node:
            raise click.UsageError("--node goes with --unclean")
        found = ask(server, "POST", "/v1/admin/elections", body)
        _tell(form, found, f"{counted(found['left'], 'partition')} left that others lead")
        return
    if "partition" not in body:
        raise click.UsageError("--unclean goes with one partition, as in orders/0")
    where = f"{name}/{body['partition']}"
    if not yes:
        question = f"Messages of {where} that were acknowledged may be lost for good. Elect a leader all the same?"
        confirm(question, "elect a leader that may lack messages", f"nobody was elected to lead {where}")
    found = ask(server, "POST", "/v1/admin/elections", {**body, "unclean": True, "node": node})
    _tell(form, found, f"{found['leader']} leads {where}")


@cluster.command()
@topic_argument
@click.option("-p", "--partition", "partitions", multiple=True, type=click.IntRange(min=0), help="Only these.")
@click.option("--to", "nodes", metavar="NODES", help="Where they are to be, as in n1,n2,n3; the first leads.")
@click.option("--cancel", is_flag=True, help="Take back the moves that are under way.")
@click.option("--no-wait", is_flag=True, help="Do not wait for them to be done.")
@form_option
@server_option
def reassign(
    topic: str,
    partitions: tuple[int, ...],
    nodes: str | None,
    cancel: bool,
    no_wait: bool,
    form: str,
    server: Server,
) -> None:
    """Move partitions of TOPIC to other nodes: copied first, then led there, then dropped where they were.

    Where there are more partitions than one, each begins the list of NODES one further on, so that all of them lead.
    """
    if cancel == (nodes is not None):
        raise click.UsageError("say where to by --to, or take it back by --cancel")
    if cancel:
        ended = take_back(server, topic, partitions)
        _tell(form, {"cancelled": ended}, f"took back {counted(len(ended), 'move')}")
        return
    assert nodes is not None
    found = begin_moves(server, planned(server, topic, partitions, nodes))
    if not no_wait:
        follow(server, found)
        _tell(form, {**found, "reassignments": []}, f"{topic} is where it is to be")
    else:
        _tell(form, found, f"moving: {found['id']}; look at it with goqueue cluster moves")


@cluster.command()
@form_option
@server_option
def moves(form: str, server: Server) -> None:
    """List moves of partitions that are under way."""
    found = ask(server, "GET", MOVES_PATH)["reassignments"]
    if form == "table":
        print_moves(found)
    else:
        print_structure(form, found)


def _tell(form: str, found: Mapping[str, Any], sentence: str) -> None:
    if form == "table":
        click.echo(sentence)
    else:
        print_structure(form, found)
