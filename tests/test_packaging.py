import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import test_docs_examples
from native_engine import Plan, native

from tagwire_cli.__main__ import _EXTRAS
from tagwire_generator.project.output import formatter_of

ROOT = Path(__file__).parents[1]
ROOTS = ("runtime", "generator", "generated", "cli", "workbench", "pipeline")
ENGINES = ("_engine", "_columns", "_records")
ENGINE_FILES = (".c", ".h", ".pxd", ".pxi", ".pyx", ".pyd", ".so")
"""Suffixes of files that a wheel must not contain: sources of the native engine, and modules built in place."""
PACKAGES = {"tagwire"} | {
    f"tagwire_{name}" for name in ("cli", "drafts", "generator", "messages", "records", "spark", "workbench")
}
MODULES = {"pyspark_tagwire.py", "pyspark_tagwire_rpc.py"}
"""Modules outside of any package, which Spark imports to find data sources."""

CONTRACT = """
import tagwire, tagwire_messages as messages
C = messages.MetadataRequest
m = C(topics=[], allow_auto_topic_creation=False)
data = m.encode(12)
assert messages.registry["MetadataRequest"] is messages.registry.request(C.API_KEY) is C
assert C.decode(data, 12) == m and C.decode_from(data, 12) == (m, len(data)) and m.encoded_size(12) == len(data)
assert C.from_json(m.to_json(12), 12) == m
assert C.header_version(12) == 2 and C.LATEST_STABLE in C.VERSIONS and messages.ApiKey(3).value == 3
frame = messages.registry.encode_request(m, 12, correlation_id=1, client_id="me")
assert messages.registry.decode_request(frame).message == m
splitter = tagwire.FrameSplitter()
splitter.feed(len(frame).to_bytes(4, "big") + frame)
assert list(splitter) == [frame]
assert tagwire.negotiate(C, {3: (0, 9)}) == 9
assert tagwire.trace(C, data, 12)
try:
    C.decode(data + b"x", 12)
except tagwire.DecodeError as error:
    assert error.offset == len(data)
from tagwire_drafts import kip482, kip482_unsigned
for drafts in (kip482, kip482_unsigned):
    assert drafts.FooRequest.decode(drafts.FooRequest().encode(9), 9) == drafts.FooRequest()
print(tagwire.engine(), tagwire.__version__)
"""


def run(*command: object, cwd: Path = ROOT, code: int = 0, **more: Any) -> "subprocess.CompletedProcess[str]":
    # The variables PYTHONPATH and TAGWIRE_* would affect the new environment.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "TAGWIRE_"))}
    environment |= more
    line = [str(part) for part in command]
    done = subprocess.run(line, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def build(kind: str, source: Path, folder: Path, **more: Any) -> Path:
    """Build a wheel or sdist without compiler optimization, and return its path."""
    more = {"CFLAGS": "-O0", **more}
    run(sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", folder, source, **more)
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install only the wheel in a new environment, and return the environment's Python interpreter."""
    return installed(wheel, tmp_path_factory.mktemp("venv"))


def installed(wheel: Path, folder: Path) -> Path:
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    return python


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path, file: str = "METADATA") -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(f".dist-info/{file}"))
        return archive.read(name).decode()


def files_of(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in ENGINE_FILES
    }


def engines_in(wheel: Path) -> set[str]:
    return {name for name in members(wheel) if Path(name).suffix in (".so", ".pyd")}


@pytest.mark.package
def test_wheel_has_an_engine_if_this_installation_has_one(wheel: Path) -> None:
    if Plan is None:
        assert wheel.name.endswith("-py3-none-any.whl") and engines_in(wheel) == set()
    else:
        release = f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert f"-{release}-{release}-" in wheel.name
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        assert engines_in(wheel) == {f"tagwire/{name}{suffix}" for name in ENGINES}


@pytest.mark.package
def test_a_wheel_without_an_engine(tmp_path: Path) -> None:
    wheel = build("wheel", ROOT, tmp_path / "wheel", TAGWIRE_BUILD="skip")
    assert wheel.name.endswith("-py3-none-any.whl") and engines_in(wheel) == set()
    python = installed(wheel, tmp_path / "venv")
    assert run(python, "-I", "-c", CONTRACT, cwd=tmp_path).stdout.split()[0] == "python"
    rejected = run(
        python, "-I", "-c", "import tagwire; tagwire.engine()", cwd=tmp_path, code=1, TAGWIRE_ENGINE="native"
    )
    assert "TAGWIRE_ENGINE=native, but this installation has no native engine" in rejected.stderr


