"""Programs as text for the tests of pyDatalog, with closed tables of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import Limits
from constat.syntax import parse_fact, parse_goal
from tests.language.worlds_of_text import program, world
from tests.property.tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.logic import Row
    from constat.pydatalog import AnswerSet, PyDatalogEngine

LIMITS = Limits(seconds=20.0)


def ask(
    engine: PyDatalogEngine,
    rules: str,
    goal: str,
    facts: Iterable[str] = (),
    limits: Limits = LIMITS,
) -> AnswerSet:
    """Ask a goal over rules and facts."""
    found = program(rules)
    atom = parse_goal(goal, found.program)
    return engine.answers(found, atom, tables(found, world(found, facts)), limits)


def rows(rules: str, *facts: str) -> frozenset[Row]:
    """Read the rows that are expected."""
    found = program(rules)
    return frozenset(parse_fact(fact, found.program)[1] for fact in facts)


def declared(columns: Mapping[str, str], *inputs: str) -> str:
    """Write declarations; `inputs` have a source."""
    lines = [f".decl {name}({text})" for name, text in columns.items()]
    return "\n".join([*lines, *(f'.input {name}(source="memory")' for name in inputs)]) + "\n"
