"""docs/cli.md, made of what `--help` says: `python -m goqueue.cli.reference > docs/cli.md`."""

import click

from goqueue.cli.main import Deferred, goqueue

WIDTH = 110
INTRODUCTION = """\
# The command line

What `--help` says, of every command; made by `python -m goqueue.cli.reference`, and a test says when it is out of date.

One address serves all: `--server`, or `GOQUEUE_SERVER`, as `host:port` or `https://host:port`, or a context
([configuration](configuration.md#contexts)) that names it. Over https the machine's certificates count; `SSL_CERT_FILE`
names others.

| exit status | when |
|---|---|
| 0 | it was done; also when whoever reads the output stops early, as `head` does |
| 1 | the broker refused, or the operation failed |
| 2 | the command line was wrong, or a file of settings |
| 3 | no broker could be reached |
| 130 | Ctrl-C |
| 143 | SIGTERM; as with Ctrl-C, a member of a group has left it before |

An error is one sentence on standard error; `goqueue --debug COMMAND` shows where it came from. What commands print with
`-o json` and `-o yaml` is for programs: fields keep their names and types, and new ones may be added.
"""


def reference() -> str:
    """The whole page."""
    sections = [INTRODUCTION]
    settings = {**goqueue.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    _describe(goqueue, click.Context(goqueue, info_name="goqueue", **settings), sections)
    return "\n".join(sections)


def _describe(command: click.Command, ctx: click.Context, sections: list[str]) -> None:
    sections.append(f"## {ctx.command_path}\n\n```\n{command.get_help(ctx)}\n```\n")
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        assert found is not None
        each = found.load() if isinstance(found, Deferred) else found
        below = click.Context(each, ctx, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
        if not each.hidden:
            _describe(each, below, sections)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
