"""The codes of rule libraries: cases (C0440 to C0447) and portability (C0260 to C0279).

Portability is about stock Souffle 2.5: each wrong example is right here, and is not loaded or is
answered differently there.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.catalogue import thresholds
from constat.diagnostics.entry import Entry

_ORDER: Final = '.include "constat/prelude.dl"\n.decl paid(order: number, day: Date)\n'
_NUMBERS: Final = ".decl n(x: number)\nn(1).\n.decl q(x: number)\n"
_DECIMALS: Final = (
    '.include "constat/prelude.dl"\n.decl d(x: Decimal)\n.input d\n.decl q(x: number)\n'
)

CASES: Final = (
    Entry(
        "C0440",
        "a case that expects nothing",
        "A case states facts and what should follow from them. Without an expectation it would "
        "pass whatever the rules say.",
        wrong='customer_tier("C001", "gold").\n.output is_vip',
        right='customer_tier("C001", "gold").\n@[expect(proved = "is_vip(C001)")] .output is_vip',
        kind="text",
    ),
    Entry(
        "C0441",
        "an expected goal that is wrong",
        "A goal of an expectation is written as on the command line: a declared predicate with a "
        "value or a variable for each column. Several are separated by semicolons.",
        wrong='@[expect(proved = "is_vp(C001)")] .output is_vip',
        right='@[expect(proved = "is_vip(C001)")] .output is_vip',
        kind="text",
    ),
    Entry(
        "C0442",
        "an expectation that says nothing sensible",
        "The parts of `expect` are the verdicts proved, proved_under, unresolved, disproved and "
        "disproved_under with goals, `by` with the rule of the last step (one for all proved goals "
        "or one for each), `uses` with rules and predicates of the proof, and `question` with a "
        "question in words that has this goal.",
        wrong='@[expect(prooved = "is_vip(C001)")] .output is_vip',
        right='@[expect(proved = "is_vip(C001)", by = "VIP2")] .output is_vip',
        kind="text",
    ),
    Entry(
        "C0443",
        "a pragma that a case does not have",
        "What a case does not state is not so. `open` leaves a predicate open, `closed` closes it "
        "by declaration only, so that this is an assumption, and `unknown` says that a row exists "
        "whose other values nobody knows. Only what comes from outside can be open.",
        wrong='.pragma "opne" "blocked"',
        right='.pragma "open" "blocked"\n.pragma "unknown" "customer_tier(C009, ?tier)"',
        kind="text",
    ),
    Entry(
        "C0444",
        "a case that states a conclusion",
        "What rules derive has a proof or has none; a case that stated it would no longer test "
        "them. State the facts that the rules rest on.",
        wrong='is_vip("C001").',
        right='customer_tier("C001", "gold").',
        kind="text",
    ),
    Entry(
        "C0445",
        "a fact of a case that computes",
        "The facts of a case stand for what sources would answer, so they hold constants only.",
        wrong="vip_threshold(2.0 * 50000.0).",
        right="vip_threshold(100000.0).",
        kind="text",
    ),
    Entry(
        "C0446",
        "no cases",
        "A library is a folder of rule files; its cases are the files `cases/*.dl` in it. The "
        "paths name no such folder and nothing that holds one.",
        wrong="constat rules test examples/vip/data",
        right="constat rules test rules/customer-value",
        kind="text",
    ),
    Entry(
        "C0447",
        "no case of that name",
        "`-k` chooses cases whose name holds the given text. A case is named by its library and "
        "its file, such as `customer-value/vip`.",
        wrong="constat rules test rules -k vips",
        right="constat rules test rules -k customer-value/vip",
        kind="text",
    ),
)

PORTABILITY: Final = (
    Entry(
        "C0260",
        "a built-in type without the prelude",
        "Date, Timestamp, Decimal and Bool are built in here. Stock Souffle learns of them from "
        "the prelude, which means nothing more here.",
        ".decl paid(order: number, day: Date)\n",
        _ORDER,
    ),
    Entry(
        "C0261",
        "a column of decimals",
        "A Decimal has 38 exact digits here. Stock Souffle has floats, of 32 bits unless it was "
        "built for 64: sums drift, and an equality or a threshold can turn around.",
        '.include "constat/prelude.dl"\n.decl price(order: number, amount: Decimal)\n',
        ".decl price(order: number, cents: number)\n",
    ),
    Entry(
        "C0262",
        "a predicate whose rows come from the project",
        "A library leaves open where rows come from, and a project says it. Stock Souffle takes a "
        "predicate without input, facts and rules for empty.",
        ".decl blocked(c: symbol)\n",
        ".decl blocked(c: symbol)\n.input blocked\n",
    ),
    Entry(
        "C0263",
        "a source with a query",
        "Stock Souffle ignores parameters that it does not know and reads the file `NAME.facts`.",
        ".decl tier(c: symbol, t: symbol)\n"
        '.input tier(source="sales", query="SELECT c, t FROM accounts")\n',
        ".decl tier(c: symbol, t: symbol)\n.input tier\n",
    ),
    Entry(
        "C0264",
        "a null policy",
        "Null is never a value here, and the policy says what becomes of its row. In stock Souffle "
        "an empty cell of a number ends the run, and of a symbol it is the empty text.",
        ".decl shipped(order: number, @[null = skip] by: symbol)\n.input shipped\n",
        ".decl shipped(order: number, by: symbol)\n.input shipped\n",
    ),
    Entry(
        "C0265",
        "a rule that is an assumption",
        "What a proposed rule or one with a confidence below 1 derives holds UNDER an assumption. "
        "Stock Souffle takes the rule for granted.",
        _NUMBERS + "@[confidence = 0.9]\nq(?x) :- n(?x).\n",
        _NUMBERS + "q(?x) :- n(?x).\n",
    ),
    Entry(
        "C0266",
        "an attribute with a quote or a number sign",
        "Inside `@[...]` stock Souffle reads neither `'` nor `#`, not even in a text.",
        '@[says = "{x} is the customer\'s"]\n.decl mine(x: symbol)\n.input mine\n',
        '@[says = "{x} belongs to the customer"]\n.decl mine(x: symbol)\n.input mine\n',
    ),
    Entry(
        "C0267",
        "an attribute behind `:-`",
        "In stock Souffle an attribute of the rule that stands behind `:-` is spelled `@![...]`.",
        _NUMBERS + "q(?x) :- @[owner = me] n(?x).\n",
        _NUMBERS + "q(?x) :- @![owner = me] n(?x).\n",
    ),
    Entry(
        "C0268",
        "the least or greatest of what is no number",
        "min and max of dates and texts are defined here by their order. In stock Souffle they are "
        "of numbers.",
        _ORDER
        + ".input paid\n.decl first(day: Date)\nfirst(?d) :- ?d = min ?day : { paid(_, ?day) }.\n",
        _ORDER
        + ".input paid\n.decl later(day: Date)\nlater(?d) :- paid(_, ?d), paid(_, ?e), ?e < ?d.\n"
        + ".decl first(day: Date)\nfirst(?d) :- paid(_, ?d), !later(?d).\n",
    ),
    Entry(
        "C0269",
        "the mean of whole numbers",
        "mean is of any numbers here. In stock Souffle it is of floats.",
        _NUMBERS + ".decl m(x: float)\nm(?m) :- ?m = mean ?x : { n(?x) }.\n",
        _NUMBERS + "q(?m) :- ?s = sum ?x : { n(?x) }, ?c = count : { n(_) }, ?c > 0, "
        "?m = ?s / ?c.\n",
    ),
    Entry(
        "C0270",
        "a function of Constat",
        "Arithmetic of dates and to_decimal have no counterpart in stock Souffle.",
        _ORDER
        + ".input paid\n.decl year_of(order: number, y: number)\n"
        + "year_of(?o, year(?d)) :- paid(?o, ?d).\n",
        ".decl paid(order: number, day: symbol, year: number)\n.input paid\n",
    ),
    Entry(
        "C0271",
        "a conversion that can err",
        "to_number of a text that is no number makes the one rule instance unknown here. In stock "
        "Souffle the whole run ends.",
        ".decl t(x: symbol)\n.input t\n.decl q(x: number)\nq(to_number(?x)) :- t(?x).\n",
        ".decl t(x: number)\n.input t\n.decl q(x: number)\nq(?x) :- t(?x).\n",
    ),
    Entry(
        "C0272",
        "a cast that converts",
        "`as` converts between kinds of numbers here. In stock Souffle it changes the type only; "
        "the bits stay, so an integer read as a float is another number.",
        _NUMBERS + ".decl f(x: float)\nf(as(?x, float)) :- n(?x).\n",
        ".decl n(x: float)\n.input n\n.decl f(x: float)\nf(?x) :- n(?x).\n",
    ),
    Entry(
        "C0273",
        "an integer of more than 32 bits",
        "Integers have 64 bits here, and an overflow is an error. Stock Souffle has 32 unless it "
        "was built for 64, and wraps around.",
        ".decl n(x: number)\nn(5000000000).\n",
        ".decl n(x: number)\nn(5000).\n",
    ),
    Entry(
        "C0274",
        "a decimal without an exact float",
        "0.1 is exact here; as a float it is a little more, so that a comparison can turn around.",
        _DECIMALS + "q(1) :- d(?x), ?x > 0.1.\n",
        _DECIMALS + "q(1) :- d(?x), ?x > 0.5.\n",
    ),
    Entry(
        "C0275",
        "a division by what may be 0",
        "Division by zero makes the one rule instance unknown here. In stock Souffle the whole run "
        "ends.",
        _NUMBERS + "q(10 / ?x) :- n(?x).\n",
        _NUMBERS + "q(?x / 10) :- n(?x).\n",
    ),
    Entry(
        "C0276",
        "a power that depends on the machine",
        "A power is exact here, that of a float is rounded once, and a negative exponent of a "
        "whole number makes the rule instance unknown. Stock Souffle takes what `pow` of the C "
        "library gives and cuts it to a whole number.",
        _NUMBERS + "q(2 ^ ?x) :- n(?x).\n",
        _NUMBERS + "q(2 ^ ?x) :- n(?x), ?x >= 0.\n",
    ),
    Entry(
        "C0277",
        "a shift by what may not fit the word",
        "A shift is by 0 to 63 bits here, anything else makes the rule instance unknown. Stock "
        "Souffle takes the count modulo the width of its build, 32 or 64.",
        _NUMBERS + "q(1 bshl ?x) :- n(?x).\n",
        _NUMBERS + "q(1 bshl (?x band 31)) :- n(?x).\n",
    ),
    Entry(
        "C0278",
        "a conversion between numbers that can err",
        "A value outside the kind makes the rule instance unknown here. In stock Souffle it "
        "becomes another number.",
        _NUMBERS + ".decl u(x: unsigned)\nu(to_unsigned(?x)) :- n(?x).\n",
        _NUMBERS + ".decl u(x: unsigned)\nu(to_unsigned(?x)) :- n(?x), ?x >= 0.\n",
    ),
    Entry(
        "C0279",
        "named arguments",
        "Stock Souffle knows arguments by their position only. `constat rules fmt --positional` "
        "writes them so.",
        _NUMBERS + "q(x = ?x) :- n(x = ?x).\n",
        _NUMBERS + "q(?x) :- n(?x).\n",
    ),
    *thresholds.PORTABILITY,
    Entry(
        "C0285",
        "columns that whoever asks gives",
        "The rules of a predicate with `@[given]` columns use them without binding them. Stock "
        "Souffle computes whole relations, and has nobody who asks.",
        _NUMBERS + "@[given(x)]\n.decl m(x: number, y: number)\nm(?x, ?y) :- n(?y), ?y > ?x.\n",
        _NUMBERS + ".decl m(x: number, y: number)\nm(?x, ?y) :- q(?x), n(?y), ?y > ?x.\n",
    ),
)

ENTRIES: Final = (*PORTABILITY, *thresholds.ENGINES, *CASES)
