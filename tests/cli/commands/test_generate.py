import re
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import tagwire_result
from spec_projects import PACKAGE, edit_spec, make_project, read_tree, write_spec

from tagwire_cli.app import app

VERSION = version_of("black")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_project(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


generate = partial(tagwire_result, "generate")


@pytest.fixture
def generated(project: Path) -> Path:
    assert generate().exit_code == 0
    return project


def test_the_first_run_writes_everything(project: Path) -> None:
    done = generate(code=0)
    assert done.stdout == ""
    assert "wrote src/pings/ping_request.py\n" in done.stderr
    assert (project / PACKAGE / "serializers" / "ping_response.py").is_file()


def test_a_second_run_changes_nothing(generated: Path) -> None:
    before = read_tree(generated / PACKAGE)
    stamps = {path: path.stat().st_mtime_ns for path in (generated / PACKAGE).rglob("*.py")}
    done = generate("--exit-non-zero-on-change")
    assert (done.exit_code, done.stderr) == (0, "1 package up to date\n")
    assert read_tree(generated / PACKAGE) == before
    assert {path: path.stat().st_mtime_ns for path in (generated / PACKAGE).rglob("*.py")} == stamps


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_check_and_diff_never_write(project: Path, option: str) -> None:
    generate(option, "--no-cache")
    assert not (project / "src").exists()
    assert sorted(path.name for path in project.iterdir()) == ["message_specs", "pyproject.toml"]


def test_check_is_about_the_files_on_disk(generated: Path) -> None:
    assert generate("--check").exit_code == 0
    module = generated / PACKAGE / "ping_request.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text + "# by hand\n", encoding="utf-8")
    done = generate("--check", code=1)
    assert done.stderr == "would rewrite src/pings/ping_request.py\n1 file would change; run `tagwire generate`\n"
    module.unlink()
    assert generate("--check").exit_code == 1
    assert not module.exists()


def test_check_sees_an_edited_spec_a_stale_module_and_a_new_message(generated: Path) -> None:
    edit_spec(generated, "PingRequest", "Nonce", "Number")
    assert "would rewrite src/pings/ping_request.py" in generate("--check").stderr
    edit_spec(generated, "PingRequest", "Number", "Nonce")
    assert generate("--check").exit_code == 0

    for name in ("PingRequest", "PingResponse"):
        (generated / "message_specs" / f"{name}.json").unlink()
    for name in ("PongRequest", "PongResponse"):
        write_spec(generated, name)
    done = generate("--check", code=1)
    assert "would delete src/pings/ping_request.py" in done.stderr
    assert "would write src/pings/serializers/pong_response.py" in done.stderr


def test_the_diff_is_data_and_applies(generated: Path) -> None:
    edit_spec(generated, "PingRequest", "Nonce", "Number")
    done = generate("--diff", code=0)  # as in black, a difference is a failure only with --check
    assert "--- a/src/pings/ping_request.py\n+++ b/src/pings/ping_request.py\n@@" in done.stdout
    assert any(line.startswith("+") and "number" in line for line in done.stdout.splitlines())
    assert "2 files would change" in done.stderr
    assert generate("--diff", "--check").exit_code == 1


def test_exit_non_zero_on_change(generated: Path) -> None:
    edit_spec(generated, "PingRequest", "Nonce", "Number")
    assert "rewrote src/pings/ping_request.py" in generate("--exit-non-zero-on-change", code=1).stderr
    assert generate("--exit-non-zero-on-change").exit_code == 0


def test_a_broken_spec_is_shown_with_its_place_and_nothing_is_written(generated: Path) -> None:
    edit_spec(generated, "PingRequest", "int64", "int65")
    edit_spec(generated, "PingResponse", "Nonce", "Number")
    before = read_tree(generated / PACKAGE)
    done = generate(code=1)
    assert "message_specs/PingRequest.json:10:" in done.stderr
    assert "int65" in done.stderr and "^" in done.stderr
    assert "1 error; nothing was written" in done.stderr
    assert done.stdout == ""
    assert read_tree(generated / PACKAGE) == before


def test_warnings_are_counted_not_shown(project: Path) -> None:
    write_spec(project, "PingRequest", deprecatedVersions="7-8")
    assert generate(code=0).stderr.startswith("1 warning; `tagwire validate` shows them\n")


def test_a_hand_written_file_in_the_way(project: Path) -> None:
    mine = project / PACKAGE / "ping_request.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    assert "ping_request.py is not overwritten" in generate(code=1).stderr
    assert [path for path in (project / "src").rglob("*") if path.is_file()] == [mine]


def test_one_set_of_several(project: Path) -> None:
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text + text.replace('"pings"', '"others"'))
    assert generate("--set", "others").exit_code == 0
    assert [path.name for path in (project / "src").iterdir()] == ["others"]
    assert "no spec set generates 'pongs'; known packages: pings, others" in generate("--set", "pongs", code=2).stderr


