"""`tagwire generate`: write the modules of this project's spec sets, or show what would change."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire.text_format import count, printable
from tagwire_cli.arguments import completion
from tagwire_cli.output.diagnostics import print_problems, summary
from tagwire_cli.output.echo import progress_bar, say, say_patch
from tagwire_cli.paths import AnyPath

if TYPE_CHECKING:
    from tagwire_generator.project.output import Plan
    from tagwire_generator.project.settings import SpecSet


_DONE: Final = {"new": "wrote", "changed": "rewrote", "stale": "deleted"}
_WOULD: Final = {"new": "would write", "changed": "would rewrite", "stale": "would delete"}


@click.command("generate")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything would change.")
@click.option("--staged", is_flag=True, help="With --check or --diff: compare what is staged in git, for commit hooks.")
@click.option("--diff", is_flag=True, help="Write nothing; print a unified diff of the changes.")
@click.option(
    "--exit-non-zero-on-change", is_flag=True, help="Exit with 1 if anything was written or deleted (for commit hooks)."
)
@click.option(
    "--set",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    shell_complete=completion.spec_sets,
    help="Generate only this package; may be repeated.",
)
@click.option(
    "--templates",
    metavar="DIR",
    type=AnyPath(is_text=True),
    help="Use these templates; @markdown and @wireshark are built in.",
)
@click.option(
    "--output", metavar="DIR", type=AnyPath(files=False, is_text=True), help="Write the packages to this folder."
)
@click.option(
    "--formatter",
    type=click.Choice(("black", "ruff")),
    help="Use this formatter instead of the one in the settings.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Number of processes; default: one per processor."
)
@click.option("--no-cache", is_flag=True, help="Ignore the cache and render everything; the default if CI is set.")
def command(
    check: bool,
    staged: bool,
    diff: bool,
    exit_non_zero_on_change: bool,
    jobs: int | None,
    no_cache: bool,
    **set_options: Any,
) -> None:
    """Write the modules generated from this project's specs.

    The spec sets are listed in [tool.tagwire] of the nearest pyproject.toml. A
    file is rewritten only if its contents change. Generated files of removed messages
    are deleted. Files that tagwire did not write are never touched. If any spec
    has an error, nothing is written. Files that another version of black formatted
    count as unchanged if their code is the same.

    In a commit hook, --check and --exit-non-zero-on-change also fail for specs and
    modules that are neither tracked nor ignored by git, or whose
    staged content differs from the content on disk. --check --staged reads specs, settings, templates
    and modules as they are staged instead.

    \b
    Settings, with paths relative to pyproject.toml:
      [[tool.tagwire.sets]]
      specs = "message_specs/inventory"   # a folder of *.json
      package = "inventory_messages"      # the package to write
      output = "src"                      # the folder that contains it

    \b
    Examples:
      tagwire generate
      tagwire generate --check --diff       show what would change
      tagwire generate --set my_messages    one of several sets
      tagwire generate --templates @markdown --output docs    a reference, in docs/my_messages
    """
    from tagwire_generator.project.root import find_root
    from tagwire_generator.project.work_tree import copy_ignored

    if staged and not (check or diff):
        raise click.UsageError("--staged needs --check or --diff, because --staged writes no files")
    root = find_root(Path.cwd())
    # Don't cache results with --templates, because they would replace the results of the usual templates.
    is_usual = set_options["templates"] is None and not no_cache
    cache_root = root if is_usual and not os.environ.get("CI") else None
    with _staged(root) if staged else nullcontext(root) as project:
        sets = _chosen_sets(project, **set_options)
        for spec_set in sets if staged else ():
            if spec_set.directory.is_relative_to(project):
                copy_ignored(root / spec_set.directory.relative_to(project), spec_set.directory)
        plans = _plans(sets, jobs=jobs, cache_root=cache_root)
    changes = [(spec_set, change) for spec_set, plan in plans for change in plan.changes]
    if diff:
        for spec_set, change in changes:
            say_patch(change.diff(printable(spec_set.source_name(change.path))))
    writes = not (check or diff)
    if writes:
        for _, plan in plans:
            plan.apply()
    _report(plans, writes=writes)
    unknown = _unlike_commit(plans) if (check or exit_non_zero_on_change) and not staged else False
    if (changes and (check or exit_non_zero_on_change)) or unknown:
        raise click.exceptions.Exit(1)


@contextmanager
def _staged(root: Path) -> Generator[Path]:
    """Yield a temporary folder with the project's files as they are staged in git."""
    from tagwire_generator.project.work_tree import copy_staged

    with TemporaryDirectory(prefix="tagwire-") as folder:
        yield copy_staged(root, Path(folder))


