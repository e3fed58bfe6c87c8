"""Names of record formats on the command line. An unknown one is wrong usage, and told before anything is read."""

from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["FormatName"]

_AUTO = "auto"


class FormatName(click.types.StringParamType):
    """The name of a record format or, of what is read, `auto`: each batch says what it is."""

    name = "format"

    def __init__(self, *, or_auto: bool = False) -> None:
        self.or_auto = or_auto

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself."""
        from tagwire.records.formats import FormatError, format_of

        if not (self.or_auto and value == _AUTO):
            try:
                format_of(value)
            except FormatError as error:
                self.fail(str(error), param, ctx)
        return str(super().convert(value, param, ctx))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names, and `auto` where it is one."""
        from tagwire.records.formats import format_names

        names = [*format_names(), *([_AUTO] if self.or_auto else [])]
        return [CompletionItem(name) for name in names if name.startswith(incomplete.lower())]
