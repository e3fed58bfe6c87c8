"""The Python functions that the playground runs in the browser, to explain and edit bytes, and to check specs.

This module only imports tagwire, its command line and its generator, because the browser has no other modules. Requests
and answers are JSON. Whatever a visitor enters, `answer` never raises an error.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from tagwire.errors import TagwireError
from tagwire.explain.assemble import Line, fix_lengths
from tagwire.explain.html import Unit, tree_of
from tagwire.explain.names import name_note
from tagwire.explain.nodes import Node
from tagwire.explain.text import annotate, rows_of
from tagwire.explain.trace import Trace, trace
from tagwire.frames.known_packages import kafka_messages
from tagwire.interpreter.writer import encode
from tagwire.layout import Fixed, Item, Layout, Sized, StructLayout, Type, Varint
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records.format_set import format_set
from tagwire.text_format import count, printable
from tagwire_cli.explaining.explained import Explained, facts_of
from tagwire_cli.explaining.units import ExplainSettings, Input, explain_units, explainer_of
from tagwire_cli.input.encodings import bytes_of, encoding_of

__all__ = ["answer", "edited", "explain", "messages", "own", "spec"]

_EDITABLE: Final = (Fixed, Varint, Sized)


class Question(NamedTuple):
    """The bytes that a visitor entered, as text, and the kind of bytes that the visitor selected."""

    text: str
    kind: str = "guess"
    """One of guess, request, response, message and format."""
    words: Sequence[str] = ()
    """For a message, its name and version; for a response, its API and version."""
    format: str = "auto"
    many: bool = False


def answer(text: str) -> str:
    """Call a function of this module, and return its result as JSON.

    `text` is a JSON object that contains the function's name and arguments: `{"call": name, ...}`.
    """
    request: dict[str, Any] = json.loads(text)
    calls: dict[str, Callable[..., Any]] = {
        "explain": explain,
        "edit": edited,
        "spec": spec,
        "own": own,
        "messages": messages,
    }
    try:
        return json.dumps(calls[request.pop("call")](**request))
    except Exception as error:  # show any error to the visitor, since there is no other log
        name = "" if isinstance(error, TagwireError) else f"{type(error).__name__}: "
        return json.dumps({"error": printable(f"{name}{getattr(error, 'message', error)}", keep="\n")})


def messages() -> dict[str, Any]:
    """Return the versions of all messages, by name."""
    registry = kafka_messages()
    return {"messages": {name: str(registry[name].VERSIONS) for name in registry.names()}}


def explain(**question: Any) -> dict[str, Any]:
    """Explain bytes: return the text of `tagwire explain`, the tree of fields, and the bytes in hex."""
    request = Question(**question)
    found, data, note = _explained(request)
    return {
        "text": _annotated_text(found, note),
        "tree": tree_of([Unit([printable(fact) for fact in facts_of(one)], one.traces) for one in found], note),
        "hex": data.hex(),
        "size": len(data),
        "failure": "; ".join(one.failure for one in found if one.failure),
        "names": [f"{trace.message_name} v{trace.version}" for one in found for trace in one.traces],
        "editable": _editable(found),
        "read": f"Read as {encoding_of(request.text.encode())}: {count(len(data), 'byte')}" if data else "",
        "candidates": [
            {"label": f"{each.kind} {each.name} v{each.version}", "kind": each.kind, "words": [each.name, each.version]}
            for one in found
            for each in (one.guess.candidates[:8] if one.guess and not one.traces else ())
            if each.kind in ("response", "message")
        ],
    }


def edited(*, row: int, value: str, **question: Any) -> dict[str, Any]:
    """Change the field in a row of the tree, correct lengths, counts and checksums, and explain the new bytes."""
    found, _, _ = _explained(Question(**question))
    nodes = _row_nodes(found)
    edited_trace, node = nodes[row]
    data = _edited(edited_trace, node, value)
    return explain(**{**question, "text": data.hex()})


def _explained(request: Question) -> tuple[list[Explained], bytes, Callable[[Node], str]]:
    registry = kafka_messages()
    question = ExplainSettings(
        registry,
        request.kind,
        list(request.words),
        format_set(request.format),
        None,
        opens_records=True,
        strict=True,
        limits=DEFAULT_LIMITS,
    )
    way, _ = explainer_of(question)
    data = bytes_of(request.text.encode(), "auto") if request.text.strip() else b""
    _, units = explain_units(question, way, Input(data, "-", "binary", request.many, None, 9092))
    found = list(units)
    if request.kind == "format" and found:  # show all batches as one unit
        found = [found[0]._replace(traces=tuple(trace for one in found for trace in one.traces))]
    return found, data, name_note(registry)


def _annotated_text(found: Sequence[Explained], note: Callable[[Node], str]) -> str:
    parts = []
    for one in found:
        facts = "".join(f"# {printable(fact)}\n" for fact in facts_of(one))
        parts.append(facts + "".join(annotate(trace, note) for trace in one.traces))
    return "\n".join(parts)


def _row_nodes(found: Sequence[Explained]) -> dict[int, tuple[Trace, Node]]:
    """Map rows of the tree to the nodes that can be edited. Only a single message, frame or batch can be edited."""
    if len(found) != 1 or len(found[0].traces) != 1:
        return {}
    [trace] = found[0].traces
    nodes: dict[int, tuple[Trace, Node]] = {}
    tree = tree_of([Unit([], [trace])])
    rows = {
        (path, offset): row
        for row, (path, offset) in enumerate(zip(_paths(tree), tree["rows"]["offset"], strict=True))
        if not tree["rows"]["space"][row]
    }
    for part in trace.parts:
        for node in part.walk():
            row = rows.get((node.path, node.offset))
            if row is not None and isinstance(node.layout_type, _EDITABLE) and not node.is_hidden:
                nodes[row] = trace, node
    return nodes


def _paths(tree: dict[str, Any]) -> list[str]:
    """Return the path of each row, computed in the same way as by the tree's JavaScript."""
    rows, around, paths = tree["rows"], list[str](), list[str]()
    for depth, name, path in zip(rows["depth"], rows["name"], rows["path"], strict=True):
        del around[depth:]
        outer = around[-1] if around else ""
        joined = f"{outer}{name}" if name.startswith("[") or not outer else f"{outer}.{name}"
        around.append(joined if path is None else path)
        paths.append(around[-1])
    return paths


