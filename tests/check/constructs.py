"""Good certificates for the finer points: ⋆ and ⚡ at every place, folds, repeated variables."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Final

from tests.check.certificates import (
    chunk,
    customer,
    goal_of,
    gold,
    gold_by_fall_through,
    gold_by_user,
    gold_conflict,
    lonely,
    summary_proved,
    vip_rules,
)
from tests.check.writer import Writer, agg, con, fun, neg, pos, sha256
from tests.check.writer import cmp as compare

Make = Callable[[random.Random], Writer]


def folded(function: str, kind: str, values: list[str], claimed: str, result: str) -> Writer:
    """Return a proof that the fold of the values is what is claimed."""
    w = Writer()
    w.outside("given", f"k:symbol v:{kind}")
    w.outside("start", "x:symbol")
    w.declare("result", f"r:{result}")
    target = None if function == "count" else "v"
    rule = w.rule(
        "fold",
        pos("result", "r"),
        pos("start", "x"),
        agg(function, "r", target, pos("given", "k", "v")),
    )
    w.facts("start", [["go"]])
    w.facts("given", [[f"k{n}", v] for n, v in enumerate(values)], covers=([], [[]]))
    w.derived(rule, [claimed], {"x": "go", "r": claimed}, [w.given("start", "go"), None])
    return w.conclude("PROVED", "result", claimed)


FOLDS: Final[tuple[tuple[str, str, list[str], str, str], ...]] = (
    ("count", "symbol", ["a", "a", "b"], "3", "number"),
    ("count", "symbol", [], "0", "number"),
    ("sum", "number", ["3", "3", "-10"], "-4", "number"),
    ("sum", "number", [], "0", "number"),
    ("sum", "number", [str(2**63 - 1), "1", "-1"], str(2**63 - 1), "number"),
    ("sum", "unsigned", ["7", "8"], "15", "unsigned"),
    ("sum", "float", [x.hex() for x in (1e100, 1.0, -1e100, 0.5)], (1.5).hex(), "float"),
    ("sum", "float", [x.hex() for x in [0.1] * 10], (1.0).hex(), "float"),
    ("sum", "float", [x.hex() for x in (1.5e308, 1.5e308, -1.5e308)], (1.5e308).hex(), "float"),
    ("sum", "float", [], (0.0).hex(), "float"),
    ("sum", "Decimal", ["0.1", "0.25", "-10"], "-9.65", "Decimal"),
    ("sum", "Decimal", ["0." + "0" * 36 + "1", "1"], "1." + "0" * 36 + "1", "Decimal"),
    ("sum", "Decimal", [], "0", "Decimal"),
    ("min", "number", ["9", "10", "-3"], "-3", "number"),
    ("min", "float", [x.hex() for x in (0.5, -2.0)], (-2.0).hex(), "float"),
    ("min", "Decimal", ["9.5", "10"], "9.5", "Decimal"),
    ("min", "symbol", ["b", "a", "c"], "a", "symbol"),
    (
        "min",
        "Timestamp",
        ["2024-01-01T00:00:00.000001Z"] * 2,
        "2024-01-01T00:00:00.000001Z",
        "Timestamp",
    ),
    ("max", "number", ["9", "10", "-3"], "10", "number"),
    ("max", "unsigned", ["9", "10"], "10", "unsigned"),
    ("max", "Date", ["2024-01-01", "2023-12-31"], "2024-01-01", "Date"),
    ("max", "symbol", ["10", "9"], "9", "symbol"),
    ("mean", "number", ["1", "2"], (1.5).hex(), "float"),
    ("mean", "number", ["1", "1", "2"], (4 / 3).hex(), "float"),
    ("mean", "unsigned", ["3"], (3.0).hex(), "float"),
    ("mean", "float", [x.hex() for x in (1.7e308, 1.7e308)], (1.7e308).hex(), "float"),
    ("mean", "Decimal", ["1", "1", "3"], "1.666666666667", "Decimal"),
    ("mean", "Decimal", ["0.000000000001", "0"], "0", "Decimal"),
)


def fold_bounded(function: str, values: list[str], result: str = "number") -> Writer:
    """Return a fold for the closure: of ⚡ it keeps ⋆, of no value nothing."""
    w = Writer()
    w.outside("given", "k:symbol v:number")
    w.declare("result", f"r:{result}")
    w.rule("fold", pos("result", "r"), agg(function, "r", "v", pos("given", "k", "v")))
    w.facts("given", [[f"k{n}", v] for n, v in enumerate(values)], covers=([], [[]]))
    return w


def fold_overflows(rng: random.Random) -> Writer:
    """A sum outside its kind is ⋆: nothing is known about it."""
    w = fold_bounded("sum", [str(2**63 - 1), str(rng.randrange(1, 9))])
    w.entry("result", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "result", "5")


def fold_of_nothing(rng: random.Random) -> Writer:
    """The least of nothing has no value, so nothing follows."""
    w = fold_bounded(rng.choice(["min", "max"]), [])
    w.entry("result", [], [[]])
    return w.conclude("DISPROVED", "result", None)


def mean_of_nothing(_: random.Random) -> Writer:
    w = fold_bounded("mean", [], "float")
    w.entry("result", [], [[]])
    return w.conclude("DISPROVED", "result", None)


def fold_against_a_row(rng: random.Random) -> Writer:
    """A row binds the result before the count does; they differ, so nothing follows."""
    w, who = Writer(), customer(rng)
    w.outside("claim", "c:symbol n:number")
    w.outside("order", "o:symbol c:symbol")
    w.declare("right", "c:symbol")
    count = agg("count", "n", None, pos("order", "o", "c"))
    w.rule("right", pos("right", "c"), pos("claim", "c", "n"), count)
    w.facts("claim", [[who, "5"], ["Z" + who, "1"]], covers=([], [[]]))
    w.facts("order", [["O1", who], ["O2", "Z" + who]], covers=([1], [[who], ["Z" + who]]))
    w.entry("right", [], [[]], [["Z" + who]])
    return w.conclude("DISPROVED", "right", who)


def fold_against_an_unknown_row(rng: random.Random) -> Writer:
    """The claim is ⋆ and takes the count's value, which the test then refuses."""
    w, who = Writer(), customer(rng)
    w.outside("claim", "c:symbol n:number")
    w.outside("order", "o:symbol c:symbol")
    w.declare("right", "c:symbol")
    count = agg("count", "n", None, pos("order", "o", "c"))
    many = compare(">", "n", con("number", "7"))
    w.rule("right", pos("right", "c"), pos("claim", "c", "n"), count, many)
    w.opens("claim", [who, None])
    w.cover("claim", [0], [[who]])
    w.facts("order", [["O1", who]], covers=([1], [[who]]))
    w.entry("right", [0], [[who]])
    return w.conclude("DISPROVED", "right", who)


