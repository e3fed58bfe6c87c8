"""Make small specs, jars that contain specs, and releases as the importer reads them, for tests of the archive."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form
from tagwire_workbench.archive.release import ImportedSpec, Release, SpecSource

Spec = dict[str, Any]


def field(name: str, type: str = "int32", versions: str = "0+", **keys: Any) -> Spec:
    return {"name": name, "type": type, "versions": versions, **keys}


def data(versions: str, *fields: Spec, name: str = "FooData", flexible: str = "none", **keys: Any) -> Spec:
    header = {"type": "data", "name": name, "validVersions": versions, "flexibleVersions": flexible}
    spec = normal_form({**header, "fields": list(fields), **keys})
    problems = read_spec(canonical_text(spec)).problems
    assert [problem.message for problem in problems if problem.severity == "error"] == []
    return spec


def keyed(kind: str, key: int, name: str, versions: str, *fields: Spec, **keys: Any) -> Spec:
    return data(versions, *fields, name=name, type=kind, apiKey=key, **keys)


def release(name: str, *specs: Spec, component: str = "clients") -> Release:
    found = tuple(ImportedSpec(spec["name"], component, spec, f"{name}/{spec['name']}.json") for spec in specs)
    return Release(name, (SpecSource(Path(f"kafka-{component}-{name}.jar"), found),))


def jar(folder: Path, entries: Mapping[str, str | bytes], name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return path


def jars(folder: Path, releases: Mapping[str, list[Spec]], artifact: str = "kafka-clients") -> list[Path]:
    return [
        jar(
            folder,
            {f"common/message/{spec['name']}.json": json.dumps(spec) for spec in specs},
            f"{artifact}-{name}.jar",
        )
        for name, specs in releases.items()
    ]
