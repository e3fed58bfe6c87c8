"""Parse names of record formats on the command line. An unknown name is a usage error, raised before input is read."""

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from tagwire.records import FormatSet


_AUTO = "auto"


class FormatName(click.types.StringParamType):
    """A click parameter type for record format names. If `is_read` is set, also accepts `auto` and lists of names."""

    name = "format"

    def __init__(self, *, is_read: bool = False) -> None:
        self.is_read = is_read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tagwire.records.format_set import FormatError, format_of, format_set

        if value in ("json", "html"):
            self.fail(f"--record-format takes a record format; for {value.upper()} output, use --{value}.", param, ctx)
        try:
            format_set(value) if self.is_read else format_of(value)
        except FormatError as error:
            self.fail(str(error), param, ctx)
        return str(super().convert(value, param, ctx))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from tagwire.records.format_set import format_names

        names = [*format_names(), *([_AUTO] if self.is_read else [])]
        return [CompletionItem(name) for name in names if name.startswith(incomplete.lower())]


def formats_of(name: str | None, *, only: bool, strict: bool = True) -> "FormatSet":
    """Return the formats that a reader accepts. Raises click.UsageError if `only` is set without a format name."""
    from tagwire.records.format_set import FormatError, format_set

    try:
        return format_set(name or _AUTO, only=only, strict=strict)
    except FormatError:
        raise click.UsageError("--only-format needs a named format, not auto.") from None
