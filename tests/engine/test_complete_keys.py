"""What was complete for a key stays so, whatever a wider question leaves open afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from constat.engine.relation import Relation
from constat.engine.state import Served
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, Answer, Demand, RuleDerivation
from constat.logic import Atom, Constant, Kind, NullPolicy, with_null_cells
from tests.engine.tables import Table, run

RULES = """
.decl item(k: symbol)
.input item(source="t", query="q")
.decl bad(k: symbol, why: symbol)
.input bad(source="t", query="q")
.decl hint(k: symbol, why: symbol)
.input hint(source="t", query="q")
.decl fine(k: symbol)
fine(?k) :- item(?k), !bad(?k, _).
.decl amount(k: symbol, n: number)
amount(?k, ?n) :- item(?k), ?n = count : { bad(?k, _why) }.
.decl suspect(k: symbol)
suspect(?k) :- hint(?k, ?why), bad(_, ?why).
.decl told(k: symbol)
told(?k) :- fine(?k).
told(?k) :- amount(?k, 0).
told(?k) :- suspect(?k).
"""

# The same where `bad` is recursive, and so complete only when its fixpoint is reached.
RECURSIVE = RULES.replace(
    '.decl bad(k: symbol, why: symbol)\n.input bad(source="t", query="q")\n',
    """
        .decl stated(k: symbol, why: symbol)
        .input stated(source="t", query="q")
        .decl kin(k: symbol, m: symbol)
        .input kin(source="t", query="q")
        .decl bad(k: symbol, why: symbol)
        bad(?k, ?why) :- stated(?k, ?why).
        bad(?k, ?why) :- kin(?k, ?m), bad(?m, ?why).
        """,
)


@dataclass
class Keyed(Table):
    """Says nothing of demands that do not bind the first column."""

    source: str = "here"

    def answer(self, demand: Demand) -> Answer:
        if 0 in demand.columns:
            return super().answer(demand)
        self.demands.append(demand)
        return Answer()


def tables() -> dict[str, Table]:
    return {
        "item": Table([("a",)]),
        "bad": Keyed(),
        "stated": Keyed(),
        "kin": Table(),
        "hint": Table([("a", "late")]),
    }


def symbol(value: str) -> Constant:
    return Constant(value, Kind.SYMBOL)


@pytest.mark.parametrize("rules", [RULES, RECURSIVE], ids=["plain", "recursive"])
def test_a_negation_that_was_decided_is_still_explained_after_a_wider_question(rules: str) -> None:
    outcome = run(rules, "told(a)", tables(), exhaust=True)
    asked = [call.demand for call in outcome.calls]
    assert [one.columns for one in asked if one.predicate.name in {"bad", "stated"}] == [(0,), (1,)]
    assert outcome.strength(Atom("fine", (symbol("a"),))) == CERTAIN
    found = outcome.derivation("fine", ("a",), CERTAIN)
    assert isinstance(found, RuleDerivation)
    assert found.premises == (("a",), None)


@pytest.mark.parametrize("rules", [RULES, RECURSIVE], ids=["plain", "recursive"])
def test_an_aggregate_that_was_decided_is_still_explained_after_a_wider_question(
    rules: str,
) -> None:
    outcome = run(rules, "told(a)", tables(), exhaust=True)
    found = outcome.derivation("amount", ("a", 0), CERTAIN)
    assert isinstance(found, RuleDerivation)


def test_what_was_asked_ahead_is_complete_too() -> None:
    far = tables()
    far["item"] = Keyed([("a",)], cost=100, source="north")
    far["bad"] = Keyed(cost=100, source="south")
    outcome = run(RULES, "told(a)", far, exhaust=True)
    found = outcome.derivation("fine", ("a",), CERTAIN)
    assert isinstance(found, RuleDerivation)


def test_what_nobody_answered_stays_possible_for_other_keys() -> None:
    outcome = run(RULES, "told(a)", tables(), exhaust=True)
    assert outcome.strength(Atom("bad", (symbol("b"), symbol("late")))) == POSSIBLE
    assert outcome.strength(Atom("suspect", (symbol("a"),))) == POSSIBLE


@pytest.mark.parametrize(
    ("complete", "wanted"), [(3, ABSENT), (5, POSSIBLE), (7, POSSIBLE), (None, POSSIBLE)]
)
def test_a_row_with_a_null_does_not_open_a_key_that_was_complete_before_it(
    complete: int | None, wanted: int
) -> None:
    made, served = Relation(2), Served()
    row = with_null_cells("p", (None, 1), [NullPolicy.UNKNOWN] * 2, 0)
    made.add_sure([row], 5, nulls=True)
    served.add((0,), [("a",)])
    if complete is not None:
        served.complete((0,), [("a",)], complete)
    assert made.strength({0: "a"}, served.completed) == wanted
    # Whether the row itself is there is another matter.
    assert made.strength({1: 1}, served.completed) == CERTAIN
