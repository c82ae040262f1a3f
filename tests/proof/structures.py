"""A small world with records and algebraic data types: offers, conditions, lists, expressions.

In: nothing.  Out: rules, tables in memory, and goals with the verdicts they must have.
"""

from __future__ import annotations

from typing import Final

from constat.logic import OPEN
from tests.proof.asking import Table

OFFERS: Final = """
.type Money = [amount: Decimal, currency: symbol]
.type Cond = AtLeast { least: Decimal } | In { country: symbol } | Both { a: Cond, b: Cond }
           | Nobody {}
@[says = "{c} was offered {m} where {w}"]
.decl offer(c: symbol, m: Money, w: Cond)
.input offer(source="sales", query="SELECT c, m, w FROM offer")
.decl blocked(c: symbol, w: Cond)
.input blocked(source="sales", query="SELECT c, w FROM blocked")
.decl in_euros(c: symbol, amount: Decimal)
in_euros(?c, ?amount) :- offer(?c, [?amount, "EUR"], _).
.decl big(c: symbol)
@[reasons = "R1,R2,-"]
big(?c) :- offer(?c, [?amount, "EUR"], _), ?amount > 1000, ?c != "nobody".
.decl needs(c: symbol, w: Cond)
needs(?c, ?w) :- offer(?c, _, ?w).
needs(?c, ?a) :- needs(?c, $Both(?a, _)).
needs(?c, ?b) :- needs(?c, ?w), $Both(_, ?b) = ?w.
.decl nested(c: symbol, least: Decimal, k: symbol)
nested(?c, ?least, ?k) :- offer(?c, _, $Both($AtLeast(?least), $In(?k))).
.decl worth(c: symbol, amount: Decimal, k: symbol)
worth(?c, ?amount, ?k) :- offer(?c, [?amount, ?k], _).
.decl demanding(c: symbol)
demanding(?c) :- offer(?c, _, $Both($AtLeast(?least), $In(?k))), ?least > 10, ?k != "".
.decl turned(c: symbol, w: Cond)
@[says = "{c} turned its condition into {w}"]
turned(?c, $Both(?b, ?a)) :- offer(?c, _, $Both(?a, ?b)).
.decl made(m: Money)
made(?m) :- in_euros(_, ?amount), ?twice = ?amount * 2, ?m = [?twice, "EUR"].
.decl free(c: symbol)
free(?c) :- offer(?c, _, $In(?k)), !blocked(?c, $In(?k)).
.decl untouched(c: symbol)
untouched(?c) :- offer(?c, _, _), !blocked(?c, _).
.decl other(c: symbol, d: symbol)
other(?c, ?d) :- offer(?c, ?m, _), offer(?d, ?n, _), ?m != ?n.
.decl total(k: symbol, s: Decimal)
total(?k, ?s) :- offer(_, [_, ?k], _), ?s = sum ?a : { offer(_, [?a, ?k], _) }.
.decl number_of(k: symbol, n: number)
number_of(?k, ?n) :- offer(_, [_, ?k], _), ?n = count : { offer(_, [_, ?k], _) }.
.decl least(s: Decimal)
least(?s) :- ?s = min ?a : { offer(_, [?a, "EUR"], _) }.
.decl most(s: Decimal)
most(?s) :- ?s = max ?a : { offer(_, ?m, _), ?m = [?a, _] }.
.decl average(s: Decimal)
average(?s) :- ?s = mean ?a : { offer(_, [?a, "EUR"], _) }.
"""


def offer_tables(**other: Table) -> dict[str, Table]:
    """Give five offers, two of them of the same money, and two that are blocked."""
    tables = {
        "offer": Table(
            (
                ("a", '[950, "EUR"]', '$In("FR")'),
                ("b", '[2000, "USD"]', "$AtLeast(5)"),
                ("c", '[10, "EUR"]', '$Both($AtLeast(5), $In("FR"))'),
                ("d", '[10, "EUR"]', '$Both($In("FR"), $Nobody)'),
                ("e", '[950, "EUR"]', "$Nobody"),
            )
        ),
        "blocked": Table((("b", "$Nobody"), ("a", '$In("DE")'))),
    }
    return {**tables, **other}