@native
@pytest.mark.package
def test_one_wheel_for_all_pythons(tmp_path: Path) -> None:
    wheel = build("wheel", ROOT, tmp_path / "wheel", TAGWIRE_ABI="stable")
    assert "-cp311-abi3-" in wheel.name
    assert engines_in(wheel) == {f"tagwire/{name}.abi3.so" for name in ENGINES}
    python = installed(wheel, tmp_path / "venv")
    assert run(python, "-I", "-c", CONTRACT, cwd=tmp_path).stdout.split()[0] == "native"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").stdout.strip()
    # Put the folder with the installed wheel first on the path, so that its tagwire is imported, not this checkout's.
    environment: dict[str, Any] = {"PYTHONPATH": site, "TAGWIRE_ENGINE": "native"}
    where = run(sys.executable, "-c", "import tagwire._columns; print(tagwire._columns.__file__)", **environment)
    assert Path(where.stdout.strip()) == Path(site, "tagwire", "_columns.abi3.so")
    tests = ("tests/test_golden_bytes.py", "tests/runtime/arrow/test_golden_columns.py")
    run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "not python", **environment)


@native
@pytest.mark.package
def test_engine_that_does_not_compile(tmp_path: Path) -> None:
    """The build must warn and omit the engine. If the engine is required, the build must fail."""
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path)
    rejected = run(*command, ROOT, code=1, CC="false", TAGWIRE_BUILD="require")
    assert "false" in rejected.stdout + rejected.stderr and not list(tmp_path.iterdir())
    done = run(*command, ROOT, CC="false")
    assert "the native engine did not compile" in done.stdout + done.stderr
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl") and engines_in(wheel) == set()


@pytest.mark.package
def test_settings_of_the_build_that_mean_nothing(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path)
    for variable in ("TAGWIRE_BUILD", "TAGWIRE_ABI"):
        settings: dict[str, Any] = {variable: "yes"}
        rejected = run(*command, ROOT, code=1, **settings)
        assert f"{variable} is 'yes'; expected" in rejected.stdout + rejected.stderr


@pytest.mark.package
def test_wheel_has_only_tagwire_packages(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in members(wheel)} == PACKAGES | MODULES


@pytest.mark.package
def test_the_wheel_has_every_file_of_the_roots(wheel: Path) -> None:
    names = members(wheel)
    assert set().union(*map(files_of, ROOTS)) <= names
    typed = (PACKAGES - {"tagwire_drafts"}) | {f"tagwire_drafts/{draft}" for draft in ("kip482", "kip482_unsigned")}
    assert {f"{package}/py.typed" for package in typed} <= names


@pytest.mark.package
def test_the_drafts_can_be_imported_from_the_wheel_itself(wheel: Path, tmp_path: Path) -> None:
    """Import from the wheel without unpacking it, as Spark does with `--py-files`."""
    script = "import tagwire_drafts.kip87; print(tagwire_drafts.__file__)"
    found = run(sys.executable, "-S", "-c", script, cwd=tmp_path, PYTHONPATH=str(wheel)).stdout
    assert found.startswith(str(wheel))


@pytest.mark.package
@pytest.mark.parametrize("folder", ["templates", "message_specs"])
def test_the_wheel_has_templates_and_specs_in_the_generator(wheel: Path, folder: str) -> None:
    inside = {name.partition(f"/{folder}/")[2] for name in members(wheel) if f"/{folder}/" in name}
    assert inside == files_of(folder)
    assert inside


@pytest.mark.package
def test_the_wheel_needs_what_the_command_line_needs(wheel: Path) -> None:
    head = metadata(wheel).partition("\n\n")[0].splitlines()
    required = [line for line in head if line.startswith("Requires-Dist:")]
    plain = [line.removeprefix("Requires-Dist: ") for line in required if "extra ==" not in line]
    assert plain == project()["project"]["dependencies"]
    assert [line.partition(">=")[0] for line in plain] == ["click", "rich"]
    assert "License-Expression: Apache-2.0" in head


