"""Find the released versions of specs, in a lock file and in a git revision."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.output.echo import say

if TYPE_CHECKING:
    from tagwire_generator.evolution.check import Baseline
    from tagwire_generator.project.settings import Settings


def released_in(settings: "Settings", folder: Path, revision: str | None) -> "list[Baseline]":
    """Return the releases in the lock file of the folder's spec set and, if `revision` is given, in this git revision.

    Raises click.UsageError if git can't read the revision.
    """
    from tagwire_generator.evolution.check import Baseline
    from tagwire_generator.evolution.git import GitError, NotAtRevisionError, specs_at
    from tagwire_generator.evolution.lock import read_lock
    from tagwire_generator.evolution.spec_sources import SpecReader
    from tagwire_generator.project.options import SpecOptions

    spec_set = settings.set_of(folder)
    found: list[Baseline] = []
    if spec_set is not None and spec_set.lock is not None and spec_set.lock.exists():
        found.append(read_lock(spec_set.lock).baseline())
    if revision is not None:
        options = SpecOptions() if spec_set is None else spec_set.options
        try:
            others = [each for each in (spec_set.sources if spec_set else ()) if each != folder.resolve()]
            shared = [each for other in others for each in specs_at(revision, other)]
            found.append(Baseline.of(SpecReader().read(specs_at(revision, folder), options, shared)))
        except NotAtRevisionError as error:
            say(f"{error}; its specs count as unreleased", err=True)
        except GitError as error:
            raise click.UsageError(str(error)) from None
    return found
