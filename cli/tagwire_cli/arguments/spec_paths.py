"""Convert a command's path arguments to spec files and folders. If there are none, use the project's spec sets."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire_cli.output.echo import say

if TYPE_CHECKING:
    from tagwire_generator.evolution.check import Baseline
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.settings import Settings


STDIN: Final = "-"


def spec_paths(settings: "Settings", paths: Sequence[str]) -> list[str]:
    """Return the spec files and folders to read, without duplicates and relative to the current folder.

    For a folder that contains spec sets, return these sets and the JSON files directly in the folder. For the project's
    root folder, return only the sets, because its JSON files need not be specs. If `paths` is empty, return the
    project's spec sets, or raise SettingsError if the current folder is not in a project.
    """
    chosen = [each for path in paths for each in _below(settings, path)]
    if not paths:
        chosen = [os.path.relpath(folder) for spec_set in settings.project_sets() for folder in spec_set.sources]
    return list(dict.fromkeys(chosen))


def _below(settings: "Settings", path: str) -> Iterator[str]:
    resolved = Path(path).resolve()
    folders = [folder for spec_set in settings.sets for folder in spec_set.sources]
    below = [each for each in folders if each.is_dir() and each.is_relative_to(resolved)]
    if path == STDIN or resolved in folders or not below:
        yield path
        return
    yield from map(os.path.relpath, below)
    if resolved != settings.root or not settings.is_declared:
        yield from sorted(str(file) for file in Path(path).glob("*.json") if not file.name.startswith("."))


def known_near(settings: "Settings", path: Path, options: "SpecOptions") -> dict[str, Any]:
    """Return the registers and shared structs that specs at `path` may use, as keyword arguments of the spec readers.

    They come from the spec set of the path or, if it is in no set, from its folder.
    """
    from tagwire_generator.reading.imports import SharedStructs, specs_near
    from tagwire_generator.reading.register import registers_among

    specs = list(specs_near(path, settings.set_of(path)))
    registers = registers_among(specs)
    return {"registers": registers, "shared": SharedStructs(specs, options, registers)}


def released_in(settings: "Settings", folder: Path, revision: str | None) -> "list[Baseline]":
    """Return the released specs: those in the lock file of the folder's spec set, and those in `revision`, if given.

    Raises click.UsageError if git can't read the revision.
    """
    from tagwire_generator.evolution.check import Baseline
    from tagwire_generator.evolution.lock import read_lock
    from tagwire_generator.evolution.spec_sources import GitError, NotAtRevisionError, SpecReader, specs_at

    spec_set = settings.set_of(folder)
    found: list[Baseline] = []
    if spec_set is not None and spec_set.lock is not None and spec_set.lock.exists():
        found.append(read_lock(spec_set.lock).baseline())
    if revision is not None:
        options = settings.options_of(folder)
        try:
            others = [each for each in (spec_set.sources if spec_set else ()) if each.resolve() != folder.resolve()]
            shared = [each for other in others for each in specs_at(revision, other)]
            found.append(Baseline.of(SpecReader().read(specs_at(revision, folder), options, shared)))
        except NotAtRevisionError as error:
            say(f"{error}; its specs count as unreleased", err=True)
        except GitError as error:
            raise click.UsageError(str(error)) from None
    return found
