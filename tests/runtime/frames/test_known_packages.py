"""Check that only `known_packages` names generated packages in strings, because import contracts can't see this."""

import ast
from pathlib import Path

import pytest

from tagwire.frames import known_packages
from tagwire.frames.known_packages import RECORD_FORMATS, kafka_messages, record_format, reserved_keys

ROOT = Path(__file__).parents[3]
PACKAGES = ("tagwire_messages", "tagwire_records", "tagwire_drafts")
CODE = [path for root in ("runtime", "generator", "cli", "pipeline") for path in sorted((ROOT / root).rglob("*.py"))]


def texts(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return {node.value for node in found if isinstance(node.value, str)}


@pytest.mark.thorough
def test_one_module_lists_all_packages() -> None:
    naming = [path for path in CODE if any(text.startswith(PACKAGES) for text in texts(path))]
    assert naming == [Path(known_packages.__file__)]
    assert len(CODE) > 200


@pytest.mark.parametrize("name", RECORD_FORMATS)
def test_every_record_format_is_there(name: str) -> None:
    assert record_format(name).__name__ == RECORD_FORMATS[name][1]


def test_messages_and_keys_are_there() -> None:
    assert "ApiVersionsRequest" in kafka_messages()
    assert any(1 in keys for keys in reserved_keys())  # key 1 is reserved for client.id


def test_drafts_need_not_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(known_packages, "import_module", missing)
    assert reserved_keys() == ()
    with pytest.raises(ModuleNotFoundError):
        kafka_messages()
