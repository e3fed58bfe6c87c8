"""`tagwire lsp`: the language server for specs."""

import sys

import click

from tagwire.errors import TagwireError


@click.command("lsp")
def command() -> None:
    """Run the language server for specs.

    Your editor starts this command and communicates over standard input and output.
    It needs the extra lsp. docs/editors.md shows how to set up editors.

    \b
    Examples:
      tagwire lsp
    """
    from tagwire_workbench.language_server.features import make_server

    if None in (sys.stdin, sys.stdout):
        raise TagwireError("lsp needs standard input and output, and one of them is closed; let your editor start lsp")
    make_server().start_io()
