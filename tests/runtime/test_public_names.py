import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tagwire

SOURCE = Path(tagwire.__file__)


@pytest.mark.parametrize("name", tagwire.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(tagwire, name)
    assert getattr(tagwire, name) is value
    assert name == "RUNTIME_LEVEL" or value.__doc__


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    tree = ast.parse(SOURCE.read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        (alias.name, f"tagwire.{alias.name}" if node.module == "tagwire" else str(node.module))
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name for name, _ in imported} == set(tagwire.__all__)
    assert imported == {(name, module) for module, names in tagwire._MODULES.items() for name in names}


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'tagwire' has no attribute 'nothing'"):
        _ = tagwire.nothing
    assert set(tagwire.__all__) < set(dir(tagwire))
    assert tagwire.__version__ == "0.1.0"


def run(code: str) -> None:
    subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCE.parents[1])!r})\n{code}"], check=True
    )


def test_importing_loads_no_more_than_it_must() -> None:
    run(
        "before = set(sys.modules); import tagwire, tagwire.frames.registry; new = set(sys.modules) - before;"
        "bad = {'json', 'dataclasses', 'inspect', 'base64', 'uuid', 'struct'} & new; assert not bad, bad;"
        "bad = {'tagwire.layout', 'tagwire.wire.scalars', 'tagwire.message.struct_class'} & new; assert not bad, bad"
    )


def test_submodules_do_not_hide_the_functions() -> None:
    run(
        "import tagwire.explain.trace, tagwire.message.engines, tagwire.frames.negotiation, tagwire.explain.text;"
        "import tagwire as t;"
        "assert callable(t.trace) and callable(t.engine) and callable(t.negotiate) and callable(t.annotate)"
    )


@pytest.mark.parametrize("name", ["tagwire_workbench.fuzzing.corpus", "tagwire_workbench.fuzzing.mutate"])
def test_public_names_of_fuzzing_exist_and_are_documented(name: str) -> None:
    module = import_module(name)
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, each).__doc__ for each in module.__all__)
