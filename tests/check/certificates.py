"""Good certificates, written by hand: one for each verdict and each construct.

``BASIC`` lists them all; each is made anew from a seed, so that values differ and shapes stay.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from tests.check.writer import (
    Writer,
    agg,
    cmp,
    con,
    fun,
    neg,
    pos,
    sha256,
)

Make = Callable[[random.Random], Writer]
Row = list[str]


def customer(rng: random.Random) -> str:
    return f"C{rng.randrange(1000):03}"


def orders_of(who: str, rng: random.Random, count: int = 4) -> list[Row]:
    return [[f"O{n}", who, str(rng.randrange(300, 900))] for n in range(count)]


def goal_of(w: Writer) -> str:
    found: str = w.tree["header"]["goal"][1][0]
    return found


def total(orders: list[Row]) -> int:
    return sum(int(row[2]) for row in orders)


def vip_rules(w: Writer) -> tuple[int, int]:
    w.outside("customer", "c:symbol")
    w.outside("order", "o:symbol c:symbol a:number")
    w.outside("blocked", "c:symbol")
    w.outside("threshold", "n:number")
    w.declare("spend", "c:symbol t:number")
    w.declare("is_vip", "c:symbol")
    spend = w.rule(
        "spend",
        pos("spend", "c", "t"),
        pos("customer", "c"),
        agg("sum", "t", "a", pos("order", "o", "c", "a")),
    )
    vip = w.rule(
        "vip",
        pos("is_vip", "c"),
        pos("spend", "c", "t"),
        pos("threshold", "n"),
        cmp(">=", "t", "n"),
        neg("blocked", "c"),
    )
    return spend, vip


def vip_data(w: Writer, who: str, orders: list[Row], least: int) -> None:
    w.facts("customer", [[who]], covers=([0], [[who]]))
    w.facts("order", orders, covers=([1], [[who]]))
    w.facts("threshold", [[str(least)]], origin="CONFIG", covers=([], [[]]))
    w.cover("blocked", [0], [[who]], w.source([]))


def vip_nodes(w: Writer, who: str, orders: list[Row], least: int, rules: tuple[int, int]) -> None:
    spend, vip = rules
    known = w.given("customer", who)
    sum_ = str(total(orders))
    spent = w.derived(spend, [who, sum_], {"c": who, "t": sum_}, [known, None])
    limit = w.given("threshold", str(least))
    w.derived(vip, [who], {"c": who, "t": sum_, "n": str(least)}, [spent, limit, None, None])


def vip_proved(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    orders = orders_of(who, rng)
    least = total(orders) - rng.randrange(100)
    rules = vip_rules(w)
    vip_data(w, who, orders, least)
    vip_nodes(w, who, orders, least, rules)
    return w.conclude("PROVED", "is_vip", who)


def vip_disproved(rng: random.Random) -> Writer:
    """Too little spent: the closure knows the exact sum."""
    w, who = Writer(), customer(rng)
    orders = orders_of(who, rng)
    vip_rules(w)
    vip_data(w, who, orders, total(orders) + 1 + rng.randrange(100))
    w.entry("spend", [0], [[who]], [[who, str(total(orders))]])
    w.entry("is_vip", [0], [[who]])
    return w.conclude("DISPROVED", "is_vip", who)


def vip_blocked(rng: random.Random) -> Writer:
    """A certain row of the blocked list removes the instance."""
    w, who = Writer(), customer(rng)
    orders = orders_of(who, rng)
    vip_rules(w)
    w.facts("customer", [[who]], covers=([0], [[who]]))
    w.facts("order", orders, covers=([1], [[who]]))
    w.facts("threshold", [["1"]], origin="CONFIG", covers=([], [[]]))
    w.facts("blocked", [[who]])
    w.entry("spend", [0], [[who]], [[who, str(total(orders))]])
    w.entry("is_vip", [0], [[who]], orders={1: [3, 0, 1, 2]})
    return w.conclude("DISPROVED", "is_vip", who)


def vip_orders_unknown(rng: random.Random) -> Writer:
    """The orders could not be read: the sum is ⋆ and the goal is unresolved."""
    w, who = Writer(), customer(rng)
    vip_rules(w)
    w.facts("customer", [[who]], covers=([0], [[who]]))
    w.opens("order", [None, who, None])
    w.cover("order", [1], [[who]])
    w.facts("threshold", [["1000"]], origin="CONFIG", covers=([], [[]]))
    w.cover("blocked", [0], [[who]], w.source([]))
    w.entry("spend", [0], [[who]], [[who, None]])
    w.entry("is_vip", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "is_vip", who, missing=(["order", [None, who, None]],))


def graph_rules(w: Writer) -> tuple[int, int]:
    w.outside("edge", "x:symbol y:symbol")
    w.declare("reach", "x:symbol y:symbol")
    first = w.rule("direct", pos("reach", "x", "y"), pos("edge", "x", "y"))
    step = w.rule("step", pos("reach", "x", "z"), pos("edge", "x", "y"), pos("reach", "y", "z"))
    return first, step


def edges(w: Writer, rng: random.Random, size: int = 4) -> list[str]:
    """Add a cycle of ``size`` nodes; every node's outgoing edges are covered."""
    names = [f"n{rng.randrange(100)}_{i}" for i in range(size)]
    rows = [[a, b] for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    w.facts("edge", rows, covers=([0], [[name] for name in names]))
    return names


def reach_proved(rng: random.Random) -> Writer:
    w = Writer()
    first, step = graph_rules(w)
    n = edges(w, rng)
    e = [w.given("edge", n[i], n[i + 1]) for i in range(3)]
    last = w.derived(first, [n[2], n[3]], {"x": n[2], "y": n[3]}, [e[2]])
    for i in (1, 0):
        bind = {"x": n[i], "y": n[i + 1], "z": n[3]}
        last = w.derived(step, [n[i], n[3]], bind, [e[i], last])
    return w.conclude("PROVED", "reach", n[0], n[3])


def reach_closure(w: Writer, names: list[str]) -> None:
    rows: list[list[str | None]] = [[a, b] for a in names for b in names]
    w.entry("reach", [0], [[name] for name in names], rows)


def reach_disproved(rng: random.Random) -> Writer:
    """On a cycle, what lies elsewhere is out of reach: every demand has its closure."""
    w = Writer()
    graph_rules(w)
    reach_closure(w, edges(w, rng))
    name = w.tree["closure"]["entries"][0]["keys"][0][0]
    return w.conclude("DISPROVED", "reach", name, "elsewhere")


def unreached_proved(rng: random.Random) -> Writer:
    """Negation over a derived, recursive predicate."""
    w = Writer()
    graph_rules(w)
    w.outside("place", "x:symbol")
    w.declare("apart", "x:symbol y:symbol")
    apart = w.rule(
        "apart",
        pos("apart", "x", "y"),
        pos("place", "x"),
        pos("place", "y"),
        neg("reach", "x", "y"),
    )
    names = edges(w, rng)
    w.facts("place", [[names[0]], ["elsewhere"]])
    reach_closure(w, names)
    here, there = w.given("place", names[0]), w.given("place", "elsewhere")
    bind = {"x": names[0], "y": "elsewhere"}
    w.derived(apart, [names[0], "elsewhere"], bind, [here, there, None])
    return w.conclude("PROVED", "apart", names[0], "elsewhere")


def parity(w: Writer) -> tuple[int, int, int]:
    w.outside("zero", "n:number")
    w.outside("next", "n:number m:number")
    w.declare("even", "n:number")
    w.declare("odd", "n:number")
    start = w.rule("start", pos("even", "n"), pos("zero", "n"))
    even = w.rule("even", pos("even", "m"), pos("next", "n", "m"), pos("odd", "n"))
    odd = w.rule("odd", pos("odd", "m"), pos("next", "n", "m"), pos("even", "n"))
    return start, even, odd


def even_proved(rng: random.Random) -> Writer:
    """Mutual recursion, upward."""
    w = Writer()
    start, even, odd = parity(w)
    last = 2 * rng.randrange(1, 4)
    w.facts("zero", [["0"]])
    w.facts("next", [[str(n), str(n + 1)] for n in range(last)])
    node = w.derived(start, ["0"], {"n": "0"}, [w.given("zero", "0")])
    for n in range(last):
        given = w.given("next", str(n), str(n + 1))
        bind = {"n": str(n), "m": str(n + 1)}
        node = w.derived(even if n % 2 else odd, [str(n + 1)], bind, [given, node])
    return w.conclude("PROVED", "even", str(last))


def odd_disproved(rng: random.Random) -> Writer:
    """Mutual recursion, bounded from above in both predicates."""
    w = Writer()
    parity(w)
    last = 2 * rng.randrange(1, 4)
    numbers = [[str(n)] for n in range(last + 1)]
    w.facts("zero", [["0"]], covers=([0], numbers))
    w.facts("next", [[str(n), str(n + 1)] for n in range(last)], covers=([1], numbers))
    w.entry("even", [0], numbers, [[str(n)] for n in range(0, last + 1, 2)])
    w.entry("odd", [0], numbers, [[str(n)] for n in range(1, last + 1, 2)])
    return w.conclude("DISPROVED", "odd", str(last))


def gold(w: Writer) -> int:
    w.outside("tier", "c:symbol t:symbol")
    w.declare("gold", "c:symbol")
    return w.rule("gold", pos("gold", "c"), pos("tier", "c", con("symbol", "gold")))


def gold_by_user(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    rule = gold(w)
    said = w.assume("fact", "alice says so", "0.9")
    w.facts("tier", [[who, "gold"]], origin="USER_PROVIDED", confidence="0.9", assumption=said)
    given = w.given("tier", who, "gold", confidence="0.9")
    w.derived(rule, [who], {"c": who}, [given], "0.9")
    return w.conclude("PROVED_UNDER", "gold", who, under=(said,), confidence="0.9")


def gold_by_proposed_rule(rng: random.Random) -> Writer:
    """Confidences multiply along the rule and are rounded down."""
    w, who = Writer(), customer(rng)
    proposed = w.assume("rule", "drafted, not approved", "0.333333")
    w.outside("tier", "c:symbol t:symbol")
    w.declare("gold", "c:symbol")
    rule = w.rule(
        "gold",
        pos("gold", "c"),
        pos("tier", "c", con("symbol", "gold")),
        confidence="0.333333",
        assumption=proposed,
    )
    w.facts("tier", [[who, "gold"]], confidence="0.777777")
    given = w.given("tier", who, "gold", confidence="0.777777")
    w.derived(rule, [who], {"c": who}, [given], "0.259258")
    return w.conclude("PROVED_UNDER", "gold", who, under=(proposed,), confidence="0.259258")


def gold_by_fall_through(rng: random.Random) -> Writer:
    """The tier that should have answered first did not."""
    w, who = Writer(), customer(rng)
    rule = gold(w)
    fell = w.assume("fall-through", "config did not answer")
    w.facts("tier", [[who, "gold"]], assumption=fell)
    w.opens("tier", [who, None], fell)
    w.derived(rule, [who], {"c": who}, [w.given("tier", who, "gold")])
    return w.conclude("PROVED_UNDER", "gold", who, under=(fell,))


def gold_disproved_by_closure(rng: random.Random) -> Writer:
    """A person declares the list complete; the open row goes when that is accepted."""
    w, who = Writer(), customer(rng)
    gold(w)
    declared = w.assume("closure", "the list is complete", "0.8")
    w.opens("tier", [who, None], declared)
    w.cover("tier", [0], [[who]])
    w.facts("tier", [[who, "silver"]])
    w.entry("gold", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "gold", who, under=(declared,), confidence="0.8")


def gold_disproved_by_fall_through(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    gold(w)
    fell = w.assume("fall-through", "config did not answer", "0.7")
    w.facts("tier", [[who, "silver"]], assumption=fell, covers=([0], [[who]]))
    w.opens("tier", [who, None], fell)
    w.entry("gold", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "gold", who, under=(fell,), confidence="0.7")


def gold_conflict(rng: random.Random) -> Writer:
    """Two values of one tier contradict: both possible, none certain."""
    w, who = Writer(), customer(rng)
    gold(w)
    w.opens("tier", [who, "gold"])
    w.opens("tier", [who, "silver"])
    w.cover("tier", [0], [[who]], w.source([[who, "gold"], [who, "silver"]], count=3))
    w.entry("gold", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "gold", who, missing=(["tier", [who, "gold"]],))


def gold_only_assumed(rng: random.Random) -> Writer:
    """A model's fact that nobody accepted is possible and missing."""
    w, who = Writer(), customer(rng)
    gold(w)
    said = w.assume("fact", "a model says so", "0.6")
    w.facts("tier", [[who, "gold"]], origin="LLM_KNOWLEDGE", confidence="0.6", assumption=said)
    w.cover("tier", [0], [[who]], w.source([]))
    w.entry("gold", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "gold", who, missing=(["tier", [who, None]],))


def blocked_by_user(rng: random.Random) -> Writer:
    """DISPROVED under a fact: consulted as certain, though no node shows it."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("blocked", "c:symbol")
    w.declare("welcome", "c:symbol")
    w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("blocked", "c"))
    said = w.assume("fact", "alice says so", "0.9")
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.facts("blocked", [[who]], origin="USER_PROVIDED", confidence="0.9", assumption=said)
    w.entry("welcome", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "welcome", who, under=(said,))


def barred_by_node(rng: random.Random) -> Writer:
    """A derived node is consulted as certain by the closure and removes an instance."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("debt", "c:symbol n:number")
    w.declare("barred", "c:symbol")
    w.declare("welcome", "c:symbol")
    barred = w.rule(
        "barred", pos("barred", "c"), pos("debt", "c", "n"), cmp(">", "n", con("number", "5"))
    )
    w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("barred", "c"))
    debt = str(rng.randrange(6, 99))
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.facts("debt", [[who, debt]])
    given = w.given("debt", who, debt)
    w.derived(barred, [who], {"c": who, "n": debt}, [given, None])
    w.entry("welcome", [0], [[who]])
    return w.conclude("DISPROVED", "welcome", who)


def answers(rng: random.Random) -> Writer:
    """A goal with a variable: every answer is a node, the best one gives the confidence."""
    w = Writer()
    rule = gold(w)
    names = sorted({customer(rng) for _ in range(3)})
    sure = ["0.5", "0.7", "0.6"][: len(names)]
    for name, confidence in zip(names, sure, strict=True):
        w.facts("tier", [[name, "gold"]], confidence=confidence)
        given = w.given("tier", name, "gold", confidence=confidence)
        w.derived(rule, [name], {"c": name}, [given], confidence)
    return w.conclude("PROVED", "gold", None, confidence=max(sure))


def no_answers(rng: random.Random) -> Writer:
    """A goal with a variable has no answer: the whole relation is covered."""
    w = Writer()
    gold(w)
    w.facts("tier", [[customer(rng), "silver"]], covers=([1], [["gold"]]))
    w.entry("gold", [], [[]])
    return w.conclude("DISPROVED", "gold", None)


def ratio(w: Writer) -> None:
    w.outside("pair", "a:number b:number")
    w.declare("ratio", "q:number")
    w.rule(
        "ratio",
        pos("ratio", "q"),
        pos("pair", "a", "b"),
        cmp("=", "q", fun("/", "number", "a", "b")),
        q="number",
    )


def error_unresolved(rng: random.Random) -> Writer:
    """Division by zero: the instance is unknown, never dropped."""
    w = Writer()
    ratio(w)
    w.facts("pair", [[str(rng.randrange(9)), "0"]], covers=([], [[]]))
    w.entry("ratio", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "ratio", "7")


def error_in_head(rng: random.Random) -> Writer:
    """An error in the head, at a key: the head takes the key's value."""
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.declare("ratio", "q:number")
    w.rule("ratio", pos("ratio", fun("/", "number", "a", "b")), pos("pair", "a", "b"))
    w.facts("pair", [[str(rng.randrange(9)), "0"], ["8", "4"]], covers=([], [[]]))
    w.entry("ratio", [0], [["3"]], [["3"]])
    return w.conclude("UNRESOLVED", "ratio", "3")


def head_function(rng: random.Random) -> Writer:
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.declare("ratio", "q:number")
    rule = w.rule("ratio", pos("ratio", fun("/", "number", "a", "b")), pos("pair", "a", "b"))
    b = rng.randrange(1, 9)
    row = [str(3 * b), str(b)]
    w.facts("pair", [row])
    w.derived(rule, ["3"], {"a": row[0], "b": row[1]}, [w.given("pair", *row)])
    return w.conclude("PROVED", "ratio", "3")


def completed(w: Writer) -> int:
    """Return the rule of a count with a join, a negation, an equation and a test inside."""
    w.outside("sale", "s:symbol c:symbol p:symbol n:number")
    w.outside("product", "p:symbol group:symbol")
    w.outside("returned", "s:symbol")
    w.declare("bought", "c:symbol n:number")
    w.outside("client", "c:symbol")
    return w.rule(
        "bought",
        pos("bought", "c", "n"),
        pos("client", "c"),
        agg(
            "sum",
            "n",
            "double",
            neg("returned", "s"),
            cmp("=", "double", fun("*", "number", "k", con("number", "2"))),
            pos("product", "p", con("symbol", "toys")),
            pos("sale", "s", "c", "p", "k"),
            cmp("<", "k", con("number", "90")),
        ),
        double="number",
        k="number",
    )


def aggregate_body(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    rule = completed(w)
    w.facts("client", [[who]])
    sales = [[f"S{n}", who, f"P{n % 3}", str(rng.randrange(1, 80))] for n in range(6)]
    sales.append(["S9", who, "P1", "95"])
    w.facts("sale", sales, covers=([1], [[who]]))
    w.facts(
        "product",
        [["P0", "toys"], ["P1", "toys"], ["P2", "food"]],
        covers=([0], [["P0"], ["P1"], ["P2"]]),
    )
    w.facts("returned", [["S0"]], covers=([0], [[f"S{n}"] for n in range(7)]))
    kept = [r for r in sales if r[2] != "P2" and r[0] not in {"S0", "S9"}]
    sum_ = str(sum(2 * int(row[3]) for row in kept))
    w.derived(rule, [who, sum_], {"c": who, "n": sum_}, [w.given("client", who), None])
    return w.conclude("PROVED", "bought", who, sum_)


def count_that_is_not_listed(rng: random.Random) -> Writer:
    """The result of an aggregate stands once more, in a negated atom: there it means its value."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol")
    w.outside("client", "c:symbol")
    w.outside("unlucky", "n:number")
    w.declare("fine", "c:symbol")
    rule = w.rule(
        "fine",
        pos("fine", "c"),
        pos("client", "c"),
        agg("count", "n", None, pos("order", "o", "c")),
        neg("unlucky", "n"),
        n="number",
    )
    w.facts("client", [[who]])
    w.facts("order", [["O1", who], ["O2", who]], covers=([1], [[who]]))
    w.facts("unlucky", [[str(rng.randrange(3, 99))]], covers=([], [[]]))
    w.derived(rule, [who], {"c": who, "n": "2"}, [w.given("client", who), None, None])
    return w.conclude("PROVED", "fine", who)


def aggregate_over_derived(rng: random.Random) -> Writer:
    """A count over a derived predicate: its rows are nodes, its closure says there are no more."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol a:number")
    w.outside("client", "c:symbol")
    w.declare("large", "c:symbol o:symbol")
    w.declare("often", "c:symbol")
    large = w.rule(
        "large",
        pos("large", "c", "o"),
        pos("order", "o", "c", "a"),
        cmp(">", "a", con("number", "500")),
    )
    often = w.rule(
        "often",
        pos("often", "c"),
        pos("client", "c"),
        agg("count", "n", None, pos("large", "c", "o")),
        cmp(">=", "n", con("number", "2")),
        n="number",
    )
    rows = [["O1", who, "400"], ["O2", who, "600"], ["O3", who, str(rng.randrange(501, 999))]]
    w.facts("client", [[who]])
    w.facts("order", rows, covers=([1], [[who]]))
    w.entry("large", [0], [[who]], [[who, "O2"], [who, "O3"]])
    for order, _, amount in rows[1:]:
        bind = {"c": who, "o": order, "a": amount}
        w.derived(large, [who, order], bind, [w.given("order", order, who, amount), None])
    w.derived(often, [who], {"c": who, "n": "2"}, [w.given("client", who), None, None])
    return w.conclude("PROVED", "often", who)


def chunk(values: list[int], name: str) -> list[object]:
    total_ = Fraction(sum(values))
    return [
        len(values),
        f"{total_.numerator}/{total_.denominator}",
        str(min(values)),
        str(max(values)),
        sha256(name),
    ]


def summary_proved(rng: random.Random) -> Writer:
    """More than a thousand rows: their sum stands as chunks."""
    w, who = Writer(), customer(rng)
    rules = vip_rules(w)
    amounts = [rng.randrange(-50, 900) for _ in range(2055)]
    source = w.source([], confidence="0.95", count=2055)
    w.facts("customer", [[who]], covers=([0], [[who]]))
    w.facts("threshold", [["1000"]], origin="CONFIG", covers=([], [[]]))
    w.cover("blocked", [0], [[who]], w.source([]))
    chunks = [chunk(amounts[i : i + 1024], str(i)) for i in (0, 1024, 2048)]
    w.summary(rules[0], 1, [who], chunks, source)
    sum_ = str(sum(amounts))
    bind = {"c": who, "t": sum_}
    spent = w.derived(rules[0], [who, sum_], bind, [w.given("customer", who), None], "0.95")
    limit = w.given("threshold", "1000")
    w.derived(rules[1], [who], {**bind, "n": "1000"}, [spent, limit, None, None], "0.95")
    return w.conclude("PROVED", "is_vip", who, confidence="0.95")


def star_joins(rng: random.Random) -> Writer:
    """⋆ meets a value and takes it; where nothing serves the joined pattern, ⋆ stays."""
    w, who = Writer(), customer(rng)
    w.outside("tier", "c:symbol t:symbol")
    w.outside("rebate", "t:symbol n:number")
    w.declare("price", "c:symbol n:number")
    w.rule("price", pos("price", "c", "n"), pos("tier", "c", "t"), pos("rebate", "t", "n"))
    w.opens("tier", [who, None])
    w.cover("tier", [0], [[who]])
    w.facts("rebate", [["gold", "10"]], covers=([0], [["gold"]]))
    w.entry("price", [0], [[who]], [[who, None]])
    return w.conclude("UNRESOLVED", "price", who, "3", missing=(["tier", [who, None]],))


def rule_facts(rng: random.Random) -> Writer:
    """A fact written as a rule without a body."""
    w, who = Writer(), customer(rng)
    w.declare("founder", "c:symbol")
    rule = w.rule("founder", pos("founder", con("symbol", who)))
    w.derived(rule, [who], {}, [])
    return w.conclude("PROVED", "founder", who)


def rule_facts_disproved(rng: random.Random) -> Writer:
    w = Writer()
    w.declare("founder", "c:symbol")
    w.rule("founder", pos("founder", con("symbol", customer(rng))))
    w.entry("founder", [0], [["nobody"]])
    return w.conclude("DISPROVED", "founder", "nobody")


def absence_confidence(rng: random.Random) -> Writer:
    """An absence is worth the declared closure it rests on."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("blocked", "c:symbol")
    w.declare("welcome", "c:symbol")
    rule = w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("blocked", "c"))
    declared = w.assume("closure", "the list is complete", "0.75")
    w.facts("member", [[who]], confidence="0.8")
    w.opens("blocked", [who], declared)
    w.cover("blocked", [0], [[who]])
    given = w.given("member", who, confidence="0.8")
    w.derived(rule, [who], {"c": who}, [given, None], "0.75")
    return w.conclude("PROVED_UNDER", "welcome", who, under=(declared,), confidence="0.75")


def lonely(w: Writer) -> int:
    """Return the rule of those without any order: the order's other columns may be anything."""
    w.outside("member", "c:symbol")
    w.outside("order", "o:symbol c:symbol a:number")
    w.declare("lonely", "c:symbol")
    return w.rule("lonely", pos("lonely", "c"), pos("member", "c"), neg("order", "_o", "c", "_a"))


def negation_of_any(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    rule = lonely(w)
    w.facts("member", [[who]])
    w.facts("order", orders_of("Z" + who, rng), covers=([1], [[who]]))
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "lonely", who)


def negation_of_any_disproved(rng: random.Random) -> Writer:
    """Some certain row with other columns removes the instance."""
    w, who = Writer(), customer(rng)
    lonely(w)
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.facts("order", orders_of(who, rng))
    w.entry("lonely", [0], [[who]])
    return w.conclude("DISPROVED", "lonely", who)


def negation_before_its_variable(rng: random.Random) -> Writer:
    """A negation that comes before what binds its variable removes nothing."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("blocked", "c:symbol")
    w.declare("welcome", "c:symbol")
    w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("blocked", "c"))
    w.facts("member", [[who], ["Z" + who]], covers=([], [[]]))
    w.facts("blocked", [[who]])
    w.entry("welcome", [], [[]], [[who], ["Z" + who]], orders={0: [1, 0]})
    return w.conclude("DISPROVED", "welcome", "nobody")


def node_instead_of_coverage(rng: random.Random) -> Writer:
    """A ground atom that is a node's fact has that one row, whatever is covered."""
    w, who = Writer(), customer(rng)
    rules = vip_rules(w)
    orders = orders_of(who, rng)
    w.facts("customer", [[who]])
    w.facts("order", orders, covers=([1], [[who]]))
    w.facts("threshold", [[str(total(orders) + 1)]], origin="CONFIG", covers=([], [[]]))
    sum_ = str(total(orders))
    bind = {"c": who, "t": sum_}
    w.derived(rules[0], [who, sum_], bind, [w.given("customer", who), None])
    w.cover("blocked", [0], [[who]], w.source([]))
    w.entry("spend", [0], [[who]], [[who, sum_]])
    w.entry("is_vip", [0], [[who]], orders={1: [0, 1, 2, 3]})
    del w.tree["nodes"][1]
    return w.conclude("DISPROVED", "is_vip", who)


BASIC: Final[tuple[Make, ...]] = (
    absence_confidence,
    aggregate_body,
    aggregate_over_derived,
    answers,
    barred_by_node,
    blocked_by_user,
    count_that_is_not_listed,
    error_in_head,
    error_unresolved,
    even_proved,
    gold_by_fall_through,
    gold_by_proposed_rule,
    gold_by_user,
    gold_conflict,
    gold_disproved_by_closure,
    gold_disproved_by_fall_through,
    gold_only_assumed,
    head_function,
    negation_before_its_variable,
    negation_of_any,
    negation_of_any_disproved,
    no_answers,
    node_instead_of_coverage,
    odd_disproved,
    reach_disproved,
    reach_proved,
    rule_facts,
    rule_facts_disproved,
    star_joins,
    summary_proved,
    unreached_proved,
    vip_blocked,
    vip_disproved,
    vip_orders_unknown,
    vip_proved,
)
