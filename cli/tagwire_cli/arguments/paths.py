"""Paths on the command line that are read: a missing or unreadable one is wrong usage, in the same words everywhere."""

import os
from pathlib import Path
from typing import Any

import click

from tagwire_cli.input.bytes import UnreadableFileError

__all__ = ["InputPath"]


class InputPath(click.Path):
    """A file or folder that must exist and be readable; the value is a Path, or a string with `is_text`."""

    def __init__(
        self, *, files: bool = True, folders: bool = True, allow_dash: bool = False, is_text: bool = False
    ) -> None:
        kind = None if is_text else Path
        super().__init__(exists=True, file_okay=files, dir_okay=folders, allow_dash=allow_dash, path_type=kind)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise UnreadableFileError.of(os.fspath(value), wants_folder=not self.file_okay) from None
