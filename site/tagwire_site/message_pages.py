"""Create a page for each message, from the same view (template data) as the built-in Markdown reference.

A page shows the fields by version, the changes and releases of each version, golden bytes, and code that encodes a
message.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

import black
from golden_files import FOLDER, Golden, read_file

import tagwire
import tagwire_messages
from tagwire.errors import SpecError
from tagwire.explain.text import parse_annotated
from tagwire.message import Message
from tagwire.sensitive import showing_sensitive
from tagwire_cli.version_diff import history
from tagwire_generator.model.spec_names import snake_case
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import read_data
from tagwire_generator.views.message_view import MessageView, WireField, WireFieldType, WireStruct, message_view
from tagwire_site.rendering import ROOT, render
from tagwire_site.trees import Sample, samples_json

__all__ = ["Cell", "MatrixRow", "matrix", "message_pages", "message_views", "page_of", "snippet"]

SPECS: Final = ROOT / "message_specs" / "kafka"
PACKAGE: Final = "tagwire_messages"
_NESTED: Final = re.compile(r"\b([A-Z]\w*)\(")
_LINE: Final = 88


@dataclass(frozen=True)
class Cell:
    """A table cell that shows one field in one version."""

    mark: str
    """The symbol to show; "" if the version does not have the field."""
    title: str
    kind: str


@dataclass(frozen=True)
class MatrixRow:
    """A table row that shows one field in all versions."""

    name: str
    path: str
    depth: int
    type: str
    default: str
    about: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class VersionRow:
    """A table row that shows a version: its releases, header version, and changes since the previous version."""

    number: int
    releases: str
    header: str
    change: str


def message_views(specs: Path = SPECS) -> Iterator[MessageView]:
    """Yield the views of all messages in a folder of specs, sorted by name. Raises SpecError for an invalid spec."""
    options = SpecOptions()
    for spec in sorted(find_specs(specs), key=lambda each: each.path.stem):
        result = read_data(spec.path.read_bytes(), file=spec.path.name, component=spec.component, options=options)
        if result.message is None:
            raise SpecError(
                f"{spec.path}: expected the spec of a message; problems: {result.problems}", file=str(spec.path)
            )
        if result.message.valid_versions:
            yield message_view(result.message, PACKAGE, spec.path.relative_to(ROOT).as_posix())


def matrix(view: MessageView) -> list[MatrixRow]:
    """Return a table of fields and versions. A cell shows how the field is encoded, or that the version lacks it."""
    versions = [dict(_fields(version.struct)) for version in view.wire]
    return [
        MatrixRow(
            row.name,
            row.path,
            row.depth,
            row.type,
            row.default,
            row.about,
            tuple(_cell(fields.get(row.path)) for fields in versions),
        )
        for row in view.rows
    ]


def _fields(struct: WireStruct) -> Iterator[tuple[str, WireField]]:
    for field in (*struct.fields, *struct.tagged):
        yield field.path, field
        inner = field.type.element or field.type
        if inner.struct is not None:
            yield from _fields(inner.struct)


def _cell(field: WireField | None) -> Cell:
    if field is None:
        return Cell("", "not in this version", "absent")
    words = wire_text(field.type)
    if field.tag:
        return Cell(f"t{field.tag}", f"{words}, tagged field {field.tag}", "tagged")
    return Cell("○" if field.type.nullable else "●", words, "nullable" if field.type.nullable else "present")


def wire_text(type: WireFieldType) -> str:
    """Format a wire type as in the output of `tagwire show`."""
    words = f"{'nullable ' if type.nullable else ''}{type.length + ' ' if type.length else ''}"
    return f"{words}[]{wire_text(type.element)}" if type.element else f"{words}{type.type}"


def snippet(message: Message, version: int) -> str:
    """Return Python code that creates this message and encodes it in a version."""
    name = type(message).NAME
    with showing_sensitive():
        text = repr(message)
    known = import_module(type(message).__module__).__all__
    names = sorted({found for found in _NESTED.findall(text) if found in known} | {name})
    lines = ["from uuid import UUID\n"] if "UUID(" in text else []
    lines += [f"from {type(message).__module__} import {', '.join(names)}", ""]
    lines += [f"message = {text}", f"data = message.encode({version})"]
    mode = black.Mode(line_length=_LINE)
    return black.format_str("\n".join(lines), mode=mode).rstrip("\n")


def page_of(view: MessageView) -> str:
    """Return the path of a message's page, without extension."""
    return f"messages/{view.module}"


def message_pages(views: Sequence[MessageView]) -> dict[str, str]:
    """Return the page of each message, and a page that lists them, by path in the site."""
    pages = {f"{page_of(view)}.md": _page(view) for view in views}
    kinds = sorted({view.kind for view in views}, key=lambda kind: (kind not in ("request", "response"), kind))
    pages["messages/index.md"] = render("messages.md.jinja", views=views, kinds=kinds, releases=_releases)
    return pages


def _page(view: MessageView) -> str:
    cls = tagwire_messages.registry[view.name]
    goldens = list(read_file(FOLDER / f"{view.module}.txt"))
    steps = history(tagwire_messages.registry, cls)
    rows = [
        VersionRow(version.number, step.spans(), version.header, step.change)
        for version, step in zip(view.wire, steps, strict=True)
    ]
    newest = goldens[-1]
    return render(
        "message.md.jinja",
        view=view,
        aliases=sorted(old for old, name in tagwire_messages.registry.aliases().items() if name == view.name),
        partner=_partner(view),
        partner_page=f"{snake_case(_partner(view))}.html",
        matrix=matrix(view),
        versions=rows,
        samples=samples_json([_sample(cls, golden) for golden in goldens]),
        snippet=snippet(cls.from_json(newest.value, newest.version), newest.version),
        newest=newest.version,
    )


def _sample(cls: type[Message], golden: Golden) -> Sample:
    data = parse_annotated(golden.annotation)
    trace = tagwire.trace(cls, data, golden.version)
    link = f"message={cls.NAME}&version={golden.version}&hex={data.hex()}"
    return Sample(f"version {golden.version}", golden.source, [trace], link)


def _partner(view: MessageView) -> str:
    ends = {"request": ("Request", "Response"), "response": ("Response", "Request")}
    if view.kind not in ends:
        return ""
    own, other = ends[view.kind]
    name = view.name.removesuffix(own) + other
    return name if name in tagwire_messages.registry.names() else ""


def _releases(view: MessageView) -> str:
    """Return the range of releases that have the message, such as `3.0.0 to 4.1.0`."""
    spans = [span for each in tagwire_messages.registry.releases(view.name).values() for span in each]
    first = min((span[0] for span in spans), key=_numbers, default="")
    last = max((span[1] for span in spans), key=_numbers, default="")
    return first if first == last else f"{first} to {last}"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
