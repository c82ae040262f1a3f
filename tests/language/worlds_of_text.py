"""Builds the world of a case from lines of facts, with the language's own reader of facts."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram, analyse
from constat.evaluation import Assumption
from constat.logic import OPEN, Constant, OpenRow, Row
from constat.syntax import parse_fact, parse_goal, parse_text
from tests.language.reading import errors
from tests.oracle.naive import World

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.diagnostics import Diagnostic

Rows = dict[str, tuple[tuple[Row, Assumption | None], ...]]
Openings = dict[str, tuple[tuple[OpenRow, Assumption | None], ...]]


def read_program(text: str) -> tuple[AnalysedProgram | None, list[Diagnostic]]:
    """Parse and analyse; without a program there is at least one error."""
    diagnostics: list[Diagnostic] = []
    parsed = parse_text(text, "case.dl", diagnostics)
    if errors(diagnostics):
        return None, diagnostics
    return analyse(parsed, diagnostics), diagnostics


def program(text: str) -> AnalysedProgram:
    """Parse and analyse a program that is right."""
    found, diagnostics = read_program(text)
    assert found is not None, diagnostics
    return found


def world(found: AnalysedProgram, lines: Iterable[str]) -> World:
    """Read facts, and lines that begin with `open`, `assumed`, `declared` or `fallen`."""
    rows: Rows = {}
    openings: Openings = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in {"open", "declared"}:
            goal = parse_goal(rest, found.program)
            shape = tuple(t.value if isinstance(t, Constant) else OPEN for t in goal.terms)
            closure = Assumption("closure", goal.predicate, f"{goal.predicate} is complete")
            opening = (shape, closure if word == "declared" else None)
            openings[goal.predicate] = (*openings.get(goal.predicate, ()), opening)
        else:
            text = rest if word in {"assumed", "fallen"} else line
            name, row = parse_fact(text, found.program)
            rows[name] = (*rows.get(name, ()), (row, _assumption(word, text)))
    return World(rows, openings)


def _assumption(word: str, text: str) -> Assumption | None:
    match word:
        case "assumed":
            return Assumption("fact", text, f"{text} is taken on alice's word", Decimal("0.7"))
        case "fallen":
            return Assumption("fall-through", "crm", "tier crm did not answer")
        case _:
            return None
