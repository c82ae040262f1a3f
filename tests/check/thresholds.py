"""Good certificates with recursive thresholds: what is listed, what is bounded, what is open.

The rules say who controls whom by the sum of what it holds itself and what those hold that it
controls; or what spreads once enough neighbours have it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from tests.check.certificates import customer
from tests.check.writer import Literal, Term, Writer, agg, con, fun, neg, pos
from tests.check.writer import cmp as compare

Make = Callable[[random.Random], Writer]
Rules = tuple[Writer, int, int, int]

FREE: Final = agg("sum", "s", "w", pos("holds", "x", "v", "y", "w"))
"""Nothing in it keeps a share from being negative."""


def guarded(kind: str = "number", floor: str = "0", operator: str = ">=") -> Literal:
    atom = pos("holds", "x", "v", "y", "w")
    return agg("sum", "s", "w", atom, compare(operator, "w", con(kind, floor)))


def summand(value: str, via: str, *premises: int | None) -> list[Any]:
    return [[value, via], list(premises)]


def control(
    total: Literal,
    bound: Term | str = con("number", "50"),  # noqa: B008  a value that nobody changes
    operator: str = ">",
    kind: str = "number",
    *,
    turned: bool = False,
) -> Rules:
    """Declare the rules; give their numbers: own holdings, those of others, control."""
    w = Writer()
    w.outside("own", f"x:symbol y:symbol w:{kind}")
    w.declare("holds", f"x:symbol v:symbol y:symbol w:{kind}")
    w.declare("controls", "x:symbol y:symbol")
    first = w.rule("own", pos("holds", "x", "x", "y", "w"), pos("own", "x", "y", "w"))
    others = pos("controls", "x", "z"), pos("own", "z", "y", "w")
    second = w.rule("via", pos("holds", "x", "z", "y", "w"), *others, compare("!=", "x", "z"))
    sides = (bound, "s") if turned else ("s", bound)
    compared = compare(operator, *sides)
    held = pos("holds", "x", "a", "y", "b")
    third = w.rule("sum", pos("controls", "x", "y"), held, total, compared, s=kind)
    return w, first, second, third


def held(w: Writer, rule: int, x: str, y: str, share: str) -> int:
    """Add the nodes of a share that x holds itself."""
    given = w.given("own", x, y, share)
    return w.derived(rule, [x, x, y, share], {"x": x, "y": y, "w": share}, [given])


def by(
    w: Writer, rules: Rules, x: str, y: str, held_by: int, listed: list[Any], **more: str
) -> int:
    """Add the node of control by what is listed."""
    row = w.tree["nodes"][held_by]["fact"][1]
    bind = {"x": x, "y": y, "a": row[1], "b": row[3], **more}
    return w.derived(rules[3], [x, y], bind, [held_by, sorted(listed), None])


def _proof(rng: random.Random, rules: Rules, shares: tuple[str, str, str], **more: str) -> Writer:
    """Show that x controls y by its own share and by that of z, which it controls."""
    w, first, second, _ = rules
    x, y, z = customer(rng), "Y1", "Z1"
    upper, own, others = shares
    rows = [[x, z, upper], [x, y, own], [z, y, others]]
    w.facts("own", rows)
    guard = [None] * (len(w.tree["rules"][2]["body"][1][4]) - 1)
    top = held(w, first, x, z, upper)
    over = by(w, rules, x, z, top, [summand(upper, x, top, *guard)], **more)
    mine = held(w, first, x, y, own)
    given = w.given("own", z, y, others)
    theirs = w.derived(
        second, [x, z, y, others], {"x": x, "z": z, "y": y, "w": others}, [over, given, None]
    )
    listed = [summand(own, x, mine, *guard), summand(others, z, theirs, *guard)]
    by(w, rules, x, y, mine, listed, **more)
    return w.conclude("PROVED", "controls", x, y)


def control_by_sum(rng: random.Random) -> Writer:
    return _proof(rng, control(guarded()), ("60", "30", "25"))


def control_at_the_bound(rng: random.Random) -> Writer:
    return _proof(rng, control(guarded(), operator=">="), ("50", "30", "20"))


def control_by_a_turned_comparison(rng: random.Random) -> Writer:
    rules = control(guarded(operator=">"), operator="<", turned=True)
    return _proof(rng, rules, ("60", "30", "21"))


def control_at_the_bound_turned(rng: random.Random) -> Writer:
    total = agg("sum", "s", "w", pos("holds", "x", "v", "y", "w"), _floor("<="))
    return _proof(rng, control(total, operator="<=", turned=True), ("50", "30", "20"))


def _floor(operator: str) -> Literal:
    return compare(operator, con("number", "0"), "w")


def control_by_decimals(rng: random.Random) -> Writer:
    bound = con("Decimal", "50")
    rules = control(guarded("Decimal", "0.5", ">"), bound, kind="Decimal")
    return _proof(rng, rules, ("50.1", "30.5", "19.500000000001"))


def control_beyond_the_kind(rng: random.Random) -> Writer:
    """The total is no number of 64 bits, and counts all the same."""
    most = str(2**64 - 1)
    rules = control(FREE, con("unsigned", most), kind="unsigned", operator=">=")
    return _proof(rng, rules, (most, str(2**64 - 2), "9"))


def control_by_doubled_shares(rng: random.Random) -> Writer:
    doubled = fun("*", "number", "w", con("number", "2"))
    plus = fun("+", "number", doubled, con("number", "0"))
    total = agg("sum", "s", plus, pos("holds", "x", "v", "y", "w"), _floor("<"))
    return _proof(rng, control(total, con("number", "100")), ("51", "30", "21"))


def control_by_a_bound_of_its_own(rng: random.Random) -> Writer:
    """The bound is computed from one of the holdings."""
    rest = fun("-", "number", con("number", "60"), "b")
    return _proof(rng, control(guarded(), rest), ("60", "25", "25"))


def control_unguarded(rng: random.Random) -> Writer:
    """Nothing says that shares are positive, so all rows of both groups have to be there."""
    return _unguarded(rng, ("60", "30", "25"))


def control_unguarded_with_a_share_of_nothing(rng: random.Random) -> Writer:
    """A share of 0 takes nothing away."""
    return _unguarded(rng, ("60", "51", "0"))


def _unguarded(rng: random.Random, shares: tuple[str, str, str]) -> Writer:
    w = _proof(rng, control(FREE), shares)
    x = w.tree["header"]["goal"][1][0]
    return _bounded(w, x, [["Y1"], ["Z1"]], shares)


def control_unguarded_where_a_word_closes(rng: random.Random) -> Writer:
    """That no further share exists is somebody's word, and the totals rest on it."""
    w = control_unguarded(rng)
    x = w.tree["header"]["goal"][1][0]
    closing = w.assume("closure", confidence="0.8")
    w.opens("own", [x, None, None], assumption=closing)
    for node in w.tree["nodes"]:
        if node["kind"] == "rule" and node["rule"] > 0:
            node["confidence"] = "0.8"
    goal = w.tree["header"]["goal"]
    return w.conclude("PROVED_UNDER", goal[0], *goal[1], under=(closing,), confidence="0.8")


