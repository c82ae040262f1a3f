"""A query over a million rows of which some are unknown, beside the same query over closed rows.

In: nothing. Out: figures. The rows are in memory, so that both runs read them in the same way; the
goal is twice the time of the closed query of the same run. Example:
`python -m tests.bench.bench_openings`.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.evaluation import Answer, Assumption, Evidence, Opening, Origin, Portion, Resources
from constat.forward import Options, Outside, evaluate
from constat.logic import OPEN
from constat.syntax import parse_goal
from tests.bench.measuring import Figure, figure, once, table
from tests.language.worlds_of_text import program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Demand
    from constat.logic import Row

ORDERS: Final = 1_000_000
CUSTOMERS: Final = 100_000
VIP: Final = """
.decl customer(c: number, region: number)
.input customer
.decl order(o: number, c: number, v: number, parts: number)
.input order
.decl blocked(c: number)
.input blocked
.decl revenue(c: number, t: number)
revenue(?c, ?t) :- customer(?c, _), ?t = sum ?v : { order(_, ?c, ?v, _) }.
.decl vip(c: number, r: number)
vip(?c, ?r) :- revenue(?c, ?t), ?t > 4000, customer(?c, ?r), !blocked(?c).
.decl dear(o: number)
dear(?o) :- order(?o, _, ?v, ?n), ?v / ?n > 100.
"""
NODES: Final = 1_000_000
UNKNOWN: Final = 100
IDLE: Final = """
.decl edge(a: number, b: number)
.input edge
.decl source(a: number)
.input source
.decl node(a: number)
.input node
.decl reached(a: number)
reached(?a) :- source(?a).
reached(?b) :- reached(?a), edge(?a, ?b).
.decl idle(a: number)
idle(?a) :- node(?a), !reached(?a).
"""
_EVIDENCE: Final = Evidence("memory", Origin.DATABASE, "rows", "2026-01-31T10:00:00.000000Z")
_CLOSURE: Final = Assumption("closure", "blocked", "blocked is declared complete")


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows and openings in memory, asked for as a whole."""

    rows: tuple[Row, ...]
    openings: tuple[Opening, ...] = ()
    cost: int = 10

    def answer(self, demand: Demand) -> Answer:
        portions = (Portion(self.rows, _EVIDENCE),)
        return Answer(portions, self.openings, frozenset(demand.keys), (_EVIDENCE,))


@dataclass(frozen=True, slots=True)
class _Shop:
    order: _Table
    customer: _Table
    blocked: _Table

    def query(self, goal: str) -> None:
        """Compute a goal; a result that was not computed in bulk is a mistake."""
        found = program(VIP)
        names = ("order", "customer", "blocked")
        inputs = {name: Outside(getattr(self, name)) for name in names}
        options = Options(Resources(seconds=300), graded=True)
        with evaluate(found, [parse_goal(goal, found.program)], inputs, options) as results:
            assert results.is_in_bulk(0), results.left
            assert results.count(0) or results.grades(0)


def measure() -> list[Figure]:
    """Measure the closed query, then the query with each kind of opening."""
    closed = _shop()
    orders, customers, blocked = closed.order, closed.customer, closed.blocked
    told = once(lambda: closed.query("vip(?c, ?r)"))
    most = 2 * told.clock
    figures = [figure("a million orders, closed", [told], 10.0)]
    for share in (0.0001, 0.01):
        n, m = int(ORDERS * share), int(CUSTOMERS * share)
        nulls = [Opening((o, c, OPEN, k), "null", "t") for o, c, _, k in orders.rows[:n]]
        failed = [Opening((c, OPEN), "timeout", "t") for c, _ in customers.rows[:m]]
        twice = [Opening((c, r), "two values", "t") for c, _ in customers.rows[:m] for r in (1, 2)]
        cases = {
            "of the orders without a value": _Shop(_without(orders, n, nulls), customers, blocked),
            "of the customers not answered": _Shop(orders, _without(customers, m, failed), blocked),
            "of the customers told twice": _Shop(orders, _without(customers, m, twice), blocked),
        }
        for name, shop in cases.items():
            timing = once(lambda shop=shop: shop.query("vip(?c, ?r)"))  # type: ignore[misc]
            figures.append(figure(f"... {share:.2%} {name}", [timing], most))
    by_word = _Shop(orders, customers, _without(blocked, 0, [Opening((OPEN,), "", "t", _CLOSURE)]))
    timing = once(lambda: by_word.query("vip(?c, ?r)"))
    figures.append(figure("... the list of the blocked declared complete", [timing], most))
    return [*figures, *_errors(orders, closed), *_recursion()]


def _errors(orders: _Table, closed: _Shop) -> list[Figure]:
    plain = once(lambda: closed.query("dear(?o)"))
    figures = [figure("a quotient for each of a million orders, closed", [plain], 10.0)]
    for share in (0.0001, 0.01):
        n = int(ORDERS * share)
        rows = (*((o, c, v, 0) for o, c, v, _ in orders.rows[:n]), *orders.rows[n:])
        shop = _Shop(_Table(rows), closed.customer, closed.blocked)
        timing = once(lambda shop=shop: shop.query("dear(?o)"))  # type: ignore[misc]
        figures.append(figure(f"... {share:.2%} of them by zero", [timing], 3 * plain.clock))
    return figures


def _recursion() -> list[Figure]:
    """Measure a denied recursion over edges of which some have a source that nobody knows."""
    chance = random.Random(3)
    edges = tuple({(chance.randrange(NODES), chance.randrange(NODES)) for _ in range(NODES)})
    unknown = tuple(Opening((OPEN, chance.randrange(NODES)), "null", "t") for _ in range(UNKNOWN))
    nodes = _Table(tuple((node,) for node in range(NODES)))
    sources = _Table(nodes.rows[:100])
    found = program(IDLE)
    goal = parse_goal("idle(?a)", found.program)

    def idle(openings: tuple[Opening, ...]) -> tuple[int, int]:
        tables = {"edge": _Table(edges, openings), "source": sources, "node": nodes}
        inputs = {name: Outside(one) for name, one in tables.items()}
        options = Options(Resources(seconds=300), graded=True, loose_above=0)
        with evaluate(found, [goal], inputs, options) as results:
            assert results.is_in_bulk(0), results.left
            return results.count(0), sum(1 for _ in results.weak_rows(0))

    closed, weak = idle(())
    assert weak == 0
    sure, weak = idle(unknown)
    # Nothing is denied of a node that is only doubtful, and nothing is lost.
    assert sure + weak == closed
    assert weak > UNKNOWN
    plain = once(lambda: idle(()))
    opened = once(lambda: idle(unknown))
    return [
        figure("a denied recursion over a million edges, closed", [plain], 10.0),
        figure("... 100 of them from nobody knows where", [opened], 2 * plain.clock),
    ]


def _shop() -> _Shop:
    chance = random.Random(5)
    orders = tuple(
        (o, chance.randrange(CUSTOMERS), chance.randrange(1000), chance.randrange(1, 9))
        for o in range(ORDERS)
    )
    customers = tuple((c, c % 17) for c in range(CUSTOMERS))
    return _Shop(_Table(orders), _Table(customers), _Table(tuple((c,) for c, _ in customers[::97])))


def _without(whole: _Table, first: int, openings: Sequence[Opening]) -> _Table:
    return _Table(whole.rows[first:], tuple(openings))


if __name__ == "__main__":
    sys.stdout.write(table(measure()))
