"""Test templates on specs that come with tagwire: Kafka's messages and record formats, and two drafts.

    for files in render_corpus("my_templates").values():
        ...

This module needs the extra `generate`, but no test runner.
"""

from pathlib import Path
from typing import Final

from tagwire.errors import SpecError
from tagwire_generator.pipeline import generate
from tagwire_generator.project import resources
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import SpecSet

__all__ = ["CORPUS", "render_corpus"]

CORPUS: Final = ("kafka", "drafts/kip482", "drafts/kip87", "records")
"""Folders of specs in the released and the draft dialect, including record formats."""


def render_corpus(
    templates: str | Path, corpus: tuple[str, ...] = CORPUS, *, jobs: int | None = None
) -> dict[str, dict[str, str]]:
    """Render tagwire's specs with a folder of templates, or with built-in templates such as `@markdown`.

    Returns `{spec folder: {path: text}}` with the text of each rendered file. Nothing is written to disk. Python files
    are compiled. Raises SpecError for a template that fails, and SettingsError for an invalid `targets.toml`.
    """
    name = str(templates)
    templates_folder = resources.templates(name) if name.startswith("@") else Path(templates).resolve()
    specs = resources.folder("message_specs")
    files_of = {
        folder: generate(_set(specs, folder, templates_folder), jobs=jobs, use_cache=False).files for folder in corpus
    }
    for files in files_of.values():
        for path, text in files.items():
            if path.endswith((".py", ".pyi")):
                _compile(path, text)
    return files_of


def _set(specs: Path, folder: str, templates: Path) -> SpecSet:
    return SpecSet(
        root=specs,
        specs=specs / folder,
        package=f"corpus_{Path(folder).name}",
        output=specs,  # nothing is written to this folder
        options=SpecOptions(),
        templates=templates,
    )


def _compile(path: str, text: str) -> None:
    try:
        compile(text, path, "exec")
    except SyntaxError as error:
        raise SpecError(
            f"{path}: the generated code is not valid Python: {error.msg}",
            file=path,
            line=error.lineno or 1,
            column=error.offset or 1,
        ) from error
