import datetime
from pathlib import Path

import pytest

from tagwire.errors import SpecError
from tagwire.versions import Versions
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.resources import folder
from tagwire_generator.project.root import find_root, is_in_project
from tagwire_generator.project.settings import Settings, SettingsError, load


def spec_set(specs: str = "specs", package: str = "messages", more: str = "") -> str:
    return f'[[tool.tagwire.sets]]\nspecs = "{specs}"\npackage = "{package}"\n{more}\n'


SET = spec_set()
EXCEPTION = '[[tool.tagwire.exceptions]]\nrule = "TW903"\nmessage = "Foo"\nreason = "unused"\n'
ABSOLUTE = Path("/specs").absolute().as_posix()


def settings_of(root: Path, text: str) -> Settings:
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    return load(root)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{ nodeId = "int32" }', (("nodeId", "int32"),)),
        ('["streamId", "nodeId"]', (("nodeId", ""), ("streamId", ""))),
        ("3", "must be a table such as"),
        ("{ nodeId = 3 }", "must be a table such as"),
    ],
)
def test_entity_types_of_a_set(tmp_path: Path, written: str, read: object) -> None:
    text = f"{SET}options = {{ entity_types = {written} }}\n"
    if isinstance(read, str):
        with pytest.raises(SettingsError, match=read):
            settings_of(tmp_path, text)
    else:
        [own] = settings_of(tmp_path, text).sets
        assert own.options.entity_types == read


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SET, "utf-8-sig")
    assert [each.package for each in load(tmp_path).sets] == ["messages"]


def test_a_set_without_its_folder(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, spec_set("gone"))
    with pytest.raises(SettingsError, match="number 1: `specs` is 'gone', which is not a folder"):
        settings.project_sets()


