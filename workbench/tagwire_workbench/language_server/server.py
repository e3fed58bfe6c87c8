"""The language server, which answers editor requests with `tagwire_workbench.language`.

A file's problems are published as soon as the file changes. Another thread checks its spec set when typing pauses.
At every change, the editor sends the whole document, so that editor and server needn't agree about where lines end.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final, TypeVar, get_args
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

import tagwire
from tagwire.errors import TagwireError
from tagwire_generator.problems import Problem
from tagwire_workbench.language.editing import Edit
from tagwire_workbench.language.text_positions import Encoding, Position, Span, TextPositions
from tagwire_workbench.language.text_tree import TextTree
from tagwire_workbench.language.workspace import SetProblems, Workspace

_SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
"""Maps tagwire's severities to LSP severities."""


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
    """Return the path of a file URI; for any other URI, such as that of an unsaved document, a relative path.

    Raises JsonRpcInvalidParams if the URI is invalid or contains characters that a path can't contain.
    """
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
        name = path or f"untitled:/{unquote(urlsplit(uri).path).strip('/') or 'new'}"
        resolved = os.path.realpath(name)  # doesn't fail for a link to itself, unlike Path.resolve
    except ValueError as error:
        raise JsonRpcInvalidParams(f"invalid URI {uri!a}: {error}") from None
    return Path(resolved if path else name)


def uri_of(path: Path) -> str:
    """Return the URI of a file."""
    return from_fs_path(str(path)) or path.as_uri()


_PAUSE: Final = 0.2
"""Seconds without a change before the whole set is checked."""

T = TypeVar("T")


class SpecServer(LanguageServer):
    """The language server and its state: the open documents, and the problems shown for each file."""

    def __init__(self) -> None:
        super().__init__("tagwire", tagwire.__version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.specs = Workspace()
        self.rules_page = _rules_page()
        self._uris: dict[Path, str] = {}
        """The files open in the editor, with the editor's URIs."""
        self._sets: dict[str, SetProblems] = {}
        """The problems from the last check of each set, by package."""
        self._published: set[Path] = set()
        self._unchecked: dict[str, Path] = {}
        """A changed file of each set that has not been checked since, by package; by path if the file is in no set."""
        self._changes = 0
        self._checking = asyncio.Lock()
        """Allows only one check at a time. A running check can't be canceled, so the next check waits for its end."""
        self._last_warning = ""

    def document(self, uri: str) -> Document | None:
        """Return the spec at a URI, or None if the file isn't a spec, or is too long to be analyzed."""
        path = path_of(uri)
        if self.specs.is_too_long(path):
            return None
        return self.file(path) if self.or_warn(lambda: self.specs.is_spec(path), True) else None

    def file(self, path: Path) -> Document:
        """Return a file as a document, with the editor's content if the file is open."""
        return Document(path, self.specs.text(path), self._encoding)

    def uri(self, path: Path) -> str:
        """Return a file's URI. If the file is open, this is the URI that the editor uses for it."""
        return self._uris.get(path) or uri_of(path)

    @property
    def renames_files(self) -> bool:
        """Whether the editor can rename files as part of an edit."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        return bool(
            edit and edit.document_changes and types.ResourceOperationKind.Rename in (edit.resource_operations or ())
        )

    def problems(self, path: Path) -> list[Problem]:
        """Return a file's own problems, and then its problems from the last check of its spec set."""
        own: tuple[Problem, ...] = self.or_warn(lambda: self.specs.problems(path), tuple[Problem, ...]())
        return [*own, *(problem for known in self._sets.values() for problem in known.of_set.get(path, ()))]

    def opened(self, uri: str, text: str) -> None:
        path = path_of(uri)
        self._uris[path] = uri
        self.specs.write(path, text)
        self._publish(path, self.problems(path))

    def closed(self, uri: str) -> None:
        path = path_of(uri)
        self._uris.pop(path, None)
        self.specs.forget(path)
        self._publish(path, [])

    async def check_sets_soon(self, *uris: str) -> None:
        """Wait a moment. If nothing else has changed by then, check the spec sets of all changed files."""
        paths = [path_of(uri) for uri in uris]
        if any(path.name == "pyproject.toml" for path in paths):  # the settings may define other sets now
            self._sets.clear()
            paths += self._uris
        for path in paths:
            spec_set = self.or_warn(partial(self.specs.spec_set, path), None)
            if spec_set is not None or path in self._uris:  # otherwise, the file may be any JSON
                self._unchecked[spec_set.package if spec_set is not None else str(path)] = path
        mine = self._changes = self._changes + 1
        await asyncio.sleep(_PAUSE)
        async with self._checking:
            while self._unchecked and mine == self._changes:
                name, path = next(iter(self._unchecked.items()))
                found = await asyncio.to_thread(self.or_warn, partial(self.specs.set_problems, path), None)
                if mine == self._changes:
                    del self._unchecked[name]
                    if found is not None:
                        self._publish_set(name, found)

    def _publish_set(self, name: str, found: SetProblems) -> None:
        self._sets[name] = found
        for path in dict.fromkeys([*found.of_files, *found.of_set, *self._published, *self._uris]):
            elsewhere = [each for known in self._sets.values() for files in known for each in files.get(path, ())]
            self._publish(path, self.problems(path) if path in self._uris else elsewhere)

    def or_warn(self, answer: Callable[[], T], otherwise: T) -> T:
        """Return `answer()`. If it raises TagwireError, show the error in the editor (once), and return `otherwise`."""
        try:
            return answer()
        except TagwireError as error:
            if str(error) != self._last_warning:
                self._last_warning = str(error)
                self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"tagwire: {error}"))
            return otherwise

    def _publish(self, path: Path, problems: Iterable[Problem]) -> None:
        """Send a file's problems to the editor. If the file isn't open, send only errors that it caused itself."""
        shown = [each for each in problems if path in self._uris or (each.severity == "error" and not each.because)]
        if not shown and path not in self._published and path not in self._uris:
            return
        (self._published.add if shown else self._published.discard)(path)
        document = self.file(path)
        tree = TextTree(document.text)
        diagnostics = [document.diagnostic(each, tree, self.rules_page) for each in dict.fromkeys(shown)]
        uri = self.uri(path)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))

    @property
    def _encoding(self) -> Encoding:
        """The position encoding that the editor chose. If it is unknown, this is the default, UTF-16."""
        chosen: Any = self.server_capabilities.position_encoding
        return next((each for each in get_args(Encoding) if each == getattr(chosen, "value", chosen)), "utf-16")


def _rules_page() -> str:
    """Return the URL of the rules' documentation, or "" if the package metadata doesn't contain it."""
    try:
        links = metadata("tagwire").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    pages = dict(link.split(", ", 1) for link in links)
    return f"{pages['Documentation']}/spec-language.md#rules" if "Documentation" in pages else ""