def one_source_of_two_predicates(rng: random.Random) -> Writer:
    """Of two predicates in one answer the order is unknown, so its hash is not recomputed."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("friend", "c:symbol")
    w.facts("member", [[who]])
    w.facts("friend", [[who]])
    w.tree["facts"][1]["source"] = 0
    w.tree["sources"][0].update(rows=2, hash=sha256("both"))
    w.given("member", who)
    return w.conclude("PROVED", "member", who)


def star_before_the_empty_text(rng: random.Random) -> Writer:
    """In the order of rows ⋆ comes before every text, the empty one included."""
    w = Writer()
    gold(w)
    w.facts("tier", [["", "gold"]], covers=([], [[]]))
    w.opens("tier", [None, "gold"])
    w.entry("gold", [], [[]], [[None], [""]])
    return w.conclude("UNRESOLVED", "gold", customer(rng))


def first_of_two_voices(rng: random.Random) -> Writer:
    """Of two that say the same with equal confidence the first is used, the other elsewhere."""
    w, who = Writer(), customer(rng)
    for name in ("member", "blocked", "late"):
        w.outside(name, "c:symbol")
    w.declare("welcome", "c:symbol")
    w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("blocked", "c"))
    w.rule("again", pos("welcome", "c"), pos("member", "c"), neg("late", "c"))
    alice, bob = w.assume("fact", "alice says so"), w.assume("fact", "bob says so")
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.facts("blocked", [[who]], origin="USER_PROVIDED", assumption=alice)
    w.facts("blocked", [[who]], origin="USER_PROVIDED", assumption=bob)
    w.facts("late", [[who]], origin="USER_PROVIDED", assumption=bob)
    w.entry("welcome", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "welcome", who, under=(alice, bob))


def texts_of_the_world(_: random.Random) -> Writer:
    """Characters beyond ASCII, in a row and in a constant."""
    w = Writer()
    w.outside("p", "s:symbol")
    w.declare("q", "s:symbol")
    text = "é\U0001f600"
    rule = w.rule("q", pos("q", "s"), pos("p", "s"), compare("=", "s", con("symbol", text)))
    w.facts("p", [[text]])
    w.tree["sources"][0]["query"] = None
    w.derived(rule, [text], {"s": text}, [w.given("p", text), None])
    return w.conclude("PROVED", "q", text)


def half_of_a_half(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    half = w.assume("rule", "half sure", "0.5")
    w.outside("p", "s:symbol")
    w.declare("q", "s:symbol")
    rule = w.rule("q", pos("q", "s"), pos("p", "s"), confidence="0.5", assumption=half)
    w.facts("p", [[who]], confidence="0.5")
    w.derived(rule, [who], {"s": who}, [w.given("p", who, confidence="0.5")], "0.25")
    return w.conclude("PROVED_UNDER", "q", who, under=(half,), confidence="0.25")


def writer_of_a_fact() -> Writer:
    """Return the proof of a fact that is written as a rule."""
    w = Writer()
    w.declare("p", "x:symbol")
    rule = w.rule("p", pos("p", con("symbol", "a")))
    w.source([])
    w.derived(rule, ["a"], {}, [])
    return w


def fold_of_an_outer_target(rng: random.Random) -> Writer:
    """The target comes from outside the aggregate: its value is part of the group."""
    w = Writer()
    w.outside("start", "n:number")
    w.outside("item", "k:symbol")
    w.declare("total", "n:number t:number")
    each = agg("sum", "t", "n", pos("item", "k"))
    rule = w.rule("total", pos("total", "n", "t"), pos("start", "n"), each, t="number")
    low = rng.randrange(1, 9)
    w.facts("start", [[str(low)], [str(low + 1)]], covers=([], [[]]))
    w.facts("item", [["a"], ["b"], ["c"]], covers=([], [[]]))
    number, sum_ = str(low + 1), str(3 * low + 3)
    w.entry("total", [], [[]], [[str(low), str(3 * low)], [number, sum_]])
    bind = {"n": number, "t": sum_}
    w.derived(rule, [number, sum_], bind, [w.given("start", number), None])
    return w.conclude("PROVED", "total", number, sum_)


def match_just_not_too_large(_: random.Random) -> Writer:
    """Exactly as many tests as are allowed: they are counted, whether they are made or not."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("other", "s:symbol")
    no_match = compare("!match", con("symbol", "(a{100}){100}"), "s")
    rule = w.rule("other", pos("other", "s"), pos("text", "s"), no_match)
    text = "b" * 999
    w.facts("text", [[text]])
    w.derived(rule, [text], {"s": text}, [w.given("text", text), None])
    return w.conclude("PROVED", "other", text)


def match_too_large(_: random.Random) -> Writer:
    """A match with more tests than allowed is ⚡, and is not even begun."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("found", "s:symbol")
    w.rule(
        "found",
        pos("found", "s"),
        pos("text", "s"),
        compare("match", con("symbol", "b{100}{1}"), "s"),
        compare("match", con("symbol", "(b{100}){100}"), "s"),
    )
    text = "a" * 1500
    w.facts("text", [[text]], covers=([], [[]]))
    w.entry("found", [], [[]], [[text]])
    return w.conclude("UNRESOLVED", "found", text)


def match_that_may_get_too_large(_: random.Random) -> Writer:
    """What may be repeated counts as often as it may be."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("found", "s:symbol")
    pattern = con("symbol", "(b{0,100}){100}")
    w.rule("found", pos("found", "s"), pos("text", "s"), compare("match", pattern, "s"))
    text = "a" * 1500
    w.facts("text", [[text]], covers=([], [[]]))
    w.entry("found", [], [[]], [[text]])
    return w.conclude("UNRESOLVED", "found", text)