OFFER_GOALS: Final = (
    ("in_euros(a, 950)", "PROVED"),
    ("in_euros(?c, ?amount)", "PROVED"),
    ("in_euros(b, ?amount)", "DISPROVED"),
    ("big(a)", "DISPROVED"),
    ("big(?c)", "DISPROVED"),
    ('needs(c, $In("FR"))', "PROVED"),
    ("needs(d, $Nobody)", "PROVED"),
    ("needs(d, $AtLeast(5))", "DISPROVED"),
    ("nested(c, 5, FR)", "PROVED"),
    ("nested(c, 6, FR)", "DISPROVED"),
    ("nested(d, ?least, ?k)", "DISPROVED"),
    ('turned(c, $Both($In("FR"), $AtLeast(5)))', "PROVED"),
    ('turned(c, $Both($AtLeast(5), $In("FR")))', "DISPROVED"),
    ("turned(?c, $Nobody)", "DISPROVED"),
    ('made([1900, "EUR"])', "PROVED"),
    ('made([950, "EUR"])', "DISPROVED"),
    ("free(a)", "PROVED"),
    ("free(b)", "DISPROVED"),
    ("untouched(c)", "PROVED"),
    ("untouched(a)", "DISPROVED"),
    ("other(a, c)", "PROVED"),
    ("other(a, e)", "DISPROVED"),
    ("total(EUR, 1920)", "PROVED"),
    ("total(EUR, 970)", "DISPROVED"),
    ("number_of(EUR, 4)", "PROVED"),
    ("number_of(EUR, 2)", "DISPROVED"),
    ("least(10)", "PROVED"),
    ("most(2000)", "PROVED"),
    ("average(480)", "PROVED"),
    ("average(7)", "DISPROVED"),
)

UNKNOWN_GOALS: Final = (
    ("in_euros(a, 950)", {"offer": Table(silent=True)}, "UNRESOLVED"),
    ("nested(c, ?least, ?k)", {"offer": Table(open=(("c", OPEN, OPEN),))}, "UNRESOLVED"),
    ("free(a)", {"blocked": Table(silent=True)}, "UNRESOLVED"),
    ("free(c)", {"blocked": Table(silent=True)}, "DISPROVED"),
    ("total(EUR, 1920)", {"offer": Table(open=(("z", OPEN, OPEN),))}, "UNRESOLVED"),
    (
        "nested(z, 7, DE)",
        {"offer": Table(said=((("z", '[1, "X"]', '$Both($AtLeast(7), $In("DE"))'), "0.9"),))},
        "PROVED_UNDER",
    ),
)

EXPRESSIONS: Final = """
.type Expr = Number { x: number } | Add { l: Expr, r: Expr } | Mul { l: Expr, r: Expr }
.type List = [head: number, tail: List]
.decl expr(e: Expr)
.input expr(source="sales", query="SELECT e FROM expr")
.decl part(e: Expr)
part(?e) :- expr(?e).
part(?l) :- part($Add(?l, _)).
part(?r) :- part($Add(_, ?r)).
part(?l) :- part($Mul(?l, _)).
part(?r) :- part($Mul(_, ?r)).
.decl value(e: Expr, n: number)
value(?e, ?n) :- part(?e), ?e = $Number(?n).
value(?e, ?n) :- part(?e), ?e = $Add(?l, ?r), value(?l, ?a), value(?r, ?b), ?n = ?a + ?b.
value(?e, ?n) :- part(?e), ?e = $Mul(?l, ?r), value(?l, ?a), value(?r, ?b), ?n = ?a * ?b.
.decl list(l: List)
.input list(source="sales", query="SELECT l FROM list")
.decl tail(l: List)
tail(?l) :- list(?l).
tail(?t) :- tail([_, ?t]).
.decl length(l: List, n: number)
length(nil, 0).
length(?l, ?n) :- tail(?l), ?l = [_, ?t], length(?t, ?m), ?n = ?m + 1.
.decl up_to(n: number, l: List)
up_to(0, nil).
up_to(?n, [?n, ?l]) :- up_to(?m, ?l), ?m < 5, ?n = ?m + 1.
"""
SEVEN: Final = "$Add($Number(1), $Mul($Number(2), $Number(3)))"


def expression_tables() -> dict[str, Table]:
    """Give one expression, whose value is 7, and a list of three numbers."""
    return {"expr": Table(((SEVEN,),)), "list": Table((("[3, [1, [2, nil]]]",),))}


EXPRESSION_GOALS: Final = (
    (f"value({SEVEN}, 7)", "PROVED"),
    (f"value({SEVEN}, 8)", "DISPROVED"),
    ("value($Number(4), ?n)", "DISPROVED"),
    ("length([3, [1, [2, nil]]], 3)", "PROVED"),
    ("length([3, [1, [2, nil]]], 2)", "DISPROVED"),
    ("length(nil, 0)", "PROVED"),
    ("up_to(3, [3, [2, [1, nil]]])", "PROVED"),
    ("up_to(?n, [1, nil])", "PROVED"),
    ("up_to(6, ?l)", "DISPROVED"),
)
