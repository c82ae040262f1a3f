"""Functions stay small enough to be read in one go; a module is a chapter and has no cap."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import folders, shown, sources_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES_OF_A_FUNCTION = 50


def long_functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LINES_OF_A_FUNCTION:
                yield f"{node.name} at line {node.lineno} has {length} lines"


@pytest.mark.parametrize("folder", folders(), ids=shown)
def test_a_function_keeps_its_budget(folder: Path) -> None:
    for source in sources_in(folder):
        assert list(long_functions(source.tree)) == []


def test_the_budget_counts_the_whole_function() -> None:
    body = "    pass\n" * LINES_OF_A_FUNCTION
    assert list(long_functions(ast.parse("def f():\n" + body)))
    assert not list(long_functions(ast.parse("def f():\n" + body[: -len("    pass\n")])))
