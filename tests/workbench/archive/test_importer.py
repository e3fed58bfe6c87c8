import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from release_jars import jar as jar_of
from spec_projects import read_tree

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.problems import Problem
from tagwire_workbench.archive.importer import import_release
from tagwire_workbench.archive.release import SPEC_BYTES, TOTAL_BYTES, SpecSource, read_releases

pytestmark = pytest.mark.thorough

CLIENTS = "kafka-clients-9.1.0.jar"


def read_release(path: Path, component: str | None = None) -> SpecSource:
    (release,) = read_releases([path], component=component)
    (source,) = release.sources
    return source


def spec(name: str = "FooData", **keys: Any) -> str:
    base = {"type": "data", "name": name, "validVersions": "0-1", "flexibleVersions": "1+", "fields": []}
    return json.dumps({**base, **keys})


def jar(folder: Path, entries: Mapping[str, str | bytes], name: str = CLIENTS) -> Path:
    return jar_of(folder, entries, name)


def foo(folder: Path, content: str | bytes, name: str = CLIENTS) -> Path:
    return jar(folder, {"message/FooData.json": content}, name)


FOO_REQUEST = """
// A licence stands here, and is not taken.
{
  "apiKey": 900, "type": "request", "name": "FooRequest", "listeners": ["broker"],
  "validVersions": "0-3", "flexibleVersions": "2+",
  // Version 2 is flexible.
  "fields": [
    { "name": "Bar", "type": "int32", "versions": "0+", "default": "0x10", "about": "Prose that is not taken." },
    { "name": "Rack", "type": "string", "taggedVersions": "2+", "tag": "0", "ignorable": "true" }
  ]
}
"""

IMPORTED_FOO_REQUEST = """\
{
  "apiKey": 900,
  "type": "request",
  "name": "FooRequest",
  "validVersions": "0-3",
  "flexibleVersions": "2+",
  "listeners": ["broker"],
  "headerVersions": { "0-1": "1", "2+": "2" },
  "fields": [
    { "name": "Bar", "type": "int32", "versions": "0+", "default": "16" },
    { "name": "Rack", "type": "string", "versions": "2+", "tag": 0, "taggedVersions": "2+", "ignorable": true }
  ]
}
"""


def test_it_writes_the_facts_of_a_jar_under_the_name_of_the_message(tmp_path: Path) -> None:
    entries = {"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n", "org/example/settings.json": "not a spec"}
    entries |= {"common/message/Foo.json": FOO_REQUEST, "common/metadata/BarRecord.json": spec("BarRecord")}
    source = jar(tmp_path, {**entries, "message/BazData.json": spec("BazData")})
    out = tmp_path / "specs"
    report = import_release([source], out)

    assert read_tree(out).keys() == {f"clients/{name}.json" for name in ("FooRequest", "BarRecord", "BazData")}
    assert read_tree(out)["clients/FooRequest.json"] == IMPORTED_FOO_REQUEST.encode()
    assert report.sources[0].components == {"clients": 3}
    assert [note.removeprefix(f"{source}!common/message/Foo.json: ") for note in report.notes] == [
        'Rack: tag given as "0", read as 0',
        'Rack: ignorable given as "true", read as true',
        "Rack has no versions; using its taggedVersions 2+",
        "holds FooRequest, and is written as FooRequest.json",
    ]
    assert str(report).splitlines()[0] == f"{source}: 3 specs (clients: 3)"
    assert str(report).splitlines()[-1] == "3 specs written, 0 unchanged"


