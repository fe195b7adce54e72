"""`goqueue completion`: what a shell has to read once to complete commands, options and names of topics."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_GOQUEUE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options and names of topics.

    \b
    bash:  eval "$(goqueue completion bash)"                                  in ~/.bashrc
    zsh:   eval "$(goqueue completion zsh)"                                   in ~/.zshrc
    fish:  goqueue completion fish > ~/.config/fish/completions/goqueue.fish
    """  # noqa: D301 - click leaves alone what follows the character itself
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "goqueue", VARIABLE).source())
