"""The pages of docs/cli, made of what `--help` says: `python -m goqueue.cli.reference docs/cli`.

Each command of `goqueue` has a page with all its subcommands, and README.md lists every one in a line. A page says what
is its own: the options that many commands share (which broker is meant) are on README.md alone, and each command
links there. What a command does is said in its module, so whoever wants another page changes the help.

With `--check` nothing is written; the exit status is 1 where a page differs, is missing or is one too many.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent, fill

import click
from attrs import define

from goqueue.cli.contexts import CONTEXT_VARIABLE
from goqueue.cli.main import Deferred, goqueue
from goqueue.cli.server import VARIABLE

INDEX = "README.md"
# Who has these variables has the options of every command that speaks to a broker.
_SHARED = {VARIABLE: "--server", CONTEXT_VARIABLE: "--context"}
_SUMMARY_LETTERS_MAX = 200
_LINE_LETTERS_MAX = 120
# A paragraph that begins with it is one that click prints as it stands.
_UNWRAPPED = "\b"
_INTRODUCTION = """\
# The command line

A page for each command of `goqueue`, with what `--help` says. The [tutorial](../tutorial.md) and the
[recipes](../recipes.md) show commands at work. `python -m goqueue.cli.reference docs/cli` makes these pages, and a test
says when one is out of date.

## Which broker