def test_documentation_moves_to_the_newest_name(tmp_path: Path) -> None:
    struct = {"name": "S", "versions": "0+", "fields": [{"name": "A", "type": "int8", "versions": "0+"}]}
    bar: dict[str, Any] = {"name": "Bar", "type": "[]In", "versions": "0+", "about": "Kafka's."}
    bar["fields"] = [{"name": "Id", "type": "int8", "versions": "0+"}]
    old = jar(tmp_path, {"common/metadata/OldRecord.json": spec("OldRecord", type="metadata", apiKey=7, fields=[bar])})
    out = tmp_path / "specs"
    # Without any documentation, nothing is reported.
    assert not import_release([old], out).undocumented
    path = out / "clients" / "OldRecord.json"
    documented = json.loads(path.read_text())
    documented["about"] = "A record."
    documented["fields"][0]["about"] = "Bars."
    documented["fields"][0]["fields"][0]["about"] = "Its number."
    path.write_text(json.dumps(documented))

    new = {"name": "New", "type": "S", "versions": "2+"}
    text = spec("NewRecord", type="metadata", apiKey=7, validVersions="1-2", fields=[bar, new], commonStructs=[struct])
    newer = jar(tmp_path, {"common/metadata/NewRecord.json": text}, "kafka-clients-9.2.0.jar")
    report = import_release([old, newer], out)
    found = json.loads((out / "clients" / "NewRecord.json").read_text())
    assert (found["about"], found["fields"][0]["about"]) == ("A record.", "Bars.")
    assert found["fields"][0]["fields"][0]["about"] == "Its number."
    assert report.undocumented == {"NewRecord": ["New", "S:", "S:A"]}
    assert "NewRecord.New: no about" in str(report)

    path.with_name("NewRecord.json").write_text("{")
    with pytest.raises(SpecError, match=r"NewRecord\.json:1:2"):
        import_release([old, newer], out)
    assert path.with_name("NewRecord.json").read_text() == "{"


def test_a_second_import_writes_nothing_and_removes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "specs"
    source = foo(tmp_path, spec())
    import_release([source], out)
    stale = out / "clients" / "OldData.json"
    stale.write_text("{}")

    report = import_release([source], out)
    assert (report.written, report.unchanged, report.stale) == ((), (out / "clients" / "FooData.json",), (stale,))
    assert stale.read_text() == "{}"
    assert f"{stale}: not in these sources; unchanged" in str(report)


def test_written_specs_can_be_imported_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    import_release([jar(tmp_path, {"common/message/FooRequest.json": FOO_REQUEST})], first)
    report = import_release([first], second)
    assert read_tree(second) == read_tree(first)
    assert report.notes == ()


def test_removed_api_keeps_its_key(tmp_path: Path) -> None:
    removed = '{ "apiKey": 4, "type": "request", "name": "FooRequest", "validVersions": "none" }'
    import_release([jar(tmp_path, {"common/message/FooRequest.json": removed})], tmp_path / "specs")
    assert json.loads(read_tree(tmp_path / "specs")["clients/FooRequest.json"]) == json.loads(removed)


@pytest.mark.parametrize(
    ("path", "component"),
    [
        ("kafka-group-coordinator-9.1.0.jar", "group"),
        ("kafka-transaction-coordinator-9.1.0-rc1.jar", "transaction"),
        ("kafka-share-coordinator-9.1.0.jar", "share"),
        ("kafka-metadata-9.1.0-SNAPSHOT.jar", "cluster"),
        ("kafka-storage-9.1.0.jar", "remote-log"),
        ("kafka-raft.jar", "raft"),
        ("kafka-streams-9.1.0.jar", "streams"),
        ("kafka-clients-9.1.0/common/message", "clients"),
        ("streams/kafka/storage/src/main/resources/message", "remote-log"),
        ("specs/remote-log", "remote-log"),
    ],
)
def test_the_component_follows_from_the_path(tmp_path: Path, path: str, component: str) -> None:
    if path.endswith(".jar"):
        source = foo(tmp_path, spec(), path)
    else:
        source = tmp_path / path
        source.mkdir(parents=True)
        (source / "FooData.json").write_text(spec())
    assert read_release(source).components == {component: 1}


