"""Path arguments of all commands. For a missing or unreadable path, every command prints the same usage error."""

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Any, Final, Self

import click

from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from pathlib import Path

_COPIES: Final[list[str]] = []
"""The path of the temporary copy of standard input, for commands that read standard input as a file."""


def given_name(text: str) -> str:
    """In `text`, replace the path of the temporary copy of standard input by "standard input"."""
    return text.replace(_COPIES[0], "standard input") if _COPIES else text


# An argument may be pasted hex. `Path.exists` and similar methods raise an error if it is too long for a file name.


def exists(argument: str) -> bool:
    """Return whether an argument is the path of a file or folder."""
    return os.path.exists(argument)  # noqa: PTH110


def is_file(argument: str) -> bool:
    """Return whether an argument is the path of a file."""
    return os.path.isfile(argument)  # noqa: PTH113


def is_folder(argument: str) -> bool:
    """Return whether an argument is the path of a folder."""
    return os.path.isdir(argument)  # noqa: PTH112


def note_terminal() -> None:
    """If standard input is a terminal, tell the user that the command reads from it, unless --quiet is given."""
    is_quiet = click.get_current_context().find_root().params.get("quiet")
    if None not in (sys.stdin, sys.stderr) and sys.stdin.isatty() and not is_quiet:
        sys.stderr.write("Reading from the terminal; press Ctrl-D at the end.\n")


class UnreadableFileError(TagwireError):
    """Raised for a file or folder that is missing or can't be opened: a usage error (exit status 2)."""

    @classmethod
    def of(cls, path: str, error: OSError | None = None, *, wants_folder: bool = False) -> Self:
        """Return the error for a path that couldn't be opened, with the reason."""
        if not path:
            return cls("the path is empty; give a file or a directory")
        is_directory = is_folder(path)
        if is_directory and not wants_folder and (error is None or isinstance(error, IsADirectoryError)):
            return cls(f"{path} is a directory; give a file")
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except (OSError, ValueError) as found:
            return cls(f"{path} can't be read: {getattr(found, 'strerror', None) or found}")
        if error is None and not (is_directory or stat.S_ISREG(mode)) and os.access(path, os.R_OK):
            return cls(f"{path} is neither a file nor a directory")
        if wants_folder and not is_directory:
            return cls(f"{path} is a file; give a directory")
        return cls(f"{path} can't be read: {error.strerror if error else os.strerror(errno.EACCES)}")


def reject_pipe(path: "Path") -> None:
    """Raise UnreadableFileError for a pipe or a device, for commands that need a file or a folder."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnreadableFileError(f"{path} is neither a file nor a directory; to read a pipe, use `-` and `< {path}`")


class AnyPath(click.Path):
    """A click parameter type for a path that need not exist, such as an output. An empty path is a usage error.

    Values are Path objects, or strings if `is_text` is set. All parameters that are paths have this type or a subclass,
    because `Path("")` is the current folder.
    """

    def __init__(
        self,
        *,
        files: bool = True,
        folders: bool = True,
        exists: bool = False,
        allow_dash: bool = False,
        is_text: bool = False,
    ) -> None:
        kind: type[Any] | None = None
        if not is_text:
            from pathlib import Path as kind  # imported here and below, so that other commands start faster

        super().__init__(exists=exists, file_okay=files, dir_okay=folders, allow_dash=allow_dash, path_type=kind)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; give a file or a directory", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("standard input and output can't be used here; give a path, such as ./-", param, ctx)
        return super().convert(value, param, ctx)


class InputPath(AnyPath):
    """A click parameter type for a readable file or folder."""

    def __init__(self, *, stdin_name: str = "", **options: bool) -> None:
        """Create the parameter type. `options` are passed to `AnyPath`.

        With `allow_dash`, `-` is accepted and passed to the command unchanged. With `stdin_name`, `-` becomes the path
        of a temporary copy of standard input, with this file name.
        """
        super().__init__(exists=True, **options)
        self.stdin_name = stdin_name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-" and ctx is not None:
            if "tagwire.stdin" in ctx.meta:
                self.fail("standard input can be given only once", param, ctx)
            ctx.meta["tagwire.stdin"] = True
        if value == "-" and not self.allow_dash:
            if not self.stdin_name or ctx is None:
                raise UnreadableFileError(
                    f"{param and param.human_readable_name} can't be read from standard input; give a path"
                )
            value = self._spooled(ctx)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            wants_folder = self.dir_okay and (is_folder(value) or not self.file_okay)
            raise UnreadableFileError.of(os.fspath(value), wants_folder=wants_folder) from None

    def _spooled(self, ctx: click.Context) -> str:
        """Copy standard input to a temporary file, which is deleted when the command ends."""
        from pathlib import Path
        from shutil import copyfileobj
        from tempfile import TemporaryDirectory

        if sys.stdin is None:
            raise TagwireError("standard input is closed; give a file")
        note_terminal()
        folder = Path(ctx.with_resource(TemporaryDirectory(prefix="tagwire-")), "standard input")
        folder.mkdir()
        path = folder / self.stdin_name
        with path.open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
        _COPIES[:] = [str(path)]
        return str(path)
