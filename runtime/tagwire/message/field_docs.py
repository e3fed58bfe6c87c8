"""What messages, structs and fields mean: the `about` texts of specs, read from the docstrings of generated classes.

Python keeps no docstring of an attribute, so the first request parses the source of the class's module. A docstring has
the text of the spec first, then facts about the wire format in parentheses. Without sources, or where a spec says
nothing, the text is empty.
"""

from __future__ import annotations

from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

__all__ = ["class_about", "class_deprecation", "field_about"]

_docs: Final[dict[str, dict[tuple[str, str], str]]] = {}
"""The docstrings of each module that was parsed, by class and attribute."""


def class_about(cls: type) -> str:
    """What a message or a struct is for."""
    return _about(vars(cls).get("__doc__") or "")


def class_deprecation(cls: type) -> str:
    """Which versions of a message will go and why, as a sentence."""
    paragraphs = (vars(cls).get("__doc__") or "").split("\n\n")
    return next((" ".join(each.split()) for each in paragraphs if each.lstrip().startswith("Deprecated")), "")


def field_about(cls: type, name: str) -> str:
    """What a field means, by the class that declares it and its attribute."""
    docs = _docs.get(cls.__module__)
    if docs is None:
        docs = _docs[cls.__module__] = dict(_docstrings(cls.__module__))
    return _about(docs.get((cls.__qualname__, name), ""))


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
            case ast.If(), _:  # deprecated fields are properties for type checkers
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
