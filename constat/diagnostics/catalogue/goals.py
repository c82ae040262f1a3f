"""Codes C0180 to C0189: goals and facts on the command line."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_RULES: Final = ".decl tier(c: symbol, t: symbol)\n.decl sale(c: symbol, amount: Decimal)\n"

GOALS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0180",
        "a goal that is no atom",
        "A goal is one atom: a predicate and its arguments in parentheses. `prove` and `query` "
        "also take several literals with commas between. Elsewhere a conjunction gets a rule, and "
        "so does what is not so: `idle(?c) :- customer(?c), !ordered(?c).` makes `idle(C001)` a "
        "goal.",
        "tier(C001, gold",
        "tier(C001, gold)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0181",
        "a predicate that is not declared",
        "The goal, or an atom with named arguments, names a predicate that no rule file declares.",
        "teir(C001, gold)",
        "tier(C001, gold)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0182",
        "too many or too few arguments",
        "A goal has one argument for each column. With named arguments, columns can be left out.",
        "tier(C001)",
        "tier(c = C001)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0183",
        "a column that does not exist",
        "A named argument names a column of the predicate.",
        "tier(customer = C001)",
        "tier(c = C001)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0184",
        "a column given twice",
        "Each column is given at most once; columns that are left out are free: `_` in rules.",
        "tier(c = C001, c = C002)",
        "tier(c = C001)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0185",
        "named and unnamed arguments together",
        "Either all arguments of an atom are named, or they go by position.",
        "tier(C001, t = gold)",
        "tier(c = C001, t = gold)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0186",
        "a value of another type",
        "A bare value is read as a value of its column. Texts may be quoted, numbers may not.",
        "sale(C001, much)",
        "sale(C001, 10.50)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0187",
        "a variable twice in a goal",
        "Each variable of a goal is a question of its own. Equal values are asked for by a rule.",
        "tier(?x, ?x)",
        "tier(?x, ?y)",
        kind="goal",
        rules_for_goal=_RULES,
    ),
    Entry(
        "C0188",
        "a fact that is not ground",
        "A fact says something about particular values: it has a value in each column.",
        'constat facts add "tier(C001, ?t)" --by alice\n',
        'constat facts add "tier(C001, gold)" --by alice\n',
        kind="text",
    ),
    Entry(
        "C0189",
        "a goal that is too long",
        "A goal has at most 100,000 characters. A rule can name what is asked.",
        "a goal with a list of a million customers\n",
        "a goal over a predicate that holds them\n",
        kind="text",
    ),
)