def test_a_directory_may_hold_several_components(tmp_path: Path) -> None:
    for folder in ("clients/src/main/resources/common/message", "raft/src/main/resources/common/message"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "FooData.json").write_text(spec(f"{folder[:4].title()}Data"))
    assert read_release(tmp_path).components == {"clients": 1, "raft": 1}


def test_caller_may_specify_the_component(tmp_path: Path) -> None:
    source = foo(tmp_path, spec(), "specs.jar")
    with pytest.raises(SpecError, match="the path contains no component name"):
        read_release(source)
    assert read_release(source, component="tiered-storage").components == {"tiered-storage": 1}
    with pytest.raises(SpecError, match=r"component '\.\./x' must consist of lower-case"):
        read_release(source, component="../x")


def test_two_sources_may_hold_the_same_spec(tmp_path: Path) -> None:
    sources = [
        jar(tmp_path, {"common/message/FooData.json": spec()}),
        jar(tmp_path, {"message/Other.json": spec(fields=None)}, "again/kafka-clients-9.1.0.jar"),
    ]
    assert len(import_release(sources, tmp_path / "specs").written) == 1


@pytest.mark.parametrize(
    ("entry", "name", "what"),
    [
        (spec(validVersions="0-2"), "again/kafka-clients-9.1.0.jar", "content"),
        (spec(), "kafka-raft-9.1.0.jar", "components"),
    ],
)
def test_two_specs_of_one_name_may_not_differ(tmp_path: Path, entry: str, name: str, what: str) -> None:
    sources = [foo(tmp_path, spec()), foo(tmp_path, entry, name)]
    with pytest.raises(SpecError, match=f"FooData differs in {what} from .*9.1.0.jar!message/FooData.json"):
        import_release(sources, tmp_path / "specs")
    assert not (tmp_path / "specs").exists()


def test_all_problems_of_a_jar_are_reported_and_nothing_is_written(tmp_path: Path) -> None:
    bad = {"message/Bad.json": '{\n  "type": "data",\n  "bogus": 1 }'}
    broken = {"message/Broken.json": '{\n  "type": "data",,\n}'}
    source = jar(tmp_path, {**bad, **broken, "message/Good.json": spec("GoodData")})
    with pytest.raises(SpecError) as caught:
        import_release([source], tmp_path / "specs")
    error = caught.value
    assert error.file == f"{source}!message/Bad.json"
    files = {problem.file.partition("!")[2] for problem in error.problems if isinstance(problem, Problem)}
    assert files == {*bad, *broken}
    assert f"{source}!message/Broken.json:2:18: error TW103:" in str(error)
    assert not (tmp_path / "specs").exists()


def test_position_of_a_byte_that_is_not_utf_8(tmp_path: Path) -> None:
    source = jar(tmp_path, {"message/FooData.json": b'{\n  "na\xc3\xa9\xff'})
    with pytest.raises(SpecError, match="0xff, is not valid UTF-8") as caught:
        read_release(source)
    assert (caught.value.file, caught.value.line, caught.value.column) == (f"{source}!message/FooData.json", 2, 7)


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "con.txt", "x\0y", "Foo\nBar"])
def test_the_name_of_a_message_never_becomes_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        import_release([foo(tmp_path, spec(name))], tmp_path / "specs")
    assert caught.value.rule == "TW206"
    assert read_tree(tmp_path).keys() == {CLIENTS}


@pytest.mark.parametrize(
    "entry",
    ["../message/Foo.json", "common/message/../../Foo.json", "/message/Foo.json", "C:/Foo.json", "message\\Foo.json"],
)
def test_an_entry_that_leads_out_condemns_the_jar(tmp_path: Path, entry: str) -> None:
    with pytest.raises(SpecError, match="points outside the archive"):
        import_release([jar(tmp_path, {"message/FooData.json": spec(), entry: spec("Evil")})], tmp_path / "specs")
    assert read_tree(tmp_path).keys() == {CLIENTS}