def _editable(found: Sequence[Explained]) -> list[int]:
    return sorted(_row_nodes(found))


def _edited(trace: Trace, node: Node, text: str) -> bytes:
    type = node.layout_type
    assert type is not None
    field = Item("value", type)
    new = encode(Layout(node.path, None, StructLayout("edited", (field,))), {"value": _parsed(node, type, text)})
    parts: list[list[Line]] = [[]]
    for row in rows_of(trace):
        if row.offset < 0:
            parts.append([])
        elif row.data and not row.mark:
            is_it = (row.offset, row.path) == (node.offset, node.path) and row.type == node.type
            parts[-1].append(Line(new if is_it else row.data, row.path, row.type))
    for part in parts:
        fix_lengths(part)
    return b"".join(line.data for part in parts for line in part)


def _parsed(node: Node, type: Type, text: str) -> Any:
    """Parse the text of a new value for a field of this type. Raises ValueError if the text is invalid."""
    if text == "null" and getattr(type, "nullable", False):
        return None
    wire = type.wire if isinstance(type, Fixed | Sized) else None
    family = wire.family if wire else "integer"
    if family == "text":
        return text
    if family == "binary":
        return bytes.fromhex(text)
    if family == "uuid":
        return UUID(text)
    if family == "boolean":
        if text not in ("true", "false", "True", "False"):
            raise ValueError(f"{node.path}: {text!r} is neither true nor false")
        return text.lower() == "true"
    return float(text) if family == "floating" else int(text, 0)


def spec(text: str, released: str = "") -> dict[str, Any]:
    """Check a spec. Return its problems, the generated classes, and the layout of each version.

    If there is a `released` spec, also return the changes that break it.
    """
    from tagwire_generator.problems import render
    from tagwire_generator.project import resources
    from tagwire_generator.reading.spec import read_data

    result = read_data(text.encode(), file="Spec.json")
    found: dict[str, Any] = {"problems": "\n".join(map(render, result.problems)), "classes": "", "layouts": []}
    if result.message is not None and result.message.format is None and result.message.valid_versions:
        from tagwire_generator.views.message_view import message_view
        from tagwire_generator.views.render import Printer, render_message

        files = render_message(result.message, "package", Printer(resources.folder("templates")), "Spec.json")
        found["classes"] = next(content for path, content in files.items() if "/" not in path)
        view = message_view(result.message, "package", "Spec.json")
        reference = render_message(result.message, "package", Printer(resources.templates("@markdown")), "Spec.json")
        found["layouts"] = _layouts(next(iter(reference.values())))
        found["name"], found["versions"] = view.name, view.versions
    if released.strip():
        found["breaking"] = _breaking(released, text)
    return found


def own(text: str, data: str, version: str) -> dict[str, Any]:
    """Explain bytes with a visitor's own spec. Return the tree of fields, and the error (or "") in the bytes."""
    from tagwire_generator.message_classes import message_class
    from tagwire_generator.reading.spec import read_data

    spec = read_data(text.encode(), file="Spec.json").message
    if spec is None or spec.format is not None:
        raise TagwireError("the spec has errors; correct them first")
    seen = trace(message_class(spec), bytes_of(data.encode(), "auto"), int(version))
    return {"tree": tree_of([Unit([], [seen])]), "failure": str(seen.error or "")}


def _layouts(reference: str) -> list[dict[str, str]]:
    """Extract the layout of each version from a message's Markdown reference."""
    _, *sections = reference.split("\n## Version ")
    return [
        {"version": section.split("\n", 1)[0], "text": section.split("```text\n", 1)[1].split("```", 1)[0]}
        for section in sections
    ]


def _breaking(released: str, text: str) -> str:
    """Return the same text as `tagwire breaking` prints for two specs."""
    from tagwire_cli.output.diagnostics import finding_text, findings_summary
    from tagwire_generator.evolution.check import Baseline, Check
    from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
    from tagwire_generator.project.options import SpecOptions

    reader, options = SpecReader(), SpecOptions()
    old = reader.read([SpecData("Released.json", "", released.encode())], options)
    new = reader.read([SpecData("Spec.json", "", text.encode())], options)
    check = Check(Baseline.of(old), new, is_one_message=True)
    findings = check.findings()
    return "\n".join([*map(finding_text, findings), findings_summary(findings, excused=0, messages=len(check.names))])
