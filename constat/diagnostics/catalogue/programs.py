"""Codes C0201, C0202, C0212 to C0214, C0230 to C0250: names, types, modes, strata."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_CUSTOMER: Final = ".decl customer(c: symbol, name: symbol)\n.decl known(c: symbol)\n"
_API: Final = ".decl item(i: symbol)\n.decl price(i: symbol, p: Decimal)\n"
_KNOWN: Final = ".decl cheap(i: symbol)\n"

PROGRAMS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0201",
        "a predicate that is not declared",
        "Every predicate has a `.decl`, so that a misspelt name cannot silently be a predicate "
        "without facts. The help names the nearest one.",
        _CUSTOMER + "known(?c) :- custmer(?c, _).\n",
        _CUSTOMER + "known(?c) :- customer(?c, _).\n",
    ),
    Entry(
        "C0202",
        "too many or too few terms",
        "An atom has one term for each column of the declaration. Write `_` for a column that does "
        "not matter.",
        _CUSTOMER + "known(?c) :- customer(?c).\n",
        _CUSTOMER + "known(?c) :- customer(?c, _).\n",
    ),
    Entry(
        "C0212",
        "a type that is not declared",
        "Built in are number, unsigned, float, symbol, Date, Timestamp, Decimal and Bool. Others "
        "are declared by `.type`.",
        ".type CustomerId <: symbol\n.decl customer(c: CustomerID)\n",
        ".type CustomerId <: symbol\n.decl customer(c: CustomerId)\n",
    ),
    Entry(
        "C0213",
        "a type that leads to no built-in type",
        "A type is a subtype, a union or another name of types that lead to a built-in one in the "
        "end, not back to itself.",
        ".type A <: B\n.type B <: A\n",
        ".type A <: B\n.type B <: symbol\n",
    ),
    Entry(
        "C0214",
        "a union of different base types",
        "A column holds values of one base type, so a union joins types of one base type.",
        ".type Name <: symbol\n.type Age <: number\n.type Either = Name | Age\n",
        ".type Name <: symbol\n.type Alias <: symbol\n.type Either = Name | Alias\n",
    ),
    Entry(
        "C0230",
        "a source that is asked without what it requires",
        "Some sources answer only when certain columns are bound, as `required` says. In every "
        "rule some order of the body must bind them first.",
        _API
        + '.input price(source="shop", required="i")\n'
        + _KNOWN
        + "cheap(?i) :- item(?i), price(_other, ?p), ?p < 10.\n",
        _API
        + '.input price(source="shop", required="i")\n'
        + _KNOWN
        + "cheap(?i) :- item(?i), price(?i, ?p), ?p < 10.\n",
    ),
    Entry(
        "C0231",
        "`required` names no column",
        "`required` names the columns that must be bound when the source is asked, separated by "
        "commas.",
        _API + '.input price(source="shop", required="item")\n',
        _API + '.input price(source="shop", required="i")\n',
    ),
    Entry(
        "C0240",
        "an attribute that does not exist",
        "An unknown attribute is ignored, so a misspelt one does nothing. This is a warning.",
        '@[onwer = "compliance"]\n.decl known(c: symbol)\n',
        '@[owner = "compliance"]\n.decl known(c: symbol)\n',
    ),
    Entry(
        "C0241",
        "a key that names no column",
        '`@[key = "c"]` names columns, separated by commas: per value of them, what a higher tier '
        "says replaces what lower ones say.",
        '@[key = "customer"]\n.decl tier(c: symbol, t: symbol)\n',
        '@[key = "c"]\n.decl tier(c: symbol, t: symbol)\n',
    ),
    Entry(
        "C0242",
        "a null policy that does not exist",
        "A null is never a value: `error` stops, `skip` leaves the row out; under `none` the row "
        "has no value there, under `unknown` one that nobody knows, under `maybe` one or none.",
        ".decl shipped(id: symbol, @[null = ignore] d: Date)\n",
        ".decl shipped(id: symbol, @[null = skip] d: Date)\n",
    ),
    Entry(
        "C0243",
        "a sentence with a brace that cannot be filled in",
        "In `says`, `{x}` stands for the column x; in the sentence of a rule also for a variable.",
        '@[says = "{customer} has tier {t}"]\n.decl tier(c: symbol, t: symbol)\n',
        '@[says = "{c} has tier {t}"]\n.decl tier(c: symbol, t: symbol)\n',
    ),
    Entry(
        "C0246",
        "a way of writing a column's values that does not fit",
        "A column of numbers may have a `unit`, or be a `percent` (0.25 is written as 25%), with "
        "at least so many `places`; an `id` or a `year` is written without separators. Only "
        "sentences change.",
        ".decl share(c: symbol, @[percent] @[unit = EUR] x: Decimal)\n",
        ".decl share(c: symbol, @[percent] @[places = 1] x: Decimal)\n",
    ),
    Entry(
        "C0247",
        "a given column that there is not",
        "`@[given(days)]` names columns that whoever asks binds. The predicate has rules: for a "
        "source that answers only when a column is bound, `required` says so.",
        ".decl due(o: symbol, days: number)\n@[given(day)]\n"
        ".decl late(o: symbol, days: number)\nlate(?o, ?days) :- due(?o, ?n), ?n > ?days.\n",
        ".decl due(o: symbol, days: number)\n@[given(days)]\n"
        ".decl late(o: symbol, days: number)\nlate(?o, ?days) :- due(?o, ?n), ?n > ?days.\n",
    ),
    Entry(
        "C0249",
        "a given column that is left open",
        "The rules of a predicate use its given columns without binding them: `late(?o, 30)` can "
        "be answered, `late(?o, ?days)` not. A rule binds the column by another literal, or has it "
        "in its head and declares it given, too; a goal of `prove` or `query` has a value there.",
        ".decl due(o: symbol, days: number)\n@[given(days)]\n"
        ".decl late(o: symbol, days: number)\nlate(?o, ?days) :- due(?o, ?n), ?n > ?days.\n"
        ".decl any_late(o: symbol)\nany_late(?o) :- late(?o, _).\n",
        ".decl due(o: symbol, days: number)\n@[given(days)]\n"
        ".decl late(o: symbol, days: number)\nlate(?o, ?days) :- due(?o, ?n), ?n > ?days.\n"
        ".decl grace(days: number)\n.decl any_late(o: symbol)\n"
        "any_late(?o) :- grace(?days), late(?o, ?days).\n",
    ),
    Entry(
        "C0250",
        "a predicate that depends on its own absence",
        "What is negated or aggregated must be complete before. A cycle through `!` or an "
        "aggregate has no order in which that holds; the label draws the cycle.",
        ".decl move(x: symbol, y: symbol)\n.decl win(x: symbol)\n"
        "win(?x) :- move(?x, ?y), !win(?y).\n",
        ".decl move(x: symbol, y: symbol)\n.decl stuck(x: symbol)\n.decl win(x: symbol)\n"
        "stuck(?y) :- move(_, ?y), !move(?y, _).\nwin(?x) :- move(?x, ?y), stuck(?y).\n",
    ),
)
