"""Random programs over rows with null cells: what is decided is so however the cells are filled.

A completion gives each null cell a value (`unknown`), a value or none (`maybe`), or none (`none`).
What a literal does not read may be none there, so each way of reading a predicate is one of its own
in the program that a completion is the model of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.check import check_certificate
from constat.evaluation import ABSENT, CERTAIN, POSSIBLE, FactDerivation
from constat.logic import (
    Aggregate,
    Atom,
    Kind,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    Positive,
    is_wildcard,
    null_cells,
    with_null_cells,
)
from constat.proof import build_certificate
from tests.oracle.naive import World
from tests.oracle.worlds import Completion, Facts, model
from tests.property.coverage import under
from tests.property.rules import DOMAIN, Shape
from tests.property.running import run
from tests.property.strategies import Case, analysed, goals, programs, worlds
from tests.property.tables import SOME_TIME, STRICT
from tests.property.test_decision_laws import VERDICTS, decided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Assumption, Outcome
    from constat.logic import Literal, OpenRow, Predicate, Row, Rule, Value

FEW: Final = 24
_NONE: Final[dict[Kind, Value]] = {Kind.NUMBER: 77, Kind.SYMBOL: "none", Kind.FLOAT: 77.5}
"""Stands for no value where nobody reads it; equal to itself alone."""
SHAPE: Final = Shape(open=False, assumed=False, errors=False)
MANY: Final = settings(max_examples=max(60, settings().max_examples))


@st.composite
def null_cases(draw: st.DrawFn) -> Case:
    """Give a program, a world in whose rows cells are null, and a goal."""
    program = draw(programs(SHAPE))
    world = draw(worlds(program, SHAPE))
    goal = draw(goals(program, world))
    derived = {rule.head.predicate for rule in program.rules}
    rows: dict[str, tuple[tuple[Row, Assumption | None], ...]] = {}
    for name, listed in world.rows.items():
        policies = [
            draw(st.sampled_from([one for one in NullPolicy if one is not NullPolicy.UNREAD]))
            for _ in program.program.predicates[name].kinds
        ]
        found: dict[Row, None] = {}
        seen: dict[tuple[Value | None, ...], int] = {}
        for row, _ in listed:
            cells: tuple[Value | None, ...] = row
            if name not in derived:
                cells = tuple(None if draw(st.integers(0, 3)) == 3 else cell for cell in row)
            ordinal = seen.get(cells, 0)
            seen[cells] = ordinal + 1
            found[with_null_cells(name, cells, policies, ordinal)] = None
        rows[name] = tuple((row, None) for row in found)
    return Case(_declared(program, rows), World(rows, {}), goal)


def _declared(
    program: AnalysedProgram, rows: dict[str, tuple[tuple[Row, Assumption | None], ...]]
) -> AnalysedProgram:
    """Give the program whose columns say what their null cells mean."""
    predicates = dict(program.program.predicates)
    for name, listed in rows.items():
        columns = list(predicates[name].columns)
        for row, _ in listed:
            for cell in null_cells(row):
                said = {"null": cell.policy.value}
                columns[cell.column] = replace(columns[cell.column], attributes=said)
        predicates[name] = replace(predicates[name], columns=tuple(columns))
    return analysed(replace(program.program, predicates=predicates))


def _unread(atom: Atom) -> tuple[int, ...]:
    return tuple(place for place, term in enumerate(atom.terms) if is_wildcard(term))


@dataclass
class Reading:
    """The program in which each way of reading a source is a predicate, and completions of it."""

    case: Case

    def __post_init__(self) -> None:
        program = self.case.program.program
        derived = {rule.head.predicate for rule in program.rules}
        self.sources = [name for name in self.case.world.rows if name not in derived]
        self.ways: dict[str, tuple[str, tuple[int, ...]]] = {}
        rules = tuple(map(self._rule, program.rules))
        more = {
            way: replace(program.predicates[name], name=way) for way, (name, _) in self.ways.items()
        }
        predicates: dict[str, Predicate] = {**program.predicates, **more}
        self.program: AnalysedProgram = analysed(
            replace(program, predicates=predicates, rules=rules)
        )

    def _rule(self, rule: Rule) -> Rule:
        return replace(rule, body=tuple(map(self._literal, rule.body)))

    def _literal(self, literal: Literal) -> Literal:
        match literal:
            case Positive(atom):
                return Positive(self._atom(atom))
            case Negative(atom):
                return Negative(self._atom(atom))
            case Aggregate(body=body):
                return replace(literal, body=tuple(map(self._literal, body)))  # type: ignore[arg-type]
            case _:
                return literal

    def _atom(self, atom: Atom) -> Atom:
        unread = _unread(atom)
        if atom.predicate not in self.sources or not unread:
            return atom
        way = f"{atom.predicate}_not_{'_'.join(map(str, unread))}"
        self.ways[way] = (atom.predicate, unread)
        return replace(atom, predicate=way)

    def completions(self) -> Iterator[tuple[dict[NullCell, Value | None], Facts]]:
        """Yield ways to fill the cells, all where they are few, each with the model."""
        kinds = {name: self.case.program.program.predicates[name].kinds for name in self.sources}
        cells = {
            cell: self._values(cell, kinds[name][cell.column])
            for name in self.sources
            for row, _ in self.case.world.rows[name]
            for cell in null_cells(row)
        }
        for chosen in _some([*cells.values()]):
            filled = dict(zip(cells, chosen, strict=True))
            facts = self._facts(filled)
            numbers = frozenset(range(len(self.program.rules)))
            yield filled, model(self.program, Completion(facts, numbers, erring=False), DOMAIN)

    @staticmethod
    def _values(cell: NullCell, kind: Kind) -> tuple[Value | None, ...]:
        match cell.policy:
            case NullPolicy.NONE | NullPolicy.UNREAD:
                return (None,)
            case NullPolicy.MAYBE:
                return (*DOMAIN[kind], None)
            case NullPolicy.UNKNOWN:
                return DOMAIN[kind]

    def _facts(self, filled: dict[NullCell, Value | None]) -> Facts:
        facts: Facts = {name: set() for name in self.program.program.predicates}
        ways = {**self.ways, **{name: (name, ()) for name in self.case.world.rows}}
        for way, (name, unread) in ways.items():
            kinds = self.program.program.predicates[name].kinds
            for row, _ in self.case.world.rows[name]:
                cells = [filled[c] if isinstance(c, NullCell) else c for c in row]
                if all(cell is not None or place in unread for place, cell in enumerate(cells)):
                    told = zip(cells, kinds, strict=True)
                    facts[way].add(tuple(_NONE[k] if c is None else c for c, k in told))
        return facts


def _some(cells: list[tuple[Value | None, ...]]) -> list[tuple[Value | None, ...]]:
    """Give all ways to choose one of each, or some, the same each time."""
    count = 1
    for one in cells:
        count *= len(one)
    if count <= FEW:
        return list(product(*cells))
    random = Random(count)
    return [tuple(map(random.choice, cells)) for _ in range(FEW)]


@pytest.mark.laws
@MANY
@given(null_cases(), st.booleans())
def test_what_is_decided_is_so_however_null_cells_are_filled(
    case: Case,
    exhaust: bool,  # noqa: FBT001  hypothesis draws it
) -> None:
    found = run(case, exhaust=exhaust)
    told = found.strength
    name, reading = case.goal.predicate, Reading(case)
    for filled, facts in reading.completions():
        there = under(case.goal, facts[name])
        if told in {CERTAIN, ABSENT}:
            assert bool(there) is (told == CERTAIN), (told, filled)
        for predicate in case.program.program.predicates:
            if predicate not in reading.sources:
                for row in found.outcome.rows(predicate, CERTAIN):
                    assert _filled(row, filled) in facts[predicate], (predicate, row, filled)
        if found.outcome.stopped != "settled" and name not in reading.sources:
            rows = under(case.goal, [_filled(one, filled) for one in found.outcome.rows(name, 0)])
            for row in there:
                assert any(_allows(one, row) for one in rows), (row, filled)


def _filled(row: OpenRow, filled: dict[NullCell, Value | None]) -> OpenRow:
    return tuple(filled[c] if isinstance(c, NullCell) else c for c in row)


def _allows(shape: OpenRow, row: OpenRow) -> bool:
    return all(isinstance(one, Open) or one == cell for one, cell in zip(shape, row, strict=True))


@given(null_cases())
def test_the_checker_accepts_what_is_decided_over_null_cells(case: Case) -> None:
    decision = decided(case, STRICT)
    assert decision.verdict is VERDICTS[decision.outcome.strength(case.goal)]
    certificate = build_certificate(decision, created=SOME_TIME, engine_version="test")
    report = check_certificate(certificate)
    assert (report.verdict, report.reason) == (decision.verdict.value, None), report.place


@given(null_cases())
def test_each_certain_row_has_a_derivation_that_ends_at_rows_of_sources(case: Case) -> None:
    outcome = run(case, exhaust=True).outcome
    for name in case.program.program.predicates:
        for row in outcome.rows(name, CERTAIN):
            _follow(case, outcome, (name, row), ())  # type: ignore[arg-type]  # certain rows hold no placeholder


def _follow(
    case: Case, outcome: Outcome, fact: tuple[str, Row], path: tuple[tuple[str, Row], ...]
) -> None:
    assert fact not in path, "circular support"
    derivation = outcome.derivation(*fact, CERTAIN)
    if isinstance(derivation, FactDerivation):
        assert fact[1] in [row for row, _ in case.world.rows[fact[0]]]
        return
    rule = outcome.program.rules[derivation.rule]
    for literal, premise in zip(rule.body, derivation.premises, strict=True):
        if isinstance(literal, Positive):
            assert premise is not None
            assert premise in set(outcome.rows(literal.atom.predicate, POSSIBLE))
            _follow(case, outcome, (literal.atom.predicate, premise), (*path, fact))