def _chosen_sets(
    root: Path, packages: Sequence[str], templates: str | None, output: str | None, formatter: str | None
) -> list["SpecSet"]:
    """Return the spec sets of these packages, or all spec sets, changed by the other options."""
    from tagwire_generator.project.settings import load

    settings = load(root)
    known = {spec_set.package: spec_set for spec_set in settings.project_sets()}
    for package in packages:
        if package not in known:
            raise click.BadParameter(
                f"no spec set generates {package!r}; known packages: {', '.join(known)}", param_hint="--set"
            )
    changes: dict[str, Any] = {}
    if templates is not None:
        changes["templates"] = _template_folder(templates)
    if output is not None:
        changes["output"] = Path(os.path.realpath(output))
    if formatter is not None:
        changes["formatter"] = formatter
    return [replace(known[package], **changes) for package in known if not packages or package in packages]


def _template_folder(name: str) -> Path:
    from tagwire.errors import TagwireError
    from tagwire_generator.project import resources

    try:
        return resources.templates(name) if name.startswith("@") else Path(os.path.realpath(name))
    except TagwireError as error:
        raise click.BadParameter(str(error), param_hint="--templates") from None


def _plans(sets: Sequence["SpecSet"], *, jobs: int | None, cache_root: Path | None) -> list[tuple["SpecSet", "Plan"]]:
    """Generate all spec sets, and return the necessary file changes. Exits with status 1 if a spec has an error."""
    from tagwire_generator.pipeline import generate
    from tagwire_generator.project.output import plan

    packages = []
    for spec_set in sets:
        with progress_bar(spec_set.package) as progress:
            cache: dict[str, Any] = {"use_cache": cache_root is not None, "cache_root": cache_root}
            packages.append((spec_set, generate(spec_set, jobs=jobs, progress=progress, **cache)))
    # Remove repeated problems: several sets can use the same spec.
    problems = list(dict.fromkeys(problem for _, package in packages for problem in package.problems))
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        print_problems(errors, err=True)
        say(f"\n{summary(problems)}; nothing was written", err=True, lines=True)
        raise click.exceptions.Exit(1)
    if problems:  # print only their number: a long list would hide the report of changes
        say(f"{summary(problems)}; `tagwire validate` shows them", err=True)
    return [(spec_set, plan(package.files, spec_set.directory)) for spec_set, package in packages]


def _unlike_commit(plans: Sequence[tuple["SpecSet", "Plan"]]) -> bool:
    """In a commit hook, report files whose current content will not be committed. Return whether there are any."""
    from tagwire_generator.project.spec_files import find_specs
    from tagwire_generator.project.work_tree import is_hook, staged_differently, unknown_files

    if not is_hook(os.environ):
        return False
    files: dict[Path, str] = {}
    for spec_set, plan in plans:
        specs = [spec.path for folder in spec_set.sources for spec in find_specs(folder)]
        generated = [path for path in plan.files if path.is_file()]
        files |= {path: spec_set.source_name(path) for path in (*specs, *generated)}
    unknown, different = unknown_files(files), staged_differently(files)
    for what, found in (("not tracked by git", unknown), ("staged with different content", different)):
        for path in found:
            say(f"{what}: {files[path]}", err=True)
    if unknown:
        say(f"{count(len(unknown), 'file')} would be missing from the commit; use git add or .gitignore", err=True)
    if different:
        text = "would be committed with content that was not compared; run `git add`, or use --check --staged"
        say(f"{count(len(different), 'file')} {text}", err=True)
    return bool(unknown or different)


def _report(plans: Sequence[tuple["SpecSet", "Plan"]], *, writes: bool) -> None:
    verbs = _DONE if writes else _WOULD
    for spec_set, plan in plans:
        for change in plan.changes:
            say(f"{verbs[change.kind]} {spec_set.source_name(change.path)}", err=True)
        if plan.formatters:
            there, here = plan.formatters
            text = f"note: {spec_set.package} was formatted by {there or 'an unknown version of black'}, not by {here}"
            say(f"{text}; its code was compared, not its formatting", err=True)
    number = sum(len(plan.changes) for _, plan in plans)
    if not number:
        say(f"{count(len(plans), 'package')} up to date", err=True)
    elif writes:
        say(f"{count(number, 'file')} changed", err=True)
    else:
        say(f"{count(number, 'file')} would change; run `tagwire generate`", err=True)
