"""`tagwire fuzz corpus`: write seeds and a dictionary for fuzzers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.errors import VersionsError
from tagwire.text_format import a_kind, count
from tagwire.versions import Versions
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import package_option
from tagwire_cli.arguments.packages import find_message, find_registry, require_headers
from tagwire_cli.output.echo import say
from tagwire_cli.paths import AnyPath
from tagwire_workbench.fuzzing.framing import KINDS, framing_options

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message


def _versions(text: str) -> Versions:
    try:
        return Versions.parse(text)
    except VersionsError as error:
        raise click.BadParameter(str(error)) from None


@click.command("corpus")
@click.argument("names", nargs=-1, metavar="[MESSAGE...]", shell_complete=completion.arguments)
@click.option("--output", required=True, type=AnyPath(files=False), metavar="DIR", help="The folder for the seeds.")
@click.option("--dictionary", type=AnyPath(folders=False), metavar="FILE", help="Also write a dictionary.")
@click.option("--versions", type=_versions, metavar="VERSIONS", help="Only these versions, such as 3, 2-4 or 9+.")
@framing_options
@package_option
def command(
    names: Sequence[str],
    output: Path,
    dictionary: Path | None,
    versions: Versions | None,
    kind: str | None,
    in_frames: bool,
    prefix: str | None,
    package: str | None,
) -> None:
    """Write a seed corpus and a dictionary for fuzzers.

    A seed is a file with one valid message. Each version has up to eight: empty
    arrays, nulls, one or three elements, low and high numbers, long strings, unknown
    tagged fields. Without MESSAGE, all messages of the package are written.

    With --frames, a seed is a frame: a header and a request or response. --prefix
    size adds an int32 size before the frame, as on a connection. --prefix key adds
    API key and version, two bytes each, so that one fuzz target can read all
    requests or all responses.

    The dictionary has tokens that a fuzzer rarely finds by chance: tags, enum
    values, lengths at their limits, and API keys with versions. libFuzzer, AFL++,
    Atheris and Jazzer read the folder and the dictionary without conversion.

    \b
    Examples:
      tagwire fuzz corpus MetadataResponse --versions 9+ --output seeds
      tagwire fuzz corpus --frames request --output seeds --dictionary requests.dict
      tagwire fuzz corpus --kind response --prefix key --output seeds
    """
    from tagwire_generator.project.output import write_all
    from tagwire_workbench.fuzzing.corpus import dictionary_of, dictionary_text, seeds
    from tagwire_workbench.fuzzing.framing import InputFraming

    registry = find_registry(package)
    if in_frames:
        require_headers(registry)
    messages = _messages(registry, names, KINDS if in_frames and kind is None else (kind,), prefix)
    chosen = [(cls, version) for cls in messages for version in cls.VERSIONS if versions is None or version in versions]
    if not chosen:
        raise click.UsageError("nothing to write: none of the chosen messages has any of these versions.")
    contents: dict[Path, str | bytes] = {}
    for cls, version in chosen:
        framing = InputFraming(registry, cls, version, frames=in_frames, prefix=prefix)
        for name, message in seeds(cls, version):
            contents[output / f"{cls.NAME}-v{version}-{name}"] = framing.write(message, version)
    size = sum(map(len, contents.values()))
    lines = [f"wrote {count(len(contents), 'seed')}, {count(size, 'byte')}, to {output}"]
    if dictionary is not None:
        if output / dictionary.name in contents and os.path.realpath(dictionary.parent) == os.path.realpath(output):
            raise click.BadParameter(f"{dictionary} is also a seed; choose another file", param_hint="--dictionary")
        keyed = [each for each in chosen if prefix == "key" or (in_frames and each[0].KIND == "request")]
        tokens = dictionary_of(dict.fromkeys(cls for cls, _ in chosen), keys=keyed)
        contents[dictionary] = dictionary_text(tokens)
        lines.append(f"wrote {count(len(tokens), 'token')} to {dictionary}")
    write_all(contents)
    for line in lines:
        say(line, err=True)


def _messages(
    registry: "Registry", names: Sequence[str], kinds: Sequence[str | None], prefix: str | None
) -> "list[type[Message]]":
    """Return the named messages or, without names, all messages whose kind is in `kinds`.

    If `kinds` contains None, messages of any kind are accepted. Raises click.UsageError for an unknown message.
    """
    found = list(dict.fromkeys(find_message(registry, name) for name in names))
    for cls in found:
        if not {None, cls.KIND}.intersection(kinds):
            expected = " or ".join(filter(None, kinds))
            raise click.BadParameter(f"{cls.NAME} is {a_kind(cls.KIND)}, not a {expected}", param_hint="MESSAGE")
    if not found:
        all_of_them = (registry[name] for name in registry.names())
        found = [cls for cls in all_of_them if {None, cls.KIND}.intersection(kinds) and cls.KIND != "format"]
    by_key: dict[int | None, type[Message]] = {}
    for cls in found if prefix == "key" else ():
        other = by_key.setdefault(cls.API_KEY, cls)
        if cls.API_KEY is None:
            raise click.UsageError(
                f"{cls.NAME} has no API key, so --prefix key can't be used; choose other messages, or give --kind."
            )
        if other is not cls:
            text = f"--prefix key: inputs of {other.NAME} and {cls.NAME} begin with the same API key, {cls.API_KEY}"
            raise click.UsageError(f"{text}; choose one of these messages, or give --kind.")
    return found
