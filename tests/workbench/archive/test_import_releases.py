import json
import random
import re
from pathlib import Path

import pytest
from release_jars import Spec, data, field, jar, jars, keyed
from spec_projects import read_tree

from tagwire.errors import SpecError
from tagwire_generator.project.history import read_history
from tagwire_workbench.archive.importer import import_release
from tagwire_workbench.archive.release import read_releases
from tagwire_workbench.archive.wire_facts import digest_of

RELEASES: dict[str, list[Spec]] = {
    "3.9.2": [keyed("request", 1, "OldRequest", "0-1", field("A")), data("0", name="Only")],
    "3.10.0-rc1": [keyed("request", 1, "NewRequest", "0-1", field("B"))],
    "3.10.0": [keyed("request", 1, "NewRequest", "1-2", field("B"))],
    "4.0.0": [keyed("request", 1, "NewRequest", "1-2", field("B"), field("C", "int8", "2+"))],
}


def test_several_releases_become_one_set(tmp_path: Path) -> None:
    import_release(jars(tmp_path, RELEASES), tmp_path / "specs")
    found = read_tree(tmp_path / "specs")
    assert set(found) == {"history.toml", "clients/NewRequest.json", "clients/Only.json"}
    more = {"aliases": ["OldRequest"], "headerVersions": {"0+": "1"}}
    expected = keyed("request", 1, "NewRequest", "0-2", field("B"), field("C", "int8", "2+"), **more)
    assert json.loads(found["clients/NewRequest.json"]) == expected
    assert [line for line in found["history.toml"].decode().splitlines() if line.startswith(tuple("012"))] == [
        f'0 = "3.9.2 to 3.10.0-rc1: {digest_of("int32")}"',
        f'1 = "3.9.2 to 4.0.0: {digest_of("int32")}"',
        f'2 = ["3.10.0: {digest_of("int32")}", "4.0.0: {digest_of("int32, int8")}"]',
        f'0 = "3.9.2: {digest_of("")}"',
    ]
    history = read_history(tmp_path / "specs" / "history.toml")
    assert history.messages.keys() == {("clients", "NewRequest"), ("clients", "Only")}


def test_report_lists_redefined_versions(tmp_path: Path) -> None:
    report = import_release(jars(tmp_path, RELEASES), tmp_path / "specs")
    assert [release.name for release in report.releases] == ["4.0.0", "3.10.0", "3.10.0-rc1", "3.9.2"]
    assert str(report).splitlines()[4:] == [
        "clients/NewRequest version 2: redefined in place; using 4.0.0",
        "  3.10.0 to 3.10.0: b int32",
        "  4.0.0 to 4.0.0: b int32, c int8",
        "4 releases: 2 messages with 4 versions",
        "2 specs written, 0 unchanged",
    ]
    assert str(import_release(jars(tmp_path, RELEASES), tmp_path / "specs")).endswith("0 specs written, 2 unchanged")


def test_the_order_of_the_jars_does_not_matter(tmp_path: Path) -> None:
    sources = jars(tmp_path, RELEASES)
    import_release(sources, tmp_path / "specs")
    for seed in range(5):
        random.Random(seed).shuffle(sources)
        import_release(sources, tmp_path / str(seed))
        assert read_tree(tmp_path / str(seed)) == read_tree(tmp_path / "specs")


def test_folders_named_after_their_releases(tmp_path: Path) -> None:
    for name, specs in RELEASES.items():
        folder = tmp_path / f"kafka-clients-{name}"
        folder.mkdir()
        for spec in specs:
            (folder / f"{spec['name']}.json").write_text(json.dumps(spec))
    import_release(sorted(tmp_path.iterdir()), tmp_path / "from folders")
    import_release(jars(tmp_path, RELEASES), tmp_path / "from jars")
    assert read_tree(tmp_path / "from folders") == read_tree(tmp_path / "from jars")


def test_jars_without_specs_are_not_releases_of_missing_messages(tmp_path: Path) -> None:
    sources = jars(tmp_path, RELEASES)
    sources += [jar(tmp_path, {"META-INF/MANIFEST.MF": ""}, f"kafka-raft-{name}.jar") for name in RELEASES]
    report = import_release(sources, tmp_path / "specs")
    assert f"{sources[-1]}: 0 specs" in str(report).splitlines()
    import_release(sources[:4], tmp_path / "other")
    assert read_tree(tmp_path / "other") == read_tree(tmp_path / "specs")


def test_one_release_has_no_history_and_one_of_others_is_stale(tmp_path: Path) -> None:
    sources = jars(tmp_path, RELEASES)
    assert import_release(sources[-1:], tmp_path / "specs").history is None
    assert not (tmp_path / "specs" / "history.toml").exists()
    import_release(sources, tmp_path / "specs")
    report = import_release(sources[-1:], tmp_path / "specs")
    assert report.stale == (tmp_path / "specs" / "clients" / "Only.json", tmp_path / "specs" / "history.toml")


def test_sources_without_release_names_are_one_release(tmp_path: Path) -> None:
    for folder, name in (("clients", "FooData"), ("raft", "BarData")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(data("0", name=name)))
    [release] = read_releases([tmp_path / "clients", tmp_path / "raft"])
    assert (release.name, [spec.name for spec in release.specs]) == ("", ["FooData", "BarData"])


def test_source_without_a_release_name_among_others_is_rejected(tmp_path: Path) -> None:
    sources = [*jars(tmp_path, RELEASES), jar(tmp_path, {"message/Foo.json": json.dumps(data("0"))}, "kafka-raft.jar")]
    with pytest.raises(SpecError, match=re.escape("kafka-raft.jar: the name contains no release")) as caught:
        import_release(sources, tmp_path / "specs")
    assert caught.value.file == str(sources[-1])
    assert not (tmp_path / "specs").exists()


def test_folder_without_specs_is_rejected_even_next_to_others(tmp_path: Path) -> None:
    (tmp_path / "kafka-raft-4.0.0").mkdir()
    with pytest.raises(SpecError, match=r"kafka-raft-4\.0\.0: no message specs found in \*\.json"):
        import_release([*jars(tmp_path, RELEASES), tmp_path / "kafka-raft-4.0.0"], tmp_path / "specs")
    empty = [jar(tmp_path, {"META-INF/MANIFEST.MF": ""}, f"kafka-raft-{name}.jar") for name in RELEASES]
    with pytest.raises(SpecError, match=r"kafka-raft-3\.9\.2\.jar: no message specs found in common/message"):
        import_release(empty, tmp_path / "specs")


def test_nothing_is_written_if_a_release_does_not_fit(tmp_path: Path) -> None:
    sources = jars(tmp_path, {**RELEASES, "3.0.0": [keyed("request", 2, "NewRequest", "0")]})
    with pytest.raises(SpecError, match="NewRequest is a different message in newer releases"):
        import_release(sources, tmp_path / "specs")
    assert not (tmp_path / "specs").exists()


def test_problems_of_all_releases_are_reported_at_once(tmp_path: Path) -> None:
    bad = [{**data("0", name=name), "bogus": 1} for name in ("ABad", "BBad")]
    with pytest.raises(SpecError) as caught:
        import_release(jars(tmp_path, {"1.0.0": bad[:1], "2.0.0": bad[1:]}), tmp_path / "specs")
    found = re.findall(r"kafka-clients-([\d.]+)\.jar!common/message/(\wBad)\.json:1:", str(caught.value))
    assert found == [("1.0.0", "ABad"), ("2.0.0", "BBad")]