def match_that_costs_only_its_reading(_: random.Random) -> Writer:
    """A pattern that has no answer costs a step for four of its characters, and no other."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("found", "s:symbol")
    # Three and four characters outside the subset, then sixteen that are too large.
    for name, pattern in (("three", "(bb"), ("four", "(bbb"), ("large", "(b{100}){99,100}")):
        no_answer = compare("match", con("symbol", pattern), "s")
        w.rule(name, pos("found", "s"), pos("text", "s"), no_answer)
    text = "a" * 1500
    w.facts("text", [[text]], covers=([], [[]]))
    w.entry("found", [], [[]], [[text]])
    return w.conclude("UNRESOLVED", "found", text)


def summary_of_inline_dates(_: random.Random) -> Writer:
    """The least of dates: rows inline and summary agree, and neither has a sum."""
    days = [f"20{n // 100:02}-01-{1 + n % 28:02}" for n in range(1001)]
    w = folded("min", "Date", days, min(days), "Date")
    w.summary(0, 1, [], [full(1001, None, min(days), max(days))], 1)
    return w.conclude("PROVED", "result", min(days))


def long_body(rng: random.Random) -> Writer:
    """A rule of twenty literals."""
    w, who = Writer(), customer(rng)
    w.outside("base", "c:symbol")
    w.declare("same", "c:symbol")
    w.rule("same", pos("same", "c"), *[pos("base", "c") for _ in range(20)])
    w.facts("base", [[who]], covers=([], [[]]))
    w.entry("same", [], [[]], [[who]])
    return w.conclude("DISPROVED", "same", "nobody")


def fold_of_nothing_with_a_key(rng: random.Random) -> Writer:
    w = fold_bounded("min", [])
    key = str(rng.randrange(9))
    w.entry("result", [0], [[key]])
    return w.conclude("DISPROVED", "result", key)


def fold_against_a_key(rng: random.Random) -> Writer:
    """The key binds the result; only the exact value survives."""
    w = fold_bounded("sum", ["1", "2"])
    other = str(rng.randrange(4, 9))
    w.entry("result", [0], [["3"], [other]], [["3"]])
    return w.conclude("DISPROVED", "result", other)


def fold_unknown_against_a_key(rng: random.Random) -> Writer:
    """A sum that is ⋆ may be any key."""
    w = fold_bounded("sum", ["1", "2"])
    w.opens("given", [None, None])
    key = str(rng.randrange(9))
    w.entry("result", [0], [[key]], [[key]])
    return w.conclude("UNRESOLVED", "result", key)


def fold_of_an_error(rng: random.Random) -> Writer:
    """The target of one assignment is ⚡: the sum has no exact value."""
    w = Writer()
    w.outside("given", "a:number b:number")
    w.declare("result", "r:number")
    quotient = fun("/", "number", "a", "b")
    w.rule("fold", pos("result", "r"), agg("sum", "r", quotient, pos("given", "a", "b")))
    w.facts("given", [["6", "3"], [str(rng.randrange(9)), "0"]], covers=([], [[]]))
    w.entry("result", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "result", "2")


def fold_with_an_error_inside(rng: random.Random, literal: list[object]) -> Writer:
    """Return a count whose body has a literal that is ⚡ for one assignment."""
    w = Writer()
    w.outside("given", "a:number b:number")
    w.outside("other", "q:number k:number")
    w.declare("result", "r:number")
    w.rule(
        "fold",
        pos("result", "r"),
        agg("count", "r", None, pos("given", "a", "b"), literal),
    )
    w.facts("given", [["6", "3"], [str(rng.randrange(9)), "0"]], covers=([], [[]]))
    w.cover("other", [], [[]], w.source([]))
    w.entry("result", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "result", "1")


def fold_error_in_a_test(rng: random.Random) -> Writer:
    test = compare("<", fun("/", "number", "a", "b"), con("number", "90"))
    return fold_with_an_error_inside(rng, test)


def fold_error_in_an_atom(rng: random.Random) -> Writer:
    """An atom with ⚡ may be the row that is shown, or no row at all."""
    w = fold_with_an_error_inside(rng, pos("other", fun("/", "number", "a", "b"), "c"))
    w.tree["coverage"].pop()
    w.facts("other", [["2", "1"], ["9", "1"]], covers=([], [[]]))
    return w.conclude("UNRESOLVED", "result", "7")


def fold_error_in_a_negation(rng: random.Random) -> Writer:
    return fold_with_an_error_inside(rng, neg("other", fun("/", "number", "a", "b"), "a"))


def fold_of_an_unknown_group(rng: random.Random) -> Writer:
    """Which group is meant nobody knows: the sum is ⋆."""
    w, who = Writer(), customer(rng)
    w.outside("member", "m:symbol c:symbol")
    w.outside("order", "o:symbol c:symbol a:number")
    w.declare("spend", "m:symbol t:number")
    w.rule(
        "spend",
        pos("spend", "m", "t"),
        pos("member", "m", "c"),
        agg("sum", "t", "a", pos("order", "o", "c", "a")),
    )
    w.opens("member", [who, None])
    w.cover("member", [0], [[who]])
    w.entry("spend", [0], [[who]], [[who, None]])
    return w.conclude("UNRESOLVED", "spend", who, "3")


def fold_of_an_unknown_target(rng: random.Random) -> Writer:
    """A certain row and a ⋆ row of the same shape: only the assignments count, and one is ⋆."""
    w = fold_bounded("max", ["1", "2"])
    w.opens("given", ["k9", None])
    w.entry("result", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "result", str(rng.randrange(9)))


def fold_with_a_repeated_variable(rng: random.Random) -> Writer:
    """Only the pairs of equals count."""
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.outside("start", "x:number")
    w.declare("equals", "n:number")
    rule = w.rule(
        "equals",
        pos("equals", "n"),
        pos("start", "x"),
        agg("count", "n", None, pos("pair", "a", "a")),
    )
    w.facts("start", [["0"]])
    w.facts("pair", [["1", "2"], ["3", "3"], ["4", str(rng.randrange(5, 9))]], covers=([], [[]]))
    w.derived(rule, ["1"], {"x": "0", "n": "1"}, [w.given("start", "0"), None])
    return w.conclude("PROVED", "equals", "1")


def fold_with_a_function_in_an_atom(rng: random.Random) -> Writer:
    """The atom with a function waits for the atom that binds its variable."""
    w = Writer()
    w.outside("number", "a:number")
    w.outside("start", "x:number")
    w.declare("pairs", "n:number")
    rule = w.rule(
        "pairs",
        pos("pairs", "n"),
        pos("start", "x"),
        agg("count", "n", None, pos("number", fun("+", "number", "a", "x")), pos("number", "a")),
    )
    low = rng.randrange(9)
    w.facts("start", [["1"]])
    w.facts("number", [[str(low + n)] for n in (0, 1, 2, 5)], covers=([], [[]]))
    w.derived(rule, ["2"], {"x": "1", "n": "2"}, [w.given("start", "1"), None])
    return w.conclude("PROVED", "pairs", "2")


def fold_in_the_only_order_that_is_served(rng: random.Random) -> Writer:
    """The atom written first is served once the second has bound its key."""
    w, who = Writer(), customer(rng)
    w.outside("sale", "p:symbol n:number")
    w.outside("product", "p:symbol c:symbol")
    w.outside("client", "c:symbol")
    w.declare("sold", "c:symbol n:number")
    rule = w.rule(
        "sold",
        pos("sold", "c", "n"),
        pos("client", "c"),
        agg("max", "n", "k", pos("sale", "p", "k"), pos("product", "p", "c")),
    )
    w.facts("client", [[who]])
    w.facts("product", [["P1", who], ["P2", who]], covers=([1], [[who]]))
    w.facts("sale", [["P1", "3"], ["P2", "7"], ["P3", "9"]], covers=([0], [["P1"], ["P2"]]))
    w.derived(rule, [who, "7"], {"c": who, "n": "7"}, [w.given("client", who), None])
    return w.conclude("PROVED", "sold", who, "7")


def fold_of_doubtful_rows(rng: random.Random) -> Writer:
    """The aggregate is worth its least certain row; a row counts with its best source."""
    w = Writer()
    w.outside("given", "k:symbol v:number")
    w.outside("start", "x:symbol")
    w.declare("result", "r:number")
    rule = w.rule(
        "fold", pos("result", "r"), pos("start", "x"), agg("sum", "r", "v", pos("given", "k", "v"))
    )
    amount = str(rng.randrange(1, 9))
    w.facts("start", [["go"]], confidence="0.9")
    w.facts("given", [["a", amount]], confidence="0.4")
    w.facts("given", [["a", amount], ["b", "1"]], confidence="0.7", covers=([], [[]]))
    w.facts("given", [["a", amount]], confidence="0.5")
    sum_ = str(int(amount) + 1)
    given = w.given("start", "go", confidence="0.9")
    w.derived(rule, [sum_], {"x": "go", "r": sum_}, [given, None], "0.7")
    return w.conclude("PROVED", "result", sum_, confidence="0.7")


def fold_twice(rng: random.Random) -> Writer:
    """Two nodes read the same group; the second time it is known already."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol a:number")
    w.outside("alias", "n:symbol c:symbol")
    w.declare("named", "n:symbol t:number")
    w.declare("both", "t:number")
    named = w.rule(
        "named",
        pos("named", "n", "t"),
        pos("alias", "n", "c"),
        agg("sum", "t", "a", pos("order", "o", "c", "a")),
    )
    both = w.rule(
        "both",
        pos("both", "t"),
        pos("named", con("symbol", "a"), "t"),
        pos("named", con("symbol", "b"), "t"),
    )
    w.facts("alias", [["a", who], ["b", who]])
    w.facts("order", [["O1", who, "5"], ["O2", who, "6"]], covers=([1], [[who]]))
    nodes = [
        w.derived(named, [n, "11"], {"n": n, "t": "11", "c": who}, [w.given("alias", n, who), None])
        for n in ("a", "b")
    ]
    w.derived(both, ["11"], {"t": "11"}, list(nodes))
    return w.conclude("PROVED", "both", "11")


