"""The settings that are flags of `goqueue serve`, as click knows them, and what click found out about them."""

import os

import click
from click.core import ParameterSource

from goqueue.cli.settings.keys import FLAGGED, HIDDEN
from goqueue.cli.settings.sources import FLAG, VARIABLE, Given

CONFIG_VARIABLE = "GOQUEUE_CONFIG"


def flag_options(*, are_hidden: bool = False) -> list[click.Parameter]:
    """The options; what their values may be is decided by their keys and not by click."""
    return [
        click.Option(
            [f"--{key.flag}"],
            envvar=key.variable,
            is_flag=False,
            flag_value=key.bare or None,
            default=key.default,
            help=key.meaning,
            hidden=are_hidden,
            show_default=bool(key.default),
            show_envvar=True,
            metavar="[on|off]" if key.bare else "TEXT",
        )
        for key in FLAGGED
    ]


def given_flags(ctx: click.Context) -> dict[str, Given]:
    """What the command line or the environment says, by key."""
    given: dict[str, Given] = {}
    for key in FLAGGED:
        source = ctx.get_parameter_source(key.option)
        if source in {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}:
            is_typed = source is ParameterSource.COMMANDLINE
            given[key.name] = Given(ctx.params[key.option], FLAG if is_typed else VARIABLE)
    for key in HIDDEN:
        if os.environ.get(key.variable):
            given[key.name] = Given(os.environ[key.variable], VARIABLE)
    return given
