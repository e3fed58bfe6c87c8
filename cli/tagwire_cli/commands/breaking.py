"""`tagwire breaking`: report changes to specs that break released versions, with example bytes."""

import datetime
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.output.diagnostics import (
    excused_text,
    finding_text,
    findings_summary,
    print_for_programs,
    print_paragraphs,
    report_options,
    with_subject,
)
from tagwire_cli.output.echo import say
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire_generator.evolution.check import Check
    from tagwire_generator.evolution.known import KnownCheck
    from tagwire_generator.evolution.spec_sources import SpecSources
    from tagwire_generator.model import MessageSpec
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.settings import Settings, SpecSet


_IMPACTS: Final = ("wire", "semantic", "source", "policy")


@click.command("breaking")
@click.argument("paths", nargs=-1, metavar="[OLD NEW]", type=InputPath(stdin_name="stdin.json"))
@click.option(
    "--against", "revision", metavar="REV", help="Use this git revision of the paths, or of all spec sets, as OLD."
)
@click.option(
    "--lock",
    "lock_file",
    metavar="FILE",
    type=InputPath(folders=False),
    help="Use this lock file as OLD.",
)
@report_options
@click.option(
    "--fail-on",
    type=click.Choice(_IMPACTS),
    default="semantic",
    show_default=True,
    help="Exit with 1 for findings of this severity or a higher one.",
)
@click.option("--show-excused", is_flag=True, help="Also show excused findings, with their reasons.")
def command(
    paths: Sequence[Path],
    revision: str | None,
    lock_file: Path | None,
    output_format: str,
    fail_on: str,
    show_excused: bool,
) -> None:
    """Report changes in NEW specs that break released OLD ones.

    OLD and NEW are two specs or two folders of specs. With --against, OLD is a git
    revision; with --lock, OLD is a lock file. All arguments are then NEW. Without
    arguments, each spec set in [tool.tagwire] is compared with its lock file. The
    bytes of every version that both sides have are compared. A change that breaks
    them is shown with an example value, its bytes, and what the other side reads.

    \b
    Examples:
      tagwire breaking old/FooRequest.json FooRequest.json
      tagwire breaking --against main
      tagwire breaking --against v1.2 message_specs --output-format github
      tagwire breaking
    """
    from tagwire_generator.evolution import SEVERITIES
    from tagwire_generator.project.exemptions import judge
    from tagwire_generator.project.settings import load_project

    settings = load_project()
    checks = _checks(settings, paths, revision, lock_file)
    findings = [finding for check in checks for finding in check.findings()]
    names = {name for check in checks for name in check.names}
    judged = judge(findings, settings.exemptions_for("TW"), datetime.date.today(), names if paths else None)
    rows = (each.as_dict() for each in judged.findings)
    if not print_for_programs(output_format, rows, [*map(with_subject, judged.findings)]):
        shown: list[tuple[str, str]] = [(finding_text(finding), finding.severity) for finding in judged.findings]
        shown += [(excused_text(each), "excused") for each in judged.excused if show_excused]
        print_paragraphs(shown)
    for warning in judged.warnings:
        say(f"warning: {warning}", err=True)
    say(findings_summary(judged.findings, excused=len(judged.excused), messages=len(names)), err=True)
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    if any(finding.severity in failing for finding in judged.findings):
        raise click.exceptions.Exit(1)
    passing = [each for each in SEVERITIES if any(finding.severity == each for finding in judged.findings)]
    if passing:
        kinds = " and ".join(passing)
        say(f"{kinds} findings do not fail this command; with `--fail-on {passing[-1]}`, they do", err=True)


class ProjectSpecs:
    """Reads specs, with the options and the shared definitions of their spec sets."""

    def __init__(self, settings: "Settings") -> None:
        from tagwire_generator.evolution.spec_sources import SpecReader

        self.settings = settings
        self.reader = SpecReader()

    def read(self, path: Path, options: "SpecOptions | None" = None) -> "SpecSources":
        """Read the spec at a path, or the specs in a folder. Raises SpecError for a folder without specs."""
        from tagwire_generator.project.spec_files import SpecFile, read_specs, spec_data

        files = read_specs(path) if path.is_dir() else [spec_data(SpecFile("", path))]
        neighbors = [each for folder in self.neighboring_folders(path) for each in read_specs(folder)]
        return self.reader.read(files, options or self.settings.options_of(path), neighbors)

    def neighboring_folders(self, path: Path) -> list[Path]:
        """Return the other folders whose shared definitions the specs at `path` can use."""
        from tagwire_generator.project.spec_files import may_be_register, may_be_shared

        spec_set, here = self.settings.set_of(path), path.resolve()
        if spec_set is not None:
            folders = [folder for folder in spec_set.sources if folder.resolve() != here]
        else:
            folders = [here.parent] if here.is_file() else []
        found: list[Path] = []
        for folder in folders:
            contents = (each.read_bytes() for each in folder.rglob("*.json") if each.is_file())
            if any(may_be_register(data) or may_be_shared(data) for data in contents):
                found.append(Path(os.path.relpath(folder)))
        return found

    def headers(self, path: Path) -> "Mapping[str, MessageSpec]":
        """Return the header specs in the spec set (or the folder) of a single spec, or {} if `path` is a folder."""
        from tagwire_generator.evolution.spec_sources import SpecData
        from tagwire_generator.project.spec_files import HEADER_NAMES

        if path.is_dir():
            return {}
        spec_set = self.settings.set_of(path)
        folders = [path.parent] if spec_set is None else [spec_set.specs, *spec_set.specs.iterdir()]
        paths = [folder / f"{name}.json" for folder in folders for name in HEADER_NAMES.values()]
        files = [SpecData(str(path), "", path.read_bytes()) for path in paths if path.is_file()]
        return self.reader.read(files, self.settings.options_of(path)).specs

    def check(self, old: "SpecSources", path: Path) -> "Check":
        """Compare released specs with those at a path. If it is a file, it is the only message of both sides."""
        from tagwire_generator.evolution.check import Baseline, Check

        now = self.read(path)
        return Check(Baseline.of(old), now, is_one_message=path.is_file(), headers=self.headers(path))


