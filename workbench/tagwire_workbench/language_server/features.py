"""Answer the requests and notifications of editors.

This module converts positions, and calls functions of `tagwire_workbench.language`, which have no side effects.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tagwire.errors import TagwireError
from tagwire_workbench.language.completion import Offer, completions
from tagwire_workbench.language.editing import (
    Edit,
    SetName,
    changed,
    fixes,
    renamable,
    rename_edits,
    rename_in_set,
    set_name_at,
)
from tagwire_workbench.language.hover import hover, register_hover
from tagwire_workbench.language.spec_names import SpecNames, Symbol, outline, references
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import TextTree
from tagwire_workbench.language.workspace import ALONE
from tagwire_workbench.language_server.server import Document, SpecServer, uri_of

_ITEM_KINDS: Final = {
    "key": types.CompletionItemKind.Property,
    "word": types.CompletionItemKind.EnumMember,
    "type": types.CompletionItemKind.Keyword,
    "struct": types.CompletionItemKind.Struct,
    "field": types.CompletionItemKind.Field,
    "versions": types.CompletionItemKind.Value,
    "register": types.CompletionItemKind.Enum,
}
_SYMBOL_KINDS: Final = {
    "message": types.SymbolKind.Class,
    "struct": types.SymbolKind.Struct,
    "field": types.SymbolKind.Field,
    "entry": types.SymbolKind.EnumMember,
}
_WATCHED: Final = ("**/*.json", "**/pyproject.toml")
_REJECTED: Final = -32803
"""The LSP error code RequestFailed: the request was valid, but it can't be fulfilled."""


def make_server() -> SpecServer:
    """Create a language server. Its `start_io` method starts it."""
    for name in ("pygls.protocol.json_rpc", "pygls.server"):
        logging.getLogger(name).addFilter(_is_news)
    server = SpecServer()
    feature = server.feature
    feature(types.INITIALIZED)(_initialized)
    feature(types.TEXT_DOCUMENT_DID_OPEN)(_did_open)
    feature(types.TEXT_DOCUMENT_DID_CHANGE)(_did_change)
    feature(types.TEXT_DOCUMENT_DID_SAVE)(_check)
    feature(types.TEXT_DOCUMENT_DID_CLOSE)(_did_close)
    feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_files_changed)
    feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=['"', "[", "{", ",", ":"]))(
        _of_spec(_completion, [])
    )
    feature(types.TEXT_DOCUMENT_HOVER)(_of_spec(_hover, None))
    feature(types.TEXT_DOCUMENT_DEFINITION)(_of_spec(_definition, None))
    feature(types.TEXT_DOCUMENT_REFERENCES)(_of_spec(_references, []))
    feature(types.TEXT_DOCUMENT_PREPARE_RENAME)(_of_spec(_prepare_rename, None))
    feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))(_of_spec(_rename, None))
    feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(_of_spec(_symbols, []))
    feature(types.TEXT_DOCUMENT_FORMATTING)(_of_spec(_formatting, []))
    kinds = [types.CodeActionKind.QuickFix]
    feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))(
        _of_spec(_code_actions, [])
    )
    return server


def _of_spec(answer: Callable[[SpecServer, Document, Any], Any], otherwise: Any) -> Callable[[SpecServer, Any], Any]:
    """Return a feature that calls `answer` with the document of a request. If it isn't a spec, return `otherwise`."""

    def feature(ls: SpecServer, params: Any) -> Any:
        document = ls.document(params.text_document.uri)
        return otherwise if document is None else answer(ls, document, params)

    return feature


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether to log this `logging` record. Invalid requests aren't logged: the editor shows their errors."""
    return record.exc_info is None or not isinstance(record.exc_info[1], JsonRpcException | json.JSONDecodeError)


async def _initialized(ls: SpecServer, params: types.InitializedParams) -> None:
    """Ask the editor to report changes of files on disk, if it is able to."""
    workspace = ls.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    if watching is None or not watching.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    registration = types.Registration("tagwire-files", method, options)
    ls.client_register_capability(types.RegistrationParams([registration]))


async def _did_open(ls: SpecServer, params: types.DidOpenTextDocumentParams) -> None:
    ls.opened(params.text_document.uri, params.text_document.text)
    await ls.check_sets_soon(params.text_document.uri)


