"""`tagwire completion`: what makes a shell complete the words of `tagwire`."""

import click
from click.shell_completion import get_completion_class

from tagwire.errors import TagwireError
from tagwire_cli.output.echo import say

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, messages, versions, rules and formats.

    Where the shell finds it by itself, it is read once a session; the script
    then asks `tagwire` at each Tab, so that it knows the messages of the project
    that you are in. It needs bash 4.4, any zsh or any fish.

    \b
    Examples:
      tagwire completion bash > ~/.local/share/bash-completion/completions/tagwire
      tagwire completion zsh > ~/.zfunc/_tagwire      with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
      tagwire completion fish > ~/.config/fish/completions/tagwire.fish
      eval "$(tagwire completion bash)"               for this session alone
    """
    cls = get_completion_class(shell)
    if cls is None:  # a click that knows fewer shells than ours does
        raise TagwireError(f"the installed click has no completion for {shell}; a newer one has")
    root = ctx.find_root()
    # The name that users have in their PATH, whatever this process was started as.
    say(cls(root.command, {}, "tagwire", "_TAGWIRE_COMPLETE").source(), lines=True)