def test_spec_is_not_decompressed_beyond_its_bound(tmp_path: Path) -> None:
    source = foo(tmp_path, b" " * (SPEC_BYTES + 1))
    assert source.stat().st_size < 5000
    with pytest.raises(SpecError, match="a message spec can't be that long"):
        read_release(source)


def test_many_specs_are_not_decompressed_beyond_their_bound(tmp_path: Path) -> None:
    one = spec().ljust(SPEC_BYTES)
    source = jar(tmp_path, {f"message/Foo{n}.json": one for n in range(TOTAL_BYTES // SPEC_BYTES + 1)})
    with pytest.raises(SpecError, match="bytes in total"):
        read_release(source)


def test_a_directory_has_the_same_bounds(tmp_path: Path) -> None:
    (tmp_path / "FooData.json").write_bytes(b" " * (SPEC_BYTES + 1))
    with pytest.raises(SpecError, match="a message spec can't be that long"):
        read_release(tmp_path, component="foo")


def test_deep_nesting_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    source = foo(tmp_path, "[" * 100_000 + "]" * 100_000)
    with pytest.raises(SpecError) as caught:
        read_release(source)
    assert caught.value.rule == "TW107"


def damaged(change: Mapping[int, int], flags: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("message/Foo.json", spec())
    data = bytearray(buffer.getvalue())
    start = 30 + len("message/Foo.json")
    for offset, value in change.items():
        data[start + offset] = value
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, 6, flags)
    struct.pack_into("<H", data, central + 8, flags)
    return bytes(data)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"not a zip", id="no zip"),
        pytest.param(damaged({})[:-10], id="cut"),
        pytest.param(damaged({0: 0xFF, 1: 0xFF}), id="bad deflate"),
        pytest.param(damaged({}, flags=1), id="encrypted"),
        pytest.param(damaged({}).replace(b"\x08\x00", b"\x63\x00"), id="unknown compression"),
        pytest.param(damaged({}).replace(zlib.crc32(spec().encode()).to_bytes(4, "little"), b"abcd"), id="checksum"),
    ],
)
def test_damaged_jar_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / CLIENTS
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"9\.1\.0\.jar is neither a folder nor a readable jar"):
        read_release(path)


def test_source_that_does_not_exist_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="No such file"):
        read_release(tmp_path / "kafka-clients-9.1.0.jar")


def test_source_without_specs_is_rejected(tmp_path: Path) -> None:
    for source in (jar(tmp_path, {"specs/FooData.json": spec()}), tmp_path):
        with pytest.raises(SpecError, match="no message specs"):
            read_release(source)


def test_duplicate_entry_must_have_equal_content(tmp_path: Path) -> None:
    path = tmp_path / CLIENTS
    for second, differs in ((spec(), False), (spec(validVersions="0"), True)):
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
            warnings.simplefilter("ignore")
            archive.writestr("message/FooData.json", spec())
            archive.writestr("message/FooData.json", second)
        if differs:
            with pytest.raises(SpecError, match="differs in content"):
                import_release([path], tmp_path / "specs")
        else:
            import_release([path], tmp_path / "specs")


def test_entity_types_of_a_fork_are_kept(tmp_path: Path) -> None:
    fields = [{"name": "NodeId", "type": "int32", "versions": "0+", "entityType": "nodeId"}]
    import_release([foo(tmp_path, spec(fields=fields))], tmp_path / "specs")
    assert '"entityType": "nodeId"' in (tmp_path / "specs" / "clients" / "FooData.json").read_text()


def test_a_file_in_the_way_is_named_before_sources_are_read(tmp_path: Path) -> None:
    (tmp_path / "specs").write_text("")
    with pytest.raises(TagwireError, match=r"specs/history\.toml can't be written"):
        import_release([foo(tmp_path, spec(versions="often"))], tmp_path / "specs")


def test_each_source_is_announced(tmp_path: Path) -> None:
    seen: list[Path] = []
    source = foo(tmp_path, spec())
    import_release([source, source], tmp_path / "specs", progress=seen.append)
    assert seen == [source, source]