async def _did_change(ls: SpecServer, params: types.DidChangeTextDocumentParams) -> None:
    for change in params.content_changes[-1:]:  # the list may be empty
        ls.opened(params.text_document.uri, change.text)
    await ls.check_sets_soon(params.text_document.uri)


async def _check(ls: SpecServer, params: types.DidSaveTextDocumentParams) -> None:
    await ls.check_sets_soon(params.text_document.uri)


async def _did_close(ls: SpecServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.closed(params.text_document.uri)
    await ls.check_sets_soon(params.text_document.uri)


async def _files_changed(ls: SpecServer, params: types.DidChangeWatchedFilesParams) -> None:
    await ls.check_sets_soon(*(change.uri for change in params.changes))


def _completion(ls: SpecServer, document: Document, params: types.CompletionParams) -> list[types.CompletionItem]:
    is_extended = ls.or_warn(lambda: ls.specs.options(document.path).dialect == "tagwire", False)
    context = ls.or_warn(lambda: ls.specs.context(document.path), ALONE)
    registers = sorted(context.registers or ())
    shared = sorted(context.files.keys() - {*registers})
    offset = document.offset(params.position)
    offers = completions(document.text, offset, is_extended=is_extended, registers=registers, shared=shared)
    text_document = ls.client_capabilities.text_document
    item = text_document.completion.completion_item if text_document and text_document.completion else None
    has_snippets = bool(item and item.snippet_support)
    return [_item(document, number, offer, has_snippets) for number, offer in enumerate(offers)]


def _item(document: Document, number: int, offer: Offer, has_snippets: bool) -> types.CompletionItem:
    text = offer.text
    is_snippet = has_snippets and offer.after_cursor > 0
    if is_snippet:
        cut = len(text) - offer.after_cursor
        text = f"{_escaped(text[:cut])}$1{_escaped(text[cut:])}"
    written = document.text[offer.span.start : offer.span.end]
    is_bare = bool(written) and not written.startswith('"')
    return types.CompletionItem(
        offer.label,
        kind=_ITEM_KINDS[offer.kind],
        detail=offer.detail or None,
        documentation=offer.description or None,
        sort_text=f"{number:04}",
        filter_text=offer.label if is_bare else json.dumps(offer.label),
        text_edit=types.TextEdit(document.range(offer.span), text),
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else types.InsertTextFormat.PlainText,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")


def _hover(ls: SpecServer, document: Document, params: types.HoverParams) -> types.Hover | None:
    offset, tree = document.offset(params.position), TextTree(document.text)
    rules = [each.rule for each in ls.problems(document.path) if document.span_of(each, tree).has(offset)]
    message = ls.or_warn(lambda: ls.specs.message(document.path), None)
    register = SpecNames(tree).register_at(offset)
    file = _elsewhere(ls, document, offset) if register is not None and not rules else None
    if file is not None:
        found = register_hover(document.text, offset, ls.specs.text(file))
    else:
        found = hover(document.text, offset, message, rules)
    if found is None:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), document.range(found.span))


def _definition(ls: SpecServer, document: Document, params: types.DefinitionParams) -> types.Location | None:
    offset = document.offset(params.position)
    path = _elsewhere(ls, document, offset)
    if path is None and (spans := references(document.text, offset)):
        return types.Location(params.text_document.uri, document.range(spans[0]))
    found = ls.document(uri_of(path)) if path is not None else None
    name = TextTree(found.text).root.get("name") if found is not None else None
    if found is None or name is None:
        return None
    return types.Location(uri_of(found.path), found.range(name.span))


def _elsewhere(ls: SpecServer, document: Document, offset: int) -> Path | None:
    """Return the other file that "go to definition" opens, or None if the declaration is in this file or doesn't exist.

    For a register or shared struct, it is the file that declares it. For an API key, it is the file of the request's
    response or of the response's request.
    """
    tree = TextTree(document.text)
    names = SpecNames(tree)
    used = names.register_at(offset) or names.struct_at(offset)
    if used is not None:
        is_ours = used.text in names.structs and used.text not in names.imports
        return None if is_ours else ls.or_warn(lambda: ls.specs.context(document.path), ALONE).files.get(used.text)
    value = tree.value_at(offset)
    if value is None or value.parent is not tree.root or value.entry is None or value.entry.key != "apiKey":
        return None
    other = ls.or_warn(lambda: ls.specs.counterpart(document.path), None)
    return Path(other.file) if other is not None else None


