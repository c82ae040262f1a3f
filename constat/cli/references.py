"""References that `constat help` prints, written from the tables that the code itself reads by."""

from __future__ import annotations

import textwrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import attributes
from constat.logic import Kind
from constat.logic.functors import signatures
from constat.logic.vocabulary import AGGREGATES, COMPARISONS, FUNCTIONS
from constat.project.loading import TOP_LEVEL
from constat.syntax.words import DIRECTIVES, REFUSED_DIRECTIVES, RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_WIDTH: Final = 79
_NUMERIC: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})

_VALUES: Final = MappingProxyType(
    {
        Kind.NUMBER: "whole numbers of 64 bits: 5, -5",
        Kind.UNSIGNED: "whole numbers without a sign: 5u",
        Kind.DECIMAL: "exact decimals of at most 38 digits: 10.50",
        Kind.FLOAT: "the nearest double; mixed with Decimal only by `as`",
        Kind.SYMBOL: 'texts: "gold"',
        Kind.DATE: '"2025-01-31"',
        Kind.TIMESTAMP: '"2025-01-31T10:00:00Z", in UTC',
        Kind.BOOL: '"true" and "false"',
    }
)
MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "abducible": "may be supposed where `missing` looks for facts, at a cost",
        "approved": "who approved it, and on which day",
        "author": "who wrote it; what a model wrote counts only once approved",
        "closed": "who vouches that no fact of it is missing",
        "confidential": "hidden in views for the person concerned: `constat export --view`",
        "confidence": "above 0, at most 1; below 1 what follows is an assumption",
        "constraint": "nothing of it should hold: `constat check-data`",
        "description": "what it is, for people and models",
        "distinct": "equal rows of the query are merged on purpose",
        "expect": "what a case expects: proved, disproved, unresolved",
        "floor": "`/` of whole numbers is meant to cut off",
        "given": "columns that whoever asks has to bind",
        "id": "the name of a rule; of a column: its numbers name something",
        "key": "columns that tell its rows apart",
        "null": "what NULL means: `constat help nulls`",
        "nullable": "as in `null`",
        "owner": "who answers for it",
        "percent": "sentences write it a hundredfold, with %",
        "personal": "of a person: hidden in views for auditors, and of others in the person's own",
        "places": "how many decimals sentences write at least",
        "reason": 'what a reason code says: `@[reason(R01 = "...")]`',
        "reasons": "codes of reasons, one for each literal of the body",
        "removable": "may be taken away in thought by `why-not`, at a cost",
        "says": 'the sentence that says so: "{customer} is a VIP"',
        "says_not": "the sentence that says that it is not so",
        "says_unknown": "the sentence that says that it is not known",
        "unit": "its unit, before or behind the number",
        "version": "its version, as certificates say it",
        "whole": "its rows are read whole, also columns that no rule reads",
        "year": "a year: written without separators",
    }
)
"""What each attribute says."""

