"""Certificates that tell apart what the corpus of the first checker leaves together.

In: nothing.  Out: certificates by name, each with the verdict or with the code of its rejection.
Both checkers judge them; the mutation of the second one found what they are for.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tests.check.catalog import good
from tests.check.writer import Writer, agg, cmp, con, fun, neg, pos, seal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.check.writer import Literal, Tree

    Case = tuple[bytes, str]


def nobody_blocked(assumption: int | None, *, accepted: bool) -> Writer:
    """A goal that an open row may make true, unless the assumption that closes it is accepted."""
    w = Writer()
    w.outside("blocked", "c:symbol")
    declared = w.assume("closure", "the list is complete", "0.5")
    w.opens("blocked", ["C1"], None if assumption is None else declared)
    w.cover("blocked", [0], [["C1"]])
    if accepted:
        return w.conclude("DISPROVED_UNDER", "blocked", "C1", under=(declared,), confidence="0.5")
    return w.conclude("DISPROVED", "blocked", "C1")


def open_until_accepted() -> Case:
    return nobody_blocked(0, accepted=True).data(), "DISPROVED_UNDER"


def open_though_an_assumption_would_close_it() -> Case:
    return nobody_blocked(0, accepted=False).data(), "verdict"


def open_whatever_is_accepted() -> Case:
    return nobody_blocked(None, accepted=True).data(), "verdict"


def coverage_by_two_sources(shown: int) -> Writer:
    """Of the second source not all rows are shown unless it answered as many."""
    w = Writer()
    w.outside("p", "c:symbol")
    one = w.source([])
    two = w.source([], count=shown)
    w.cover("p", [0], [["C1"]], one, two)
    return w.conclude("DISPROVED", "p", "C1")


def two_sources_of_which_one_is_inline() -> Case:
    w = coverage_by_two_sources(7)
    w.tree["header"]["level"] = "C1"
    return seal(w.tree), "DISPROVED"


def two_sources_of_which_one_is_called_inline() -> Case:
    w = coverage_by_two_sources(7)
    w.tree["header"]["level"] = "C3"
    return seal(w.tree), "level"


def two_inline_sources() -> Case:
    w = coverage_by_two_sources(0)
    w.tree["header"]["level"] = "C3"
    return seal(w.tree), "DISPROVED"


def disliked(nodes: tuple[str, ...], rows: tuple[str, ...]) -> Writer:
    """An instance goes where somebody is liked by anybody; derived rows say who likes whom."""
    w = Writer()
    w.outside("person", "a:symbol")
    w.outside("met", "a:symbol b:symbol")
    w.declare("liked", "a:symbol b:symbol")
    w.declare("alone", "a:symbol")
    likes = w.rule("liked", pos("liked", "a", "b"), pos("met", "a", "b"))
    w.rule("alone", pos("alone", "a"), pos("person", "a"), neg("liked", "a", "_b"))
    w.facts("person", [["A"]], covers=([0], [["A"]]))
    w.facts("met", [["A", "B"], ["A", "C"]], covers=([0], [["A"]]))
    for other in nodes:
        given = w.given("met", "A", other)
        w.derived(likes, ["A", other], {"a": "A", "b": other}, [given])
    if rows:
        w.entry("liked", [0], [["A"]], [["A", other] for other in rows])
    w.entry("alone", [0], [["A"]])
    return w.conclude("DISPROVED", "alone", "A")


def any_row_that_is_a_node() -> Case:
    return disliked(("B",), ("B", "C")).data(), "DISPROVED"


def any_later_row_that_is_a_node() -> Case:
    return disliked(("C",), ("B", "C")).data(), "DISPROVED"


def any_of_two_nodes_needs_one() -> Case:
    return disliked(("B", "C"), ("B", "C")).data(), "unused"


def any_without_a_certain_row() -> Case:
    return disliked((), ("B", "C")).data(), "not-covered"


def any_that_the_closure_does_not_show() -> Case:
    return disliked(("B",), ()).data(), "not-covered"


def counted(
    body: tuple[Literal, ...], count: str, confidence: str = "1", **groups: tuple[str, ...]
) -> Writer:
    """A count over what is given of ``one``, ``two`` and ``said`` (on a word of 0.5)."""
    w = Writer()
    for name in ("one", "two", "said"):
        w.outside(name, "x:number")
    w.declare("n", "n:number")
    w.rule("n", pos("n", "n"), agg("count", "n", None, *body), n="number", y="number")
    for name in ("one", "two"):
        w.facts(name, [[value] for value in groups.get(name, ())], covers=([], [[]]))
    word = w.assume("fact", "alice says so", "0.5")
    said = [[value] for value in groups.get("said", ())]
    w.facts("said", said, origin="USER_PROVIDED", confidence="0.5", assumption=word)
    w.cover("said", [], [[]], w.source([]))
    w.derived(0, [count], {"n": count}, [None], confidence)
    return w.conclude("PROVED_UNDER", "n", count, under=(word,), confidence=confidence)


def count_of_what_was_said() -> Case:
    body = (pos("one", "x"), pos("said", "x"))
    return counted(body, "1", "0.5", one=("1", "2"), said=("2",)).data(), "PROVED_UNDER"


def count_worth_more_than_what_was_said() -> Case:
    body = (pos("one", "x"), pos("said", "x"))
    return counted(body, "1", "1", one=("1", "2"), said=("2",)).data(), "confidence"


def count_without_what_was_said() -> Case:
    body = (pos("one", "x"), neg("said", "x"))
    return counted(body, "1", "1", one=("1", "2"), said=("2",)).data(), "PROVED_UNDER"


def count_of_what_nobody_denies() -> Case:
    body = (pos("one", "x"), neg("said", "x"))
    tree = counted(body, "1", one=("1", "2"), said=("2",)).tree
    tree["coverage"] = [one for one in tree["coverage"] if one["predicate"] != "said"]
    tree["header"]["level"] = "C3"
    return seal(tree), "unserved"


def count_of_what_a_test_leaves() -> Case:
    next_one = cmp("=", "y", fun("+", "number", "x", con("number", "1")))
    body = (pos("one", "x"), next_one, pos("two", "y"), cmp("!=", "y", con("number", "4")))
    found = counted(body, "1", one=("1", "2", "3"), two=("3", "4"), said=()).tree
    found["header"].update(verdict="PROVED", under=[])
    return seal(found), "PROVED"


def total_by_key(*rows: list[str | None]) -> Writer:
    """The result of an aggregate stands in a column of the closure's keys."""
    w = Writer()
    w.outside("order", "c:symbol a:number")
    w.declare("total", "c:symbol n:number")
    total = agg("sum", "n", "a", pos("order", "c", "a"))
    w.rule("total", pos("total", "c", "n"), pos("order", "c", "_a"), total, a="number")
    w.facts("order", [["C1", "5"]], covers=([0], [["C1"]]))
    w.entry("total", [0, 1], [["C1", "5"], ["C1", "6"]], list(rows))
    return w.conclude("DISPROVED", "total", "C1", "6")


