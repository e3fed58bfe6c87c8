from pathlib import Path

import pytest
from command import rejected
from command import tagwire_result as run
from spec_projects import make_project, write_spec


def test_the_package_of_another_spec_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path))
    for name in ("PongRequest", "PongResponse"):
        write_spec(tmp_path / "others", name)
    text = (tmp_path / "pyproject.toml").read_text()
    other = text.replace('"pings"', '"pongs"').replace("message_specs", "others/message_specs")
    (tmp_path / "pyproject.toml").write_text(text + other)
    run("generate", code=0)
    rejected(run("show", "PongRequest"), "the package is pings; for PongRequest, add --package pongs", code=2)


def test_package_chooses_another_protocol() -> None:
    result = run("encode", "FooResponse", "9", "--hex", "--package", "tagwire_drafts.kip482", stdin='{"foos": []}')
    assert (result.exit_code, result.stdout) == (0, "0000000000\n")