def fold_of_nodes_in_the_closure(rng: random.Random) -> Writer:
    """An upper bound consults nodes through an exact count."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol")
    w.outside("client", "c:symbol")
    w.declare("bought", "c:symbol o:symbol")
    w.declare("often", "c:symbol")
    bought = w.rule("bought", pos("bought", "c", "o"), pos("order", "o", "c"))
    w.rule(
        "often",
        pos("often", "c"),
        pos("client", "c"),
        agg("count", "n", None, pos("bought", "c", "o")),
        compare(">", "n", con("number", "2")),
        n="number",
    )
    rows = [["O1", who], ["O2", who]]
    w.facts("client", [[who]], covers=([0], [[who]]))
    w.facts("order", rows, covers=([1], [[who]]))
    for order, _ in rows:
        w.derived(bought, [who, order], {"c": who, "o": order}, [w.given("order", order, who)])
    w.entry("bought", [0], [[who]], [[who, "O1"], [who, "O2"]])
    w.entry("often", [0], [[who]])
    return w.conclude("DISPROVED", "often", who)


def same(w: Writer) -> None:
    w.outside("pair", "a:symbol b:symbol")
    w.declare("same", "a:symbol b:symbol")
    w.rule("same", pos("same", "x", "x"), pos("pair", "x", "x"))


def repeated_variable(rng: random.Random) -> Writer:
    """A repeated variable takes equals only, and the rows after an unequal pair as well."""
    w, who = Writer(), customer(rng)
    same(w)
    w.facts("pair", [["A", "B"], ["B", "B"], [who, "A"]], covers=([], [[]]))
    w.entry("same", [], [[]], [["B", "B"]])
    return w.conclude("DISPROVED", "same", who, None)


def repeated_variable_meets_star(rng: random.Random) -> Writer:
    """The second ⋆ takes the value of the first column."""
    w, who = Writer(), customer(rng)
    same(w)
    w.opens("pair", [who, None])
    w.cover("pair", [0], [[who]])
    w.entry("same", [0], [[who]], [[who, who]])
    return w.conclude("UNRESOLVED", "same", who, None)


def repeated_variable_in_the_head(rng: random.Random) -> Writer:
    """A key of two different values clashes with the head."""
    w, who = Writer(), customer(rng)
    same(w)
    w.entry("same", [0, 1], [[who, "Z"]])
    return w.conclude("DISPROVED", "same", who, "Z")


def closure_with_a_star_row(rng: random.Random) -> Writer:
    """A ⋆ row covers a head that has a value there."""
    w, who = Writer(), customer(rng)
    gold(w)
    w.facts("tier", [[who, "gold"]], covers=([], [[]]))
    said = w.assume("closure")
    w.opens("tier", ["Z", "gold"], said)
    w.entry("gold", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "gold", "Z", missing=(["tier", ["Z", "gold"]],))


def star_meets_a_value(rng: random.Random) -> Writer:
    """⋆ takes the values of the rows that it joins with."""
    w, who = Writer(), customer(rng)
    w.outside("tier", "c:symbol t:symbol")
    w.outside("rebate", "t:symbol n:number")
    w.declare("price", "t:symbol n:number")
    w.rule(
        "price",
        pos("price", "t", "n"),
        pos("tier", con("symbol", who), "t"),
        pos("rebate", "t", "n"),
    )
    w.opens("tier", [who, None])
    w.cover("tier", [0], [[who]])
    w.facts("rebate", [["gold", "10"], ["silver", "5"]], covers=([], [[]]))
    w.entry("price", [], [[]], [["gold", "10"], ["silver", "5"]])
    return w.conclude("UNRESOLVED", "price", "gold", None)


def star_from_an_error_meets_a_value(rng: random.Random) -> Writer:
    """What an erring assignment binds is ⋆, and takes a value as any ⋆ does."""
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.outside("known", "q:number")
    w.declare("ratio", "q:number")
    w.rule(
        "ratio",
        pos("ratio", "q"),
        pos("pair", "a", "b"),
        compare("=", fun("/", "number", "a", "b"), "q"),
        pos("known", "q"),
    )
    w.facts("pair", [[str(rng.randrange(9)), "0"]], covers=([], [[]]))
    w.facts("known", [["7"]], covers=([], [[]]))
    w.entry("ratio", [], [[]], [["7"]])
    return w.conclude("UNRESOLVED", "ratio", "7")


def star_in_a_test(rng: random.Random) -> Writer:
    """A test on ⋆ removes nothing, whatever it compares; a false one beside it does."""
    w, who = Writer(), customer(rng)
    w.outside("limit", "c:symbol n:number")
    w.declare("rich", "c:symbol")
    w.rule("rich", pos("rich", "c"), pos("limit", "c", "n"), compare(">", "n", con("number", "5")))
    w.opens("limit", [who, None])
    w.facts("limit", [["Z", "5"]])
    w.cover("limit", [0], [[who], ["Z"]], 0)
    w.entry("rich", [0], [[who], ["Z"]], [[who]])
    return w.conclude("UNRESOLVED", "rich", who)


def star_in_a_negation(rng: random.Random) -> Writer:
    """Of whom nobody knows, nothing is certain: the negation removes nothing."""
    w, who = Writer(), customer(rng)
    w.outside("friend", "a:symbol b:symbol")
    w.outside("blocked", "c:symbol")
    w.declare("liked", "a:symbol")
    w.rule("liked", pos("liked", "a"), pos("friend", "a", "b"), neg("blocked", "b"))
    w.opens("friend", [who, None])
    w.cover("friend", [0], [[who]])
    w.facts("blocked", [["A"]])
    w.entry("liked", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "liked", who)


def star_in_a_negation_of_any(rng: random.Random) -> Writer:
    w, who = Writer(), customer(rng)
    w.outside("friend", "a:symbol b:symbol")
    w.outside("order", "o:symbol c:symbol")
    w.declare("liked", "a:symbol")
    w.rule("liked", pos("liked", "a"), pos("friend", "a", "b"), neg("order", "_o", "b"))
    w.opens("friend", [who, None])
    w.cover("friend", [0], [[who]])
    w.facts("order", [["O1", "A"]])
    w.entry("liked", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "liked", who)


def error_in_a_negation(rng: random.Random) -> Writer:
    """A negated atom that is ⚡ removes nothing, in the closure."""
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.outside("bad", "q:number")
    w.declare("fine", "a:number")
    quotient = fun("/", "number", "a", "b")
    w.rule("fine", pos("fine", "a"), pos("pair", "a", "b"), neg("bad", quotient))
    number = str(rng.randrange(9))
    w.facts("pair", [[number, "0"]], covers=([0], [[number]]))
    w.facts("bad", [["1"]])
    w.entry("fine", [0], [[number]], [[number]])
    return w.conclude("UNRESOLVED", "fine", number)


def error_in_an_atom(rng: random.Random) -> Writer:
    """A positive atom with ⚡ may be any row; another ⚡ test keeps the instance too."""
    w = Writer()
    w.outside("pair", "a:number b:number")
    w.outside("good", "q:number s:symbol")
    w.declare("fine", "s:symbol")
    quotient = fun("/", "number", "a", "b")
    w.rule(
        "fine",
        pos("fine", "s"),
        pos("pair", "a", "b"),
        pos("good", quotient, "s"),
        compare("<", quotient, con("number", "3")),
    )
    w.facts("pair", [[str(rng.randrange(9)), "0"]], covers=([], [[]]))
    w.facts("good", [["1", "x"]], covers=([0], [["1"]]))
    w.entry("fine", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "fine", "y")


def constants_in_atoms(rng: random.Random) -> Writer:
    """Constants and functions in atoms select rows; ⋆ passes them."""
    w = Writer()
    w.outside("cell", "x:number y:number v:symbol")
    w.declare("found", "v:symbol")
    w.rule(
        "found",
        pos("found", "v"),
        pos("cell", "x", con("number", "1"), "w"),
        pos("cell", fun("+", "number", "x", con("number", "1")), con("number", "2"), "v"),
    )
    rows = [["1", "1", "a"], ["2", "2", "b"], ["2", "1", "c"], ["3", "9", "d"]]
    w.facts("cell", rows, covers=([], [[]]))
    w.opens("cell", [None, "2", "e"])
    w.opens("cell", ["2", None, "f"])
    w.entry("found", [], [[]], [["b"], ["e"], ["f"]])
    return w.conclude("DISPROVED", "found", rng.choice(["a", "c", "d"]))


def head_with_a_constant(rng: random.Random) -> Writer:
    """A constant of the head is compared with the key."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.declare("level", "c:symbol l:symbol")
    w.rule("level", pos("level", "c", con("symbol", "gold")), pos("member", "c"))
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.entry("level", [0, 1], [[who, "gold"], [who, "silver"]], [[who, "gold"]])
    return w.conclude("DISPROVED", "level", who, "silver")


