"""Every set of missing facts proves its goal, no part of it does, and no single fact is cheaper."""

from __future__ import annotations

import itertools
import operator
import re
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import given, settings

from constat.engine import LazyEngine
from constat.evaluation import ABSENT, CERTAIN, Outcome
from constat.logic import Atom, Constant, Variable
from constat.proof.abduction import Abduction, Search
from constat.proof.projection import with_projections
from constat.proof.sentences import show_value
from constat.proof.suppositions import Abducibles
from constat.proof.worlds import Chosen, Delta, Worlds
from constat.syntax import parse_goal
from tests.oracle.naive import World
from tests.property.rules import DOMAIN
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Kind, Row, Value

FEW = settings(max_examples=max(1, settings().max_examples // 2))
ONE = Decimal(1)


def searched(case: Case) -> Abduction:
    names = sorted(case.program.external)
    costs = Abducibles(dict.fromkeys(names, ONE), dict.fromkeys(names, ONE))
    externals = tables(case.program, case.world, Manner())
    worlds = Worlds(LazyEngine(), with_projections(case.program), externals, LIMITS)
    return Search(worlds, case.goal, costs, top=2, seconds=2.0, most=200).run()


def evaluated(case: Case, goal: Atom, delta: Delta) -> Outcome:
    """Ask a world that really has the facts: nothing is supposed."""
    rows: dict[str, dict[Row, None]] = {
        name: {row: None for row, _ in found if (name, row) not in delta.removed}
        for name, found in case.world.rows.items()
    }
    for name, row in delta.added:
        rows.setdefault(name, {})[row] = None
    world = World({name: tuple((row, None) for row in one) for name, one in rows.items()}, {})
    return LazyEngine().evaluate(case.program, goal, tables(case.program, world, Manner()), LIMITS)


def holds(case: Case, delta: Delta) -> bool:
    """Tell whether the goal holds in such a world."""
    return evaluated(case, case.goal, delta).strength(case.goal) == CERTAIN


TESTS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "=": "eq", "!=": "ne"}


def choices(case: Case, chosen: Chosen) -> Iterator[Delta]:
    """Yield what a set lets a reader choose: other values that meet all that it tells."""
    predicates = case.program.program.predicates
    # A fact may have one value in two columns, which a goal says otherwise.
    apart = itertools.count()
    texts = [
        re.sub(r"\?(\w+)", lambda at: f"{at[0]}__{next(apart)}", one.fact) for one in chosen.added
    ]
    facts = [parse_goal(text, case.program.program) for text in texts]
    kinds: dict[str, Kind] = {}
    for atom in facts:
        for term, kind in zip(atom.terms, predicates[atom.predicate].kinds, strict=True):
            if isinstance(term, Variable):
                kinds[base(term)] = kind
    told = [text for one in chosen.added for text in one.conditions]
    for values in itertools.product(*(DOMAIN[kind] for kind in kinds.values())):
        known = dict(zip(kinds, values, strict=True))
        added = {(atom.predicate, row_of(atom, known)) for atom in facts}
        there = {(name, row) for name, rows in case.world.rows.items() for row, _ in rows}
        delta = Delta(frozenset(added), chosen.delta.removed)
        if not added & there and all(meets(case, one, known, kinds, delta) for one in told):
            yield delta


def base(term: Variable) -> str:
    return term.name.partition("__")[0]


def row_of(atom: Atom, known: dict[str, Value]) -> Row:
    return tuple(
        known[base(term)] if isinstance(term, Variable) else term.value  # type: ignore[union-attr]  # a constant
        for term in atom.terms
    )


def meets(
    case: Case, text: str, known: dict[str, Value], kinds: dict[str, Kind], delta: Delta
) -> bool:
    """Tell whether values meet one condition, as a reader would."""
    compared = re.fullmatch(r"\?(\w+) ([<>!=]+) (.*)", text)
    if compared is None:
        atom = parse_goal(text.removeprefix("!"), case.program.program)
        columns = case.program.program.predicates[atom.predicate].kinds
        terms = tuple(
            Constant(known[term.name], kind)
            if isinstance(term, Variable) and term.name in known
            else term
            for term, kind in zip(atom.terms, columns, strict=True)
        )
        asked = Atom(atom.predicate, terms)
        strength = evaluated(case, asked, delta).strength(asked)
        return strength == (ABSENT if text.startswith("!") else CERTAIN)
    name, sign, bound = compared.groups()
    kind, value = kinds[name], known[name]
    written = {show_value(one, kind, name): one for one in DOMAIN[kind]}
    other = written[bound] if bound in written else float(bound.replace(",", ""))
    return bool(getattr(operator, TESTS[sign])(value, other))


def parts(delta: Delta) -> Iterator[Delta]:
    facts = [(fact, True) for fact in delta.added] + [(fact, False) for fact in delta.removed]
    for size in range(len(facts)):
        for kept in itertools.combinations(facts, size):
            yield Delta(
                frozenset(fact for fact, more in kept if more),
                frozenset(fact for fact, more in kept if not more),
            )


def singles(case: Case) -> Iterator[Delta]:
    """Yield every world that differs by one fact."""
    for name in sorted(case.program.external):
        kinds = case.program.program.predicates[name].kinds
        there = {row for row, _ in case.world.rows.get(name, ())}
        for row in itertools.product(*(DOMAIN[kind] for kind in kinds)):
            fact = frozenset(((name, row),))
            yield Delta(removed=fact) if row in there else Delta(added=fact)


@FEW
@given(cases(EXACT))
def test_every_set_proves_the_goal_and_no_part_of_it_does(case: Case) -> None:
    for one in searched(case).found:
        assert holds(case, one.chosen.delta), one
        assert not any(holds(case, part) for part in parts(one.chosen.delta)), one


@FEW
@given(cases(EXACT))
def test_whatever_a_set_lets_one_choose_proves_the_goal(case: Case) -> None:
    # What a negation or an aggregate demands of a value is told with it, or no value is left open.
    for one in searched(case).found:
        for delta in itertools.islice(choices(case, one.chosen), 60):
            assert holds(case, delta), (one, delta)


@FEW
@given(cases(EXACT))
def test_an_exhausted_search_misses_no_single_fact(case: Case) -> None:
    found = searched(case)
    if found.found or found.bound is not None or found.unsolved or found.dropped:
        return
    # It says that there is no set: then no single fact of the small domain proves the goal.
    assert not any(holds(case, one) for one in singles(case))


@FEW
@given(cases(EXACT))
def test_the_first_set_costs_no_more_than_any_single_fact(case: Case) -> None:
    found = searched(case)
    if not found.found or found.unsolved or found.dropped or found.found[0].cost <= ONE:
        return
    assert not any(holds(case, one) for one in singles(case)), found
