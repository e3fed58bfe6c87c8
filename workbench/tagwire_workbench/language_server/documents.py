"""Convert the editor's URIs and positions to paths, offsets and spans, and back."""

from pathlib import Path
from typing import get_args
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from tagwire_generator.diagnostics.problems import Problem
from tagwire_workbench.language.editing import Edit
from tagwire_workbench.language.text_positions import Encoding, Position, Span, TextPositions
from tagwire_workbench.language.text_tree import TextTree

_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
"""The LSP severity of each severity. All others become Information."""


class Document:
    """The content of a file, with positions in the editor's units."""

    def __init__(self, path: Path, text: str, encoding: Encoding) -> None:
        self.path = path
        self.text = text
        self._positions = TextPositions(text, encoding)

    def offset(self, position: types.Position) -> int:
        return self._positions.offset(Position(position.line, position.character))

    def range(self, span: Span) -> types.Range:
        """Convert a span to an LSP range. Columns are in the editor's units, such as UTF-16."""
        start, end = map(self._positions.position, span)
        return types.Range(types.Position(*start), types.Position(*end))

    def edit(self, edit: Edit) -> types.TextEdit:
        return types.TextEdit(self.range(edit.span), edit.text)

    def span_of(self, problem: Problem, tree: TextTree) -> Span:
        return tree.token_at(self._positions.of_problem(problem.line, problem.column))

    def diagnostic(self, problem: Problem, tree: TextTree, rules_page: str) -> types.Diagnostic:
        return types.Diagnostic(
            self.range(self.span_of(problem, tree)),
            problem.message,
            severity=_SEVERITIES.get(problem.severity, types.DiagnosticSeverity.Information),
            code=problem.rule,
            code_description=types.CodeDescription(rules_page) if rules_page else None,
            source="tagwire",
        )


def path_of(uri: str) -> Path:
    """Return the path of a file URI. For a new, unsaved document, return a relative path."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path).resolve() if path else Path("untitled:", unquote(urlsplit(uri).path).strip("/") or "new")


def uri_of(path: Path) -> str:
    """Return the URI of a file."""
    return from_fs_path(str(path)) or path.as_uri()


def encoding_named(name: str) -> Encoding:
    """Return the position encoding with this LSP name; UTF-16, which is LSP's default, if the name is unknown."""
    return next((each for each in get_args(Encoding) if each == name), "utf-16")
