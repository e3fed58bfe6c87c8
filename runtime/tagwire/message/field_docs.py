"""Look up the documentation of messages, structs and fields: the specs' `about` strings, from generated docstrings.

Python does not keep the docstrings of attributes, so the first lookup parses the source of the class's module.
Functions return "" if the source is missing, or if the spec has no documentation.
"""

from __future__ import annotations

from sys import modules

from tagwire.message.declarations import ClassDoc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

__all__ = ["class_about", "class_deprecation", "field_about", "with_fields"]

_docs: Final[dict[str, dict[tuple[str, str], str]]] = {}
"""Docstrings by module, class and attribute."""


def class_about(cls: type) -> str:
    """Return the documentation of a message or a struct."""
    return _about(_class_doc(cls))


def with_fields(cls: type, text: str) -> str:
    """Return the docstring of a data class, with its fields' documentation inserted after the first paragraph."""
    from inspect import cleandoc
    from textwrap import fill

    first, *others = cleandoc(text).split("\n\n")
    lines = []
    for name, annotation in cls.__annotations__.items():
        lines.append(f"{name}: {annotation}")
        if doc := _field_doc(cls, name):
            lines.append(fill(" ".join(doc.split()), 110, initial_indent="    ", subsequent_indent="    "))
    fields = ["\n".join(["Fields:", "", *lines])] if lines else []
    return "\n\n".join([first, *fields, *others])


def class_deprecation(cls: type) -> str:
    """Return the sentence of a message's docstring that says which versions are deprecated and why, or ""."""
    paragraphs = _class_doc(cls).split("\n\n")
    return next((" ".join(each.split()) for each in paragraphs if each.lstrip().startswith("Deprecated")), "")


def field_about(cls: type, name: str) -> str:
    """Return the documentation of the attribute `name`, which `cls` declares."""
    return _about(_field_doc(cls, name))


def _class_doc(cls: type) -> str:
    doc = vars(cls).get("__doc__") or ""
    return doc.text if isinstance(doc, ClassDoc) else doc


def _field_doc(cls: type, name: str) -> str:
    docs = _docs.get(cls.__module__)
    if docs is None:
        docs = _docs[cls.__module__] = dict(_docstrings(cls.__module__))
    return docs.get((cls.__qualname__, name), "")


def _about(docstring: str) -> str:
    text, _, facts = " ".join(docstring.strip().partition("\n\n")[0].split()).rpartition(" (")
    return text if facts.endswith(")") else ""


def _docstrings(module: str) -> Iterator[tuple[tuple[str, str], str]]:
    import ast

    try:
        source = modules[module].__loader__.get_source(module)  # type: ignore[union-attr]
        tree = ast.parse(source or "")
    except (AttributeError, ImportError, KeyError, OSError, SyntaxError):
        return
    for cls in tree.body:
        if isinstance(cls, ast.ClassDef):
            for name, text in _of_attributes(cls.body):
                yield (cls.name, name), text


def _of_attributes(body: list[Any]) -> Iterator[tuple[str, str]]:
    import ast

    for statement, after in zip(body, [*body[1:], None], strict=False):
        match statement, after:
            case ast.If(), _:  # deprecated fields are in `if TYPE_CHECKING` blocks
                yield from _of_attributes(statement.body)
            case ast.FunctionDef(), _ if docstring := ast.get_docstring(statement):
                yield statement.name, docstring
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, text
            case _:
                pass