def key_that_is_the_total() -> Case:
    return total_by_key(["C1", "5"]).data(), "DISPROVED"


def key_that_is_the_total_is_not_covered() -> Case:
    return total_by_key().data(), "not-covered"


def total_of_an_unknown(*rows: list[str | None]) -> Writer:
    """What nobody knows takes the exact value of an aggregate."""
    w = Writer()
    w.outside("order", "c:symbol a:number")
    w.outside("told", "c:symbol n:number")
    w.declare("total", "c:symbol n:number")
    total = agg("sum", "n", "a", pos("order", "c", "a"))
    w.rule("total", pos("total", "c", "n"), pos("told", "c", "n"), total, a="number")
    w.facts("order", [["C1", "5"]], covers=([0], [["C1"]]))
    w.opens("told", ["C1", None])
    w.cover("told", [0], [["C1"]])
    w.entry("total", [0], [["C1"]], list(rows))
    return w.conclude("DISPROVED", "total", "C1", "6")


def unknown_takes_the_total() -> Case:
    return total_of_an_unknown(["C1", "5"]).data(), "DISPROVED"


def unknown_that_takes_the_total_is_not_covered() -> Case:
    return total_of_an_unknown().data(), "not-covered"


def quotient(divisor: str, *rows: list[str | None]) -> Writer:
    """A function stands in a column of the closure's keys."""
    w = Writer()
    w.outside("p", "x:number")
    w.declare("h", "x:number")
    w.rule("h", pos("h", fun("/", "number", con("number", "10"), "x")), pos("p", "x"))
    w.facts("p", [[divisor]], covers=([], [[]]))
    w.entry("h", [0], [["5"], ["6"]], list(rows))
    return w.conclude("DISPROVED", "h", "6")