def _bounded(w: Writer, x: str, targets: list[list[str]], shares: tuple[str, str, str]) -> Writer:
    """Add the upper bound of what x holds in the targets."""
    upper, own, others = shares
    group = [[x, target] for (target,) in targets]
    rows: list[list[str | None]] = [[x, x, "Y1", own], [x, x, "Z1", upper], [x, "Z1", "Y1", others]]
    w.entry("holds", [0, 2], group, rows, {1: [0, 2, 1]})
    w.entry("controls", [0], [[x]], [[x, "Y1"], [x, "Z1"]])
    w.entry("holds", [0], [[x]])
    w.cover("own", [0], [[x]], 0)
    w.cover("own", [0, 1], [[z, y] for z in ("Y1", "Z1") for y in ("Y1", "Z1")], 0)
    w.cover("own", [0], [["Y1"], ["Z1"]], 0)
    goal = w.tree["header"]["goal"]
    return w.conclude("PROVED", goal[0], *goal[1])


def control_bounded(rng: random.Random) -> Writer:
    """Even with all that x may hold, nothing is beyond the bound."""
    w, *_ = control(FREE)
    x = customer(rng)
    own = str(rng.randrange(20, 46))
    w.facts("own", [[x, "Y1", own], [x, "Y1", "5"], [x, "Y1", "-7"]], covers=([0], [[x]]))
    w.entry("controls", [0], [[x]])
    rows: list[list[str | None]] = [[x, x, "Y1", own], [x, x, "Y1", "5"], [x, x, "Y1", "-7"]]
    w.entry("holds", [0], [[x]], rows)
    return w.conclude("DISPROVED", "controls", x, None)


def control_open(rng: random.Random) -> Writer:
    """One share is not known: it may suffice, and may be negative."""
    w, *_ = control(FREE)
    x = customer(rng)
    w.facts("own", [[x, "Y1", "45"]], covers=([0], [[x], ["Y1"]]))
    w.opens("own", [x, "Y1", None])
    w.entry("controls", [0], [[x]], [[x, "Y1"]])
    w.entry("holds", [0], [[x]], [[x, x, "Y1", "45"], [x, x, "Y1", None]])
    return w.conclude("UNRESOLVED", "controls", x, "Y1", missing=(["own", [x, "Y1", None]],))


