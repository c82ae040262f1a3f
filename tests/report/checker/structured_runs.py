"""Programs with records and algebraic data types, run by the engine, with the verdict of each goal.

In: nothing.  Out: certificates by name, each with its verdict, written by the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import Assumption
from constat.logic import OPEN
from tests.proof.asking import Table, analysed, ask, certificate

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPRESSIONS: Final = """
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Zero {}
.decl given(e: Expr)
.input given(source = "s", query = "q")
.decl part(e: Expr)
part(?e) :- given(?e).
part(?l) :- part($Add(?l, _)).
part(?r) :- part(?e), ?e = $Add(_, ?r).
.decl worth(e: Expr, n: number)
worth(?e, ?n) :- part(?e), ?e = $Number(?n).
worth($Zero, 0) :- part($Zero).
worth(?e, ?n) :- part(?e), ?e = $Add(?l, ?r), worth(?l, ?a), worth(?r, ?b), ?n = ?a + ?b.
.decl numbers(n: number)
numbers(?n) :- ?n = count : { part($Number(_)) }.
.decl weight(n: number)
weight(?n) :- ?n = sum ?x : { part($Number(?x)) }.
.decl bare(e: Expr)
bare(?e) :- part(?e), !part($Add(?e, $Zero)).
"""
LISTS: Final = """
.type List = [head: symbol, tail: List]
.decl given(l: List)
.input given(source = "s", query = "q")
.decl cell(l: List)
cell(?l) :- given(?l).
cell(?t) :- cell([_, ?t]).
.decl length(l: List, n: number)
length(nil, 0) :- cell(nil).
length(?l, ?n) :- cell(?l), ?l = [_, ?t], length(?t, ?m), ?n = ?m + 1.
.decl turned(l: List, done: List)
turned(?l, nil) :- given(?l).
turned(?t, [?h, ?done]) :- turned([?h, ?t], ?done).
.decl word(t: symbol)
word(?h) :- cell([?h, _]).
"""
FIELDS: Final = """
.type Reading = [at: Timestamp, day: Date, level: float, price: Decimal, ok: Bool, n: unsigned]
.decl given(r: Reading)
.input given(source = "s", query = "q")
.decl dear(r: Reading, p: Decimal, l: float)
dear(?r, ?p, ?l) :- given(?r), ?r = [_, ?d, ?l, ?p, "true", ?n], ?p > 1.5, ?n > 0,
    year(?d) = 2025.
"""
SUM: Final = "$Add($Number(1), $Add($Number(2), $Zero))"
ODD: Final = 'a"b\\c, [nil]\n\u202e\U0001f600'
QUOTED: Final = ODD.replace("\\", "\\\\").replace('"', '\\"')
LIST: Final = f'["x", ["{QUOTED}", ["x", nil]]]'
NOON: Final = "2025-01-31T12:00:00.000000Z"
READING: Final = f'["{NOON}", "2025-01-31", {(0.1).hex()}, 1.75, "true", 18446744073709551615]'
VOUCHED: Final = Assumption("closure", "given", "bob vouches for it", Decimal("0.9"))


@dataclass(frozen=True, slots=True)
class Run:
    """A goal about a program over its one table, ``given``."""

    rules: str
    goal: str
    verdict: str
    table: Table

    def data(self) -> bytes:
        """Return the certificate that the engine writes."""
        return certificate(ask(analysed(self.rules), self.goal, {"given": self.table}))


def _sum() -> Table:
    return Table(((SUM,),))


def _list() -> Table:
    return Table(((LIST,),))


def _unknown() -> Table:
    return Table(((SUM,),), open=((OPEN,),))


@cache
def runs() -> Mapping[str, Run]:
    """Return all runs by name."""
    worth, silent = f"worth({SUM}, 3)", Table(silent=True)
    said, closed = Table(said=(((SUM,), "0.9"),)), Table(((SUM,),), closed=VOUCHED)
    return MappingProxyType(
        {
            "proved": Run(EXPRESSIONS, worth, "PROVED", _sum()),
            "proved on a word": Run(EXPRESSIONS, worth, "PROVED_UNDER", said),
            "disproved": Run(EXPRESSIONS, f"worth({SUM}, 4)", "DISPROVED", _sum()),
            "disproved on a word": Run(EXPRESSIONS, "part($Number(9))", "DISPROVED_UNDER", closed),
            "whatever is there": Run(EXPRESSIONS, f"worth({SUM}, 4)", "DISPROVED", _unknown()),
            "another branch": Run(EXPRESSIONS, "worth($Number(3), 3)", "DISPROVED", _sum()),
            "not answered": Run(EXPRESSIONS, worth, "UNRESOLVED", silent),
            "an unknown one": Run(EXPRESSIONS, "part($Number(9))", "UNRESOLVED", _unknown()),
            "all answers": Run(EXPRESSIONS, "worth(?e, ?n)", "PROVED", _sum()),
            "a count": Run(EXPRESSIONS, "numbers(2)", "PROVED", _sum()),
            "another count": Run(EXPRESSIONS, "numbers(5)", "DISPROVED", _sum()),
            "a sum": Run(EXPRESSIONS, "weight(3)", "PROVED", _sum()),
            "a sum of unknowns": Run(EXPRESSIONS, "weight(3)", "UNRESOLVED", _unknown()),
            "an absence": Run(EXPRESSIONS, "bare($Number(1))", "PROVED", _sum()),
            "no absence": Run(EXPRESSIONS, "bare($Number(2))", "DISPROVED", _sum()),
            "a length": Run(LISTS, "length(?l, 3)", "PROVED", _list()),
            "another length": Run(LISTS, "length(?l, 4)", "DISPROVED", _list()),
            "a list turned round": Run(LISTS, "turned(nil, ?done)", "PROVED", _list()),
            "words": Run(LISTS, "word(?w)", "PROVED", _list()),
            "no such word": Run(LISTS, 'word("nil")', "DISPROVED", _list()),
            "every kind": Run(FIELDS, "dear(?r, ?p, ?l)", "PROVED", Table(((READING,),))),
            "every kind, not so": Run(
                FIELDS, "dear(?r, 2.5, ?l)", "DISPROVED", Table(((READING,),))
            ),
        }
    )
