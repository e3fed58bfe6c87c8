"""The commands about `tagwire` itself: its help, its engine, and completion scripts for shells."""

from collections.abc import Sequence

import click
from click.shell_completion import get_completion_class

import tagwire
from tagwire.errors import TagwireError
from tagwire_cli.output.echo import say


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND...]")
@click.pass_context
def help(ctx: click.Context, names: Sequence[str]) -> None:
    """Print the help of COMMAND, or of tagwire itself.

    \b
    Examples:
      tagwire help
      tagwire help decode
      tagwire help log dump
    """
    context = ctx.find_root()
    for name in names:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{context.command_path} has no subcommands; unexpected argument {name!r}")
        _, found, _ = group.resolve_command(context, [name])
        if found is None:  # click returns None for a word that looks like an option, such as --json
            raise click.UsageError(f"{name!r} is not a command")
        context = click.Context(found, info_name=name, parent=context)
    say(context.get_help(), lines=True)


@click.command("engine")
def engine() -> None:
    """Print the engine in use, python or native.

    The environment variable TAGWIRE_ENGINE (native or python) selects one.

    \b
    Examples:
      tagwire engine
      TAGWIRE_ENGINE=python tagwire engine
    """
    say(tagwire.engine())


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    The script completes commands, options, messages, versions, rules and formats.
    It calls `tagwire` at each Tab, so it knows the messages of the current project.
    It needs bash 4.4 or newer, zsh or fish.

    \b
    Examples:
      tagwire completion bash > ~/.local/share/bash-completion/completions/tagwire
      tagwire completion zsh > ~/.zfunc/_tagwire      with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
      tagwire completion fish > ~/.config/fish/completions/tagwire.fish
      eval "$(tagwire completion bash)"               for this session only
    """
    cls = get_completion_class(shell)
    if cls is None:  # this version of click doesn't support the shell
        raise TagwireError(f"the installed version of click does not support completion in {shell}; upgrade click")
    root = ctx.find_root()
    # Always complete `tagwire`, even if this process was started under another name.
    script = cls(root.command, {}, "tagwire", "_TAGWIRE_COMPLETE").source()
    # click's fish script cuts off a description at its first comma. Split only at the comma that click adds before the
    # description.
    script = script.replace('string split ","', 'string split --max 1 ","')
    # Register the function before its first call. Otherwise, if zsh loads the script from `fpath`, the second Tab
    # completes nothing.
    call = '    _tagwire_completion "$@"'
    say(script.replace(call, f"    compdef _tagwire_completion tagwire\n{call}"), lines=True)
