"""Goals and facts as people type them: an atom that fits its declaration, or diagnostics.

In: damaged goals, heaps of tokens, any text.  What is read has the kinds of its columns, and a
fact survives its own spelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.analysis import analyse_or_raise
from constat.diagnostics import ConstatError
from constat.logic import Constant, Kind, Row, format_value, is_of_type, parse_value
from constat.syntax import parse_fact, parse_goal, parse_text, print_row
from tests.fuzz.damage import NUMBERS, STRANGE, any_text, damaged_text, nested, rearranged, soup
from tests.fuzz.reading import check_diagnostics, check_places

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from constat.logic import Program
    from tests.fuzz.reading import Input

RULES: Final = """\
.type CustomerId <: symbol
.decl order(c: CustomerId, a: Decimal, d: Date)
.decl total(c: CustomerId, t: Decimal)
.decl every(n: number, u: unsigned, f: float, s: symbol, d: Date, t: Timestamp, m: Decimal, b: Bool)
.type List = [head: number, tail: List]
.type Expr = Number { x: float } | Add { l: Expr, r: Expr } | Named { s: symbol, d: Date } | Zero {}
.decl holds(l: List, e: Expr, s: symbol)
.decl flag()
.decl sum_of(n: number, n2: number)
"""
GOALS: Final = (
    "order(C001, 10.50, 2024-01-01)",
    'order(c = "J. \\"D\\"", a = ?a, d = _)',
    "total(?c, ?t).",
    "not total('x', f(y)), order(a==b",
    'every(-5, 7, 1.5e3, "x y", 2024-02-29, "2024-01-01T10:00:00Z", 10.10, true)',
    "every(n = 1, b = false, s = x)",
    'holds([1, [-2, nil]], $Add($Number(1.5), $Named("a, ]\\n", 2024-02-29)), [a)',
    "holds(e = $Zero(), s = $x, l = nil)",
    "holds([ 5 , nil ], $Named( J. Doe , 2024-02-29 ), ?s)",
    "flag()",
    "sum_of(?x, ?x)",
)
PIECES: Final = (
    *"()[]{}.,;:?_!@#$%^&*-+=/\\|<>'\"`~ \t\n\r\0",
    *(
        "order(",
        "holds(",
        "nil",
        "[1, ",
        "$Add(",
        "$Zero",
        "$Named(",
        "every(",
        "flag",
        "total",
        "c = ",
        "n = ",
        "?x",
        "_",
        "_x",
        "true",
        "false",
        '"',
        "\\u",
    ),
    *NUMBERS,
    *STRANGE,
    "a" * 3_000,
)
_BRACKETS: Final = (
    *(("(", ")"), ("order(", ")"), ("-", ""), ("[", "]"), ('"', '"'), ("?", "")),
    *(("holds(", ")"), ("[1, ", "]"), ("$Add($Zero, ", ")"), ("$Add(", ", $Zero)")),
)


_VALUES: Final = (
    ("-5", "9223372036854775807", "0", "?n"),
    ("7", "18446744073709551615", "0", "_"),
    ("1.5e3", "1e308", "5e-324", "-0.0", "?f"),
    ('"x y"', '"\\u00e9"', "C001", "日", '""', "?s"),
    ("2024-02-29", "0001-01-01", '"9999-12-31"', "?d"),
    ('"2024-01-01T10:00:00Z"', '"2024-01-01 10:00:00.5+02:00"', "?t"),
    ("10.10", "0." + "1" * 38, "1" * 38, "-0", "?m"),
    ("true", "false", "?b"),
)


def _fitting(chance: Random) -> str:
    """Give an atom most of whose values fit their columns."""
    values = [chance.choice(one) for one in _VALUES]
    if chance.random() < 0.3:
        values[chance.randrange(8)] = chance.choice(chance.choice(_VALUES))
    return f"every({', '.join(values)})"


def program() -> Program:
    return analyse_or_raise(parse_text(RULES, "rules.dl", [])).program


class GoalsAndFacts:
    """Reads one line both as a goal and as a fact."""

    def __init__(self, folder: Path) -> None:
        del folder
        self.program = program()

    def make(self, chance: Random) -> Input:
        match chance.randrange(10):
            case 0:
                return any_text(chance)
            case 1:
                return soup(chance, PIECES, 12)
            case 2:
                return f"order({any_text(chance)})"
            case 3:
                return nested(chance, _BRACKETS)
            case 4 | 5:
                return rearranged(chance.choice(GOALS), chance)
            case 6:
                every = (chance.choice((*NUMBERS, *STRANGE, "true", "x", "?y")) for _ in range(8))
                return f"every({', '.join(every)})"
            case 7:
                return _fitting(chance)
            case _:
                return damaged_text(chance.choice(GOALS), chance, PIECES, 3)

    def check(self, given: Input) -> str:
        assert isinstance(given, str)
        return f"goal {self._goal(given)}, fact {self._fact(given)}"

    def _goal(self, text: str) -> str:
        try:
            atom = parse_goal(text, self.program)
        except ConstatError as error:
            check_diagnostics(error.diagnostics, {"<goal>": text})
            check_places(error.diagnostics, {"<goal>": text})
            return "refused"
        kinds = self.program.predicates[atom.predicate].kinds
        for term, kind in zip(atom.terms, kinds, strict=True):
            assert not isinstance(term, Constant) or term.kind is kind
        return "read"

    def _fact(self, text: str) -> str:
        try:
            name, row = parse_fact(text, self.program)
        except ConstatError as error:
            check_diagnostics(error.diagnostics, {"<fact>": text})
            check_places(error.diagnostics, {"<fact>": text})
            return "refused"
        predicate = self.program.predicates[name]
        assert_spelled(row, predicate.kinds)
        columns = zip(row, predicate.columns, strict=True)
        assert all(is_of_type(value, column) for value, column in columns)
        assert parse_fact(print_row(predicate, row), self.program) == (name, row)
        return "read"


def assert_spelled(row: Row, kinds: tuple[Kind, ...]) -> None:
    """Check that the values are of their kinds: each survives its canonical spelling."""
    for value, kind in zip(row, kinds, strict=True):
        text = format_value(value, kind)
        text.encode()
        again = float.fromhex(text) if kind is Kind.FLOAT else parse_value(text, kind)
        assert again == value
        assert type(again) is type(value)
