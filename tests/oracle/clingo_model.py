"""The model of a program by clingo, the second oracle.

In: an analysed program and a closed ``World``.  Out: the rows of each predicate, or ``None`` where
integers leave the range in which clingo computes without wrapping around.  Invariant: a stratified
program has exactly one answer set, and that is checked.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

import clingo
from clingo import Function, Number, String, Symbol, SymbolType

from tests.oracle.clingo_program import program_text, relation_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constat.analysis import AnalysedProgram
    from constat.logic import Row, Value
    from tests.oracle.naive import World

LONGEST = 48
"""Characters of a text that can be compared."""

LARGEST = 1 << 13
"""Integers are of 32 bits there; beyond this a product or a sum of products may wrap."""

_ARITHMETIC: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "neg": operator.neg,
        "min": min,
        "max": max,
    }
)


def model(program: AnalysedProgram, world: World) -> dict[str, set[Row]] | None:
    """Give all rows of all predicates."""
    control = clingo.Control(["--models=2"], logger=lambda _code, _message: None)
    control.add("base", [], program_text(program, world))
    control.ground([("base", [])], context=Terms())
    found: list[list[Symbol]] = []
    control.solve(on_model=lambda one: found.append(list(one.symbols(atoms=True))))
    assert len(found) == 1, "a stratified program has one answer set"
    names = {relation_name(name): name for name in program.program.predicates}
    rows: dict[str, set[Row]] = {name: set() for name in program.program.predicates}
    for symbol in found[0]:
        rows[names[symbol.name]].add(tuple(map(_value, symbol.arguments)))
    values = [value for relation in rows.values() for row in relation for value in row]
    if any(isinstance(value, int) and abs(value) > LARGEST for value in values):
        return None
    return rows


def _value(symbol: Symbol) -> Value:
    if symbol.type is SymbolType.Number:
        return symbol.number
    if symbol.type is SymbolType.String:
        return symbol.string
    text = symbol.arguments[0].string
    return float.fromhex(text) if symbol.name == "float" else Decimal(text)


def _symbol(value: Value) -> Symbol:
    """The term of a float or a Decimal, each with one zero and no trailing ones."""
    if isinstance(value, float):
        return Function("float", [String((value or 0.0).hex())])
    plain = Decimal(value).normalize() if value else Decimal(0)
    return Function("decimal", [String(f"{plain:f}")])


def _plain(value: Symbol) -> list[int]:
    """A number, or the code points of a text; values of one kind meet only."""
    return [value.number] if value.type is SymbolType.Number else list(map(ord, value.string))


class Terms:
    """The functions that clingo lacks, in their plainest form."""

    def cat(self, *parts: Symbol) -> Symbol:
        return String("".join(part.string for part in parts))

    def size(self, text: Symbol) -> Symbol:
        return Number(len(text.string.encode()))

    def text(self, number: Symbol) -> Symbol:
        return String(str(number.number))

    def least(self, *values: Symbol) -> Symbol:
        return min(values, key=_plain)

    def greatest(self, *values: Symbol) -> Symbol:
        return max(values, key=_plain)

    def mean(self, total: Symbol, count: Symbol) -> Symbol:
        exact = Fraction(total.number, count.number)
        return Function("float", [String(float(exact).hex())])

    def order(self, left: Symbol, right: Symbol) -> Symbol:
        one, other = Fraction(_value(left)), Fraction(_value(right))
        return Number((one > other) - (one < other))

    def compute(self, name: Symbol, *values: Symbol) -> Symbol:
        """Arithmetic of fractions, exact or as floats have it."""
        found = _ARITHMETIC[name.string](*map(_value, values))
        return _symbol(found)

    def key(self, text: Symbol) -> Symbol:
        """A tuple in which shorter texts come first, as no character is smaller than none."""
        assert len(text.string) <= LONGEST
        padding = [0] * (LONGEST - len(text.string))
        return Function("", [Number(code) for code in (*map(ord, text.string), *padding)])

    def unkey(self, key: Symbol) -> Symbol:
        return String("".join(chr(one.number) for one in key.arguments if one.number))
