"""The stub is the module: the same names, members, parameters and defaults, as built."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import cubeyard_engine as engine
import pytest

STUB = ast.parse((Path(__file__).resolve().parents[1] / "cubeyard_engine.pyi").read_text())
BOOK = next(text for text in engine.builtin_books() if '"paper-2009"' in text)
TYPES_ALONE = {"CableColumns"}
"""Classes of the stub that type checkers alone see."""
FUNCTIONS = {item.name: item for item in STUB.body if isinstance(item, ast.FunctionDef)}
CLASSES = {item.name: item for item in STUB.body if isinstance(item, ast.ClassDef) and item.name not in TYPES_ALONE}


def declared(function: ast.FunctionDef) -> list[tuple[str, Any]]:
    """Names and defaults of the parameters."""
    spread = function.args
    assert not any((spread.posonlyargs, spread.kwonlyargs, spread.vararg, spread.kwarg))
    without = [inspect.Parameter.empty] * (len(spread.args) - len(spread.defaults))
    defaults = [*without, *(ast.literal_eval(default) for default in spread.defaults)]
    return [pair for pair in zip((item.arg for item in spread.args), defaults, strict=True) if pair[0] != "self"]


def built(function: Any) -> list[tuple[str, Any]]:
    takes = inspect.signature(function).parameters.values()
    assert {item.kind for item in takes} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}
    return [(item.name, item.default) for item in takes if item.name != "self"]


def public(module: Any) -> set[str]:
    return {name for name in vars(module) if not name.startswith("_") and name != "cubeyard_engine"}


def test_the_names_are_the_modules() -> None:
    listed = next(item.value for item in STUB.body if isinstance(item, ast.Assign) and item.targets[0].id == "__all__")
    assert sorted(ast.literal_eval(listed)) == sorted({*FUNCTIONS, *CLASSES}) == sorted(public(engine))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_functions_parameters_are_the_modules(name: str) -> None:
    assert declared(FUNCTIONS[name]) == built(getattr(engine, name))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_classs_members_are_the_modules(name: str) -> None:
    methods = {item.name: item for item in CLASSES[name].body if isinstance(item, ast.FunctionDef)}
    kind = getattr(engine, name)
    if issubclass(kind, Exception):
        assert [base.id for base in CLASSES[name].bases] == [kind.__base__.__name__]
        return
    assert methods.keys() - {"__init__"} == public(kind)
    for method, item in methods.items():
        if item.decorator_list:
            assert inspect.isgetsetdescriptor(vars(kind)[method])
        else:
            assert declared(item) == built(kind if method == "__init__" else vars(kind)[method])


def test_the_cables_columns_are_the_modules() -> None:
    columns = next(item for item in STUB.body if isinstance(item, ast.ClassDef) and item.name == "CableColumns")
    fields = {item.target.id: ast.unparse(item.annotation) for item in columns.body if isinstance(item, ast.AnnAssign)}
    cables = engine.build_plan('{"family":"bcube","n":2,"k":1}', BOOK).cables()
    assert fields == {name: f"NDArray[np.{column.dtype}]" for name, column in cables.items()}