def outside_and_derived(rng: random.Random) -> Writer:
    """A predicate with rows from both sides: coverage and closure are both needed."""
    w, who = Writer(), customer(rng)
    w.outside("vip", "c:symbol")
    w.outside("rich", "c:symbol")
    w.rule("vip", pos("vip", "c"), pos("rich", "c"))
    w.facts("vip", [["Y" + who]], covers=([0], [[who]]))
    w.facts("rich", [["Z" + who]], covers=([0], [[who]]))
    w.entry("vip", [0], [[who]])
    return w.conclude("DISPROVED", "vip", who)


def outside_only(rng: random.Random) -> Writer:
    """A goal about rows from outside, with no rule at all."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.facts("member", [["Z" + who]], covers=([0], [[who]]))
    w.tree["header"]["snapshot"] = rng.choice(["not one snapshot"])
    return w.conclude("DISPROVED", "member", who)


def unknown_predicate_has_no_rows(rng: random.Random) -> Writer:
    """What nothing derives and nobody may tell has no rows."""
    w = Writer()
    w.declare("ghost", "c:symbol")
    w.tree["header"]["snapshot"] = None
    return w.conclude("DISPROVED", "ghost", customer(rng))


def two_closures_accepted(rng: random.Random) -> Writer:
    """An absence is worth the weakest thing that was accepted to close it."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("friend", "c:symbol")
    w.declare("known", "c:symbol")
    w.rule("member", pos("known", "c"), pos("member", "c"))
    w.rule("friend", pos("known", "c"), pos("friend", "c"))
    first = w.assume("closure", "members are complete", "0.8")
    w.assume("rule", "not used", "0.1")
    second = w.assume("fall-through", "friends came from elsewhere", "0.6")
    for name, assumption in (("member", first), ("friend", second)):
        w.opens(name, [who], assumption)
        w.cover(name, [0], [[who]])
    w.entry("known", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "known", who, under=(first, second), confidence="0.6")


