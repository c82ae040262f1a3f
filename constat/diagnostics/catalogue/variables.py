"""Codes C0203 to C0211: variables, and what aggregates range over."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_RATES: Final = (
    ".decl customer(c: symbol)\n.decl banned(c: symbol)\n.decl rate_of(c: symbol, rate: Decimal)\n"
    ".decl discount(c: symbol, rate: Decimal)\n.decl good(c: symbol)\n"
)
_SALES: Final = (
    ".decl customer(c: symbol)\n.decl sale(id: symbol, c: symbol, amount: Decimal)\n"
    ".decl open(id: symbol)\n.decl total(c: symbol, amount: Decimal)\n.decl limit(v: Decimal)\n"
)

VARIABLES: Final[tuple[Entry, ...]] = (
    Entry(
        "C0203",
        "a head variable that is never bound",
        "A rule derives facts, and a fact has a value in every column. A head variable gets its "
        "value from a positive atom, from `=` or from an aggregate in the body.",
        _RATES + "discount(?c, ?rate) :- customer(?c), !banned(?c).\n",
        _RATES + "discount(?c, ?rate) :- customer(?c), rate_of(?c, ?rate), !banned(?c).\n",
    ),
    Entry(
        "C0204",
        "a variable under `!` that is never bound",
        "What is absent cannot say for which value. Bind the variable in a positive atom, or write "
        "`_` where no row with any value may exist.",
        _RATES + "good(?c) :- customer(?c), !rate_of(?c, ?any).\n",
        _RATES + "good(?c) :- customer(?c), !rate_of(?c, _).\n",
    ),
    Entry(
        "C0205",
        "a variable in a comparison or expression that is never bound",
        "Comparisons and functions work on values that are there. Only `=` binds a variable, when "
        "everything on its other side is known.",
        _RATES + "good(?c) :- customer(?c), ?rate > 0.5, ?rate < 0.9.\n",
        _RATES + "good(?c) :- rate_of(?c, ?rate), ?rate > 0.5, ?rate < 0.9.\n",
    ),
    Entry(
        "C0206",
        "a variable that is used only once",
        "It compares nothing and gives nothing on; mostly it is a misspelt name, and the rule "
        "silently means something else. Write `_` or `_name` where any value will do.",
        _RATES + "good(?c) :- rate_of(?c, ?rate).\n",
        _RATES + "good(?c) :- rate_of(?c, _rate).\n",
    ),
    Entry(
        "C0207",
        "an aggregated variable that is also used outside",
        "Outside the aggregate a variable has one value, inside it would have to range over many. "
        "Other engines take it for two variables of one name.",
        _SALES
        + "total(?c, ?t) :- customer(?c), limit(?v), ?t = sum ?v : { sale(_, ?c, ?v) }, ?t > ?v.\n",
        _SALES
        + "total(?c, ?t) :- customer(?c), limit(?x), ?t = sum ?v : { sale(_, ?c, ?v) }, ?t > ?x.\n",
    ),
    Entry(
        "C0208",
        "a group that only the aggregate binds",
        "An aggregate is computed per group, also for groups without rows: `sum` gives 0 there. "
        "So something outside the aggregate must say which groups there are.",
        _SALES + "total(?c, ?t) :- ?t = sum ?v : { sale(_, ?c, ?v) }.\n",
        _SALES + "total(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_, ?c, ?v) }.\n",
    ),
    Entry(
        "C0209",
        "`_` in an aggregate over several atoms",
        "Two sales of the same amount are two rows. Engines that forget what `_` stood for add the "
        "amount once, and no test shows it before two rows have equal values. Name the column.",
        _SALES + "total(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_, ?c, ?v), limit(?v) }.\n",
        _SALES + "total(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_id, ?c, ?v), limit(?v) }.\n",
    ),
    Entry(
        "C0210",
        "a variable of an aggregate that is never bound inside it",
        "An aggregate ranges over the bindings that the positive atoms of its body give. Its "
        "target, comparisons and negated atoms only use them.",
        _SALES + "total(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_id, ?c, _v), ?v > 0 }.\n",
        _SALES + "total(?c, ?t) :- customer(?c), ?t = sum ?v : { sale(_id, ?c, ?v), ?v > 0 }.\n",
    ),
    Entry(
        "C0211",
        "a column that can be null is read, without a null policy",
        "A null is never a value here. Without a policy an order that was not shipped could count "
        "as shipped on time. `skip` leaves the row out; `none`, `unknown` and `maybe` keep it and "
        "say what stands there: no value, one that nobody knows, or either. `_` reads no column.",
        ".decl shipped(id: symbol, @[nullable] d: Date)\n.decl late(id: symbol)\n"
        'late(?id) :- shipped(?id, ?d), ?d > "2025-06-01".\n',
        ".decl shipped(id: symbol, @[nullable] @[null = none] d: Date)\n.decl late(id: symbol)\n"
        'late(?id) :- shipped(?id, ?d), ?d > "2025-06-01".\n',
    ),
)