def head_of_another_key() -> Case:
    return quotient("1").data(), "DISPROVED"


def head_of_one_key() -> Case:
    return quotient("2", ["5"]).data(), "DISPROVED"


def head_of_one_key_is_not_covered() -> Case:
    return quotient("2").data(), "not-covered"


def head_without_a_value_is_of_every_key() -> Case:
    return quotient("0").data(), "not-covered"


def strangers(order: list[int], *rows: list[str | None]) -> Writer:
    """An absence of two variables that may come before one of them is bound."""
    w = Writer()
    for name in ("member", "guest"):
        w.outside(name, "c:symbol")
    w.outside("met", "c:symbol d:symbol")
    w.declare("strange", "c:symbol d:symbol")
    body = (pos("member", "c"), pos("guest", "d"), neg("met", "c", "d"))
    w.rule("strange", pos("strange", "c", "d"), *body)
    w.facts("member", [["A"]], covers=([0], [["A"]]))
    w.facts("guest", [["B"], ["C"]], covers=([], [[]]))
    w.facts("met", [["A", "B"]])
    w.entry("strange", [0], [["A"]], list(rows), orders={0: order})
    return w.conclude("DISPROVED", "strange", "A", "D")


def absence_after_its_variables() -> Case:
    return strangers([0, 1, 2], ["A", "C"]).data(), "DISPROVED"


def absence_between_its_variables() -> Case:
    return strangers([0, 2, 1], ["A", "B"], ["A", "C"]).data(), "DISPROVED"


def absence_between_its_variables_removes_nothing() -> Case:
    return strangers([0, 2, 1]).data(), "not-covered"


def order_of_a_literal_that_is_not_there() -> Case:
    return strangers([0, 1, 3], ["A", "C"]).data(), "closure"


def controlled(parts: tuple[str, ...], *rows: list[str | None]) -> Writer:
    """A recursive threshold whose summands are tenths of what is held."""
    w = Writer()
    for name in ("start", "asked"):
        w.outside(name, "a:symbol c:symbol")
    w.outside("held", "b:symbol c:symbol x:number")
    w.declare("controls", "a:symbol c:symbol")
    w.rule("first", pos("controls", "a", "c"), pos("start", "a", "c"))
    share = fun("/", "number", con("number", "10"), "x")
    total = agg("sum", "s", share, pos("controls", "a", "b"), pos("held", "b", "c", "x"))
    beyond = cmp(">", "s", con("number", "5"))
    w.rule("next", pos("controls", "a", "c"), pos("asked", "a", "c"), total, beyond, s="number")
    w.facts("start", [["A", "B"]], covers=([0], [["A"]]))
    w.facts("asked", [["A", "C"]], covers=([0], [["A"]]))
    w.facts("held", [["B", "C", part] for part in parts], covers=([], [[]]))
    w.entry("controls", [0], [["A"]], [["A", "B"], *rows])
    return w.conclude("DISPROVED", "controls", "A", "Z")


def most_that_is_too_little() -> Case:
    return controlled(("10", "5", "-1")).data(), "DISPROVED"


def most_that_is_enough() -> Case:
    return controlled(("10", "2", "-1")).data(), "not-covered"


def most_that_is_enough_and_covered() -> Case:
    return controlled(("10", "2", "-1"), ["A", "C"]).data(), "DISPROVED"


def most_of_a_share_without_a_value() -> Case:
    return controlled(("0", "10")).data(), "not-covered"


def unguarded(possible: str | None) -> Writer:
    """A sum of nothing is enough, as no row takes from it; of one row only the summand is known."""
    w = Writer()
    w.outside("e", "n:number s:symbol k:number")
    w.declare("p", "s:symbol n:number")
    total = agg("sum", "t", "z", pos("p", "_y", "z"))
    body = (total, cmp(">=", "t", "k"), pos("e", "n", "s", "k"))
    w.rule("p", pos("p", "s", "n"), *body, t="number")
    w.facts("e", [["1", "S", "0"]], covers=([], [[]]))
    w.opens("e", [possible, None, None])
    w.entry("p", [], [[]], [[None, possible], ["S", "1"]], orders={0: [2, 0, 1]})
    given = w.given("e", "1", "S", "0")
    w.derived(0, ["S", "1"], {"s": "S", "n": "1", "k": "0"}, [[], None, given])
    return w.conclude("PROVED", "p", "S", "1")


