"""`tagwire add-version`: a version with optional fields for each request and response of a folder of specs."""

from pathlib import Path

import click

from tagwire_cli.output.diagnostics import count

__all__ = ["command"]


@click.command("add-version")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    metavar="DIR2",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the specs go; by default they are changed in place.",
)
@click.option("--only-new", is_flag=True, help="Write the new versions alone, without those before; needs --out.")
@click.option("--dry-run", is_flag=True, help="Write nothing; only say what would happen.")
def command(folder: Path, out: Path | None, only_new: bool, dry_run: bool) -> None:
    """Add a version with optional fields to each request and response in DIR.

    It is what the first draft of KIP-482 wants: a new version of all RPCs, with
    the fields of the one before it, in which each struct begins with its
    optional fields (versionsWithOptional). Such a version follows plain ones, so
    flexible versions are cut first, with all that only they have; a message that
    is flexible from the start has its first version said again. Headers go back
    to plain versions; other messages stay as they are.

    Specs are written in canonical form, which has no comments. Nothing is
    written unless all of them keep the rules, before and after.

    \b
    Examples:
      tagwire add-version my_specs --dry-run
      tagwire add-version my_specs
      tagwire add-version kafka_2_4_1 --only-new --out message_specs/drafts/kip482_rpcs
    """
    from tagwire_generator.editing.add_version import plan_versions
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.settings import find_root, load

    if only_new and out is None:
        raise click.UsageError("--only-new would replace all other versions; say with --out where the new ones go")
    spec_set = load(find_root(Path.cwd())).set_of(folder)
    plan = plan_versions(folder, out, only_new=only_new, options=spec_set.options if spec_set else SpecOptions())
    if not dry_run:
        plan.apply()
    click.echo(str(plan))
    number = sum(addition.new is not None for addition in plan.additions)
    files = count(len(plan.changed), "file")
    click.echo(f"{count(number, 'message')} with a new version, {files} {'would be ' if dry_run else ''}written")