def best_of_two_proofs_of_a_row(rng: random.Random) -> Writer:
    """A row that an authority gives needs no assumption, though somebody says it as well."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("blocked", "c:symbol")
    w.declare("welcome", "c:symbol")
    w.rule("welcome", pos("welcome", "c"), pos("member", "c"), neg("blocked", "c"))
    said = w.assume("fact", "alice says so", "0.9")
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.facts("blocked", [[who]], origin="USER_PROVIDED", confidence="0.9", assumption=said)
    w.facts("blocked", [[who]])
    w.entry("welcome", [0], [[who]])
    return w.conclude("DISPROVED", "welcome", who)


def certain_by_node_and_by_source(rng: random.Random) -> Writer:
    """A row of a sum that is a node as well counts with the better of both."""
    w = Writer()
    w.outside("given", "k:symbol v:number")
    w.outside("start", "x:symbol")
    w.declare("result", "r:number")
    total = agg("sum", "r", "v", pos("given", "k", "v"))
    rule = w.rule("fold", pos("result", "r"), pos("start", "x"), total)
    row = ["a", str(rng.randrange(1, 9))]
    w.facts("start", [["go"]], confidence="0.9")
    w.facts("given", [row], confidence="0.5")
    w.facts("given", [row], confidence="0.7", covers=([], [[]]))
    w.given("given", *row, confidence="0.5")
    start = w.given("start", "go", confidence="0.9")
    w.derived(rule, [row[1]], {"x": "go", "r": row[1]}, [start, None], "0.7")
    return w.conclude("PROVED", "result", row[1], confidence="0.7")


def fold_beside_a_node(rng: random.Random) -> Writer:
    """A ground atom in the body is a node; it needs no coverage."""
    w = Writer()
    w.outside("given", "k:symbol v:number")
    w.outside("switch", "x:symbol")
    w.declare("result", "r:number")
    on = con("symbol", "on")
    total = agg("sum", "r", "v", pos("switch", on), pos("given", "k", "v"))
    rule = w.rule("fold", pos("result", "r"), pos("switch", on), total)
    row = ["a", str(rng.randrange(1, 9))]
    w.facts("switch", [["on"]])
    w.facts("given", [row], covers=([], [[]]))
    w.derived(rule, [row[1]], {"r": row[1]}, [w.given("switch", "on"), None])
    return w.conclude("PROVED", "result", row[1])


def fold_over_both_sides(rng: random.Random) -> Writer:
    """One predicate is covered as a whole outside and key by key inside: the other comes first."""
    w, who = Writer(), customer(rng)
    w.outside("base", "c:symbol")
    w.outside("both", "c:symbol")
    w.outside("list", "c:symbol k:symbol")
    w.declare("result", "n:number")
    w.rule("both", pos("both", "c"), pos("base", "c"))
    count = agg("count", "n", None, pos("both", "c"), pos("list", "c", "k"))
    rule = w.rule("fold", pos("result", "n"), pos("base", "x"), count)
    w.facts("base", [["x"]], covers=([0], [[who]]))
    w.facts("both", [[who]], covers=([], [[]]))
    w.facts("list", [[who, "1"], [who, "2"]], covers=([], [[]]))
    w.entry("both", [0], [[who]])
    w.derived(rule, ["2"], {"n": "2", "x": "x"}, [w.given("base", "x"), None])
    return w.conclude("PROVED", "result", "2")


def star_of_an_unserved_atom_in_a_test(rng: random.Random) -> Writer:
    """What an unserved atom may give is ⋆ in every column that it binds."""
    w, who = Writer(), customer(rng)
    w.outside("tier", "c:symbol t:symbol")
    w.outside("rebate", "t:symbol n:number")
    w.declare("cheap", "c:symbol")
    w.rule(
        "cheap",
        pos("cheap", "c"),
        pos("tier", "c", "t"),
        pos("rebate", "t", "n"),
        compare(">", "n", con("number", "5")),
    )
    w.opens("tier", [who, None])
    w.cover("tier", [0], [[who]])
    w.entry("cheap", [0], [[who]], [[who]])
    return w.conclude("UNRESOLVED", "cheap", who)


def mutual_negation_of_strata(rng: random.Random) -> Writer:
    """Three strata: the second negates the first, the third the second."""
    w, who = Writer(), customer(rng)
    w.outside("base", "c:symbol")
    for name in ("low", "middle", "high"):
        w.declare(name, "c:symbol")
    high = w.rule("high", pos("high", "c"), pos("base", "c"), neg("middle", "c"))
    w.rule("middle", pos("middle", "c"), pos("base", "c"), neg("low", "c"))
    low = w.rule("low", pos("low", "c"), pos("base", "c"))
    w.facts("base", [[who]], covers=([0], [[who]]))
    base = w.given("base", who)
    w.derived(low, [who], {"c": who}, [base])
    w.entry("middle", [0], [[who]])
    w.derived(high, [who], {"c": who}, [base, None])
    return w.conclude("PROVED", "high", who)


def summary_beside_inline_rows(rng: random.Random) -> Writer:
    """Some rows of the summarised group are inline; they fit."""
    w = summary_proved(rng)
    summary = w.tree["summaries"][0]
    w.tree["facts"].append(
        {
            "predicate": "order",
            "source": summary["sources"][0],
            "assumption": None,
            "rows": [["O1", goal_of(w), summary["chunks"][0][2]], ["O2", goal_of(w), "5"]],
        }
    )
    return w.conclude("PROVED", "is_vip", goal_of(w), confidence="0.95")


def summary_of_inline_rows(rng: random.Random) -> Writer:
    """All rows are inline and agree with the summary."""
    w, who = Writer(), customer(rng)
    rules = vip_rules(w)
    amounts = [rng.randrange(900) for _ in range(1001)]
    w.facts("customer", [[who]])
    orders = [[f"O{n}", who, str(a)] for n, a in enumerate(amounts)]
    w.facts("order", orders, confidence="0.9", covers=([1], [[who]]))
    w.summary(rules[0], 1, [who], [chunk(amounts, "all")], 1)
    sum_ = str(sum(amounts))
    bind = {"c": who, "t": sum_}
    w.derived(rules[0], [who, sum_], bind, [w.given("customer", who), None], "0.9")
    return w.conclude("PROVED", "spend", who, sum_, confidence="0.9")


def summarised(
    function: str, kind: str, chunks: list[list[object]], claimed: str, result: str
) -> Writer:
    """Return a proof of a fold from chunks alone, of two sources."""
    w = Writer()
    w.outside("given", f"k:symbol v:{kind}")
    w.outside("start", "x:symbol")
    w.declare("result", f"r:{result}")
    target = None if function == "count" else "v"
    rule = w.rule(
        "fold",
        pos("result", "r"),
        pos("start", "x"),
        agg(function, "r", target, pos("given", "k", "v"), compare("!=", "k", con("symbol", "x"))),
    )
    w.facts("start", [["go"]])
    first = w.source([], "CONFIG", "0.6", count=5)
    second = w.source([], "DATABASE", "0.9", count=5000)
    w.summary(rule, 1, [], chunks, second, first)
    w.derived(rule, [claimed], {"x": "go", "r": claimed}, [w.given("start", "go"), None], "0.6")
    return w.conclude("PROVED", "result", claimed, confidence="0.6")


def full(count: int, total: str | None, least: str | None, greatest: str | None) -> list[object]:
    return [count, total, least, greatest, sha256(f"{count} {total}")]


def count_of_chunks(size: int, chunks: int, rest: int = 0) -> Writer:
    """Return a proof of a count from so many full chunks and perhaps one that is not."""
    counts = [size] * chunks + [rest] * bool(rest)
    listed = [full(one, None, None, None) for one in counts]
    return summarised("count", "symbol", listed, str(sum(counts)), "number")


def summary_of_full_chunks(_: random.Random) -> Writer:
    return count_of_chunks(1024, 2)


def summary_of_as_many_chunks_as_allowed(_: random.Random) -> Writer:
    return count_of_chunks(1024, 512)


def summary_of_larger_chunks(_: random.Random) -> Writer:
    """One row more than fits into the small ones."""
    return count_of_chunks(2048, 256, 1)


SUMMARIES: Final[tuple[tuple[str, str, list[list[object]], str, str], ...]] = (
    (
        "max",
        "number",
        [full(1024, "10240/1", "10", "10"), full(2, "18/1", "9", "9")],
        "10",
        "number",
    ),
    (
        "sum",
        "Decimal",
        [
            full(1024, f"1/{10**38 // 1024}", "0." + "0" * 37 + "1", "0." + "0" * 37 + "1"),
            full(1, "0/1", "0", "0"),
        ],
        "0." + "0" * 34 + "1024",
        "Decimal",
    ),
    (
        "count",
        "symbol",
        [full(1024, None, None, None), full(1, None, None, None)],
        "1025",
        "number",
    ),
    (
        "min",
        "Date",
        [full(1024, None, "2024-01-02", "2024-05-01"), full(2, None, "2024-01-01", "2024-01-01")],
        "2024-01-01",
        "Date",
    ),
    ("max", "symbol", [full(1024, None, "a", "b"), full(2, None, "a", "c")], "c", "symbol"),
    ("max", "number", [full(1024, "9216/1", "9", "9"), full(2, "19/1", "9", "10")], "10", "number"),
    (
        "min",
        "number",
        [full(1024, "10240/1", "10", "10"), full(2, "19/1", "9", "10")],
        "9",
        "number",
    ),
    ("min", "number", [full(1024, "9216/1", "9", "9"), full(2, "20/1", "10", "10")], "9", "number"),
    (
        "mean",
        "number",
        [full(1024, "0/1", "0", "0"), full(2, "3/1", "1", "2")],
        (3 / 1026).hex(),
        "float",
    ),
    (
        "sum",
        "Decimal",
        [full(1024, "1536/1", "1.5", "1.5"), full(1, "-1/4", "-0.25", "-0.25")],
        "1535.75",
        "Decimal",
    ),
    (
        "sum",
        "float",
        [full(1024, "1024/1", (0.0).hex(), (2.0).hex()), full(1, "3/2", (1.5).hex(), (1.5).hex())],
        (1025.5).hex(),
        "float",
    ),
    (
        "sum",
        "number",
        [full(1024, "-512/1", "-1", "0"), full(2, "-1/1", "-1", "0")],
        "-513",
        "number",
    ),
    ("sum", "number", [full(1024, "1023/1", "0", "2"), full(3, "4/1", "0", "2")], "1027", "number"),
)


def some_lonely(rng: random.Random) -> Writer:
    """A negation of any, in a goal with a variable: the closure ranges over everybody."""
    w, who = Writer(), customer(rng)
    lonely(w)
    w.facts("member", [[who], ["Z" + who]], covers=([], [[]]))
    w.facts("order", [["O1", who, "5"]])
    w.entry("lonely", [], [[]], [["Z" + who]])
    return w.conclude("DISPROVED", "lonely", who)


def every_construct(_: random.Random) -> Writer:
    """A program with each construct once, for the printer; the goal is a fact."""
    w = Writer()
    w.outside("p", "x:number s:symbol d:Date f:float m:Decimal b:Bool")
    w.outside("r", "x:number")
    w.declare("q", "x:number s:symbol")
    atom = ("x", "s", "d", "f", "m", "b")
    w.rule(
        "calls",
        pos("q", fun("neg", "number", "x"), fun("cat", "symbol", "s", con("symbol", 'a"\\\n\x1b'))),
        pos("p", *atom),
        neg("r", fun("+", "number", "x", con("number", "-1"))),
        compare("match", con("symbol", "C[0-9]+"), "s"),
        compare("!match", con("symbol", "x"), "s"),
        compare("contains", con("symbol", "C"), "s"),
        compare("!contains", con("symbol", "x"), "s"),
        compare("!=", "b", con("Bool", "false")),
        compare("<", "d", con("Date", "2024-02-29")),
        compare(">", "f", con("float", (0.1).hex())),
        compare("<=", "m", con("Decimal", "10.5")),
        compare("=", "y", fun("as", "number", "m")),
        compare(">=", "y", con("number", "2")),
        compare("<", fun("bnot", "number", "x"), fun("lnot", "number", "y")),
        compare("=", fun("band", "number", "x", "y"), con("number", "0")),
        agg("count", "n", None, pos("r", "z"), compare("<", "z", "n2")),
        agg("max", "n2", fun("*", "number", "k", con("number", "2")), pos("r", "k"), neg("r", "x")),
        y="number",
        n="number",
        n2="number",
    )
    w.rule("again", pos("q", "?v", "_w"), pos("q", "?v", "_w"))
    w.facts("r", [["1"]])
    w.given("r", "1")
    return w.conclude("PROVED", "r", "1")


def hostile_texts(rng: random.Random) -> Writer:
    """Texts that would repaint a terminal, in every place that is printed."""
    evil = "\x1b[2J\u202eevil\n\rPROVED"
    w = gold_by_user(rng)
    w.tree["assumptions"][0]["text"] = evil
    w.tree["sources"][0].update(name=evil, query=evil, author=evil)
    w.tree["rules"][0]["id"] = evil
    w.tree["record"]["executed"][0] = None
    return w.conclude("PROVED_UNDER", "gold", goal_of(w), under=(0,), confidence="0.9")


def search_stopped(rng: random.Random) -> Writer:
    """A search that ended early says: at least."""
    w = gold_by_user(rng)
    w.tree["header"]["search"] = "stopped"
    return w.conclude("PROVED_UNDER", "gold", goal_of(w), under=(0,), confidence="0.9")


def search_stopped_at_certainty(rng: random.Random) -> Writer:
    w = gold_by_fall_through(rng)
    w.tree["header"]["search"] = "stopped"
    return w.conclude("PROVED_UNDER", "gold", goal_of(w), under=(0,))


def search_stopped_unresolved(rng: random.Random) -> Writer:
    w = gold_conflict(rng)
    w.tree["header"]["search"] = "stopped"
    return w.conclude("UNRESOLVED", "gold", goal_of(w))


def open_rows_elsewhere(rng: random.Random) -> Writer:
    """Open rows that match in one column and not in the other are no possible rows."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("friend", "a:symbol b:symbol")
    w.declare("alone", "a:symbol")
    w.rule("alone", pos("alone", "c"), pos("member", "c"), neg("friend", "c", con("symbol", "A")))
    w.facts("member", [[who]])
    w.cover("friend", [], [[]], w.source([]))
    w.opens("friend", [None, "B"])
    w.opens("friend", ["Z" + who, None])
    w.derived(0, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "alone", who)


