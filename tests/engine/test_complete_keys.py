"""What was complete for a key stays so, whatever a wider question leaves open afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from constat.evaluation import CERTAIN, POSSIBLE, Answer, Demand, RuleDerivation
from constat.logic import Atom, Constant, Kind
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


@dataclass
class Keyed(Table):
    """Says nothing of demands that do not bind the first column."""

    def answer(self, demand: Demand) -> Answer:
        if 0 in demand.columns:
            return super().answer(demand)
        self.demands.append(demand)
        return Answer()


def tables() -> dict[str, Table]:
    return {
        "item": Table([("a",)]),
        "bad": Keyed(),
        "hint": Table([("a", "late")]),
    }


def symbol(value: str) -> Constant:
    return Constant(value, Kind.SYMBOL)


def test_a_negation_that_was_decided_is_still_explained_after_a_wider_question() -> None:
    outcome = run(RULES, "told(a)", tables(), exhaust=True)
    assert [call.demand.columns for call in outcome.calls if call.demand.predicate.name == "bad"]
    assert outcome.strength(Atom("fine", (symbol("a"),))) == CERTAIN
    found = outcome.derivation("fine", ("a",), CERTAIN)
    assert isinstance(found, RuleDerivation)
    assert found.premises == (("a",), None)


def test_an_aggregate_that_was_decided_is_still_explained_after_a_wider_question() -> None:
    outcome = run(RULES, "told(a)", tables(), exhaust=True)
    found = outcome.derivation("amount", ("a", 0), CERTAIN)
    assert isinstance(found, RuleDerivation)


def test_what_nobody_answered_stays_possible_for_other_keys() -> None:
    outcome = run(RULES, "told(a)", tables(), exhaust=True)
    assert outcome.strength(Atom("bad", (symbol("b"), symbol("late")))) == POSSIBLE
    assert outcome.strength(Atom("suspect", (symbol("a"),))) == POSSIBLE