def _set_name(ls: SpecServer, document: Document, offset: int) -> SetName | None:
    return ls.or_warn(lambda: set_name_at(ls.specs, document.path, offset), None)


def _references(ls: SpecServer, document: Document, params: types.ReferenceParams) -> list[types.Location]:
    offset = document.offset(params.position)
    shared = _set_name(ls, document, offset)
    if shared is not None:
        found = [(ls.file(path), name.span) for path, names in shared.files.items() for name in names]
    else:
        found = [(document, span) for span in references(document.text, offset)]
    requested = found if params.context.include_declaration else found[1:]
    return [types.Location(ls.uri(each.path), each.range(span)) for each, span in requested]


def _prepare_rename(
    ls: SpecServer, document: Document, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    offset = document.offset(params.position)
    shared = _set_name(ls, document, offset)
    name = shared.here if shared is not None else renamable(document.text, offset)
    return types.PrepareRenamePlaceholder(document.range(name.span), name.text) if name is not None else None


def _rename(ls: SpecServer, document: Document, params: types.RenameParams) -> types.WorkspaceEdit | None:
    path, offset = document.path, document.offset(params.position)
    shared = _set_name(ls, document, offset)
    try:
        if shared is not None:
            edits = rename_in_set(ls.specs, shared, params.new_name)
            return _edit_of_set(ls, shared, edits, params.new_name)
        own = rename_edits(
            document.text, offset, params.new_name, lambda text: ls.specs.read_as(path, text), file=path.name
        )
    except TagwireError as error:
        raise JsonRpcException(str(error), code=_REJECTED) from None  # the editor shows the message to the user
    return types.WorkspaceEdit({params.text_document.uri: [document.edit(edit) for edit in own]})


def _edit_of_set(ls: SpecServer, shared: SetName, edits: dict[Path, list[Edit]], name: str) -> types.WorkspaceEdit:
    """Return the edit that renames a shared struct or register in all files. A file named after it is also renamed."""
    changes = {path: [ls.file(path).edit(edit) for edit in each] for path, each in edits.items()}
    declared = next(iter(shared.files))
    target = declared.with_name(f"{name}.json")
    if declared.name != f"{shared.here.text}.json" or target.exists() or not ls.renames_files:
        return types.WorkspaceEdit({ls.uri(path): each for path, each in changes.items()})
    steps: list[Any] = []
    for path, each in changes.items():
        identifier = types.OptionalVersionedTextDocumentIdentifier(ls.uri(path))
        steps.append(types.TextDocumentEdit(identifier, list(each)))
    steps.append(types.RenameFile(ls.uri(declared), uri_of(target)))
    return types.WorkspaceEdit(document_changes=steps)


def _symbols(ls: SpecServer, document: Document, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    return [_symbol(document, each) for each in outline(document.text)]


def _symbol(document: Document, symbol: Symbol) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        symbol.name,
        _SYMBOL_KINDS[symbol.kind],
        document.range(symbol.span),
        document.range(symbol.name_span),
        detail=symbol.detail,
        children=[_symbol(document, each) for each in symbol.children],
    )


def _formatting(ls: SpecServer, document: Document, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
    """Format a document. Leave a spec with errors unchanged, because the editor already shows the errors."""
    try:
        formatted = ls.specs.formatted(document.path)
    except TagwireError as error:
        ls.window_log_message(types.LogMessageParams(types.MessageType.Info, f"not formatted: {error}"))
        return []
    return [document.edit(edit) for edit in changed(document.text, formatted)]


def _code_actions(ls: SpecServer, document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
    path, tree = document.path, TextTree(document.text)
    requested = Span(document.offset(params.range.start), document.offset(params.range.end))
    actions: list[types.CodeAction] = []
    for problem in ls.problems(path):
        span = document.span_of(problem, tree)
        if span.end < requested.start or requested.end < span.start:
            continue
        for fix in fixes(document.text, problem, lambda text: ls.specs.read_as(path, text)):
            change: dict[str, Any] = {params.text_document.uri: [document.edit(fix.edit)]}
            actions.append(
                types.CodeAction(
                    fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[document.diagnostic(problem, tree, ls.rules_page)],
                    edit=types.WorkspaceEdit(change),
                )
            )
    return actions
