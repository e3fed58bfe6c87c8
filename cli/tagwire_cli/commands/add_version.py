"""`tagwire add-version` and `tagwire add-field`: add a version or an optional field to a message."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire.text_format import suggestion, whole_number
from tagwire_cli.arguments.options import option_group
from tagwire_cli.arguments.spec_paths import released_in
from tagwire_cli.output.echo import say, say_patch
from tagwire_cli.paths import UnreadableFileError, is_file, is_folder

if TYPE_CHECKING:
    from tagwire_generator.editing.next_version import NewField, NextVersion
    from tagwire_generator.evolution.spec_sources import SpecData
    from tagwire_generator.project.settings import Settings


_field_options = option_group(
    click.option("--field", "name", metavar="NAME", help="Add a field with this name."),
    click.option("--type", "type_", metavar="TYPE", help="The type of the field: int32, []string, a common struct."),
    click.option(
        "--in",
        "parent",
        default="",
        metavar="STRUCT",
        help="Add the field to this struct: Topics.Partitions, or a common struct.",
    ),
    click.option("--before", default="", metavar="FIELD", help="Insert the field before this one."),
    click.option("--after", default="", metavar="FIELD", help="Insert the field after this one. Default: last."),
    click.option("--nullable", is_flag=True, help="The field may be null."),
    click.option("--default", metavar="VALUE", help="The default of the field; may be null."),
    click.option("--tag", metavar="N", help="Make the field tagged; `next` uses the next free tag."),
    click.option("--ignorable", is_flag=True, help="Older versions drop the value instead of rejecting it."),
    click.option("--about", default="", metavar="TEXT", help="A description of the field."),
    click.option("--against", "revision", metavar="REV", help="Also treat this git revision as released."),
    click.option("--dry-run", is_flag=True, help="Write nothing; print a unified diff of the changes."),
)
"""Adds the options for a new field, and the options `--against` and `--dry-run`."""


@click.command("add-version")
@click.argument("message", metavar="MESSAGE")
@_field_options
def command(
    message: str, name: str | None, type_: str | None, tag: str | None, revision: str | None, dry_run: bool, **rest: Any
) -> None:
    """Add a version to a message, optionally with a new field.

    MESSAGE is a message of this project's spec sets, or the file of a spec. The
    new version is one above the newest, and the field exists from it on. If
    necessary, the matching response or request also gets the version. With --tag,
    the field is tagged. If the spec is written in the draft dialect (the first draft
    of KIP-482), a field with --tag becomes an optional field instead. It then exists
    in all versions that have optional fields.

    The specs are edited in place; comments, order and formatting stay. Nothing is
    written if a rule would be broken or a released version would change. Versions
    are released if they are in the current specs, in the lock file of the set, or
    in --against REV.

    \b
    Examples:
      tagwire add-version PingRequest
      tagwire add-version PingRequest --field Agent --type string --default unknown --dry-run
      tagwire add-version PingRequest --field Rack --type string --in Hosts --after Name --nullable --ignorable
      tagwire add-version message_specs/PingResponse.json --field TraceId --type uuid --tag next
    """
    from tagwire_generator.editing.next_version import plan_next_version

    _edit(plan_next_version, message, _new_field(name, type_, tag, rest), revision, dry_run=dry_run)


@click.command("add-field")
@click.argument("message", metavar="MESSAGE")
@_field_options
def add_field(
    message: str, name: str | None, type_: str | None, tag: str | None, revision: str | None, dry_run: bool, **rest: Any
) -> None:
    """Add a tagged field to all flexible versions of a message.

    No version is added: readers of released versions skip tags that they do not
    know (KIP-482). MESSAGE is a message of this project's spec sets, or the file of
    a spec. The field gets the next free tag of its struct unless --tag names one.
    Peers without the field ignore it, so they must work without it.

    The spec is edited in place; comments, order and formatting stay. Nothing is
    written if a rule would be broken or a released version would change.
    `tagwire add-version` adds a field that all peers of the new version know.

    \b
    Examples:
      tagwire add-field PingRequest --field TraceId --type uuid --dry-run
      tagwire add-field PingResponse --field Rack --type string --in Hosts --nullable --default null
    """
    from tagwire_generator.editing.next_version import plan_optional_field

    if name is None:
        raise click.UsageError("name the field with --field NAME.")
    _edit(plan_optional_field, message, _new_field(name, type_, tag or "next", rest), revision, dry_run=dry_run)


def _edit(
    planned: "Callable[..., NextVersion]",
    message: str,
    field: "NewField | None",
    revision: str | None,
    *,
    dry_run: bool,
) -> None:
    """Change a message's spec: plan the changes with `planned`, write them unless `dry_run` is set, and report them."""
    from tagwire_generator.project.output import write_all
    from tagwire_generator.project.settings import load_project

    settings = load_project()
    path = _path(settings, message)
    # Find the spec set from the folder, because the spec may be a symbolic link to a file outside the set.
    spec_set = settings.set_of(path.parent)
    plan = planned(
        path,
        _files(settings, path),
        field,
        options=settings.options_of(path.parent),
        released=released_in(settings, path.parent if spec_set is None else spec_set.specs, revision),
    )
    if not dry_run:
        write_all(plan.contents, plan.before)
    _report(plan, field, dry_run=dry_run)