@pytest.mark.package
def test_readme_of_the_wheel_has_no_relative_links(wheel: Path) -> None:
    """Package indexes show the README outside the repository, where relative links don't work."""
    head, _, readme = metadata(wheel).partition("\n\n")
    assert metadata(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "License-File: LICENSE" in head and "Description-Content-Type: text/markdown" in head
    assert {line.split()[1] for line in head.splitlines() if line.startswith("Project-URL:")} == {
        f"{label}," for label in project()["project"]["urls"]
    }
    targets = re.findall(r"\]\(([^)]*)\)", readme)
    pages = [target for target in targets if target.startswith("https://github.com/tagwire/tagwire/blob/main/")]
    assert len(pages) > 10 and all(target.startswith(("https://", "#")) for target in targets)
    for page in pages:
        assert (ROOT / page.partition("/blob/main/")[2].partition("#")[0]).is_file(), page


@pytest.mark.package
def test_the_contract_holds_in_an_environment_of_its_own(python: Path, tmp_path: Path) -> None:
    expected = "python" if Plan is None else "native"
    assert run(python, "-I", "-c", CONTRACT, cwd=tmp_path).stdout.split()[0] == expected
    for engine in ("python", expected):
        assert run(python, "-I", "-c", CONTRACT, cwd=tmp_path, TAGWIRE_ENGINE=engine).stdout.split()[0] == engine


@pytest.mark.package
def test_tutorial_with_only_the_wheel(python: Path, tmp_path: Path) -> None:
    # Don't use this environment's .pth files, which would add this checkout of tagwire.
    libraries = sysconfig.get_path("purelib")
    path = os.pathsep.join((str(python.parent), os.environ.get("PATH", os.defpath)))
    more: dict[str, Any] = {"PYTHONPATH": libraries, "PATH": path, "NO_COLOR": "1"}
    where = run(python, "-c", "import tagwire_cli; print(tagwire_cli.__file__)", cwd=tmp_path, **more)
    assert Path(where.stdout).is_relative_to(python.parents[1])
    start, program = time.monotonic(), ""
    for example in test_docs_examples.examples(ROOT / "docs" / "tutorial.md"):
        if example.language == "python":
            program += example.code
            printed = run(python, "-c", program, cwd=tmp_path, **more).stdout
        else:
            code = f"exec 2>&1\n{example.code}"
            printed = run("bash", "-euo", "pipefail", "-c", code, cwd=tmp_path, **more).stdout
        if example.expected is not None:
            assert test_docs_examples.matches(printed, example.expected), f"{example.location} prints\n{printed}"
    assert time.monotonic() - start < 300, "five minutes, of which a person needs some for reading"


@pytest.mark.package
def test_the_installed_generator_finds_its_templates_and_specs(python: Path, tmp_path: Path) -> None:
    # The generator must find its data folders even without its optional dependencies.
    script = (
        "from tagwire_generator.project.resources import folder\n"
        "print(*(folder(name).relative_to(folder(name).parents[1]) for name in ('templates', 'message_specs')))"
    )
    shown = run(python, "-I", "-c", script, cwd=tmp_path).stdout.split()
    assert [Path(path).as_posix() for path in shown] == [
        "tagwire_generator/templates",
        "tagwire_generator/message_specs",
    ]


@pytest.mark.package
def test_the_sdist_makes_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(sdist, tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    assert members(build("wheel", source, tmp_path / "wheel")) == members(wheel)


@pytest.mark.package
def test_the_sdist_has_what_development_needs_and_nothing_stray(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {name.partition("/")[0] for name in names}
    assert {".github/SECURITY.md", ".github/CODE_OF_CONDUCT.md", "LICENSE", "README.md"} <= names
    assert {"tests", "docs", "Makefile", "constraints.txt", "templates", "message_specs", "hatch_build.py"} <= tops
    assert not tops & {".venv", "build", "dist", ".tagwire_cache", ".git"}
    assert not [name for name in names if name.endswith((".pyc", ".so"))]
    assert not [name for name in names if Path(name).match("_*.c")]  # generated by Cython
    assert {
        "runtime/tagwire/_native/engine/_engine.pyx",
        "runtime/tagwire/_native/columns/_columns.pyx",
        "runtime/tagwire/_native/records/_records.pyx",
        "runtime/tagwire/_native/records/json_lines.c",
        "runtime/tagwire/_native/records/declarations.pxd",
        "runtime/tagwire/_native/engine/plan.h",
        "runtime/tagwire/_native/engine/plan.pxi",
    } <= names


@pytest.mark.parametrize("root", ROOTS)
def test_a_source_root_is_no_package(root: str) -> None:
    assert not (ROOT / root / "__init__.py").exists()
    packages = {path.name for path in (ROOT / root).iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages <= PACKAGES


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_black_is_not_pinned_in_the_extra() -> None:
    """The extra must not pin a version of black, because users' projects may pin another version."""
    (black,) = (text for text in project()["project"]["optional-dependencies"]["generate"] if text.startswith("black"))
    assert re.fullmatch(r"black>=[\d.]+", black)
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (pin,) = (line for line in pins if line.startswith("black=="))
    for marker in (ROOT / "generated").rglob("py.typed"):
        assert formatter_of(marker.read_text(encoding="utf-8")) == pin.replace("==", " "), marker


def test_each_extra_contains_the_libraries_that_error_messages_install_with_it() -> None:
    extras = project()["project"]["optional-dependencies"]
    other_names = {"google_crc32c": "google-crc32c", "pcapng": "python-pcapng", "yaml": "pyyaml"}
    sources = "".join(path.read_text(encoding="utf-8") for root in ROOTS for path in (ROOT / root).rglob("*.py"))
    named = {*re.findall(r'\brequired\("(\w+)[\w.]*", "(\w+)"\)', sources), *_EXTRAS.items()}
    assert ("ruff", "generate") in named
    for library, extra in named:
        installed = [re.split("[>=]", text)[0] for text in extras[extra]]
        assert other_names.get(library, library) in installed, (library, extra)


def test_the_pins_name_no_index() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w.<>=!' -]+)?", line), line
