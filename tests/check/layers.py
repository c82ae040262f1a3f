"""Programs with and without strata, and with and without safety, each as a certificate.

In: random dependencies between a few predicates.  Out: a certificate that proves a plain fact, so
that it is accepted exactly when the program is; what is right is found by brute force.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.check.writer import Writer, agg, cmp, con, fun, neg, pos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.check.writer import Literal

Edge = tuple[int, int, str]
Case = tuple[str, bytes, str | None]


def program(edges: list[Edge]) -> bytes:
    """Return a certificate whose predicates depend on each other as the edges say."""
    w = Writer()
    w.outside("base", "x:symbol")
    names = [f"p{n}" for n in range(1 + max(max(a, b) for a, b, _ in edges))]
    for name in names:
        w.declare(name, "x:symbol")
    for number, (head, below, sign) in enumerate(edges):
        literal = {
            "+": pos(names[below], "x"),
            "-": neg(names[below], "x"),
            "a": agg("count", "n", None, pos(names[below], "y")),
        }[sign]
        w.rule(f"r{number}", pos(names[head], "x"), pos("base", "x"), literal, **kinds(sign))  # type: ignore[arg-type]
    return fact(w)


def kinds(sign: str) -> dict[str, str]:
    return {"n": "number"} if sign == "a" else {}


def fact(w: Writer) -> bytes:
    w.facts("base", [["a"]])
    w.given("base", "a")
    return w.conclude("PROVED", "base", "a").data()


def is_stratified(edges: list[Edge]) -> bool:
    """Tell whether no predicate is below itself by way of a negation: all paths are tried."""
    above = {(a, b) for a, b, _ in edges}
    while True:
        longer = above | {(a, d) for a, b in above for c, d in above if b == c}
        if longer == above:
            break
        above = longer
    return not any(sign != "+" and (b == a or (b, a) in above) for a, b, sign in edges)


def layered() -> Iterator[Case]:
    rng = random.Random(7)
    for number in range(120):
        size = rng.randrange(2, 7)
        edges = [
            (
                rng.randrange(size),
                rng.randrange(size),
                rng.choice("+++-a" if number % 2 else "++++-"),
            )
            for _ in range(rng.randrange(1, 2 * size))
        ]
        yield f"layers {number}", program(edges), None if is_stratified(edges) else "strata"


def chain(*order: int) -> bytes:
    """Return a rule of equations, each a step from one variable to the next, in some order."""
    w = Writer()
    w.outside("base", "x:symbol")
    w.outside("start", "n:number")
    w.declare("end", "n:number")
    steps = [
        cmp("=", f"v{n + 1}", fun("+", "number", f"v{n}", con("number", "1"))) for n in range(3)
    ]
    body = [steps[n] for n in order]
    w.rule(
        "chain", pos("end", "v3"), *body, pos("start", "v0"), v1="number", v2="number", v3="number"
    )
    return fact(w)


def unsafe(*body: Literal, **kinds: str) -> bytes:
    w = Writer()
    w.outside("base", "x:symbol")
    w.outside("pair", "x:symbol y:symbol")
    w.outside("size", "n:number")
    w.declare("head", "x:symbol")
    w.rule("unsafe", pos("head", "x"), pos("base", "x"), *body, **kinds)  # type: ignore[arg-type]
    return fact(w)


def safe_and_unsafe() -> Iterator[Case]:
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)):
        yield f"chain {order}", chain(*order), None
    yield "chain with a gap", chain(0, 2), "safety"
    plus = fun("+", "number", "a", "b")
    both = (cmp("=", "c", plus), cmp("=", "a", con("number", "1")), cmp("=", "b", "a"))
    kinds = {"a": "number", "b": "number", "c": "number"}
    yield "two in one equation", unsafe(*both, **kinds), None
    yield "one of two missing", unsafe(both[0], both[1], **kinds), "safety"
    round_ = (cmp("=", "b", "c"), both[0], both[1])
    yield "a circle through a sum", unsafe(*round_, **kinds), "safety"
    circle = (cmp("=", "a", "b"), cmp("=", "b", "a"))
    yield "a circle", unsafe(*circle, a="number", b="number"), "safety"
    yield "a test binds nothing", unsafe(cmp("<=", "a", con("number", "1")), a="number"), "safety"
    one = con("number", "1")
    inverse = cmp("=", fun("+", "number", "a", one), one)
    yield "an equation is not solved", unsafe(inverse, a="number"), "safety"
    yield (
        "an atom's function binds nothing",
        unsafe(pos("size", fun("neg", "number", "a")), a="number"),
        "safety",
    )
    any_ = neg("pair", "x", "y")
    yield "any", unsafe(any_), None
    yield "any, tested", unsafe(any_, cmp("!=", "y", con("symbol", "b"))), "safety"
    yield "any, twice", unsafe(any_, neg("pair", "y", "x")), "safety"
    yield "any, twice in one atom", unsafe(neg("pair", "y", "y")), "safety"
    yield (
        "any, in a function",
        unsafe(neg("pair", "x", fun("cat", "symbol", "y", "y")), y="symbol"),
        "safety",
    )
    grouped = agg("count", "n", None, pos("pair", "y", "z"))
    yield "any, grouped by", unsafe(any_, grouped, n="number"), "safety"
    result = agg("count", "n", None, pos("pair", "z", "z"))
    yield "any, a result", unsafe(neg("size", "n"), result), None


def safe_and_unsafe_aggregates() -> Iterator[Case]:
    itself = agg("max", "n", "n", pos("size", "k"))
    yield "an aggregate of its result", unsafe(itself, n="number", k="number"), "safety"
    below = agg("count", "n", None, pos("size", "k"), cmp("<", "k", "n"))
    yield "an aggregate below its result", unsafe(below, n="number", k="number"), "safety"
    others = (agg("max", "n", "m", pos("size", "k")), agg("max", "m", "n", pos("size", "k")))
    numbers = {"n": "number", "m": "number", "k": "number"}
    yield "two aggregates of each other", unsafe(*others, **numbers), "safety"
    count = agg("count", "m", None, pos("size", "k"))
    yield "an aggregate of another one", unsafe(others[0], count, **numbers), None
    local = agg("count", "n", None, pos("pair", "z", "z"), neg("pair", "z", "u"))
    yield "any inside an aggregate", unsafe(local, n="number"), "safety"
    tested = agg("count", "n", None, pos("pair", "z", "z"), cmp("<", "u", "z"))
    yield "a local test", unsafe(tested, n="number", u="symbol"), "safety"
    equal = agg("count", "n", None, pos("pair", "z", "z"), cmp("=", "u", "z"))
    yield "a local equation", unsafe(equal, n="number", u="symbol"), None
    first = agg("count", "n", None, cmp("=", "u", con("symbol", "z")), pos("pair", "x", "x"))
    yield "a local constant", unsafe(first, n="number", u="symbol"), None
    head = agg("count", "n", None, cmp("=", "u", "w"), pos("pair", "x", "x"))
    yield "a local circle", unsafe(head, n="number", u="symbol", w="symbol"), "safety"


def programs() -> tuple[Case, ...]:
    return (*layered(), *safe_and_unsafe(), *safe_and_unsafe_aggregates())
