"""A cache of rendered files, which makes a run after a small edit fast.

An entry's name is the hash of all its inputs, so an entry is never outdated. An entry begins with a hash of its
content, so damaged entries are recognized and ignored. The folder `.tagwire_cache`, next to pyproject.toml, may be
deleted at any time. It contains a .gitignore file, so it is not committed. If the cache can't be read or written,
results are created again.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import tagwire.versions
from tagwire_generator.problems import Problem
from tagwire_generator.project import resources
from tagwire_generator.project.output import OutputError, write_all
from tagwire_generator.project.settings import SpecSet

FOLDER: Final = ".tagwire_cache"
_TOOLS: Final = ("black", "jinja2", "jsonschema", "ruff")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The files and the summary that were created for one spec, or for a whole package."""

    files: dict[str, str]
    """File contents by path within the package."""
    summary: dict[str, Any]
    """The message's summary as a JSON object, or empty for a package."""
    problems: tuple[Problem, ...] = ()


class Cache:
    """The cache entries of one package. `prune` removes entries that were not used."""

    def __init__(self, root: Path, package: str) -> None:
        """Open the cache of `package` in the project at `root`, without creating anything on disk."""
        self._top = root / FOLDER
        self._folder = self._top / package
        self._used: set[str] = set()

    def get(self, key: str) -> CacheEntry | None:
        """Return the entry with this key, or None if it doesn't exist or is damaged."""
        self._used.add(key)
        try:
            digest, _, content = self._path(key).read_text(encoding="utf-8").partition("\n")
            return _read_entry(content) if digest == _digest(content.encode()) else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, key: str, entry: CacheEntry) -> None:
        self._used.add(key)
        content = json.dumps(asdict(entry), ensure_ascii=False)
        contents = {self._path(key): f"{_digest(content.encode())}\n{content}"}
        ignore = self._top / ".gitignore"
        with contextlib.suppress(OSError, OutputError):
            if not ignore.exists():
                contents[ignore] = "# Made by tagwire to save time; may be deleted.\n*\n"
            if not self._is_elsewhere():
                write_all(contents)

    def prune(self) -> None:
        """Delete all entries that this object has neither read nor stored."""
        kept = {self._path(key).name for key in self._used}
        with contextlib.suppress(OSError):
            for path in [] if self._is_elsewhere() else self._folder.glob("*.entry"):
                if path.name not in kept:
                    path.unlink()

    def _is_elsewhere(self) -> bool:
        """Return whether a link, for example in a cloned project, leads to a folder with other files."""
        return self._top.is_symlink() or self._folder.is_symlink()

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.entry"


def key_of(*parts: str | bytes) -> str:
    """Return a hash of the parts and their boundaries: ("ab", "c") and ("a", "bc") have different hashes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part  # file names may not be UTF-8
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def environment_key(spec_set: SpecSet) -> str:
    """Return a hash of what affects all modules of a set, such as options and templates. The specs are not included.

    It covers the options, the package name, the set's own and tagwire's templates, the source code of the generator and
    runtime, and the versions of the tools.
    """
    folders = {spec_set.templates, resources.folder("templates")}
    return key_of(
        spec_set.package,
        spec_set.formatter,
        json.dumps(asdict(spec_set.options), sort_keys=True),
        *(_folder_key(folder) for folder in sorted(folders)),
        _sources_key(),
    )


@cache
def _sources_key() -> str:
    packages = (Path(__file__).parents[1], Path(tagwire.versions.__file__).parent)
    return key_of(
        *map(_tool_version, _TOOLS), *(_folder_key(package, (".py", ".json", ".toml")) for package in packages)
    )


def _folder_key(folder: Path, suffixes: tuple[str, ...] = ("",)) -> str:
    """Return a hash of the files with these suffixes. Links to folders are followed, because Jinja follows them."""
    parts, seen = list[str | bytes](), set[str]()
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [] if (real := os.path.realpath(parent)) in seen else sorted(folders)
        seen.add(real)
        for path in (Path(parent, name) for name in sorted(names) if name.endswith(suffixes)):
            if path.is_file():
                parts += (path.relative_to(folder).as_posix(), path.read_bytes())
    return key_of(*parts)


def _tool_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_entry(content: str) -> CacheEntry:
    fields = json.loads(content)
    return CacheEntry(
        files=dict(fields["files"]),
        summary=dict(fields["summary"]),
        problems=tuple(Problem(**problem) for problem in fields["problems"]),
    )