_LANGUAGE: Final = """\
A rule file is text whose name ends in .dl, in a folder that `rules:` of
constat.yaml names:

  .pragma "constat" "0.1"
  .include "constat/prelude.dl"

  .decl spent(customer: number, total: Decimal)
  spent(?c, ?total) :-
    customer(id = ?c),
    ?total = sum ?t : { invoice(id = _i, customer_id = ?c, total = ?t) }.

  @[says = "{customer} spends much"]
  .decl spends_much(customer: number)
  spends_much(?c) :- spent(?c, ?total), ?total > 40.0, !blocked(?c).

A variable is ?name, `_` is any value, a text stands in double quotes, and so
do dates. `,` is and, `;` is or, `!` denies an atom, `=` also gives a variable
its value. Arguments go by position, or by name; those left out are any value.
A group key of an aggregate is bound outside of it. Over two or more atoms name
the column that tells rows apart (`_i`), so that equal amounts count twice.
"""
_NULLS: Final = """\
NULL is never a value. What it means is said of each column:

  @[null = maybe] fax: symbol     a value or none; what `constat init` drafts
  @[null = none] fax: symbol      there is no value
  @[null = unknown] fax: symbol   there is one, and nobody knows it
  @[null = skip] fax: symbol      rows without it are left out
  @[null = error] fax: symbol     a mistake of the source; without a word

A rule reads a column when it writes a variable or a value there, or names it;
`_` in its place, and a column that is left out, read nothing. What is not read
leaves nothing open.

Read under `none`, the row does not match, certainly: rules see it as no value.
Under `maybe` and `unknown` it may match: the goal is UNRESOLVED where it rests
on that, and what is missing is named. Where you know better, write `none`.

To ask for rows without a value, declare `none`, name those with one, deny it:

  .decl has_fax(customer: number)
  has_fax(?c) :- customer(customer_id = ?c, fax = _fax).
  .decl without_fax(customer: number)
  without_fax(?c) :- customer(customer_id = ?c), !has_fax(?c).

More in docs/semantics.md, sentence 26.
"""


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Lay out names and texts in two columns; a name that is too long has a line of its own."""
    for name, text in rows:
        lines = textwrap.wrap(text, _WIDTH - width - 2) or [""]
        first = f"{name:<{width}}" if len(name) < width else f"{name}\n{'':<{width}}"
        yield f"  {first}{lines[0]}"
        yield from (f"  {'':<{width}}{line}" for line in lines[1:])


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def language() -> str:
    """Describe rule files: types, comparisons, aggregates, directives, reserved names."""
    parts = [
        _LANGUAGE,
        "Types:\n",
        *_rows(((kind.value, text) for kind, text in _VALUES.items()), 11),
        "\nComparisons:\n",
        *_rows(COMPARISONS.items(), 11),
        "\nAggregates, as `?n = count : { ... }` and `?s = sum ?x : { ... }`:\n",
        *_rows(AGGREGATES.items(), 11),
        "\nDirectives:\n",
        _filled(" ".join(f".{name}" for name in sorted(DIRECTIVES))),
        "\nRefused, with exit code 78:\n",
        _filled(" ".join(f".{name}" for name in sorted(REFUSED_DIRECTIVES))),
        "\nNames that cannot be declared:\n",
        _filled(" ".join(sorted(RESERVED))),
        "\nExample:\n  constat rules check rules/customer-value",
    ]
    return "\n".join(parts)


def _kinds(kinds: list[Kind]) -> str:
    """Name kinds; all that are numeric, and all there are, have a word of their own."""
    if len(set(kinds)) > len(_NUMERIC):
        return "any value"
    rest = [kind.value for kind in dict.fromkeys(kinds) if kind not in _NUMERIC]
    numeric = ["a number"] if set(kinds) >= _NUMERIC else []
    rest += [] if numeric else [one.value for one in dict.fromkeys(kinds) if one in _NUMERIC]
    return " or ".join([*numeric, *rest])


def functions() -> str:
    """List the functions with what they take and give."""

    def shape(name: str) -> str:
        found = signatures(name)
        results = list(dict.fromkeys(one.result.value for one in found))
        most = max(len(one.parameters) for one in found)
        taken = [
            _kinds([one.parameters[place] for one in found if place < len(one.parameters)])
            for place in range(most)
        ]
        gives = results[0] if len(results) == 1 else "the same kind"
        gives = "the kind that is named" if name == "as" else gives
        return f"({'; '.join(taken)}) -> {gives}"

    rows = [
        (name, f"{word.meaning}{'' if word.total else '; may fail'}. {shape(name)}")
        for name, word in FUNCTIONS.items()
    ]
    return "\n".join(
        [
            "A function that fails makes what rests on it unknown, never false.\n",
            *_rows(rows, 15),
            "\nRows that `range(?a, ?b)` gives: from the first on, without the last.",
            "\nExample:\n  constat rules check rules/customer-value",
        ]
    )


def all_attributes() -> str:
    """List the attributes by what they stand before."""
    places = (
        ("a declaration", attributes.OF_PREDICATES),
        ("a column", attributes.OF_COLUMNS),
        ("a type", attributes.OF_TYPES),
        ("a rule or fact", attributes.OF_RULES),
    )
    parts = ["Attributes stand before what they speak of: `@[key = id] .decl ...`."]
    for place, names in places:
        parts.append(f"\nBefore {place}:\n")
        parts += _rows(((name, MEANINGS[name]) for name in sorted(names)), 14)
    return "\n".join([*parts, "\nExample:\n  constat rules list rules/customer-value"])


def configuration() -> str:
    """List the keys of the first level of `constat.yaml`."""
    return "\n".join(
        [
            "constat.yaml has these keys on its first level:\n",
            *_rows(TOP_LEVEL.items(), 12),
            "\n${NAME} in an address is a variable of the environment, or of a file .env",
            "beside constat.yaml. What stands below each key is in docs/configuration.md;",
            "`constat doctor` looks at all of it.",
            "\nExample:\n  constat doctor",
        ]
    )


def nulls() -> str:
    """Say what NULL means, and how a rule asks for it."""
    return _NULLS


REFERENCES: Final = MappingProxyType(
    {
        "language": language,
        "functions": functions,
        "attributes": all_attributes,
        "configuration": configuration,
        "nulls": nulls,
    }
)