def test_nothing_is_written_if_any_set_fails(project: Path) -> None:
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(
        text + text.replace('"pings"', '"others"').replace("message_specs", "more_specs")
    )
    assert "`specs` is 'more_specs', which is not a folder" in generate(code=2).stderr
    assert not (project / "src").exists()


def test_wrong_settings_are_wrong_usage(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.tagwire]\nset = 1\n")
    assert "unknown key 'set'; did you mean 'sets'?" in generate("--check", code=2).stderr


def test_it_works_from_a_folder_below(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(generated / "message_specs")
    assert generate("--check").exit_code == 0


@pytest.mark.parametrize(("arguments", "environment"), [(["--no-cache"], {}), ([], {"CI": "true"})])
def test_without_cache(project: Path, arguments: list[str], environment: dict[str, str]) -> None:
    assert CliRunner(env=environment).invoke(app, ["generate", *arguments]).exit_code == 0
    assert not (project / ".tagwire_cache").exists()


def test_with_cache(generated: Path) -> None:
    assert (generated / ".tagwire_cache" / "pings").is_dir()


def reformatted(project: Path, version: str) -> dict[str, bytes]:
    """Change the layout and the "Formatted by" line, as a different version of black would. Return changed files."""
    marker, module = project / PACKAGE / "py.typed", project / PACKAGE / "ping_request.py"
    text = marker.read_text(encoding="utf-8")
    marker.write_text(re.sub("# Formatted by .*\n", f"# Formatted by black {version}.\n" if version else "", text))
    text = module.read_text(encoding="utf-8")
    module.write_text(
        text.replace("import data_class, ", "import (\n    data_class,\n    ").replace(
            "Versions\n", "Versions,\n)\n", 1
        )
    )
    assert module.read_text(encoding="utf-8") != text
    return read_tree(project / PACKAGE)


@pytest.mark.parametrize("version", ["24.1.0", ""])
@pytest.mark.parametrize("option", ["--check", "--exit-non-zero-on-change"])
def test_package_formatted_by_another_black_is_up_to_date(generated: Path, version: str, option: str) -> None:
    before = reformatted(generated, version)
    done = generate(option, code=0)
    there = f"black {version}" if version else "an unknown version of black"
    assert f"note: pings was formatted by {there}, not by black {VERSION}; its code was compared" in done.stderr
    assert done.stderr.endswith("1 package up to date\n")
    assert read_tree(generated / PACKAGE) == before


def test_a_change_of_code_formats_the_whole_package_anew(generated: Path) -> None:
    generated_before = read_tree(generated / PACKAGE)
    reformatted(generated, "24.1.0")
    module = generated / PACKAGE / "api_key.py"
    module.write_text(module.read_text(encoding="utf-8") + "x = 1\n", encoding="utf-8")
    assert generate("--check").exit_code == 1
    assert generate().exit_code == 0
    assert read_tree(generated / PACKAGE) == generated_before


def test_formatting_by_hand_is_a_change(generated: Path) -> None:
    reformatted(generated, VERSION)
    assert generate("--check").exit_code == 1


@pytest.mark.parametrize(
    ("option", "code", "message"),
    [("--output", 1, "loop is a link to loop"), ("--templates", 2, "the templates folder does not")],
)
def test_links_that_form_a_loop(project: Path, option: str, code: int, message: str) -> None:
    (project / "loop").symlink_to("loop")
    assert message in generate(option, "loop", code=code).stderr
