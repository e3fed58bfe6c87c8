"""Keep the archive's own `about` strings when specs are imported, instead of those in Kafka's releases."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import spec_error
from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import parse

Spec = Mapping[str, Any]


def documented(spec: Spec, folder: Path) -> dict[str, Any]:
    """Return `spec` with the `about` strings from the same message's spec in `folder`.

    The spec in `folder` may have the message's current name or an older name. Fields and common structs are matched by
    name, so a renamed field loses its `about`. Raises SpecError if the spec in `folder` can't be read, because its
    `about` strings would be lost.
    """
    result = deepcopy(dict(spec))
    names = [spec["name"], *spec.get("aliases", ())]
    present = next((path for name in names if (path := folder / f"{name}.json").is_file()), None)
    if present is not None:
        descriptions = {name: part["about"] for name, part in _parts(_read(present)) if part.get("about")}
        for name, part in _parts(result):
            if name in descriptions:
                part["about"] = descriptions[name]
    return result


def undocumented(spec: Spec) -> list[str]:
    """Return the paths of fields and common structs without `about`; an empty path means the message itself."""
    return [path for path, part in _parts(spec) if not part.get("about")]


def _parts(spec: Spec) -> Iterator[tuple[str, Any]]:
    yield "", spec
    yield from _fields(spec, "")
    for struct in spec.get("commonStructs", ()):
        yield f"{struct['name']}:", struct
        yield from _fields(struct, f"{struct['name']}:")


def _fields(struct: Spec, around: str) -> Iterator[tuple[str, Any]]:
    fields: Sequence[Any] = [*struct.get("fields", ()), *struct.get("optionalFields", ())]
    for field in fields:
        yield f"{around}{field['name']}", field
        yield from _fields(field, f"{around}{field['name']}.")


def _read(path: Path) -> Any:
    try:
        document = parse(path.read_text(encoding="utf-8"), file=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"{path} can't be read: {error}; without it, the descriptions in its `about` keys would be lost",
            file=str(path),
        ) from None
    if document.root is None or any(problem.severity == "error" for problem in document.problems):
        raise spec_error(document.problems)
    return plain_tree(document.root)
