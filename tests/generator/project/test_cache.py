import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from spec_projects import make_project

from tagwire_generator.problems import Problem
from tagwire_generator.project import cache
from tagwire_generator.project.cache import FOLDER, Cache, CacheEntry, environment_key, key_of
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import SpecSet, load

ENTRY = CacheEntry(
    {"a.py": "text é\n", "serializers/a.py": ""},
    {"name": "A", "api_key": None},
    (Problem(rule="TW422", severity="warning", file="A.json", line=1, column=2, message="m", source_line="s"),),
)


def test_cached_values_are_returned(tmp_path: Path) -> None:
    Cache(tmp_path, "package").put("k", ENTRY)
    assert Cache(tmp_path, "package").get("k") == ENTRY
    assert Cache(tmp_path, "package").get("other") is None
    assert Cache(tmp_path, "other").get("k") is None
    assert (tmp_path / FOLDER / ".gitignore").read_text().splitlines()[-1] == "*"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b" ",
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "no text": lambda data: b"\xff" + data,
    "another format": lambda _: hashlib.sha256(b"[]").hexdigest().encode() + b"\n[]",
    "missing keys": lambda _: hashlib.sha256(b"{}").hexdigest().encode() + b"\n{}",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entry_is_missing(tmp_path: Path, damage: str) -> None:
    Cache(tmp_path, "package").put("k", ENTRY)
    (path,) = (tmp_path / FOLDER / "package").iterdir()
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert Cache(tmp_path, "package").get("k") is None
    Cache(tmp_path, "package").put("k", ENTRY)
    assert Cache(tmp_path, "package").get("k") == ENTRY


def test_cache_that_cannot_be_written_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file in its place")
    unusable = Cache(tmp_path, "package")
    unusable.put("k", ENTRY)
    assert unusable.get("k") is None
    unusable.prune()


def test_pruning_keeps_what_the_run_used(tmp_path: Path) -> None:
    first = Cache(tmp_path, "package")
    for key in ("got", "put", "unused"):
        first.put(key, ENTRY)
    other = Cache(tmp_path, "other")
    other.put("unused", ENTRY)
    second = Cache(tmp_path, "package")
    second.get("got")
    second.put("put", ENTRY)
    second.prune()
    assert [first.get(key) is not None for key in ("got", "put", "unused")] == [True, True, False]
    assert other.get("unused") == ENTRY, "another package's entries are not ours to judge"


@pytest.mark.parametrize("link", [FOLDER, f"{FOLDER}/package"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    (tmp_path / "home" / "package").mkdir(parents=True)
    (tmp_path / "home" / "package" / "x.entry").touch()
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "home" / link.removeprefix(FOLDER).strip("/"))
    cache = Cache(tmp_path, "package")
    cache.put("k", ENTRY)
    cache.prune()
    assert [path.name for path in (tmp_path / "home").rglob("*")] == ["package", "x.entry"]


def test_keys_keep_their_parts_apart() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("a", b"b") == key_of(b"a", "b")
    assert key_of("file name \udcff") != key_of("file name \udcfe")


@pytest.fixture
def spec_set(tmp_path: Path) -> SpecSet:
    (spec_set,) = load(make_project(tmp_path)).sets
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "a.jinja").write_text("a")
    return replace(spec_set, templates=templates)


def test_environment_key_covers_everything_that_determines_the_output(
    spec_set: SpecSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = environment_key(spec_set)
    assert environment_key(replace(spec_set)) == key
    sets = (replace(spec_set, package="other"), replace(spec_set, options=SpecOptions(tag_gaps=True)))
    others = {key, *map(environment_key, sets)}
    (spec_set.templates / "a.jinja").write_text("b")
    others.add(environment_key(spec_set))
    (spec_set.templates / "a.jinja").rename(spec_set.templates / "b.jinja")
    others.add(environment_key(spec_set))
    for name in ("folder", "loop"):  # Jinja follows links to folders
        (spec_set.templates / name).symlink_to(spec_set.specs if name == "folder" else ".")
        others.add(environment_key(spec_set))
    (spec_set.specs / "a.jinja").write_text("a")
    others.add(environment_key(spec_set))
    for tool in ("black", "ruff"):
        monkeypatch.setattr(cache, "version", lambda name, tool=tool: "26.10.2" if name == tool else "1")
        cache._sources_key.cache_clear()
        others.add(environment_key(spec_set))
    cache._sources_key.cache_clear()
    assert len(others) == 10