def control_perhaps_by_many(rng: random.Random) -> Writer:
    """Each share is known, and whose it is, is not: there may be any number of them."""
    w, *_ = control(guarded())
    x = customer(rng)
    w.facts("own", [], covers=([], [[]]))
    w.opens("own", [None, "Y1", "1"])
    w.opens("own", [x, None, "60"])
    w.entry("controls", [0], [[x]], [[x, None]])
    rows: list[list[str | None]] = [[x, x, None, "60"], [x, x, "Y1", "1"], [x, None, "Y1", "1"]]
    w.entry("holds", [0], [[x]], rows)
    return w.conclude("UNRESOLVED", "controls", x, "Y1", missing=(["own", [x, "Y1", "1"]],))


def control_of_somebody_unknown(rng: random.Random) -> Writer:
    """Whose shares they are is not known, so neither is the group."""
    w, *_ = control(guarded())
    x = customer(rng)
    w.facts("own", [], covers=([0], [[x]]))
    w.opens("own", [x, None, "5"])
    w.entry("controls", [0], [[x]], [[x, None]])
    w.entry("holds", [0], [[x]], [[x, None, None, None]])
    return w.conclude("UNRESOLVED", "controls", x, "Y1", missing=(["own", [x, None, "5"]],))


def control_under_a_word(rng: random.Random) -> Writer:
    """One share is somebody's word."""
    rules = control(guarded())
    w, first, _, _ = rules
    x = customer(rng)
    said = w.assume("fact", confidence="0.9")
    w.facts("own", [[x, "Y1", "45"]])
    more = {"origin": "USER_PROVIDED", "confidence": "0.9", "assumption": said}
    w.facts("own", [[x, "Y1", "9"]], **more)  # type: ignore[arg-type]
    one = held(w, first, x, "Y1", "45")
    given = w.given("own", x, "Y1", "9", confidence="0.9")
    bind = {"x": x, "y": "Y1", "w": "9"}
    two = w.derived(first, [x, x, "Y1", "9"], bind, [given], confidence="0.9")
    node = by(w, rules, x, "Y1", one, [summand("45", x, one, None), summand("9", x, two, None)])
    w.tree["nodes"][node]["confidence"] = "0.9"
    return w.conclude("PROVED_UNDER", "controls", x, "Y1", under=(said,), confidence="0.9")


def spread(
    total: Literal, bound: Term | str = "k", operator: str = ">="
) -> tuple[Writer, int, int]:
    """Declare the rules of what spreads; give their numbers."""
    w = Writer()
    w.outside("seed", "x:symbol")
    w.outside("edge", "x:symbol y:symbol")
    w.outside("need", "x:symbol k:number")
    w.outside("immune", "x:symbol")
    w.declare("hit", "x:symbol")
    first = w.rule("seed", pos("hit", "x"), pos("seed", "x"))
    compared = compare(operator, "n", bound)
    needed = pos("need", "x", "k")
    second = w.rule("spread", pos("hit", "x"), needed, total, compared, n="number")
    return w, first, second


NEIGHBOURS: Final = agg(
    "count", "n", None, pos("hit", "y"), pos("edge", "y", "x"), neg("immune", "y")
)


def spread_by_count(rng: random.Random) -> Writer:
    w, first, second = spread(NEIGHBOURS)
    x = customer(rng)
    w.facts("seed", [["A1"], ["B1"]])
    w.facts("edge", [["A1", x], ["B1", x]])
    w.facts("need", [[x, "2"]])
    w.facts("immune", [["C1"]], covers=([0], [["A1"], ["B1"]]))
    listed = []
    for neighbour in ("A1", "B1"):
        given = w.given("seed", neighbour)
        hit = w.derived(first, [neighbour], {"x": neighbour}, [given])
        listed.append([[neighbour], [hit, w.given("edge", neighbour, x), None]])
    needed = w.given("need", x, "2")
    w.derived(second, [x], {"x": x, "k": "2"}, [needed, listed, None])
    return w.conclude("PROVED", "hit", x)


def spread_from_nothing(rng: random.Random) -> Writer:
    """Where nothing is needed, nothing is listed."""
    w, _, second = spread(NEIGHBOURS)
    x = customer(rng)
    w.facts("need", [[x, "0"]])
    needed = w.given("need", x, "0")
    w.derived(second, [x], {"x": x, "k": "0"}, [needed, [], None])
    return w.conclude("PROVED", "hit", x)


def spread_bounded(rng: random.Random) -> Writer:
    """One neighbour is not enough, and of an unknown need there is no saying."""
    w, *_ = spread(NEIGHBOURS)
    x = customer(rng)
    w.facts("seed", [["A1"]], covers=([], [[]]))
    w.facts("edge", [["A1", x]], covers=([], [[]]))
    w.facts("need", [[x, "2"]], covers=([], [[]]))
    w.opens("need", ["Q1", None])
    w.facts("immune", [], covers=([], [[]]))
    w.entry("hit", [], [[]], [["A1"], ["Q1"]], {1: [0, 1, 2]})
    return w.conclude("DISPROVED", "hit", x)