One address serves all, REST and gRPC: `--server`, or `GOQUEUE_SERVER`, or a [context](../configuration.md#contexts)
that names it. Over https the machine's certificates count; `SSL_CERT_FILE` names others.

{shared}

## Exit status

| status | when |
|---|---|
| 0 | it was done; also when whoever reads the output stops early, as `head` does |
| 1 | the broker refused, or the operation failed |
| 2 | the command line was wrong, or a file of settings |
| 3 | no broker could be reached |
| 130 | Ctrl-C |
| 143 | SIGTERM; as with Ctrl-C, a member of a group has left it before |

An error is one sentence on standard error; `goqueue --debug COMMAND` shows where it came from. What commands print with
`-o json` and `-o yaml` is for programs: fields keep their names and types, and new ones may be added.

## Commands

`-h` and `--help` of any of them print what these pages say of it. Options of `goqueue` itself stand before the command:

{own}

| command | what it does |
|---|---|
{commands}
"""


@define
class Named:
    """A command and the context that names it."""

    command: click.Command
    ctx: click.Context

    @property
    def path(self) -> str:
        """What is typed."""
        return self.ctx.command_path

    @property
    def summary(self) -> str:
        """One line about it."""
        return _prose(self.command.get_short_help_str(_SUMMARY_LETTERS_MAX))

    def below(self) -> Iterator["Named"]:
        """Its subcommands, in the order of its help."""
        if not isinstance(self.command, click.Group):
            return
        for name in self.command.list_commands(self.ctx):
            found = self.command.get_command(self.ctx, name)
            assert found is not None
            each = found.load() if isinstance(found, Deferred) else found
            if not each.hidden:
                yield Named(each, click.Context(each, self.ctx, info_name=name))

    def options(self) -> list[click.Option]:
        """What may be given besides the arguments, without what every command has."""
        found = [each for each in self.command.get_params(self.ctx) if isinstance(each, click.Option)]
        return [each for each in found if not each.hidden and "--help" not in each.opts]


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    root = Named(goqueue, click.Context(goqueue, info_name="goqueue", **goqueue.context_settings))
    top = list(root.below())
    rows = [row for each in top for row in _index_rows(each, _file(each))]
    shared: dict[str, click.Option] = {}
    found = {_file(each): "\n\n".join(_page(each, shared)) + "\n" for each in top}
    table, own = _table([shared[name] for name in _SHARED.values()], root.ctx), _table(root.options(), root.ctx)
    return {INDEX: _INTRODUCTION.format(shared=table, own=own, commands="\n".join(rows)), **found}


def _file(named: Named) -> str:
    return f"{named.ctx.info_name}.md"


def _index_rows(named: Named, file: str) -> Iterator[str]:
    link = file if file == _file(named) else f"{file}#{_anchor(named)}"
    yield f"| [`{named.path}`]({link}) | {_cell(named.summary)} |"
    for each in named.below():
        yield from _index_rows(each, file)


def _anchor(named: Named) -> str:
    return named.path.replace(" ", "-")


# --- a page


def _page(named: Named, shared: dict[str, click.Option], level: int = 1) -> Iterator[str]:
    """What there is to say of a command, and then of those below it, block by block."""
    yield f"{'#' * level} {named.path}"
    below, options = list(named.below()), named.options()
    own = [each for each in options if each.envvar not in _SHARED]
    if own or not below:
        usage = " ".join([named.path, *named.command.collect_usage_pieces(named.ctx)])
        yield f"```\n{usage}\n```"
    yield from _help(named.command.help or "")
    if below:
        rows = [f"| [`{each.ctx.info_name}`](#{_anchor(each)}) | {_cell(each.summary)} |" for each in below]
        yield "\n".join(["| command | what it does |", "|---|---|", *rows])
    if own:
        yield _table(own, named.ctx)
    if len(own) < len(options):
        shared |= {each.opts[0]: each for each in options if each not in own}
        yield f"`--server` and `--context` say [which broker]({INDEX}#which-broker) is meant."
    for each in below:
        yield from _page(each, shared, level=2)


def _help(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those that click leaves as they are become blocks of code."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        lines = paragraph.splitlines()
        if lines[0].strip() == _UNWRAPPED:
            yield from _unwrapped(lines[1:])
        else:
            yield _filled(paragraph)


def _unwrapped(lines: list[str]) -> Iterator[str]:
    """Prose as far as it is not indented, and code as far as it is; code alone where nothing is indented."""
    is_code = [line.startswith(" ") for line in lines]
    if not any(is_code):
        is_code = [True] * len(lines)
    at = 0
    while at < len(lines):
        begun = at
        while at < len(lines) and is_code[at] == is_code[begun]:
            at += 1
        part = "\n".join(lines[begun:at])
        yield f"```\n{dedent(part)}\n```" if is_code[begun] else _filled(part)


def _table(options: list[click.Option], ctx: click.Context) -> str:
    """Options with what they mean; a column for defaults and one for variables where there are any."""
    columns: dict[str, list[str]] = {"option": [], "what it does": [], "default": [], "variable": []}
    for option in options:
        record = option.get_help_record(ctx)
        assert record is not None
        extra: Mapping[str, object] = option.get_help_extra(ctx)
        text, default = _apart(option.help or "", str(extra.get("default", "")))
        meant = _prose(text)
        if "range" in extra:
            meant += f" `{extra['range']}`"
        if "required" in extra:
            meant += " Required."
        variables = extra.get("envvars", ())
        assert isinstance(variables, tuple)
        columns["option"].append(f"`{record[0].replace(' RANGE', '')}`")
        columns["what it does"].append(meant)
        columns["default"].append(_default(default))
        columns["variable"].append(" ".join(f"`{each}`" for each in variables))
    kept = [name for name, cells in columns.items() if any(cells)]
    rows = zip(*(columns[name] for name in kept), strict=True)
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(kept) + " |", "|" + "---|" * len(kept), *lines])


def _apart(text: str, default: str) -> tuple[str, str]:
    """A help text without the default that it names in words at its end."""
    match = re.fullmatch(r"(.*?)\s*\[default: (.*)\]", text, re.DOTALL)
    return (match[1], match[2]) if match else (text, default)


def _default(text: str) -> str:
    """Words as words, and values as what is typed."""
    return _prose(text) if " " in text or text.startswith("(") else f"`{text}`" if text else ""


# --- text


def _prose(text: str) -> str:
    """Plain text as Markdown: options become code, and nothing is taken for a sign of Markdown."""
    parts = " ".join(text.split()).split("`")
    for at in range(0, len(parts), 2):
        escaped = re.sub(r"([*<])", r"\\\1", parts[at])
        parts[at] = re.sub(r"(?<![\w`/-])(--?[A-Za-z][\w-]*)", r"`\1`", escaped)
    return "`".join(parts)


def _filled(text: str) -> str:
    return fill(_prose(text), _LINE_LETTERS_MAX, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- the files


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; say which pages are out of date.")
def write(folder: Path, check: bool) -> None:
    """Write the pages of the command line into FOLDER, and remove those that nothing makes any more."""
    wanted = pages()
    there = {path.name: path.read_text() for path in folder.glob("*.md")}
    differing = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    if check:
        click.echo("".join(f"{folder / name} is out of date\n" for name in differing), nl=False)
        sys.exit(1 if differing else 0)
    for name in differing:
        if name in wanted:
            (folder / name).write_text(wanted[name])
        else:
            (folder / name).unlink()


if __name__ == "__main__":
    write()
