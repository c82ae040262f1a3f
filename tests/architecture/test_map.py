"""The map in CONTRIBUTING leads to the places it names."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import ROOT

ROW = re.compile(r"^\| (.+) \| `(constat/[\w/]+\.py)` \| `(\w+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8"))


def names(tree: ast.Module) -> set[str]:
    """Give what a module defines."""
    found: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize(("wish", "path", "symbol"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_map_leads_to_its_symbol(wish: str, path: str, symbol: str) -> None:
    assert symbol in names(ast.parse((ROOT / path).read_text(encoding="utf-8"))), wish


def test_the_map_has_forty_rows_and_names_each_wish_once() -> None:
    assert len(ROWS) >= 40
    assert len({row[0] for row in ROWS}) == len(ROWS)
