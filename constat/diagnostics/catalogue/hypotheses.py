"""The codes about suppositions, missing facts and reasons: C0700 to C0719.

In: nothing. Out: `ENTRIES`. Invariant: a supposition that is refused changes nothing, and none is
written anywhere. Example: C0700 says that a conclusion cannot be supposed, only what it rests on.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

ENTRIES: Final = (
    Entry(
        "C0700",
        "a conclusion that is supposed",
        "Facts that come from outside can be supposed or hidden. What rules derive follows from "
        "them in every world; suppose what the rules rest on, or other rules.",
        wrong='constat what-if "is_vip(C002)" --add "is_vip(C002)"',
        right='constat what-if "is_vip(C002)" --add "customer_tier(C002, gold)"',
        kind="text",
    ),
    Entry(
        "C0701",
        "a setting that is no single value",
        "`--set NAME=VALUE` supposes another value for a name that the configuration gives one "
        "value, read as its declaration says. Rows are supposed by `--add`.",
        wrong='constat what-if "is_vip(C002)" --set blocked=C001',
        right='constat what-if "is_vip(C002)" --set vip_threshold=50000',
        kind="text",
    ),
    Entry(
        "C0702",
        "suppositions that contradict each other",
        "A predicate with a key, and a single value of the configuration, has one row for each "
        "key value, in a supposed world as well.",
        wrong='constat what-if "is_vip(C002)" --set vip_threshold=1 --add "vip_threshold(2)"',
        right='constat what-if "is_vip(C002)" --set vip_threshold=1',
        kind="text",
    ),
    Entry(
        "C0703",
        "a supposed file that changes more than rules",
        "A file of `--rules` holds rules, and declarations of conclusions that they need. It may "
        "not give a predicate other columns, say where rows lie, or derive what comes from "
        "outside.",
        wrong='.input customer(source = "elsewhere", query = "...")   // in the supposed file',
        right='is_vip(?c) :- customer_tier(?c, "gold").               // in the supposed file',
        kind="text",
    ),
    Entry(
        "C0704",
        "a predicate that cannot be abducible",
        "`--abducible` and `--removable` name predicates that a rule file declares. One that rules "
        "derive stands for the facts from outside that it rests on.",
        wrong='constat missing "is_vip(C002)" --abducible customer_tire',
        right='constat missing "is_vip(C002)" --abducible customer_tier=2',
        kind="text",
    ),
    Entry(
        "C0705",
        "a cost that is none",
        "The cost of a fact that may be supposed or taken away is a decimal above 0, at most a "
        "million, with at most six places. Without one it is 1.",
        wrong="@[abducible(cost = 0)]\n.decl tier(c: symbol, t: symbol)",
        right="@[abducible(cost = 2)]\n.decl tier(c: symbol, t: symbol)",
        kind="text",
    ),
    Entry(
        "C0706",
        "reasons that do not fit the body",
        "`@[reasons = ...]` has a reason code for each literal of the rule's body, in its order "
        "and with commas between, `-` for a literal without one. Each alternative of a `;` "
        "has as many literals, or is a rule of its own.",
        wrong='@[reasons = "R12"]\nok(?c) :- tier(?c, "gold"), !blocked(?c).',
        right='@[reasons = "R12,R13"]\nok(?c) :- tier(?c, "gold"), !blocked(?c).',
        kind="text",
    ),
    Entry(
        "C0707",
        "a conclusion that is called abducible",
        "Only facts that come from outside can be missing or taken away; a conclusion follows from "
        "its rules.",
        wrong="@[abducible]\n.decl ok(c: symbol)\nok(?c) :- tier(?c, _).",
        right="@[abducible]\n.decl tier(c: symbol, t: symbol)\nok(?c) :- tier(?c, _).",
        kind="text",
    ),
    Entry(
        "C0708",
        "too many suppositions",
        "At most 1,000 suppositions are given one by one. More of them are rules: a file for "
        "`--rules` may hold facts of a conclusion, and rules that use them.",
        wrong="constat what-if GOAL --add ... --add ...   # 2,000 times",
        right="constat what-if GOAL --rules supposed.dl",
        kind="text",
    ),
)
