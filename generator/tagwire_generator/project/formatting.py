"""Which version of black formatted a package, and whether two texts of a module differ only in their formatting.

Another version of black may break lines elsewhere, so `py.typed` of a generated
package names the version that formatted it. Where that is not the version
which is installed, code is compared and not text: a project may have any black,
and its members different ones, without rewriting each other's files.
"""

import ast
import io
import re
import tokenize
from typing import Any, Final

MARKER: Final = "py.typed"
"""The file of a package that has the line."""
_LINE: Final = re.compile(r"^# Formatted by (black \S+)\.$", re.MULTILINE)


def formatter_line(version: str) -> str:
    """The line that says which version of black formatted a package."""
    return f"# Formatted by black {version}."


def formatter_of(text: str) -> str:
    """What a text says that its package was formatted by, as `black 26.1.0`; "" if it does not say."""
    found = _LINE.search(text)
    return found[1] if found else ""


def is_same_code(name: str, before: str, after: str) -> bool:
    """Whether two texts of a package's file differ in nothing but formatting; comments and docstrings count."""
    if name == MARKER:
        return _LINE.sub("", before).split() == _LINE.sub("", after).split()
    if not name.endswith((".py", ".pyi")):
        return before == after
    try:
        return _code(before) == _code(after)
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):  # what was edited by hand
        return False


def _code(text: str) -> tuple[Any, ...]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            node.value.value = " ".join(node.value.value.split())  # black indents and trims docstrings
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ast.dump(tree), [token.string for token in tokens if token.type == tokenize.COMMENT]
