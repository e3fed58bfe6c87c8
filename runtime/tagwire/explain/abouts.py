"""Field documentation from specs, by path, for pages that show it next to the bytes."""

from collections.abc import Iterator, Mapping
from typing import Any


def abouts(struct: Any) -> Mapping[str, str]:
    """Return the documentation of a generated class and its fields, by path without indices; empty for other layouts.

    The message's own documentation has the empty path.
    """
    if struct is None:
        return {}
    from tagwire.message.field_docs import class_about, class_deprecation  # only pages need it

    return {"": " ".join(filter(None, [class_about(struct), class_deprecation(struct)])), **dict(_texts(struct, ""))}


def _texts(struct: Any, around: str) -> Iterator[tuple[str, str]]:
    for row in getattr(struct, "FIELDS", ()):
        path = f"{around}{row.name}"
        reason = "" if row.deprecated is None else f"Deprecated: {row.deprecated}" if row.deprecated else "Deprecated."
        text = " ".join(filter(None, [row.about, reason]))
        if text:
            yield path, text
        if row.struct is not None:
            yield from _texts(row.struct, f"{path}.")
