import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

import tagwire
import tagwire.message
import tagwire.testing
import tagwire.wire
import tagwire_messages

GENERATED = Path(__file__).parents[2] / "generated"
NAMES = {
    "tagwire": {2: "Registry require_level"},
    "tagwire.message": {
        2: "Array ArrayOrNone Bits Compression Condition DEFAULT_STRUCT EnumType FormatStruct Framing KeyRange Message "
        "NONE OptionalFields Order RecordFormat Register Serializer Struct Versions computed_field data_class field "
        "fresh"
    },
    "tagwire.wire": {
        2: "BOOLEANS BOOLEAN_BYTES OptionalFieldsBuffer DEFAULT_UUID EMPTIES EMPTY NO_TAGS UnreadableBytes "
        "UnwritableValue WIRE_TYPES WITHOUT_TAGS booleans breaks_union check_null_length empty_object fixed_array "
        "has_twins is_subclass put_binaries put_binary put_booleans put_compact_binaries put_compact_binary "
        "put_compact_count put_compact_string put_compact_strings put_count put_each put_nullable_binary "
        "put_nullable_compact_binary put_nullable_compact_string put_nullable_string put_string put_strings put_tags "
        "put_uuids read_arrays read_binaries read_compact_arrays read_compact_binaries read_compact_strings "
        "read_strings read_tags read_uuids required string_length tag_header uuid_bytes uuid_of uuid_or_default uvarint"
    },
}
"""Names that generated code may import. Maps each module to runtime levels, and each level to the names that it added.

Add new names to the level after the newest released level. Only a major version may remove a name.
"""


def promised(door: str) -> set[str]:
    return {name for names in NAMES[door].values() for name in names.split()}


@pytest.mark.parametrize("door", [tagwire.message, tagwire.wire], ids=lambda door: door.__name__)
def test_public_module_has_the_names_of_its_runtime_levels(door: ModuleType) -> None:
    assert set(door.__all__) == promised(door.__name__)
    assert max(NAMES[door.__name__]) <= tagwire.RUNTIME_LEVEL


@pytest.mark.parametrize("door", [tagwire, tagwire.message, tagwire.wire], ids=lambda door: door.__name__)
def test_type_checkers_and_the_interpreter_see_the_same_names(door: ModuleType) -> None:
    tree = ast.parse(Path(str(door.__file__)).read_text(encoding="utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = [each for node in typed.body for each in imports_of(node)]
    values = {name: getattr(import_module(module), name) for module, name in found}
    assert values == {name: getattr(door, name) for name in door.__all__}
    assert set(door.__all__) <= set(dir(door))


DOORS = (tagwire, tagwire.message, tagwire.wire, tagwire.testing, tagwire_messages)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_other_names_are_not_there(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'nothing'") as caught:
        _ = door.nothing
    # Python suggests similar names only for errors that have a `name` and an `obj`.
    assert (caught.value.name, caught.value.obj) == ("nothing", door)


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)
        assert not isinstance(node, ast.Import) or not [a for a in node.names if a.name.startswith("tagwire")]


@pytest.mark.thorough
def test_generated_code_imports_only_public_modules() -> None:
    used: dict[str, set[str]] = {}
    for pattern in ("*.py", "*.pyi"):
        for path in GENERATED.rglob(pattern):
            for module, name in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
                if module.partition(".")[0] == "tagwire":
                    used.setdefault(module, set()).add(name)
    assert set(used) == set(NAMES)
    for door, names in used.items():
        assert names <= promised(door), door


@pytest.mark.thorough
def test_annotations_of_generated_classes_can_be_evaluated() -> None:
    for path in GENERATED.glob("*/**/*.py"):
        module = import_module(".".join(path.relative_to(GENERATED).with_suffix("").parts))
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, tagwire.message.Struct):
                assert set(cls.__slots__) <= get_type_hints(cls).keys() | {"unknown_tags"}, cls


@pytest.mark.parametrize("name", tagwire.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(tagwire, name)
    assert getattr(tagwire, name) is value
    assert name == "RUNTIME_LEVEL" or value.__doc__


def test_submodules_do_not_hide_the_functions() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(tagwire.__file__).parents[1])!r});"
        "import tagwire.explain.trace, tagwire.message.engines, tagwire.frames.negotiation, tagwire.explain.text;"
        "import tagwire as t;"
        "assert callable(t.trace) and callable(t.engine) and callable(t.negotiate) and callable(t.annotate)"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


@pytest.mark.parametrize("name", ["tagwire_workbench.fuzzing.corpus", "tagwire_workbench.fuzzing.mutate"])
def test_public_names_of_fuzzing_exist_and_are_documented(name: str) -> None:
    module = import_module(name)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, each).__doc__ for each in module.__all__)