def kinds_of_goals(rng: random.Random) -> Writer:
    """A goal and missing rows with a value of each kind."""
    w = Writer()
    w.outside("p", "x:number u:unsigned f:float m:Decimal d:Date t:Timestamp b:Bool s:symbol")
    row = ["-1", "1", (0.1).hex(), "1.5", "2024-02-29", "2024-02-29T00:00:00.000000Z", "true", "s"]
    w.opens("p", [*row[:7], None])
    w.cover("p", [0], [["-1"]], w.source([], count=5))
    return w.conclude("UNRESOLVED", "p", *row, missing=(["p", [*row[:7], None]],))


def no_columns(_: random.Random) -> Writer:
    """Predicates without columns."""
    w = Writer()
    w.outside("rain", "")
    w.outside("wind", "")
    w.declare("storm", "")
    rule = w.rule("storm", pos("storm"), pos("rain"), neg("wind"))
    w.facts("rain", [[]])
    w.cover("wind", [], [[]], w.source([]))
    w.derived(rule, [], {}, [w.given("rain"), None])
    return w.conclude("PROVED", "storm")


def texts(operator: str, left: str, right: str, size: int) -> Writer:
    """Return a proof that a long text compares so."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("long", "s:symbol")
    joined = fun("cat", "symbol", "s", con("symbol", right * size))
    rule = w.rule(
        "long", pos("long", "s"), pos("text", "s"), compare(operator, con("symbol", left), joined)
    )
    w.facts("text", [[right]])
    w.derived(rule, [right], {"s": right}, [w.given("text", right), None])
    return w.conclude("PROVED", "long", right)


def long_text(_: random.Random) -> Writer:
    # 65,280 characters are 255 steps of 256, and another number of steps of 255 or 257.
    return texts("contains", "aa", "a", 65_277)


def long_match(_: random.Random) -> Writer:
    return texts("match", "(a|b)*", "a", 100)


def long_mismatch(_: random.Random) -> Writer:
    return texts("!match", "b*", "a", 100)


NAME_LETTERS: Final = f"{string.ascii_letters}{string.digits}_?.$#@~"


def every_letter_of_a_name(_: random.Random) -> Writer:
    """Names may use all letters that are allowed, even at once."""
    w = Writer()
    w.outside(NAME_LETTERS, "x:symbol")
    w.declare("p", "x:symbol")
    w.rule("all", pos("p", f"?{NAME_LETTERS}"), pos(NAME_LETTERS, f"?{NAME_LETTERS}"))
    w.facts(NAME_LETTERS, [["a"]])
    bind = {f"?{NAME_LETTERS}": "a"}
    w.derived(0, ["a"], bind, [w.given(NAME_LETTERS, "a")])
    return w.conclude("PROVED", "p", "a")


def summary_of_floats(whole: int) -> Writer:
    """Return a sum of 1,024 floats from 1 to 32, a little above a whole number of so many."""
    ends = [(1.0).hex(), (32.0).hex()]
    total = f"{whole * 2**3312 + 1}/{2**3312}"
    chunks = [full(1024, total, *ends), full(1, "0/1", (0.0).hex(), (0.0).hex())]
    return summarised("sum", "float", chunks, float(whole).hex(), "float")


def summary_with_the_longest_fraction(_: random.Random) -> Writer:
    """The sum takes 2,000 characters; of 15,000 it would take one more."""
    return summary_of_floats(1500)


def counted(sizes: tuple[int, int], *body: str) -> Writer:
    """Return a count over two atoms that are both served; the first row of each joins."""
    w = Writer()
    w.outside("start", "x:symbol")
    w.declare("result", "n:number")
    atoms = []
    for name, terms, size in zip(("one", "two"), body, sizes, strict=True):
        variables = terms.split()
        w.outside(name, " ".join(f"{variable}:number" for variable in variables))
        rows = [[str(row)] * len(variables) for row in range(size)]
        w.facts(name, rows, covers=([], [[]]))
        atoms.append(pos(name, *variables))
    w.rule("count", pos("result", "n"), pos("start", "x"), agg("count", "n", None, *atoms))
    w.facts("start", [["go"]])
    count = str(min(sizes))
    w.derived(0, [count], {"x": "go", "n": count}, [w.given("start", "go"), None])
    return w.conclude("PROVED", "result", count)


def aggregate_with_a_narrow_atom_behind(_: random.Random) -> Writer:
    """The steps tell that the atom with fewer unbound columns is taken first."""
    return counted((9, 2), "y z", "y")


def aggregate_with_a_narrow_atom_in_front(_: random.Random) -> Writer:
    return counted((2, 9), "y", "y z")


def aggregate_with_a_wide_small_atom(_: random.Random) -> Writer:
    return counted((9, 2), "y", "y z")


def aggregate_with_atoms_of_equal_width(_: random.Random) -> Writer:
    """The steps tell that of two atoms alike the first is taken."""
    return counted((9, 2), "y z", "z u")


def premises_used_twice(_: random.Random) -> Writer:
    """Each node rests twice on the one before: there are 2^40 ways down, and 81 nodes."""
    w = Writer()
    w.outside("start", "x:number")
    w.outside("next", "x:number y:number")
    w.declare("up", "x:number")
    w.rule("first", pos("up", "x"), pos("start", "x"))
    w.rule("then", pos("up", "y"), pos("up", "x"), pos("up", "x"), pos("next", "x", "y"))
    w.facts("start", [["0"]])
    w.facts("next", [[str(place), str(place + 1)] for place in range(40)])
    up = w.derived(0, ["0"], {"x": "0"}, [w.given("start", "0")])
    for place in range(40):
        here, there = str(place), str(place + 1)
        step = w.given("next", here, there)
        up = w.derived(1, [there], {"x": here, "y": there}, [up, up, step])
    return w.conclude("PROVED", "up", "40")


MORE: Final[tuple[Make, ...]] = (
    premises_used_twice,
    aggregate_with_a_narrow_atom_behind,
    aggregate_with_a_narrow_atom_in_front,
    aggregate_with_a_wide_small_atom,
    aggregate_with_atoms_of_equal_width,
    every_letter_of_a_name,
    summary_of_as_many_chunks_as_allowed,
    summary_of_full_chunks,
    summary_of_larger_chunks,
    summary_with_the_longest_fraction,
    long_match,
    long_mismatch,
    long_text,
    no_columns,
    match_just_not_too_large,
    match_that_costs_only_its_reading,
    match_that_may_get_too_large,
    match_too_large,
    summary_of_inline_dates,
    fold_of_an_outer_target,
    half_of_a_half,
    first_of_two_voices,
    texts_of_the_world,
    one_source_of_two_predicates,
    star_before_the_empty_text,
    fold_error_in_an_atom,
    fold_against_a_row,
    fold_against_an_unknown_row,
    long_body,
    mean_of_nothing,
    fold_beside_a_node,
    fold_over_both_sides,
    star_of_an_unserved_atom_in_a_test,
    every_construct,
    hostile_texts,
    kinds_of_goals,
    open_rows_elsewhere,
    search_stopped,
    search_stopped_at_certainty,
    search_stopped_unresolved,
    best_of_two_proofs_of_a_row,
    certain_by_node_and_by_source,
    closure_with_a_star_row,
    constants_in_atoms,
    error_in_a_negation,
    error_in_an_atom,
    fold_against_a_key,
    fold_error_in_a_negation,
    fold_error_in_a_test,
    fold_in_the_only_order_that_is_served,
    fold_of_an_error,
    fold_of_an_unknown_group,
    fold_of_an_unknown_target,
    fold_of_doubtful_rows,
    fold_of_nodes_in_the_closure,
    fold_of_nothing,
    fold_of_nothing_with_a_key,
    fold_overflows,
    fold_twice,
    fold_unknown_against_a_key,
    fold_with_a_function_in_an_atom,
    fold_with_a_repeated_variable,
    head_with_a_constant,
    mutual_negation_of_strata,
    outside_and_derived,
    outside_only,
    repeated_variable,
    repeated_variable_in_the_head,
    repeated_variable_meets_star,
    some_lonely,
    star_from_an_error_meets_a_value,
    star_in_a_negation,
    star_in_a_negation_of_any,
    star_in_a_test,
    star_meets_a_value,
    summary_beside_inline_rows,
    summary_of_inline_rows,
    two_closures_accepted,
    unknown_predicate_has_no_rows,
)
