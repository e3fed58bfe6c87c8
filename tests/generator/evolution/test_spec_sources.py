import json
from pathlib import Path

import pytest
from spec_projects import commit, git

from tagwire.errors import SpecError
from tagwire_generator.evolution.spec_sources import GitError, NotAtRevisionError, SpecData, SpecReader, specs_at
from tagwire_generator.project.options import SpecOptions

SPEC = {"type": "data", "name": "Parcel", "validVersions": "0", "flexibleVersions": "none"}


def data(file: str, *fields: str) -> SpecData:
    spec = SPEC | {"fields": [{"name": name, "type": "int8", "versions": "0+"} for name in fields]}
    return SpecData(file, "", json.dumps(spec).encode())


def test_a_spec_in_two_sets_is_one_object() -> None:
    reader = SpecReader()
    old, new = (reader.read([data(file, "Weight")], SpecOptions()) for file in ("old/Parcel.json", "new/Parcel.json"))
    assert old.specs["Parcel"] is new.specs["Parcel"]


def test_errors_name_the_file_of_each_set() -> None:
    reader = SpecReader()
    for file in ("old/Parcel.json", "new/Parcel.json"):
        found = reader.read([data(file, "Weight", "Weight")], SpecOptions())
        assert not found.specs
        assert [problem.file for problems in found.invalid.values() for problem in problems] == [file]


def test_a_spec_is_read_again_if_its_enum_has_changed() -> None:
    spec = SPEC | {"dialect": "tagwire", "fields": [{"name": "A", "type": "int8", "versions": "0+", "enum": "State"}]}
    reader, names = SpecReader(), []
    for name in ("NEW", "OLD"):
        register = {"name": "State", "type": "register", "keys": "int8", "entries": [{"key": 0, "name": name}]}
        files = [SpecData(f"{each['name']}.json", "", json.dumps(each).encode()) for each in (register, spec)]
        enum = reader.read(files, SpecOptions()).specs["Parcel"].fields[0].enum
        names += [] if enum is None else [entry.name for entry in enum.entries]
    assert names == ["NEW", "OLD"]


ODD = ("with space", "ünïcode", "-dash", ":(top)", "star*", "quote'\"", "b\\slash", "[x]")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Create a git repository with a folder of specs: one commit, tagged `v1`, and a second commit with changes."""
    git(tmp_path, "init", "-b", "main")
    specs = tmp_path / "specs"
    (specs / "part").mkdir(parents=True)
    (specs / ".hidden").mkdir()
    for name in (*ODD, "Plain", "part/Inner", ".hidden/Not", "deleted"):
        (specs / f"{name}.json").write_bytes(f"old {name}\r\n".encode())
    (specs / "notes.txt").write_text("no spec")
    commit(tmp_path)
    git(tmp_path, "tag", "v1")
    (specs / "Plain.json").write_text("new")
    (specs / "Later.json").write_text("new")
    (specs / "deleted.json").unlink()
    commit(tmp_path)
    return tmp_path


@pytest.mark.parametrize("form", ["from inside", "from outside", "absolute"])
def test_folder_at_an_earlier_revision(repository: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(repository / "specs" if form == "from inside" else repository)
    path = {"from inside": Path(), "from outside": Path("specs"), "absolute": repository / "specs"}[form]
    found = {(each.file, each.component): each.data for each in specs_at("v1", path)}
    expected = {(f"v1:specs/{name}.json", ""): f"old {name}\r\n".encode() for name in (*ODD, "Plain", "deleted")}
    assert found == expected | {("v1:specs/part/Inner.json", "part"): b"old part/Inner\r\n"}


@pytest.mark.parametrize("name", [*ODD, "Plain"])
def test_file_at_an_earlier_revision(repository: Path, name: str) -> None:
    [found] = specs_at("v1", repository / "specs" / f"{name}.json")
    assert (found.name, found.component, found.data) == (name, "", f"old {name}\r\n".encode())


def test_the_whole_repository_as_a_folder_of_specs(tmp_path: Path) -> None:
    (tmp_path / "A.json").write_text("x")
    commit(tmp_path)
    assert [each.file for each in specs_at("HEAD", tmp_path)] == ["HEAD:A.json"]


def test_any_name_of_a_revision(repository: Path) -> None:
    for revision in ("v1", "HEAD~1", "main^", "@~"):
        assert len(specs_at(revision, repository / "specs")) == len(ODD) + 3


@pytest.mark.parametrize("revision", ["nowhere", "--all", "-h", "", "v1:specs", "HEAD~9", "v1 main"])
def test_an_unknown_revision(repository: Path, revision: str) -> None:
    with pytest.raises(GitError, match=r"git has no revision .*fetch it first"):
        specs_at(revision, repository / "specs")


def test_path_missing_from_a_revision(repository: Path) -> None:
    with pytest.raises(NotAtRevisionError, match=r"Later\.json is neither a file nor a folder with .* at revision v1"):
        specs_at("v1", repository / "specs" / "Later.json")
    (repository / "other").mkdir()
    with pytest.raises(NotAtRevisionError, match=r"other is neither a file nor a folder with .* at revision HEAD"):
        specs_at("HEAD", repository / "other")


def test_git_variables_of_another_repository_are_ignored(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    assert specs_at("v1", repository / "specs")


def test_spec_in_a_folder_that_is_too_deep(repository: Path) -> None:
    (repository / "specs" / "a" / "b").mkdir(parents=True)
    (repository / "specs" / "a" / "b" / "C.json").write_text("x")
    commit(repository)
    with pytest.raises(SpecError, match="nested too deeply"):
        specs_at("HEAD", repository / "specs")


def test_a_name_that_can_not_be_printed(repository: Path) -> None:
    (repository / "specs" / "line\nbreak.json").write_text("x")
    commit(repository)
    with pytest.raises(SpecError, match="non-printable character"):
        specs_at("HEAD", repository / "specs")


def test_links_are_not_specs(repository: Path) -> None:
    (repository / "specs" / "Link.json").symlink_to("Plain.json")
    commit(repository)
    assert "HEAD:specs/Link.json" not in {each.file for each in specs_at("HEAD", repository / "specs")}