@pytest.mark.parametrize("text", [None, "", "[tool.other]\nx = 1\n", "[tool.tagwire]\n", "[tool.tagwire]\nsets = []\n"])
def test_default_set_without_settings(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    (only,) = load(tmp_path).sets
    assert (only.root, only.specs, only.package) == (tmp_path, tmp_path / "message_specs", "messages")
    assert only.directory == tmp_path / "generated" / "messages"
    assert only.options == SpecOptions()
    assert only.templates == folder("templates")


def test_set_has_the_written_settings(tmp_path: Path) -> None:
    more = 'output = "src"\noptions = { tag_gaps = true, length_varint = "unsigned" }'
    both = spec_set("specs/one", "wire.one", more) + spec_set("specs/two", "wire.two", 'templates = "theirs"')
    settings = settings_of(tmp_path, '[tool.tagwire]\ntemplates = "ours"\n' + both)
    one, two = settings.sets
    assert one.specs == tmp_path / "specs" / "one"
    assert one.directory == tmp_path / "src" / "wire" / "one"
    assert one.options == SpecOptions(tag_gaps=True, length_varint="unsigned")
    assert (one.templates, two.templates) == (tmp_path / "ours", tmp_path / "theirs")
    assert two.directory == tmp_path / "generated" / "wire" / "two"
    assert one.source_name(tmp_path / "specs" / "one" / "a" / "Foo.json") == "specs/one/a/Foo.json"


def test_the_set_of_a_path(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, spec_set("specs/one", "one") + spec_set("specs/two", "two"))
    one, two = settings.sets
    assert settings.set_of(tmp_path / "specs" / "one" / "Foo.json") is one
    assert settings.set_of(tmp_path / "specs" / "two") is two
    assert settings.set_of(tmp_path / "specs" / "twofold") is None
    (tmp_path / "specs").symlink_to("elsewhere")
    assert settings.set_of(tmp_path / "specs" / "two" / "Foo.json") is two


def test_the_root_is_the_nearest_folder_with_settings(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert find_root(inner) == tmp_path
    (tmp_path / "a" / "pyproject.toml").touch()
    assert find_root(inner) == tmp_path / "a"


def test_a_folder_may_be_in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert not is_in_project()
    (tmp_path / "message_specs").mkdir()
    assert not is_in_project()
    (inner / "message_specs").mkdir()
    assert is_in_project()
    (inner / "message_specs").rmdir()
    (tmp_path / "pyproject.toml").touch()
    assert is_in_project()


def test_a_lock_and_exceptions(tmp_path: Path) -> None:
    first = EXCEPTION + 'path = "topics.name"\nversions = "0-3"\nuntil = 2027-01-31\n'
    second = EXCEPTION + 'versions = 2\nuntil = "never"\n'
    settings = settings_of(tmp_path, spec_set(more='lock = "released/one.json"') + first + second)
    assert settings.sets[0].lock == tmp_path / "released" / "one.json"
    one, two = settings.exemptions
    assert (one.rule, one.message, one.path, one.reason) == ("TW903", "Foo", "topics.name", "unused")
    assert (one.versions, one.until) == (Versions.parse("0-3"), datetime.date(2027, 1, 31))
    assert (two.path, two.versions, two.until) == (None, Versions.parse("2"), None)


REJECTED = {
    "no TOML": ("[tool.tagwire", "the file is not valid TOML"),
    "a number of many digits": (
        SET + f"lock = {'9' * 5000}",
        "not valid TOML: a number has more digits than TOML allows",
    ),
    "a hexadecimal number": (
        SET + f"lock = 0x{'f' * 5000}",
        "not valid TOML: a number has more digits than TOML allows",
    ),
    "many lists": (f"x = {'[' * 3000}", "the file is not valid TOML: its values are nested too deeply"),
    "not a table": ("[tool]\ntagwire = 3", "tool.tagwire is not a table"),
    "sets is a table": ('[tool.tagwire.sets]\nspecs = "specs"', "write [[tool.tagwire.sets]]"),
    "unknown key of the section": ('[tool.tagwire]\ntemplate = "x"', "'template'; did you mean 'templates'?"),
    "unknown formatter": ('[tool.tagwire]\nformatter = "yapf"', "`formatter` is 'yapf'; it must be one of black, ruff"),
    "unknown key of a set": (SET + 'pakage = "x"', "number 1 has an unknown key 'pakage'; did you mean 'package'?"),
    "a key like no other": (SET + "zzz = 1", "the keys are specs, package, output, options, templates, lock"),
    "no specs": ('[[tool.tagwire.sets]]\npackage = "a"', "`specs` is missing"),
    "no package": ('[[tool.tagwire.sets]]\nspecs = "a"', "`package` is missing"),
    "specs is a number": ('[[tool.tagwire.sets]]\nspecs = 3\npackage = "a"', "`specs` is 3; it must be the path"),
    "empty output": (SET + 'output = ""', "`output` is ''; it must be the path"),
    "an absolute path": (SET + f"output = '{ABSOLUTE}'", "write it relative to pyproject.toml"),
    "output leaves": (SET + 'output = "../x"', "`output` is '../x', outside of the folder of pyproject.toml"),
    "output leaves on a way about": (SET + 'output = "src/../../x"', "outside of the folder of pyproject.toml"),
    "package is tagwire": (SET.replace('"messages"', '"tagwire_workbench"'), "is a package of tagwire"),
    "package in tagwire": (SET.replace('"messages"', '"tagwire.records"'), "is a package of tagwire"),
    "package is a path": ('[[tool.tagwire.sets]]\nspecs = "a"\npackage = "a/b"', "`package` is 'a/b'"),
    "package leaves": ('[[tool.tagwire.sets]]\nspecs = "a"\npackage = "..x"', "`package` is '..x'"),
    "package is a keyword": ('[[tool.tagwire.sets]]\nspecs = "a"\npackage = "a.class"', "`package` is 'a.class'"),
    "options is a list": (SET + "options = [1]", "it must be a table"),
    "package of Windows": (SET.replace('"messages"', '"a.Con"'), "`package` is 'a.Con', but 'con' has a special"),
    "package in one of Python": (SET.replace('"messages"', '"json.messages"'), "'json' is a Python module"),
    "unknown option": (SET + "options = { tag_gap = true }", "did you mean 'tag_gaps'?"),
    "wrong option": (SET + "options = { tag_gaps = 1 }", "option `tag_gaps` is 1"),
    "an absolute lock": (SET + f"lock = '{ABSOLUTE}'", "`lock` is the absolute path"),
    "lock is a number": (SET + "lock = 3", "`lock` is 3; it must be the path of a file"),
    "exceptions are a table": ("[tool.tagwire.exceptions]", "write [[tool.tagwire.exceptions]] above each"),
    "unknown exception key": (EXCEPTION + "untill = 3", "did you mean 'until'?"),
    "no reason": (EXCEPTION.replace("reason", "path"), "`reason` is missing; this key is required, and its value must"),
    "empty reason": (EXCEPTION.replace("unused", " ") + 'until = "never"', "`reason` is ' '"),
    "no message": (EXCEPTION.replace("message", "path") + 'until = "never"', "`message` is missing"),
    "a rule about specs": (
        EXCEPTION.replace("TW903", "TW402"),
        "`rule` is 'TW402'; it must be a change rule (TW901 to TW963) or a design rule (TL01 to TL94)",
    ),
    "no until": (EXCEPTION, "`until` is missing; write the last day of the exception, such as 2027-01-31, or 'never'"),
    "until is a text": (EXCEPTION + 'until = "2027-01-31"', "`until` is '2027-01-31'"),
    "until is a time": (EXCEPTION + "until = 2027-01-31T00:00:00", "`until` is datetime"),
    "wrong versions": (EXCEPTION + 'until = "never"\nversions = "1-x"', "`versions`: expected a version range"),
    "path is a number": (EXCEPTION + 'until = "never"\npath = 3', "`path` is 3; it must be a string"),
    "one package twice": (SET + SET, "'messages' and 'messages' overlap"),
    "a package in a package": (SET + SET.replace("messages", "messages.more"), "give each spec set its own folder"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_rejected_input(tmp_path: Path, case: str) -> None:
    text, sentence = REJECTED[case]
    with pytest.raises(SettingsError) as caught:
        settings_of(tmp_path, text)
    assert sentence in str(caught.value)
    assert caught.value.file == str(tmp_path / "pyproject.toml")
    assert str(caught.value).startswith(caught.value.file)
    assert isinstance(caught.value, SpecError)


def test_settings_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"#\xff")
    with pytest.raises(SettingsError, match="byte 1 of the file, 0xff, is not valid UTF-8; save the file as UTF-8"):
        load(tmp_path)