def _checks(
    settings: "Settings", paths: Sequence[Path], revision: str | None, lock_file: Path | None
) -> Sequence["Check | KnownCheck"]:
    """Return the comparisons that the arguments select, or one for each spec set if there are no arguments."""
    specs = ProjectSpecs(settings)
    if revision is not None and lock_file is not None:
        raise click.UsageError("give --against or --lock, not both")
    if revision is not None:
        return _against_revision(specs, revision, paths)
    if lock_file is not None:
        return [_against_lock(specs, lock_file, path) for path in dict.fromkeys(paths) or _only_set(settings)]
    if not paths:
        return _against_locks(specs)
    if len(paths) != 2:
        raise click.UsageError(
            f"expected the two paths OLD and NEW, got {count(len(paths), 'path')}; to compare with a revision or a "
            "lock file, give --against REV or --lock FILE"
        )
    old, new = paths
    if old.is_dir() != new.is_dir():
        raise click.UsageError(f"{old} and {new} must both be specs or both be folders of specs")
    return [specs.check(specs.read(old, settings.options_of(new)), new)]


def _against_revision(specs: ProjectSpecs, revision: str, paths: Sequence[Path]) -> list["Check"]:
    from tagwire_generator.evolution.spec_sources import GitError, NotAtRevisionError, specs_at

    checks: list[Check] = []
    for path in dict.fromkeys(paths) or _sets(specs.settings):
        try:
            neighbors = [each for folder in specs.neighboring_folders(path) for each in specs_at(revision, folder)]
            old = specs.reader.read(specs_at(revision, path), specs.settings.options_of(path), neighbors)
        except NotAtRevisionError as error:
            if paths:
                raise click.UsageError(str(error)) from None
            say(f"{error}; its specs count as unreleased", err=True)
            continue
        except GitError as error:
            raise click.UsageError(str(error)) from None
        checks.append(specs.check(old, path))
    return checks


def _against_lock(specs: ProjectSpecs, lock_file: Path, path: Path) -> "Check":
    from tagwire_generator.evolution.check import Check
    from tagwire_generator.evolution.lock import read_lock

    baseline = read_lock(lock_file).baseline()
    sources = specs.read(path)
    if path.is_file():  # for a single spec, don't report the other messages as removed
        aliases = {alias for spec in sources.specs.values() for alias in spec.aliases}
        baseline = baseline.only({*sources.specs, *sources.invalid, *aliases})
    return Check(baseline, sources, headers=specs.headers(path))


def _against_locks(specs: ProjectSpecs) -> list["Check | KnownCheck"]:
    if not any(spec_set.lock for spec_set in specs.settings.project_sets()):
        raise click.UsageError(
            "give OLD and NEW, or --against REV; to run without arguments, set a lock file in [tool.tagwire], "
            'as in lock = "message_specs.lock.json"'
        )
    checks: list[Check | KnownCheck] = []
    for spec_set in specs.settings.sets:
        folder = Path(os.path.relpath(spec_set.specs))
        if spec_set.lock is None:
            say(f"{folder} has no lock file; skipped", err=True)
        elif not spec_set.lock.exists():  # a new protocol has no lock file yet; commit hooks must accept this
            name = os.path.relpath(spec_set.lock)
            say(
                f"{name} does not exist: nothing in {folder} is released yet; run `tagwire lock` to release it",
                err=True,
            )
        else:
            checks.append(_against_own_lock(specs, spec_set, spec_set.lock, folder))
    return checks


def _against_own_lock(specs: ProjectSpecs, spec_set: "SpecSet", lock: Path, folder: Path) -> "Check | KnownCheck":
    """Compare a spec set with its lock file. Results are cached for commit hooks, which must be fast."""
    from tagwire_generator.evolution.known import Memory

    if os.environ.get("CI"):
        return _against_lock(specs, lock, folder)
    memory = Memory(spec_set, lock.read_bytes())
    known = memory.recall()
    if known is not None:
        return known
    from tagwire_generator.evolution.lock import read_lock
    from tagwire_generator.project.spec_files import read_specs

    def read(names: Collection[str]) -> "SpecSources":
        every = [each for source in spec_set.sources for each in read_specs(Path(os.path.relpath(source)))]
        return specs.reader.read([each for each in read_specs(folder) if each.name in names], spec_set.options, every)

    released = read_lock(lock)
    check = memory.check(released, read)
    memory.keep(check, released)
    return check


def _sets(settings: "Settings") -> list[Path]:
    """Return the folders of all spec sets, without duplicates, relative to the current folder."""
    return list(dict.fromkeys(Path(os.path.relpath(spec_set.specs)) for spec_set in settings.project_sets()))


def _only_set(settings: "Settings") -> list[Path]:
    sets = _sets(settings)
    if len(sets) != 1:
        raise click.UsageError("--lock FILE: the project has several spec sets; also give NEW, the specs to compare")
    return sets
