"""`tagwire import`: the specs inside release jars, as canonical specs."""

from collections.abc import Sequence
from pathlib import Path

import click

from tagwire_cli.progress import progress_bar

__all__ = ["command"]


@click.command("import")
@click.argument("sources", nargs=-1, required=True, metavar="JAR...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the specs go: DIR/<component>/<Message>.json.",
)
@click.option("--component", metavar="NAME", help="The component, for sources whose names do not tell it.")
def command(sources: Sequence[Path], out: Path, component: str | None) -> None:
    """Write canonical specs from the jars of a Kafka release.

    JAR is a jar of org.apache.kafka, or a folder of *.json. Only facts are
    taken: names, types, versions, tags, defaults, flags; header versions are
    added. All jars of one run belong to one release. Nothing is written unless
    all can be read, and nothing is ever deleted; the report says what was
    written, what was taken although it is not as it should be, and which specs
    in DIR the sources do not have.

    \b
    Examples:
      tagwire import kafka-*-4.4.0.jar --out message_specs/kafka
      tagwire import my_specs --component orders --out message_specs
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
    click.echo(str(report))
