"""`tagwire lock`: record the current specs as released. Later changes are checked against them."""

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.commands.breaking import ProjectSpecs
from tagwire_cli.output.diagnostics import finding_text, findings_summary, print_paragraphs
from tagwire_cli.output.echo import say
from tagwire_cli.paths import AnyPath, InputPath

if TYPE_CHECKING:
    from tagwire_generator.evolution.check import Check
    from tagwire_generator.evolution.lock import Lock
    from tagwire_generator.problems import Finding
    from tagwire_generator.project.settings import Settings


_REJECTED: Final = ("error", "wire", "semantic")


@click.command("lock")
@click.argument("path", required=False, metavar="[DIR]", type=InputPath(files=False))
@click.option(
    "--file",
    "lock_file",
    metavar="FILE",
    type=AnyPath(folders=False),
    help="The lock file of DIR; default: the lock file of its spec set.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a lock file would change.")
@click.option("--accept-breaking", is_flag=True, help="Release the specs even if they break released versions.")
@click.option("--forget", is_flag=True, help="Drop what the specs no longer have: old versions, retired tags.")
def command(path: Path | None, lock_file: Path | None, check: bool, accept_breaking: bool, forget: bool) -> None:
    """Record the current specs as released in a lock file.

    Without DIR, the lock files that [tool.tagwire] names for its spec sets are
    written. A lock file keeps every released version, including dropped ones, and
    every tag that was ever used. `tagwire breaking` compares specs with it.
    Changes that break a released version are rejected unless an exception excuses
    them.

    \b
    Settings:
      [[tool.tagwire.sets]]
      specs = "message_specs"
      package = "my_messages"
      lock = "message_specs.lock.json"

    \b
    Examples:
      tagwire lock
      tagwire lock --check
      tagwire lock message_specs --file released.json
    """
    from tagwire.log.whole_folder import reject_inside
    from tagwire_generator.project.output import contents_of, has_text, write_all
    from tagwire_generator.project.settings import load_project

    settings = load_project()
    found = _specs_and_locks(settings, path, lock_file)
    for specs, file in found:
        reject_inside([file] if file.suffix == ".json" else [], [specs])  # the file would be read as a spec
    before = contents_of(file for _, file in found)
    locks = [
        (file, specs, _locked(settings, specs, file, accept_breaking=accept_breaking or forget, forget=forget))
        for specs, file in found
    ]
    contents = {file: str(lock) for file, _, lock in locks}
    changed = {each: text for each, text in contents.items() if not has_text(each, text)}
    if not check:
        write_all(changed, before)
    for file, specs, lock in locks:
        name = os.path.relpath(file)
        if file in changed:
            verb = "would change" if check else "written"
            say(f"{name} {verb}: {count(len(lock.messages), 'message')} of {specs}", err=True)
        else:
            say(f"{name} is up to date with {specs}", err=True)
    if check and changed:
        raise click.exceptions.Exit(1)


def _specs_and_locks(settings: "Settings", path: Path | None, lock_file: Path | None) -> list[tuple[Path, Path]]:
    if path is None:
        if lock_file is not None:
            raise click.UsageError("--file needs DIR, the folder of specs")
        found = [(Path(os.path.relpath(each.specs)), each.lock) for each in settings.project_sets() if each.lock]
        if not found:
            raise click.UsageError(
                "no spec set in [tool.tagwire] has the key `lock`; add the key, as in "
                'lock = "message_specs.lock.json", or give DIR and --file FILE'
            )
        return [(specs, lock) for specs, lock in found if lock]
    spec_set = settings.set_of(path)
    file = lock_file or (spec_set.lock if spec_set and spec_set.specs.resolve() == path.resolve() else None)
    if file is None:
        raise click.UsageError(f"[tool.tagwire] sets no lock file for {path}; give --file FILE")
    return [(path, file)]


def _locked(settings: "Settings", specs: Path, file: Path, *, accept_breaking: bool, forget: bool) -> "Lock":
    """Return the new lock of a folder. Exits with status 1 if the specs break released versions."""
    from tagwire_generator.evolution.check import Baseline, Check
    from tagwire_generator.evolution.lock import read_lock, updated_lock

    sources = ProjectSpecs(settings).read(specs)
    old = read_lock(file) if file.is_file() and not forget else None
    check = Check(old.baseline() if old else Baseline(), sources)
    rejected = [each for each in _left(settings, check) if each.severity == "error" or not accept_breaking]
    if rejected:
        print_paragraphs([(finding_text(each), each.severity) for each in rejected])
        say(findings_summary(rejected, excused=0, messages=len(check.names)), err=True)
        say("nothing was written; use --accept-breaking to release the specs anyway", err=True)
        raise click.exceptions.Exit(1)
    return updated_lock(old, sources, settings.options_of(specs))


def _left(settings: "Settings", check: "Check") -> list["Finding"]:
    """Return the changes that break released versions, except those that the project's settings allow."""
    from tagwire_generator.project.exemptions import judge

    judged = judge(check.findings(), settings.exemptions_for("TW"), datetime.date.today())
    return [each for each in judged.findings if each.severity in _REJECTED]
