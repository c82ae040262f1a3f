"""Write rules as text, analyse them, and look at the diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.analysis import analyse, analyse_or_raise
from constat.syntax import parse_text

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.logic import Program

SOURCE = "example.dl"

DECLARED = """
.type CustomerId <: symbol
.type OrderId <: symbol
.decl customer(c: CustomerId, name: symbol)
.decl order(o: OrderId, c: CustomerId, amount: Decimal, d: Date)
.decl tier(c: CustomerId, t: symbol)
.decl level(c: CustomerId, n: number)
.decl weight(c: CustomerId, w: float)
.decl size(c: CustomerId, u: unsigned)
.decl active(c: CustomerId, b: Bool)
.decl seen(c: CustomerId, at: Timestamp)
.decl chosen(c: CustomerId)
.decl text(s: symbol)
.decl number_of(n: number)
.decl amount_of(a: Decimal)
.decl float_of(f: float)
"""


def program_of(text: str) -> Program:
    diagnostics: list[Diagnostic] = []
    program = parse_text(text, SOURCE, diagnostics)
    assert diagnostics == [], "the text itself is wrong"
    return program


def diagnostics_of(text: str) -> list[Diagnostic]:
    diagnostics: list[Diagnostic] = []
    analyse(program_of(text), diagnostics)
    return diagnostics


def found(rules: str) -> list[Diagnostic]:
    """Give the diagnostics of some rules over the declared predicates."""
    return diagnostics_of(DECLARED + rules)


def codes(rules: str) -> list[str]:
    return [one.code for one in found(rules)]


def the(rules: str, code: str) -> Diagnostic:
    """Give the only diagnostic, which has that code."""
    diagnostics = found(rules)
    assert [one.code for one in diagnostics] == [code]
    return diagnostics[0]


def analysed(rules: str) -> AnalysedProgram:
    return analyse_or_raise(program_of(DECLARED + rules))
