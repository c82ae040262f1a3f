"""What the operators break, and what they leave alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.mutation.operators import mutants_of

if TYPE_CHECKING:
    from pathlib import Path


def broken(text: str, folder: Path) -> set[str]:
    path = folder / "module.py"
    path.write_text(text)
    made = [ast.unparse(mutant.tree) for mutant in mutants_of(path)]
    assert ast.unparse(ast.parse(text)) not in made
    for one in made:
        compile(one, "module.py", "exec")
    return set(made)


@pytest.mark.parametrize(
    ("text", "mutants"),
    [
        ("x = a < b", {"x = a >= b", "x = a <= b"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = not not a"}),
        ("x = a + b", {"x = a - b"}),
        ("x = 1", {"x = 2", "x = 0"}),
        ("x = True", {"x = False"}),
        ("x = min(a)", {"x = max(a)"}),
        ("x = POSSIBLE", {"x = 2", "x = 0"}),
        ("x = [a for a in b if c]", {"x = [a for a in b]"}),
        ("f(a)", {"pass"}),
        ("a.b = c", {"pass"}),
        ("x = a", set()),
        ("def f(a: int = 1) -> 'x':\n    return a", set()),
        ("x = Rejected('code', 'a reason' + '!')", set()),
    ],
)
def test_each_break_differs_in_one_place(text: str, mutants: set[str], tmp_path: Path) -> None:
    assert broken(text, tmp_path) == mutants


def test_conditions_are_fixed_and_statements_dropped(tmp_path: Path) -> None:
    assert broken("if a:\n    raise b", tmp_path) == {
        "if True:\n    raise b",
        "if False:\n    raise b",
        "if a:\n    pass",
    }
    assert broken("while a:\n    break", tmp_path) == {
        "while False:\n    break",
        "while a:\n    pass",
    }


def test_a_mutant_says_where_it_is_and_what_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("\nx = a == b\n")
    assert [str(mutant) for mutant in mutants_of(path)] == ["module.py:2: a == b -> NotEq"]
