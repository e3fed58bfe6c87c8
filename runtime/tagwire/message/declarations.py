"""The declarations of fields in data classes: one line for each field, followed by the field's docstring.

    class MemberIdentity(Struct, metaclass=data_class):
        member_id: str = field("MemberId", "string", "3+", default="")
        \"\"\"The ID that the coordinator gave the member.\"\"\"

`data_class` makes a plain class with slots. It removes the declarations from the class body, because a slot can't have
the same name as a class attribute. The field table and the constructor are made from the declarations on first use
(`tagwire.message.binding`).

The documentation of messages, structs and fields is in generated docstrings, from the `about` strings of the specs.
Python does not keep the docstrings of attributes, so the first lookup parses the source of the class's module. The
lookup functions return "" if the source is missing, or if the spec has no documentation.
"""

from __future__ import annotations

from functools import cache
from sys import modules

from tagwire.lazy import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar, overload

    from tagwire.message.struct_class import Struct

    T = TypeVar("T")
else:
    T = "T"


class DeclaredField(tuple["Any", ...]):
    """The positional and keyword arguments of a `field` call."""

    __slots__ = ()


class ComputedField(DeclaredField):
    """A length, count or checksum in a record format. It is computed from other fields, so objects don't store it."""

    __slots__ = ()


class ClassDoc:
    """The docstring of a data class. On access, the documentation of the fields is added to it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, struct: Struct | None, cls: type[Struct]) -> str:
        return _with_fields(cls, self.text)


class Array(Generic[T]):
    """The type of an array attribute. The attribute is a tuple, but the constructor accepts any iterable."""

    if TYPE_CHECKING:
        # For type checkers, this is a descriptor: a constructor parameter gets its type from `__set__`, and the
        # attribute from `__get__`.

        @overload
        def __get__(self, struct: None, cls: Any) -> Any: ...
        @overload
        def __get__(self, struct: object, cls: Any) -> tuple[T, ...]: ...
        def __get__(self, struct: object, cls: Any) -> Any: ...
        def __set__(self, struct: object, value: Iterable[T]) -> None: ...


class ArrayOrNone(Generic[T]):
    """An array that may be None."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, struct: None, cls: Any) -> Any: ...
        @overload
        def __get__(self, struct: object, cls: Any) -> tuple[T, ...] | None: ...
        def __get__(self, struct: object, cls: Any) -> Any: ...
        def __set__(self, struct: object, value: Iterable[T] | None) -> None: ...


def attributes_of(cls: type[Struct]) -> tuple[str, ...]:
    """Return the names of a data class's attributes: its fields, and `unknown_tags` if it can have tagged fields."""
    return cls._attributes  # pyright: ignore[reportPrivateUsage]


def computed_field(*wire: str, **more: Any) -> object:
    """Declare a field of a record format that is computed from other fields: a length, count or checksum."""
    return ComputedField((wire, more))


if TYPE_CHECKING:
    # Type checkers treat a constructor parameter as optional if its field has the keyword `default` or `factory`.

    @overload
    def field(name: str, type: str, versions: str, /, *, factory: Callable[[], T], **more: Any) -> T: ...
    @overload
    def field(name: str, type: str, versions: str, /, *, default: tuple[()] | None = ..., **more: Any) -> Any: ...
    @overload
    def field(name: str, type: str, versions: str, /, *, default: T, **more: Any) -> T: ...
    def field(*wire: str, **more: Any) -> Any:
        """Declare a field: its name in the spec, its type, its versions, and keywords of `FieldRow`.

        In a new object, the field has the value `default` or, for a struct, a new object of the class `factory`. A
        field with neither is required. In versions without the field, decoding sets it to `absent`.
        """

    data_class = type
else:

    def field(*wire, **more):
        """Declare a field."""
        return DeclaredField((wire, more))

    def data_class(name, bases, body):
        """Make a data class from a class body. Used as `metaclass`, but the result is an ordinary class."""
        declared = {key: value for key, value in body.items() if isinstance(value, DeclaredField)}
        for key in declared:
            del body[key]
        slots = [key for key, value in declared.items() if type(value) is DeclaredField]
        if bases[0].HAS_TAGS:
            slots.append("unknown_tags")
        body["_declared"] = declared
        body["__doc__"] = ClassDoc(body.get("__doc__") or "")
        body["__slots__"] = tuple(slots)
        return type(name, bases, body)


def class_about(cls: type) -> str:
    """Return the documentation of a message or a struct."""
    return _about(_class_doc(cls))


def _with_fields(cls: type, text: str) -> str:
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
    return _docstrings(cls.__module__).get((cls.__qualname__, name), "")


def _about(docstring: str) -> str:
    text, _, facts = " ".join(docstring.strip().partition("\n\n")[0].split()).rpartition(" (")
    return text if facts.endswith(")") else ""


@cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """Return the docstrings of a module's attributes, by class and attribute."""
    import ast

    try:
        source = modules[module].__loader__.get_source(module)  # type: ignore[union-attr]
        tree = ast.parse(source or "")
    except (AttributeError, ImportError, KeyError, OSError, SyntaxError):
        return {}
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    return {(cls.name, name): text for cls in classes for name, text in _of_attributes(cls.body)}


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
