"""Files in pyDatalog's syntax: what they give there, their translation gives here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.analysis import analyse_or_raise
from constat.diagnostics import Diagnostic, Severity
from constat.engine import LazyEngine
from constat.evaluation import CERTAIN, Limits
from constat.library.pydatalog_rules import Imported, import_rules
from constat.logic import Atom, Variable
from constat.syntax import parse_text

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = '''
from pyDatalog import pyDatalog
pyDatalog.create_terms("X,Y,Z,N,K,bob,works_in,manager,chief,n,total,kinds,largest,all_of_it,average")
"""What the company knows."""
+ works_in("Mary", "Production")
+ works_in("Bill", "Sales")
+ works_in(bob, "Sales")
+ (manager["Mary"] == "John")
+ (manager["Bill"] == "Ann")
+ (manager["Bill"] == "Mary")
chief(X, Y) <= (manager[X] == Y)
chief(X, Y) <= (manager[X] == Z) & chief(Z, Y)
+ n("a", 1, "k1")
+ n("a", 2, "k1")
+ n("a", 2, "k2")
+ n("b", -5, "k3")
(total[X] == sum_(N, for_each=K)) <= n(X, N, K)
(kinds[X] == len_(K)) <= n(X, N, K)
(largest[X] == max_(N, order_by=N)) <= n(X, N, K)
(all_of_it[None] == sum_(N, for_each=(X, K))) <= n(X, N, K)
(average[X] == mean_(N, for_each=K)) <= n(X, N, K) & (N > 0) & (K != "k1")
pyDatalog.load("""
    small(X) <= n(X, N, K) & (N < 2) & ~works_in(X, bill)
    listed(X, N) <= n(X, N, K) & N.in_((1, -5)) & ~(K == "k9")
    others(X, N) <= n(X, N, K) & N._not_in((1, -5))
    following(X, Y) <= n(X, N, K) & (N > 0) & (Y == 2 * N + 1 - N % 2)
    half(X, Y) <= n(X, N, K) & (N > 0) & (Y == N // 2)
    more(X, Y) <= n(X, Y, K) & (Y > total[X] - 5)
    alone(X) <= works_in(X, Y) & ~(manager[X] == Y)
    named(X) <= works_in(Y, Z) & (X == Y + "!")
    + fraction(1.5)
    + fraction(2)
    third(Y) <= fraction(X) & (Y == X / 4)
""")
'''
PREDICATES = {
    "chief": 2,
    "total": 2,
    "kinds": 2,
    "largest": 2,
    "all_of_it": 1,
    "average": 2,
    "small": 1,
    "listed": 2,
    "others": 2,
    "following": 2,
    "half": 2,
    "more": 2,
    "alone": 1,
    "named": 1,
    "third": 1,
    "manager": 2,
}
FUNCTIONS = ("total", "kinds", "largest", "average", "manager")
THERE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyDatalog import pyDatalog, pyEngine
pyEngine.Float_Precision = None
exec(sys.stdin.read())
answers = {}
for question, name in json.loads(sys.argv[1]).items():
    found = pyDatalog.ask(question)
    answers[name] = [] if found is None else found.answers
print(json.dumps(answers))
"""


def question(name: str, arity: int) -> str:
    """Ask pyDatalog for everything of a predicate of FAMILY."""
    if name in FUNCTIONS:
        return f"{name}[X] == Y"
    if name == "all_of_it":
        return "all_of_it[None] == X"
    return f"{name}({', '.join('XYZ'[:arity])})"


def answers_there(text: str) -> dict[str, set[tuple[object, ...]]]:
    """Run the file with pyDatalog; only a test may do so, with a file of its own."""
    asked = json.dumps({question(name, arity): name for name, arity in PREDICATES.items()})
    ran = subprocess.run(
        [sys.executable, "-c", THERE, asked],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    return {name: {tuple(row) for row in rows} for name, rows in found.items()}


def answers_here(text: str) -> dict[str, set[tuple[object, ...]]]:
    """Evaluate the translation."""
    analysed = analyse_or_raise(parse_text(text, "imported.dl", []))
    found = {}
    for name, arity in PREDICATES.items():
        goal = Atom(name, tuple(Variable(f"v{place}") for place in range(arity)))
        outcome = LazyEngine().evaluate(analysed, goal, {}, Limits(), exhaust=True)
        found[name] = set(outcome.rows(name, CERTAIN))
    return found  # type: ignore[return-value]  # rows that are certain hold values


def errors(text: str) -> list[tuple[str, int]]:
    """Give code and line of each error; nothing is translated then."""
    imported = import_rules(text, "rules.py")
    assert not imported.errors or not imported.text or imported.predicates
    return [(one.code, one.span.line if one.span else 0) for one in imported.errors]


def rules(text: str) -> list[str]:
    """Give the rules of a translation that is right."""
    imported = import_rules(text, "rules.py")
    assert [one.message for one in imported.errors] == []
    return [line for line in imported.text.splitlines() if line and not line.startswith(".")]


def test_the_translation_gives_the_answers_that_pydatalog_gives() -> None:
    imported = import_rules(FAMILY, "family.py")
    assert [one.message for one in imported.errors] == []
    assert answers_here(imported.text) == answers_there(FAMILY)


def test_what_may_differ_is_reported() -> None:
    text = "+ (f[1] == 2)\nf2[X] == Y\n(f[X] == Y) <= (f2[X] == Y)\n(f[X] == 3) <= (f2[X] == Y)"
    warned = [
        (one.code, one.span and one.span.line) for one in import_rules(text, "x.py").diagnostics
    ]
    assert ("C0463", 2) in warned
    assert ("C0463", 3) in warned
    halves = import_rules('pyDatalog.load("+ n(1)\\nh(Y) <= n(X) & (Y == X // 2)")', "x.py")
    assert [one.code for one in halves.diagnostics] == ["C0463"]


def test_a_variable_that_occurs_once_matches_anything() -> None:
    assert rules("+ p(1, 2)\nq(X) <= p(X, Y)")[-1] == "q(?x) :- p(?x, _)."


def test_predicates_of_one_name_are_told_apart_by_their_arity() -> None:
    assert rules("+ p(1)\n+ p(1, 2)") == ["p(1).", "p_2(1, 2)."]


def test_names_that_are_taken_here_are_changed() -> None:
    assert rules("+ count(1)\n+ match(2)") == ["count_(1).", "match_(2)."]


def test_whole_numbers_beside_fractions_are_fractions() -> None:
    assert rules("+ p(1)\n+ p(2.5)") == ["p(1.0).", "p(2.5)."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(", [("C0460", 1)]),
        ("x = 5", [("C0461", 1)]),
        ("+ p(1)\nfor i in range(3):\n    + p(i)", [("C0461", 2)]),
        ("+ p(1)\n- p(1)", [("C0461", 2)]),
        ("+ p(x)", [("C0461", 1)]),
        ("+ p(X.y)", [("C0461", 1)]),
        ("p(X) <= X > 1", [("C0461", 1)]),
        ("p(X) <= q(X) & X == 1", [("C0461", 1)]),
        ("p(X) <= q(X, key=1)", [("C0461", 1)]),
        ("(f[X] == rank_(for_each=X, order_by=Y)) <= p(X, Y)", [("C0461", 1)]),
        ("(f[X] == min_(Y, order_by=Z)) <= p(X, Y, Z)", [("C0461", 1)]),
        ('(f[X] == concat_(Y, order_by=Y, sep=",")) <= p(X, Y)', [("C0461", 1)]),
        ("+ p(1)\nq(Y) <= p(X) & (Y == X / 2)", [("C0461", 2)]),
        ("+ p(1)\nq(Y) <= p(X) & (Y == X ** 2)", [("C0461", 2)]),
        ("+ p(99999999999999999999)", [("C0461", 1)]),
        ("+ p(None)", [("C0461", 1)]),
        ("+ p(1j)", [("C0461", 1)]),
        ("+ p(lambda: 1)", [("C0461", 1)]),
        ("pyDatalog.load(open('x').read())", [("C0461", 1)]),
        ('pyDatalog.load("p(")', [("C0460", 1)]),
        ('+ p(1)\n+ p("a")', [("C0462", 2)]),
        ("+ p(1)\n+ p(True)", [("C0462", 2)]),
        ('+ p("\\ud800")', [("C0461", 1)]),
        ("p(X) <= " + " & ".join(["X.in_((1, 2, 3, 4))"] * 6), [("C0461", 1)]),
        ("@other.thing\ndef f():\n    + p(1)", [("C0461", 2)]),
    ],
)
def test_what_has_no_counterpart_is_refused_at_its_place(
    text: str, expected: list[tuple[str, int]]
) -> None:
    assert errors(text) == expected
    assert import_rules(text, "x.py").text == ""


def test_a_program_function_is_read_as_rules() -> None:
    text = "@pyDatalog.program()\ndef _():\n    + p(bill)\n    q(X) <= p(X)"
    assert rules(text) == ['p("bill").', "q(?x) :- p(?x)."]


def test_nothing_of_the_file_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    text = (
        f"import os\nprint(os.mkdir({str(trap)!r}))\n+ p(1)\n"
        f'pyDatalog.load("""+ p(__import__("os").mkdir({str(trap)!r}))""")'
    )
    assert errors(text) == [("C0461", 4)]
    assert not trap.exists()


def test_rules_that_are_unsafe_here_are_given_with_what_the_check_finds() -> None:
    imported = import_rules("+ p(1)\nq(X, Y) <= p(X)", "x.py")
    assert imported.text
    assert imported.errors
    assert {one.span.source for one in imported.errors if one.span} == {"<imported>"}


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000,
        "+ p(" + "-" * 20_000 + "1)",
        "+ p(" + "+".join("1" * 20_000) + ")",
        "p(X) <= " + " & ".join(["q(X)"] * 20_000),
        "+ p('\0')",
        "\ud800",
        "+ p(" + "9" * 10_000 + ")",
    ],
    ids=["nested", "signs", "long sum", "long body", "nul", "half a pair", "digits"],
)
def test_a_hostile_file_ends_in_diagnostics_or_rules(text: str) -> None:
    imported = import_rules(text, "x.py")
    assert imported.text or imported.errors


PIECES = st.sampled_from(
    [
        *("+", "-", "~", "(", ")", "[", "]", "==", "<=", "&", ",", "p", "q", "f", "X", "Y", "1"),
        *('"a"', "sum_", "for_each=", ".in_", "\n", "None", "1.5", "*", "/", "print", ":"),
    ]
)


@given(st.lists(PIECES, max_size=25).map(" ".join))
def test_any_file_ends_in_rules_that_parse_or_in_errors(text: str) -> None:
    imported: Imported = import_rules(text, "x.py")
    if not imported.text:
        assert imported.errors or not imported.predicates
        return
    found: list[Diagnostic] = []
    parse_text(imported.text, "y.dl", found)
    assert [one.code for one in found if one.severity is Severity.ERROR] == []
