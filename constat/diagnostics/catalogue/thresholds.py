"""Codes C0280 to C0284: totals that run through recursion.

The first three are analysis, C0283 is about another engine of ours and C0284 about portability.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_OWN: Final = (
    ".decl own(x: symbol, y: symbol, w: {kind})\n"
    ".decl holds(x: symbol, via: symbol, y: symbol, w: {kind})\n"
    ".decl controls(x: symbol, y: symbol)\n"
    "holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).\n"
    "holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w).\n"
)
_NUMBERS: Final = _OWN.replace("{kind}", "number")
_FLOATS: Final = _OWN.replace("{kind}", "float")
_DECIMALS: Final = _OWN.replace("{kind}", "Decimal")
_CONTROL: Final = "controls(?x, ?y) :- holds(?x, _, ?y, _), "
_SUM: Final = "sum ?w : { holds(?x, _via, ?y, ?w) }"

THRESHOLDS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0280",
        "a recursive total that is more than a threshold",
        "A sum or count over rows that depend on the rule itself is only a threshold: its rows are "
        "not all known when the rule is tried, and more of them can only make it greater. So it "
        "is compared once, by `>` or `>=`, and used nowhere else; then the rule holds as soon as "
        "some rows are enough. Negative values would take that away: where the text does not rule "
        "them out (a guard such as `?w >= 0` beside the atom, an unsigned column), a group with "
        "such a row is left undecided.",
        _NUMBERS + _CONTROL + f"{_SUM} < 50.\n",
        _NUMBERS + _CONTROL + f"{_SUM} > 50.\n",
    ),
    Entry(
        "C0281",
        "a recursive sum of floats",
        "A sum of floats is rounded, and whether the rounded sum is beyond a bound may depend on "
        "rows that are added later. Decimals and whole numbers are added exactly.",
        _FLOATS + _CONTROL + f"{_SUM} > 50.0.\n",
        _DECIMALS + _CONTROL + f"{_SUM} > 50.0.\n",
    ),
    Entry(
        "C0282",
        "a recursive sum of negative values",
        "Each row would make the sum smaller, so a rule that is true because of few rows could "
        "derive the very row that makes it false.",
        _NUMBERS + _CONTROL + "sum -1 : { holds(?x, _via, ?y, _w) } > -5.\n",
        _NUMBERS + _CONTROL + "count : { holds(?x, _via, ?y, _w) } > 5.\n",
    ),
)

ENGINES: Final[tuple[Entry, ...]] = (
    Entry(
        "C0283",
        "a recursive total for pyDatalog",
        "pyDatalog folds a relation once it is complete, and here the total is needed to complete "
        "it. Constat's own engine takes such a total as a threshold.",
        wrong='constat prove --engine pydatalog "controls(Alder, Birch)"',
        right='constat prove "controls(Alder, Birch)"',
        kind="text",
    ),
)

PORTABILITY: Final[tuple[Entry, ...]] = (
    Entry(
        "C0284",
        "a total that runs through recursion",
        "A sum or count over rows that depend on the rule itself is a threshold here. Stock "
        "Souffle refuses every aggregate in a recursion.",
        _NUMBERS + ".input own\n" + _CONTROL + f"{_SUM} > 50.\n",
        _NUMBERS.replace("controls(?x, ?z)", "majority(?x, ?z)")
        + ".input own\n.decl majority(x: symbol, y: symbol)\n"
        + "majority(?x, ?y) :- own(?x, ?y, ?w), ?w > 50.\n"
        + _CONTROL
        + f"?s = {_SUM}, ?s > 50.\n",
    ),
)
