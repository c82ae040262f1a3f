"""Constructs that are refused on purpose. Codes C0160 to C0179, exit code 78.

C0161 and C0162 stood for records and algebraic data types, C0173 for `range`; they are not used
again.

One table: the word by which the parser knows a construct, its code, its name, why it is refused,
and what to write.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Severity, Span

EXIT_REFUSED: Final = 78
EXIT_ERRORS: Final = 2

_LATER: Final = "a later version of the language brings it"
_TABLE: Final = MappingProxyType(
    {
        "component": (
            "C0160",
            "components",
            _LATER,
            "use a file with `.include` and a prefix: `sales_revenue`",
        ),
        "functor": (
            "C0163",
            "user-defined functors",
            "a proof could not be checked by another program",
            "use a built-in function, or a predicate whose rows a tier gives",
        ),
        "lattice": (
            "C0164",
            "lattices",
            "the result would depend on the engine",
            "use `min` or `max`",
        ),
        "user aggregate": (
            "C0165",
            "user-defined aggregates",
            "a proof could not be checked by another program",
            "use sum, count, min, max or mean",
        ),
        "autoinc": (
            "C0166",
            "`autoinc`",
            "the numbers would depend on the order of evaluation",
            "use a column that identifies the row",
        ),
        "ord": (
            "C0167",
            "`ord`",
            "the numbers would depend on the order of evaluation",
            "compare the texts themselves: `?a < ?b`",
        ),
        "limitsize": (
            "C0168",
            "`.limitsize`",
            "a relation cut short would make what is absent look false",
            "set `limits:` in the project; a limit then gives UNRESOLVED",
        ),
        "macro": (
            "C0169",
            "macros of the C preprocessor",
            "the text a person approved would not be the text that runs",
            'write the rules out, or use `.include "file.dl"`',
        ),
        "choice": ("C0170", "choice domains", _LATER, "use `min` or `max` to choose a row"),
        "subsumption": ("C0171", "subsumption", _LATER, "use `min` or `max` to choose a row"),
        "nested aggregate": (
            "C0172",
            "nested aggregates",
            "their scopes are easily misread",
            "name the inner one: `total(?k, ?t) :- key(?k), ?t = sum ?x : { p(?k, ?x) }.`",
        ),
        "eqrel": (
            "C0174",
            "`eqrel`",
            _LATER,
            "write symmetry and transitivity: `same(?y, ?x) :- same(?x, ?y).`",
        ),
        "legacy": (
            "C0175",
            "declarations in the legacy form",
            "there is a newer form that says the same",
            "use `.type A <: symbol`, `.input p` and `.output p`",
        ),
        "counter": (
            "C0179",
            "counters of the engine",
            "a rule would depend on the order of evaluation",
            "delete it; rules say what is true, not when",
        ),
    }
)


def refused(construct: str, span: Span) -> Diagnostic:
    """Say that a construct is not part of the language."""
    code, name, reason, edit = _TABLE[construct]
    verb = "is" if name.startswith("`") or name == "subsumption" else "are"
    return Diagnostic(code, f"{name} {verb} not supported", span, note=reason, help=edit)


def macro(span: Span) -> Diagnostic:
    """`#define`."""
    return refused("macro", span)


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """78 where every error is a construct refused on purpose, else 2."""
    refusals = {code for code, *_ in _TABLE.values()}
    codes = {one.code for one in diagnostics if one.severity is Severity.ERROR}
    return EXIT_REFUSED if codes and codes <= refusals else EXIT_ERRORS
