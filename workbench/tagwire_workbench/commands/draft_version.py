"""`tagwire draft-version`: add a version with optional fields to each request and response in a folder of specs."""

from pathlib import Path

import click

from tagwire.text_format import count
from tagwire_cli.arguments.spec_paths import released_in
from tagwire_cli.output.echo import say
from tagwire_cli.paths import AnyPath, InputPath


@click.command("draft-version")
@click.argument("folder", metavar="DIR", type=InputPath(files=False))
@click.option(
    "--output",
    metavar="DIR2",
    type=AnyPath(files=False),
    help="Write the drafts to this folder; other specs in it are not replaced.",
)
@click.option("--in-place", is_flag=True, help="Edit the specs in DIR; each only gains a version.")
@click.option("--only-new", is_flag=True, help="Write only the new versions, without older ones; needs --output.")
@click.option("--against", "revision", metavar="REV", help="Also treat this git revision as released.")
@click.option("--dry-run", is_flag=True, help="Write nothing; only report what would change.")
def command(
    folder: Path, output: Path | None, in_place: bool, only_new: bool, revision: str | None, dry_run: bool
) -> None:
    """Draft a version with optional fields for each RPC message.

    This applies the first draft of KIP-482: each request and response in DIR gets
    a new version with the fields of the version before it, in which each struct
    begins with its optional fields (versionsWithOptional). The new version can only
    follow versions that are not flexible, so flexible versions, and fields that only
    they have, are removed first. If a message is flexible from the start, its first
    version is rewritten as one that is not. In headers, all versions become
    non-flexible; other messages do not change.

    The drafts are written to the folder of --output in normal form, without
    comments. With --in-place, comments are kept, and a spec that would lose a
    version or a field is rejected. A change of a version that is released in the
    lock file of the set or in --against REV is also rejected. Nothing is written
    unless all specs follow the rules, before and after.

    To add one version to a message in its own dialect, use `tagwire add-version`.

    \b
    Examples:
      tagwire draft-version my_specs --output drafts --dry-run
      tagwire draft-version kafka_2_4_1 --only-new --output message_specs/drafts/kip482_rpcs
      tagwire draft-version plain_specs --in-place
    """
    from tagwire_generator.project.settings import load_project
    from tagwire_workbench.draft_version import plan_drafts

    if in_place == (output is not None):
        raise click.UsageError("specify --output DIR2, or --in-place to edit the specs in DIR, but not both")
    if only_new and in_place:
        raise click.UsageError("with --in-place, --only-new would remove all older versions; use --output instead")
    settings = load_project()
    target = output or folder
    plan = plan_drafts(
        folder,
        target,
        only_new=only_new,
        options=settings.options_of(folder),
        released=released_in(settings, target, revision),
    )
    if not dry_run:
        plan.apply()
    say(plan, lines=True)
    number = sum(draft.new is not None for draft in plan.drafts)
    files = count(len(plan.changed), "file")
    say(f"{count(number, 'message')} with a new version; {files} {'would be ' if dry_run else ''}written")
