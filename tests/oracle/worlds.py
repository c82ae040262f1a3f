"""The judge in the product's words: every way the world may be, and the ordinary model of each.

In: a program and a `World` with open patterns. Out: completions, in which everything is known. What
is PROVED is true in all of them, what is DISPROVED in none. See `completions`.

Example: with `r` open at (⋆) and the domain {1, 2} there are four completions of `r`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from constat.logic import Atom, Kind, Row, Value
from tests.oracle import completions as judge
from tests.oracle.translation import goal_of, outside_of, program_of, row_of, slot_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from tests.oracle.definition import Program
    from tests.oracle.naive import World

Domain = dict[Kind, tuple[Value, ...]]
Facts = dict[str, set[Row]]


@dataclass(frozen=True, slots=True)
class Completion:
    """One way the world may be.

    `rules` are the numbers of the rules that hold. Where an instance errs nobody knows what it
    derives: with `erring` all it might, without it nothing.
    """

    facts: Facts
    rules: frozenset[int]
    erring: bool


def completions(
    program: AnalysedProgram, world: World, domain: Domain, *, accepted: bool
) -> Iterator[Completion]:
    """Yield all completions where they are few, else a sample that is the same each time."""
    rules, outside = program_of(program), outside_of(world)
    words = outside.words() | {word for rule in rules.rules for word in rule.words}
    for one in judge.completions(rules, outside, _spelt(domain), words if accepted else ()):
        numbers = (n for n, rule in enumerate(rules.rules) if rule.name in one.rules)
        facts = {name: {_back(row, name) for row in rows} for name, rows in one.facts.items()}
        yield Completion(facts, frozenset(numbers), one.erring)


def holds(program: AnalysedProgram, completion: Completion, goal: Atom, domain: Domain) -> bool:
    """Tell whether some row matches the goal in the model of the completion."""
    return _model(program_of(program), completion, domain).holds(goal_of(goal))


def model(program: AnalysedProgram, completion: Completion, domain: Domain) -> Facts:
    """Return the two-valued model, stratum by stratum."""
    rules = program.remembered("definition", lambda: program_of(program))
    found = _model(rules, completion, domain).facts
    return {name: {_back(row, name) for row in rows} for name, rows in found.items()}


def _model(program: Program, completion: Completion, domain: Domain) -> judge.Model:
    facts = {name: frozenset(map(row_of, completion.facts.get(name, ()))) for name in program.kinds}
    rules = frozenset(program.rules[number].name for number in completion.rules)
    one = judge.Completion(facts, {}, rules, completion.erring)
    return judge.Model(program, one, _spelt(domain))


def _spelt(domain: Domain) -> judge.Domain:
    return {kind.value: values for kind, values in domain.items()}


def _back(row: judge.Plain, name: str) -> Row:
    return cast("Row", tuple(slot_of(cell, name, place) for place, cell in enumerate(row)))
