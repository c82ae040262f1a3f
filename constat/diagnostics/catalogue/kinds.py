"""Codes C0215 to C0229: kinds of terms, types of columns."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_TIER: Final = (
    ".decl tier(c: symbol, t: symbol)\n.decl level(c: symbol, n: number)\n"
    ".decl is_vip(c: symbol)\n.decl score(c: symbol, n: number)\n"
)
_IDS: Final = (
    ".type CustomerId <: symbol\n.type OrderId <: symbol\n"
    ".decl customer(c: CustomerId, name: symbol)\n.decl order(o: OrderId, c: CustomerId)\n"
    ".decl known(c: CustomerId)\n"
)
_MONEY: Final = (
    ".decl price(i: symbol, p: Decimal)\n.decl weight(i: symbol, w: float)\n.decl dear(i: symbol)\n"
)
_DAYS: Final = ".decl hired(c: symbol, d: Date)\n.decl recent(c: symbol)\n"
_FLAGS: Final = ".decl active(c: symbol, b: Bool)\n.decl on(c: symbol)\n"

KINDS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0215",
        "terms of different base types",
        "Two terms meet only when they have one base type. The message names the column and its "
        "declared type. A text that looks like a number is still a text.",
        _TIER + "is_vip(?c) :- tier(?c, ?t), ?t > 5.\n",
        _TIER + "is_vip(?c) :- level(?c, ?n), ?n > 5.\n",
    ),
    Entry(
        "C0216",
        "ids of different types meet",
        "Types such as `CustomerId` and `OrderId` keep ids apart that must never be compared, "
        "though both are texts. They meet only in columns that have a common subtype.",
        _IDS + "known(?c) :- order(?c, _), customer(?c, _).\n",
        _IDS + "known(?c) :- order(_, ?c), customer(?c, _).\n",
    ),
    Entry(
        "C0217",
        "a head column gets values of a wider type",
        "Not every symbol is a `CustomerId`. A column of a subtype gets its values from columns of "
        "that type, or by a cast that says so.",
        _IDS + "known(?n) :- customer(_, ?n).\n",
        _IDS + "known(as(?n, CustomerId)) :- customer(_, ?n).\n",
    ),
    Entry(
        "C0218",
        "Decimal and float mixed",
        "A Decimal is exact, a float is the nearest of a grid. Mixed silently, nothing would show "
        "which digits were lost; `as` says it is meant.",
        _MONEY + "dear(?i) :- price(?i, ?p), weight(?i, ?w), ?p > ?w.\n",
        _MONEY + "dear(?i) :- price(?i, ?p), weight(?i, ?w), ?p > as(?w, Decimal).\n",
    ),
    Entry(
        "C0219",
        "a text that is no Date, Timestamp or Bool",
        "In these columns texts are read: dates as 2025-01-31, times as 2025-01-31T10:00:00Z, "
        "truth values as true and false.",
        _DAYS + 'recent(?c) :- hired(?c, ?d), ?d >= "31.01.2025".\n',
        _DAYS + 'recent(?c) :- hired(?c, ?d), ?d >= "2025-01-31".\n',
    ),
    Entry(
        "C0220",
        "a number in place of a date",
        "Dates are quoted. Without quotes `2025 - 1 - 31` is arithmetic and gives 1993.",
        _DAYS + "recent(?c) :- hired(?c, ?d), ?d >= 2025 - 1 - 31.\n",
        _DAYS + 'recent(?c) :- hired(?c, ?d), ?d >= "2025-01-31".\n',
    ),
    Entry(
        "C0221",
        "a number that the column cannot hold",
        "A constant stands for a number of another type only where it is exactly one: 5 is a "
        "Decimal and a float, 1.5 is no integer, -1 is not unsigned.",
        _TIER + "is_vip(?c) :- level(?c, ?n), ?n > 1.5.\n",
        _TIER + "is_vip(?c) :- level(?c, ?n), as(?n, Decimal) > 1.5.\n",
    ),
    Entry(
        "C0222",
        "a function that does not exist",
        "The functions are built in and few, so that a second program can check them. A predicate "
        "is no function: bind a variable by an atom instead.",
        _TIER + "is_vip(?c) :- tier(?c, ?t), length(?t) > 3.\n",
        _TIER + "is_vip(?c) :- tier(?c, ?t), strlen(?t) > 3.\n",
    ),
    Entry(
        "C0223",
        "arguments that a function does not take",
        "Each function takes arguments of certain types. Dates are moved by `date_add`, compared "
        "by `days_between` and `years_between`; texts are joined by `cat`.",
        _DAYS + 'recent(?c) :- hired(?c, ?d), ?d + 30 >= "2025-01-31".\n',
        _DAYS + 'recent(?c) :- hired(?c, ?d), date_add(?d, 30) >= "2025-01-31".\n',
    ),
    Entry(
        "C0224",
        "an aggregate over values that it is not defined on",
        "`sum` and `mean` need numbers, `min` and `max` values that have an order. `count` counts "
        "rows of any kind.",
        _TIER + "score(?c, ?n) :- level(?c, _), ?n = sum ?t : { tier(?c, ?t) }.\n",
        _TIER + "score(?c, ?n) :- level(?c, _), ?n = count : { tier(?c, _) }.\n",
    ),
    Entry(
        "C0225",
        "a comparison that the type does not have",
        "Truth values and structures have no order, and `match` and `contains` work on texts.",
        _FLAGS + 'on(?c) :- active(?c, ?b), ?b > "false".\n',
        _FLAGS + 'on(?c) :- active(?c, ?b), ?b = "true".\n',
    ),
    Entry(
        "C0226",
        "a cast between types that have nothing in common",
        "`as` turns numbers into each other, and Date, Timestamp and Bool into symbols and back. "
        "Other conversions are functions such as `to_number` and `to_string`.",
        _TIER + "score(?c, as(?t, number)) :- tier(?c, ?t).\n",
        _TIER + "score(?c, to_number(?t)) :- tier(?c, ?t).\n",
    ),
    Entry(
        "C0227",
        "a goal that calculates",
        "A goal asks for facts. Its terms are values and variables; what is calculated stands in "
        "a rule.",
        "level(C001, 1 + 2)",
        "level(C001, 3)",
        kind="text",
    ),
    Entry(
        "C0228",
        "a division of whole numbers",
        "`/` between whole numbers gives a whole number, cut off towards zero: 7 / 2 is 3. Write "
        "`as(?n, Decimal)` for the exact quotient; `@[floor]` before the rule says that whole "
        "numbers are meant. It is a warning in rules of people and an error in what a model "
        "drafts; a division by the constant 1 is left alone, and so are programs in Souffle's "
        "own dialect, where every `/` means this.",
        _TIER + "score(?c, ?n / 12) :- level(?c, ?n).\n",
        _TIER + "@[floor]\nscore(?c, ?n / 12) :- level(?c, ?n).\n",
    ),
    Entry(
        "C0229",
        "a number that Souffle takes for two types",
        "Souffle puts the value of `x = 5` in the place of `x` before it types the rule, and types "
        "each place by itself; where only numbers stand together there, it computes with signed "
        "integers. Here a variable has one type. A suffix or a point makes both the same. It is a "
        "warning of souffle mode.",
        ".decl o(x: unsigned)\no(x) :- x = 5, x - 6 > 0.",
        ".decl o(x: unsigned)\no(x) :- x = 5u, x - 6 > 0.",
        kind="text",
    ),
)