def _new_field(name: str | None, type_: str | None, tag: str | None, rest: dict[str, Any]) -> "NewField | None":
    """Return the field that the options describe, or None if `name` is None. Raises click.UsageError for conflicts."""
    from tagwire_generator.editing.next_version import NewField

    given = [f"--{'in' if key == 'parent' else key}" for key, value in rest.items() if value not in ("", None, False)]
    given += ["--type"] * (type_ is not None) + ["--tag"] * (tag is not None)
    if name is None:
        if given:
            raise click.UsageError(f"{given[0]} describes a field; name the field with --field NAME.")
        return None
    if type_ is None:
        raise click.UsageError("--field needs --type TYPE.")
    if rest["before"] and rest["after"]:
        raise click.UsageError("give --before or --after, not both.")
    number = whole_number(tag or "")
    if number is None and tag not in (None, "next"):
        raise click.BadParameter(f"{tag!r} is not a tag; give a number of 0 or more, or `next`.", param_hint="--tag")
    return NewField(name=name, type=type_, tag=number, next_tag=tag == "next", **rest)


def _path(settings: "Settings", message: str) -> Path:
    """Return the spec file of a message in the project's spec sets. If `message` is a file name, return that file."""
    from tagwire_generator.project.spec_files import find_specs

    path = Path(message)
    if is_file(message):
        return path
    if path.suffix == ".json" or is_folder(message) or len(path.parts) > 1:
        raise UnreadableFileError.of(message)
    folders = dict.fromkeys(spec_set.specs for spec_set in settings.sets if spec_set.specs.is_dir())
    files = [each.path for folder in folders for each in find_specs(folder)]
    found = [Path(os.path.relpath(each)) for each in files if each.stem == message]
    if len(found) == 1:
        return found[0]
    if found:
        raise click.BadParameter(
            f"several specs are named {message}.json; give the path of one: {', '.join(map(str, found))}.",
            param_hint="MESSAGE",
        )
    hint = suggestion(message, [each.stem for each in files], "give a message of this project, or a spec file")
    if not files:
        hint = "this project has no specs; `tagwire init` starts one"
    raise click.BadParameter(f"no spec set has a file {message}.json; {hint}", param_hint="MESSAGE")


def _files(settings: "Settings", path: Path) -> "list[SpecData]":
    """Return all specs of the set to which a file belongs or, for a file outside all sets, all specs in its folder."""
    from tagwire_generator.project.spec_files import SpecData, SpecFile, find_specs, spec_data

    spec_set = settings.set_of(path.parent)
    if spec_set is None or not path.parent.resolve().is_relative_to(spec_set.specs.resolve()):
        siblings = [
            SpecFile("", each)
            for each in sorted(path.parent.glob("*.json"))
            if not each.name.startswith(".") and each.is_file()
        ]
        found = siblings if any(each.path == path for each in siblings) else [*siblings, SpecFile("", path)]
    else:
        found = find_specs(spec_set.specs)
    real = os.path.realpath(path)  # Path.resolve fails if links form a loop
    files: list[SpecData] = []
    for each in found:
        name = path if os.path.realpath(each.path) == real else Path(os.path.relpath(each.path))
        files.append(SpecData(str(name), each.component, spec_data(each).data))
    return files


def _report(plan: "NextVersion", field: "NewField | None", *, dry_run: bool) -> None:
    from tagwire_generator.project.output import FileChange

    for number, change in enumerate(plan.changes):
        if dry_run:
            name = change.path.as_posix()
            say_patch(FileChange(change.path, "changed", change.before, change.after).diff(name))
        verb = "would have" if dry_run else "has"
        what = f"new version {change.version}{f' with field {field.name}' if field and not number else ''}"
        if not plan.is_version:
            what = f"new field {field.name if field else ''}, from version {change.version}"
        say(f"{change.name} {verb} a {what}: {change.path}", err=True)
    for note in plan.notes:
        say(f"note: {note}", err=True)
    if not dry_run:
        say("run `tagwire generate` to write the classes", err=True)