def summand_of_nobody_known() -> Case:
    return unguarded("2").data(), "PROVED"


def negative_summand_of_nobody_known() -> Case:
    return unguarded("-2").data(), "threshold"


def summand_that_nobody_knows() -> Case:
    return unguarded(None).data(), "threshold"


def summand() -> tuple[Tree, list[Any]]:
    """Return a certificate, and the first summand of a threshold in it."""
    tree = good("control_by_sum").tree
    premises = [premise for node in tree["nodes"] for premise in node.get("premises", ())]
    first: list[Any] = next(premise for premise in premises if isinstance(premise, list))[0]
    return tree, first


def summand_with_a_value_too_many() -> Case:
    tree, (values, _) = summand()
    values.append("1")
    return seal(tree), "schema"


def summand_with_a_premise_too_many() -> Case:
    tree, (_, premises) = summand()
    premises.append(None)
    return seal(tree), "schema"


def summand_with_a_premise_too_few() -> Case:
    tree, (_, premises) = summand()
    premises.pop()
    return seal(tree), "schema"


def node_that_is_null() -> Case:
    tree = good("control_by_sum").tree
    tree["nodes"][0] = None
    return seal(tree), "schema"


def joined(*rows: list[str | None]) -> Writer:
    """What nobody knows joins with every row, and takes its value."""
    w = Writer()
    w.outside("tier", "c:symbol t:symbol")
    w.outside("rebate", "t:symbol n:number")
    w.declare("price", "c:symbol t:symbol n:number")
    body = (pos("tier", "c", "t"), pos("rebate", "t", "n"))
    w.rule("price", pos("price", "c", "t", "n"), *body)
    w.opens("tier", ["C1", None])
    w.cover("tier", [0], [["C1"]])
    w.facts("rebate", [["gold", "10"]], covers=([], [[]]))
    w.entry("price", [0], [["C1"]], list(rows))
    return w.conclude("DISPROVED", "price", "C1", "silver", "10")


def unknown_takes_the_value_of_a_row() -> Case:
    return joined(["C1", "gold", "10"]).data(), "DISPROVED"


def unknown_that_takes_a_value_is_not_covered() -> Case:
    return joined().data(), "not-covered"


CASES: Final[Mapping[str, Callable[[], Case]]] = MappingProxyType(
    {
        make.__name__: make
        for make in (
            open_until_accepted,
            open_though_an_assumption_would_close_it,
            open_whatever_is_accepted,
            two_sources_of_which_one_is_inline,
            two_sources_of_which_one_is_called_inline,
            two_inline_sources,
            any_row_that_is_a_node,
            any_later_row_that_is_a_node,
            any_of_two_nodes_needs_one,
            any_without_a_certain_row,
            any_that_the_closure_does_not_show,
            count_of_what_was_said,
            count_worth_more_than_what_was_said,
            count_without_what_was_said,
            count_of_what_nobody_denies,
            count_of_what_a_test_leaves,
            key_that_is_the_total,
            key_that_is_the_total_is_not_covered,
            unknown_takes_the_total,
            unknown_that_takes_the_total_is_not_covered,
            head_of_another_key,
            head_of_one_key,
            head_of_one_key_is_not_covered,
            head_without_a_value_is_of_every_key,
            absence_after_its_variables,
            absence_between_its_variables,
            absence_between_its_variables_removes_nothing,
            order_of_a_literal_that_is_not_there,
            most_that_is_too_little,
            most_that_is_enough,
            most_that_is_enough_and_covered,
            most_of_a_share_without_a_value,
            summand_of_nobody_known,
            negative_summand_of_nobody_known,
            summand_that_nobody_knows,
            unknown_takes_the_value_of_a_row,
            unknown_that_takes_a_value_is_not_covered,
            summand_with_a_value_too_many,
            summand_with_a_premise_too_many,
            summand_with_a_premise_too_few,
            node_that_is_null,
        )
    }
)
