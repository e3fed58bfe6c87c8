"""`tagwire lsp`: specs in an editor."""

import click

__all__ = ["command"]


@click.command("lsp")
def command() -> None:
    """Serve an editor that asks about specs (language server).

    An editor starts this and speaks the language server protocol over standard
    input and output; it is not for a terminal. It needs the extra lsp. docs/editors.md
    says how to set up editors.

    \b
    Examples:
      tagwire lsp
    """
    from tagwire_workbench.language_server.features import make_server

    make_server().start_io()
