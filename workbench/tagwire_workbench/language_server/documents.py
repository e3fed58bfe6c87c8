"""Files as editors name and count them, to paths, offsets and spans, and back."""

from pathlib import Path
from typing import get_args
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from tagwire_generator.diagnostics.problems import Problem
from tagwire_workbench.language.editing import Edit
from tagwire_workbench.language.text_places import Encoding, Position, Span, TextPlaces
from tagwire_workbench.language.text_tree import TextTree

_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
"""By severity; the others are notes."""


class Document:
    """The text of a file, and its places in the units of the editor."""

    def __init__(self, path: Path, text: str, encoding: Encoding) -> None:
        self.path = path
        self.text = text
        self._places = TextPlaces(text, encoding)

    def offset(self, position: types.Position) -> int:
        """The offset of a position."""
        return self._places.offset(Position(position.line, position.character))

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        start, end = map(self._places.position, span)
        return types.Range(types.Position(*start), types.Position(*end))

    def edit(self, edit: Edit) -> types.TextEdit:
        """An edit of this text."""
        return types.TextEdit(self.range(edit.span), edit.text)

    def span_of(self, problem: Problem, tree: TextTree) -> Span:
        """The token that a problem is about."""
        return tree.token_at(self._places.of_problem(problem.line, problem.column))

    def diagnostic(self, problem: Problem, tree: TextTree, rules_page: str) -> types.Diagnostic:
        """A problem of this text."""
        return types.Diagnostic(
            self.range(self.span_of(problem, tree)),
            problem.message,
            severity=_SEVERITIES.get(problem.severity, types.DiagnosticSeverity.Information),
            code=problem.rule,
            code_description=types.CodeDescription(rules_page) if rules_page else None,
            source="tagwire",
        )


def path_of(uri: str) -> Path:
    """The path of a URI; of one that is no file's, such as that of a new text, a relative one."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path).resolve() if path else Path("untitled:", unquote(urlsplit(uri).path).strip("/") or "new")


def uri_of(path: Path) -> str:
    """The URI of a file."""
    return from_fs_path(str(path)) or path.as_uri()


def encoding_named(name: str) -> Encoding:
    """The encoding that both sides agreed on, under its name in the protocol."""
    return next((each for each in get_args(Encoding) if each == name), "utf-16")
