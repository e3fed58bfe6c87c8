"""Read the spec sources of a release from a jar or a directory, without parsing them.

A jar is a download, so its contents are not trusted. Entry names are never used as paths, and a jar with an entry such
as `../x` is rejected. The number of bytes read is limited, whatever sizes the jar's directory claims.

The artifact's name (such as `kafka-clients`) determines a spec's component.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tagwire.errors import SpecError

COMPONENTS: Final = {
    "kafka-clients": "clients",
    "kafka-group-coordinator": "group",
    "kafka-metadata": "cluster",
    "kafka-raft": "raft",
    "kafka-share-coordinator": "share",
    "kafka-storage": "remote-log",
    "kafka-streams": "streams",
    "kafka-transaction-coordinator": "transaction",
    "kafka_2.13": "core",
}
"""The component of the specs in each org.apache.kafka artifact. Newer releases have no specs in `core`."""

SPEC_BYTES: Final = 1 << 20
"""Maximum size of a spec. The largest spec of Kafka 4.4.0 is 13 kB long."""
TOTAL_BYTES: Final = 64 << 20

_IN_JAR: Final = re.compile(r"(?:common/(?:message|metadata)|message)/[^/]+\.json")
_COMPONENT: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_RELEASED: Final = re.compile(r"(?P<artifact>[a-z][a-z-]*?(?:_\d+\.\d+)?)-(?P<release>\d[\w.-]*)")

_ZIP_FAULTS: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)
"""The errors that zipfile raises for damaged or encrypted archives."""


@dataclass(frozen=True, slots=True)
class SpecText:
    """The JSON text of one spec. `origin` is the path of its file or, in a jar, `jar!entry`."""

    origin: str
    name: str
    """The file name without `.json`."""
    component: str
    text: str


def spec_texts(source: Path, component: str | None = None) -> Iterator[SpecText]:
    """Yield the specs of a jar or directory, sorted by path.

    `component` overrides the component in the source's path. Raises SpecError for an unreadable or hostile source, and
    for a path without a component.
    """
    if component is not None and not _COMPONENT.fullmatch(component):
        raise SpecError(
            f"component {component!r} must consist of lower-case letters and digits, with hyphens between words"
        )
    total = 0
    for path, origin, data in _files(source) if source.is_dir() else _entries(source):
        total += len(data)
        if total > TOTAL_BYTES:
            raise SpecError(f"{source}: the specs have more than {TOTAL_BYTES} bytes in total", file=str(source))
        yield SpecText(origin, path.stem, component or _component_of(path, source), _decoded(data, origin))


def release_name(source: Path) -> str:
    """Return the release in the name of a jar or folder, as in `kafka-clients-4.4.0.jar`, or "" if there is none."""
    for part in reversed(source.parts):
        released = _RELEASED.fullmatch(part.removesuffix(".jar"))
        if released and "." in released["release"]:
            return released["release"]
    return ""


def _files(folder: Path) -> Iterator[tuple[Path, str, bytes]]:
    for path in sorted(folder.rglob("*.json")):
        try:
            with path.open("rb") as file:
                data = file.read(SPEC_BYTES + 1)
        except OSError as error:
            raise SpecError(f"{path} can't be read: {error.strerror}", file=str(path)) from None
        yield path, str(path), _bounded(data, str(path))


def _entries(jar: Path) -> Iterator[tuple[Path, str, bytes]]:
    try:
        with zipfile.ZipFile(jar) as archive:
            for entry in sorted(archive.infolist(), key=lambda info: info.filename):
                _reject_hostile(jar, entry.orig_filename)
                if _IN_JAR.fullmatch(entry.filename):
                    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                        text = f"{entry.filename} has compression method {entry.compress_type}; jars use only 0 and 8"
                        raise zipfile.BadZipFile(text)
                    with archive.open(entry) as file:
                        data = file.read(SPEC_BYTES + 1)
                    origin = f"{jar}!{entry.filename}"
                    yield jar / entry.filename, origin, _bounded(data, origin)
    except _ZIP_FAULTS as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SpecError(f"{jar} is neither a folder nor a readable jar: {reason}", file=str(jar)) from None


def _reject_hostile(jar: Path, name: str) -> None:
    parts = name.split("/")
    if ".." in parts or parts[0] == "" or "\\" in name or ":" in parts[0] or "\0" in name:
        raise SpecError(f"{jar}: the entry {name!r} points outside the archive", file=str(jar))


def _bounded(data: bytes, origin: str) -> bytes:
    if len(data) > SPEC_BYTES:
        raise SpecError(f"{origin} has more than {SPEC_BYTES} bytes; a message spec can't be that long", file=origin)
    return data


def _decoded(data: bytes, origin: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = data[error.start]
        raise SpecError(
            f"{origin}:{line}:{column}: byte 0x{byte:02x} is not valid UTF-8; specs must be encoded in UTF-8",
            file=origin,
            line=line,
            column=column,
            rule="TW102",
        ) from None


def _component_of(path: Path, source: Path) -> str:
    """Return the component of a spec. The innermost folder in its path that names a component determines it.

    A folder's name can be an artifact (`kafka-clients-4.4.0`), a source module (`clients/src`), or a component.
    """
    folders = path.resolve().parent.parts
    if folders[-1] in COMPONENTS.values():
        return folders[-1]
    for folder, inner in reversed(list(zip(folders, (*folders[1:], ""), strict=True))):
        name = folder.removesuffix(".jar")
        released = _RELEASED.fullmatch(name)
        artifact = released["artifact"] if released else name
        if inner == "src":
            artifact = f"kafka-{name}"
        if artifact in COMPONENTS:
            return COMPONENTS[artifact]
    raise SpecError(
        f"{source}: the path contains no component name ({', '.join(COMPONENTS)}); specify one with --component",
        file=str(source),
    )