def spread_past_the_immune(rng: random.Random) -> Writer:
    """A neighbour that is certainly immune does not count."""
    w, *_ = spread(NEIGHBOURS)
    x = customer(rng)
    w.facts("seed", [["A1"], ["B1"]], covers=([], [[]]))
    w.facts("edge", [["A1", x], ["B1", x]], covers=([], [[]]))
    w.facts("need", [[x, "2"]], covers=([], [[]]))
    w.facts("immune", [["B1"]], covers=([], [[]]))
    w.entry("hit", [], [[]], [["A1"], ["B1"]])
    return w.conclude("DISPROVED", "hit", x)


def spread_past_what_a_node_shows_immune(rng: random.Random) -> Writer:
    """That a neighbour is immune is concluded, and nothing but the bound needs it."""
    w = Writer()
    x = customer(rng)
    w.outside("ill", "x:symbol")
    w.outside("edge", "x:symbol y:symbol")
    w.outside("need", "x:symbol k:number")
    w.declare("immune", "x:symbol")
    w.declare("hit", "x:symbol")
    had = w.rule("had", pos("immune", "x"), pos("ill", "x"))
    compared = compare(">=", "n", "k")
    w.rule("spread", pos("hit", "x"), pos("need", "x", "k"), NEIGHBOURS, compared, n="number")
    w.facts("ill", [["B1"]])
    w.facts("edge", [["A1", x], ["B1", x]], covers=([], [[]]))
    w.facts("need", [["A1", "0"], ["B1", "0"], [x, "2"]], covers=([], [[]]))
    w.derived(had, ["B1"], {"x": "B1"}, [w.given("ill", "B1")])
    w.entry("hit", [], [[]], [["A1"], ["B1"]])
    return w.conclude("DISPROVED", "hit", x)


def spread_despite_what_a_node_shows_immune(rng: random.Random) -> Writer:
    """What would take something away is certainly immune, and only that look needs the node."""
    w = Writer()
    x = customer(rng)
    w.outside("ill", "x:symbol")
    w.outside("seed", "x:symbol")
    w.outside("edge", "x:symbol y:symbol w:number")
    w.outside("need", "x:symbol k:number")
    w.declare("immune", "x:symbol")
    w.declare("hit", "x:symbol")
    had = w.rule("had", pos("immune", "x"), pos("ill", "x"))
    first = w.rule("seed", pos("hit", "x"), pos("seed", "x"))
    body = pos("hit", "y"), pos("edge", "y", "x", "w"), neg("immune", "y")
    total = agg("sum", "n", "w", *body)
    needed, compared = pos("need", "x", "k"), compare(">=", "n", "k")
    second = w.rule("spread", pos("hit", "x"), needed, total, compared, n="number")
    w.facts("ill", [["B1"]], covers=([0], [["A1"], ["B1"]]))
    w.facts("seed", [["A1"]], covers=([0], [["A1"]]))
    w.facts("edge", [["A1", x, "3"], ["B1", x, "-5"]], covers=([1], [[x]]))
    w.facts("need", [[x, "2"]], covers=([0], [["A1"]]))
    w.derived(had, ["B1"], {"x": "B1"}, [w.given("ill", "B1")])
    hit = w.derived(first, ["A1"], {"x": "A1"}, [w.given("seed", "A1")])
    listed = [[["3", "A1"], [hit, w.given("edge", "A1", x, "3"), None]]]
    bind = {"x": x, "k": "2"}
    w.derived(second, [x], bind, [w.given("need", x, "2"), listed, None])
    w.entry("immune", [0], [["A1"], ["B1"]], [["B1"]])
    w.entry("hit", [0], [["A1"]], [["A1"]])
    return w.conclude("PROVED", "hit", x)


MORE: Final[tuple[Make, ...]] = (
    control_by_sum,
    control_at_the_bound,
    control_by_a_turned_comparison,
    control_at_the_bound_turned,
    control_by_decimals,
    control_beyond_the_kind,
    control_by_doubled_shares,
    control_by_a_bound_of_its_own,
    control_unguarded,
    control_unguarded_with_a_share_of_nothing,
    control_unguarded_where_a_word_closes,
    control_bounded,
    control_open,
    control_perhaps_by_many,
    control_of_somebody_unknown,
    control_under_a_word,
    spread_by_count,
    spread_from_nothing,
    spread_bounded,
    spread_past_the_immune,
    spread_past_what_a_node_shows_immune,
    spread_despite_what_a_node_shows_immune,
)
