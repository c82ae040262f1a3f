"""Certificates of odd shape, which only one of the checkers once accepted.

In: nothing.  Out: certificates by name, each with the code of its rejection or ``None``.
No engine writes them: a forger, or another writer, may.
"""

from __future__ import annotations

from typing import Final

from tests.check import structures_told_apart
from tests.check.evidence_constructs import proved_by_many
from tests.check.writer import Writer, agg, neg, pos

Case = tuple[bytes, str | None]

EVERYTHING: Final[tuple[list[int], list[list[str]]]] = ([], [[]])


def unresolved_though_a_node_is_an_answer() -> Case:
    """The closure shows no row but "something": the answer is a node that another rule needs."""
    w = Writer()
    w.outside("order", "c:symbol")
    w.outside("member", "c:symbol")
    w.declare("buyer", "c:symbol")
    w.declare("idle", "c:symbol")
    buyer = w.rule("buyer", pos("buyer", "c"), pos("order", "c"))
    w.rule("idle", pos("idle", "c"), pos("member", "c"), neg("buyer", "c"))
    w.facts("order", [["C1"]], covers=EVERYTHING)
    w.facts("member", [["C1"]], covers=EVERYTHING)
    w.derived(buyer, ["C1"], {"c": "C1"}, [w.given("order", "C1")])
    w.entry("buyer", [], [[]], [[None]])
    w.entry("idle", [], [[]], [])
    return w.conclude("UNRESOLVED", "buyer", None).data(), "verdict"


def one_answer_shown_as_rows_of_two_predicates() -> Case:
    """The source gave one row, and two facts are said to be that row."""
    w = Writer()
    w.outside("gold", "c:symbol")
    w.outside("paid", "c:symbol")
    w.declare("vip", "c:symbol")
    vip = w.rule("vip", pos("vip", "c"), pos("gold", "c"), pos("paid", "c"))
    source = w.source([["C1"]])
    for name in ("gold", "paid"):
        group = {"predicate": name, "source": source, "assumption": None, "rows": [["C1"]]}
        w.tree["facts"].append(group)
    w.derived(vip, ["C1"], {"c": "C1"}, [w.given("gold", "C1"), w.given("paid", "C1")])
    return w.conclude("PROVED", "vip", "C1").data(), "source"


def assumption_that_only_a_certain_row_met() -> Case:
    """Whoever looks for a certain row asks nothing that the accepted assumption would answer."""
    w = Writer()
    w.outside("member", "c:symbol")
    w.outside("order", "c:symbol o:symbol")
    w.declare("idle", "c:symbol")
    w.rule("idle", pos("idle", "c"), pos("member", "c"), neg("order", "c", "_o"))
    closed = w.assume("closure", "there are no other orders")
    w.facts("member", [["C1"]], covers=EVERYTHING)
    w.facts("order", [["C1", "7"]])
    w.opens("order", [None, None], closed)
    w.given("member", "C1")
    w.entry("idle", [], [[]], [])
    return w.conclude("PROVED_UNDER", "member", "C1", under=(closed,)).data(), "under"


def certain_row_that_only_an_open_row_tells_of() -> Case:
    """Two values contradict: the row is shown as open, and a node says that it is certain."""
    w = Writer()
    w.outside("member", "c:symbol")
    w.outside("bought", "c:symbol o:symbol")
    w.outside("order", "c:symbol o:symbol")
    w.declare("idle", "c:symbol")
    order = w.rule("order", pos("order", "c", "o"), pos("bought", "c", "o"))
    w.rule("idle", pos("idle", "c"), pos("member", "c"), neg("order", "c", "_o"))
    w.facts("member", [["C1"]], covers=EVERYTHING)
    w.facts("bought", [["C1", "7"]], covers=EVERYTHING)
    w.opens("order", ["C1", "7"])
    w.derived(order, ["C1", "7"], {"c": "C1", "o": "7"}, [w.given("bought", "C1", "7")])
    w.entry("order", [], [[]], [[None, None]])
    w.entry("idle", [], [[]], [])
    return w.conclude("DISPROVED", "idle", "C1").data(), "not-covered"


def count_that_another_order_of_the_body_gives() -> Case:
    """A value that nobody knows is bound: ``sold(⋆, ⋆, ⋆)`` comes before ``line(C1, y, z)``."""
    w = Writer()
    w.outside("customer", "c:symbol")
    w.outside("wants", "c:symbol x:symbol")
    w.outside("sold", "x:symbol y:symbol z:symbol")
    w.outside("line", "c:symbol y:symbol z:symbol")
    w.outside("item", "y:symbol x:symbol")
    w.declare("got", "c:symbol n:number")
    body = (
        pos("wants", "c", "x"),
        pos("sold", "x", "x", "x"),
        pos("line", "c", "y", "z"),
        pos("item", "y", "x"),
    )
    head = pos("got", "c", "n")
    got = w.rule("got", head, pos("customer", "c"), agg("count", "n", None, *body), n="number")
    w.facts("customer", [["C1"]])
    w.opens("wants", ["C1", None])
    w.cover("wants", [0], [["C1"]])
    w.cover("sold", [0, 1, 2], [["1", "1", "1"]], w.source([]))
    w.facts("line", [["C1", "y", "z"]], covers=([0], [["C1"]]))
    w.facts("item", [["y", "1"]], covers=([0], [["y"]]))
    w.derived(got, ["C1", "0"], {"c": "C1", "n": "0"}, [w.given("customer", "C1"), None])
    return w.conclude("PROVED", "got", "C1", "0").data(), "aggregate"


def as_many_nested_as_allowed() -> Case:
    return proved_by_many(256).data(), None


def one_nested_too_many() -> Case:
    return proved_by_many(257).data(), "proof"


MAKERS: Final = (
    unresolved_though_a_node_is_an_answer,
    one_answer_shown_as_rows_of_two_predicates,
    assumption_that_only_a_certain_row_met,
    certain_row_that_only_an_open_row_tells_of,
    count_that_another_order_of_the_body_gives,
    as_many_nested_as_allowed,
    one_nested_too_many,
)


def told_apart() -> tuple[tuple[str, bytes, str | None], ...]:
    """Return all of them: (name, bytes, code)."""
    odd = [(make.__name__, *make()) for make in MAKERS]
    return (*odd, *((name, *make()) for name, make in structures_told_apart.CASES.items()))
