"""`tagwire import`: the specs inside release jars, as canonical specs."""

from collections.abc import Sequence
from pathlib import Path

import click

from tagwire_cli.output.echo import say
from tagwire_cli.output.progress import progress_bar

__all__ = ["command"]


@click.command("import")
@click.argument("sources", nargs=-1, required=True, metavar="JAR...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--output",
    "out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the specs go: DIR/<component>/<Message>.json.",
)
@click.option("--component", metavar="NAME", help="The component, for sources whose names do not tell it.")
def command(sources: Sequence[Path], out: Path, component: str | None) -> None:
    """Write canonical specs from the jars of one Kafka release, or of many.

    JAR is a jar of org.apache.kafka, or a folder of *.json. Only facts are
    taken: names, types, versions, tags, defaults, flags; header versions are
    added. The release of each follows from its name, as in
    kafka-clients-4.4.0.jar. Several releases are merged, in whatever order they
    are given: each version is that of the newest release that has it, and
    DIR/history.toml says which that is.

    Nothing is written unless all can be read and merged, and nothing is ever
    deleted; the report says what was written, what was taken although it is not
    as it should be, which versions were redefined in place, and which specs in
    DIR the sources do not have.

    \b
    Examples:
      tagwire import kafka-*-4.4.0.jar --output specs
      tagwire import kafka-*.jar --output specs
      tagwire import my_specs --component orders --output message_specs
    """
    from tagwire_generator.archive.importer import import_release

    with progress_bar("import") as tell:
        done = 0

        def progress(source: Path) -> None:
            nonlocal done
            if tell is not None:
                tell(done, len(sources))
            done += 1

        report = import_release(sources, out, component=component, progress=progress)
    say(report, lines=True)
