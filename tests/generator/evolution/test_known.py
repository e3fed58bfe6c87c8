import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import tagwire_result
from spec_projects import SETTINGS, edit_spec, make_project, spec, write_spec

from tagwire_generator.reading import spec as spec_reading

pytestmark = pytest.mark.thorough

LOCK = 'lock = "pings.lock.json"\n'
Edit = Callable[[Path], None]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with one data message and three released APIs, one of which was later removed."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(make_project(tmp_path))
    (tmp_path / "pyproject.toml").write_text(SETTINGS + LOCK)
    for key, name in ((8, "Pong"), (9, "Gone")):
        write_spec(tmp_path, f"{name}Request", apiKey=key)
        write_spec(tmp_path, f"{name}Response", apiKey=key)
    write_spec(tmp_path, "Plain", type="data", apiKey=None)
    strip_keys(tmp_path, "Plain")
    tagwire_result("lock", code=0)
    for kind in ("Request", "Response"):
        (tmp_path / "message_specs" / f"Gone{kind}.json").unlink()
    tagwire_result("lock", "--accept-breaking", code=0)
    assert judged() == [], "what is there is released"
    return tmp_path


def strip_keys(root: Path, name: str) -> None:
    whole = {key: value for key, value in spec(name, type="data").items() if key != "apiKey"}
    (root / "message_specs" / f"{name}.json").write_text(json.dumps(whole))


def judged() -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(tagwire_result("breaking", "--output-format", "json").stdout)
    return found


def without_memory(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    with monkeypatch.context() as patch:
        patch.setenv("CI", "1")
        return judged()


def edited(name: str, before: str, after: str) -> Edit:
    return lambda root: edit_spec(root, name, before, after)


def added(name: str, **changes: object) -> Edit:
    return lambda root: write_spec(root, name, **changes).touch()


def renamed(old: str, new: str, **changes: object) -> Edit:
    def edit(root: Path) -> None:
        (root / "message_specs" / f"{old}.json").unlink()
        write_spec(root, new, **changes)

    return edit


def two_messages(root: Path) -> None:
    for name in ("Ping", "Pong"):
        edit_spec(root, f"{name}Request", '"int64"', '"int32"')


def swap_keys(root: Path) -> None:
    for name, key in (("Ping", 8), ("Pong", 7)):
        for kind in ("Request", "Response"):
            write_spec(root, f"{name}{kind}", apiKey=key)


def move_file(root: Path) -> None:
    (root / "message_specs" / "PongRequest.json").rename(root / "message_specs" / "PangRequest.json")


EDITS: dict[str, Edit] = {
    "a type": edited("PingRequest", '"int64"', '"int32"'),
    "two messages": two_messages,
    "nothing that breaks": edited("PingRequest", '"Nonce"', '"Nonce", "about": "x"'),
    "no spec at all": edited("PingRequest", '"type": "int64"', '"type": "int63"'),
    "another key": edited("PingRequest", '"apiKey": 7', '"apiKey": 17'),
    "the key of another": edited("PingRequest", '"apiKey": 7', '"apiKey": 8'),
    "keys swapped": swap_keys,
    "no version": edited("PongResponse", '"0-1"', '"none"'),
    "the request is unstable": edited("PongRequest", '"apiKey"', '"latestVersionUnstable": true, "apiKey"'),
    "another name": renamed("PongRequest", "PangRequest", apiKey=8),
    "another name, with an alias": renamed("PongRequest", "PangRequest", apiKey=8, aliases=["PongRequest"]),
    "a file of another name": move_file,
    "a file whose message is called otherwise": edited("Plain", '"Plain"', '"Other"'),
    "a file that is gone": lambda root: (root / "message_specs" / "PongRequest.json").unlink(),
    "a new message": added("NewRequest", apiKey=12),
    "a new message with the key of one that is gone": added("NewRequest", apiKey=9),
    "a new message with the key of another": added("NewRequest", apiKey=8),
    "a new message with the alias of another": added("NewRequest", apiKey=12, aliases=["Plain"]),
    "a message that comes back": added("GoneRequest", apiKey=9),
    "a message that comes back otherwise": added("GoneRequest", apiKey=9, fields=[]),
    "a component": lambda root: (root / "message_specs" / "Plain.json").rename(component(root) / "Plain.json").touch(),
}


def component(root: Path) -> Path:
    folder = root / "message_specs" / "other"
    folder.mkdir()
    return folder


SEVERAL = [
    ("a type", "the key of another"),
    ("another name", "a type"),
    ("a new message", "another name"),
    ("a new message with the key of one that is gone", "a message that comes back"),
]


@pytest.mark.parametrize("names", [*((name,) for name in EDITS), *SEVERAL], ids=", then ".join)
def test_cached_results_do_not_change_verdicts(
    names: tuple[str, ...], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in (project / "message_specs").rglob("*.json")}
    for name in names:
        EDITS[name](project)
        expected = without_memory(monkeypatch)
        assert judged() == expected, "with what was known before"
        assert judged() == expected, "with what is known since"
    write_spec(project, "MoreData", type="data", apiKey=None)
    strip_keys(project, "MoreData")
    assert judged() == without_memory(monkeypatch)
    for path in (project / "message_specs").rglob("*.json"):
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    assert judged() == []


def test_excused_and_other_findings_are_not_confused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EDITS["a type"](project)
    assert all(tagwire_result("breaking", code=1).stdout for _ in range(2)), "told each time until it is mended"
    excuse = 'rule = "TW903"\nmessage = "PingRequest"\nreason = "never released"\nuntil = "never"\n'
    with (project / "pyproject.toml").open("a") as settings:
        settings.write(f"\n[[tool.tagwire.exceptions]]\n{excuse}")
    assert judged() == []


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return a list that collects the path of each spec file that is read."""
    seen: list[str] = []
    real = spec_reading.read_spec

    def counted(text: str, **more: object) -> spec_reading.ReadResult:
        seen.append(str(more["file"]))
        return real(text, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(spec_reading, "read_spec", counted)
    yield seen


def test_only_changed_specs_are_read(project: Path, read: list[str]) -> None:
    judged()
    assert read == []
    EDITS["nothing that breaks"](project)
    assert judged() == []
    assert sorted(read) == ["message_specs/PingRequest.json", "message_specs/PingResponse.json"], "a pair is one"
    read.clear()
    EDITS["a type"](project)
    assert len(judged()) == 1
    assert len(read) == 2
    read.clear()
    assert len(judged()) == 1
    assert len(read) == 2, "what breaks is read again until it does not"


def test_new_lock_invalidates_the_cache(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EDITS["a type"](project)
    tagwire_result("lock", "--accept-breaking", code=0)
    assert judged() == without_memory(monkeypatch) == []
    edit_spec(project, "PingRequest", '"int32"', '"int64"')
    assert judged() == without_memory(monkeypatch) != []


def test_damaged_cache_is_ignored(project: Path) -> None:
    for path in (project / ".tagwire_cache").rglob("*.entry"):
        path.write_text("{}")
    EDITS["a type"](project)
    assert len(judged()) == 1
