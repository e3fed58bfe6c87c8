"""Generate packages for tests, from specs given as dicts."""

import importlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.resources import folder
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.views.render import Printer, render_message, render_package, render_register


def build_package(
    into: Path, name: str, specs: Iterable[Mapping[str, Any]], options: SpecOptions | None = None
) -> ModuleType:
    options = options or SpecOptions()
    printer = Printer(folder("templates"), formatter="ruff")  # as black formats, but much faster
    files: dict[str, str] = {}
    summaries = []
    specs = list(specs)
    headers = {str(spec["name"]) for spec in specs if spec.get("type") == "header"}
    registers = registers_among(json.dumps(spec).encode() for spec in specs)
    for spec in specs:
        file = f"{spec['name']}.json"
        result = read_spec(json.dumps(spec), file=file, component="", options=options, registers=registers)
        if result.register is not None:
            files |= render_register(result.register, printer, file)
            continue
        assert result.message is not None, [problem.message for problem in result.problems]
        files |= render_message(result.message, name, printer, file, headers)
        summaries.append(result.message.summary())
    files |= render_package(summaries, list(registers), name, printer)
    for path, text in files.items():
        target = into / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    sys.path.insert(0, str(into))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(into))
