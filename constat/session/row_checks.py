"""Prove some rows of a set of answers one by one, and have their certificates checked.

In: answers, the rows to prove, and how a goal is decided. Out: the same answers, in which these
rows are called what their certificates say. A row that does not prove, or whose certificate the
independent checker rejects, is a difference, and no answer any more. Invariant: a sample proves the
rows in it and no other. Example: `session.query("is_vip(?c)", engine="forward", check=10)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.logic import Atom, Constant
from constat.session.answers import RowCheck, RowDifference, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.logic import Row
    from constat.session.answers import Answers
    from constat.session.querying import Compiled
    from constat.session.result import Result

_ACCEPTED = (Verdict.PROVED, Verdict.PROVED_UNDER)


def sample(rows: Rows, size: int) -> list[Row]:
    """Choose so many rows that are not unresolved, spread evenly over all."""
    total = len(rows)
    places = range(total) if size >= total else (place * total // size for place in range(size))
    chosen = (rows[place] for place in dict.fromkeys(places))
    return [one.values for one in chosen if one.verdict is not Verdict.UNRESOLVED]


def check_rows(
    answers: Answers,
    compiled: Compiled,
    rows: Sequence[Row],
    prove: Callable[[Atom], Result],
    asked: int,
) -> Answers:
    """Prove rows of the answers; those that fail are taken out and told as differences."""
    proved: dict[Row, Verdict] = {}
    differences: list[RowDifference] = []
    for row in rows:
        found = _proved(answers, compiled, row, prove)
        if isinstance(found, Verdict):
            proved[row] = found
        else:
            differences.append(found)
    wrong = {one.row for one in differences}
    checked = replace(answers, check=RowCheck(asked, proved, tuple(differences)))
    if not wrong:
        return checked
    kept = [row for row in answers.sure if row not in wrong]
    weak = {row: one for row, one in answers.weak.items() if row not in wrong}
    return replace(checked, sure=kept, weak=weak)


def _proved(
    answers: Answers, compiled: Compiled, row: Row, prove: Callable[[Atom], Result]
) -> Verdict | RowDifference:
    """Prove one row: as the goal of a certificate that the checker accepts."""
    said = answers.row(row).verdict
    reason, verdict = "", ""
    try:
        result = prove(row_goal(compiled, row))
        report = check_certificate(result.certificate)
    except Exception as problem:  # noqa: BLE001  whatever it is, the row is not proved
        reason = f"it could not be proved: {problem}"
    else:
        verdict = result.verdict.value
        if not report.accepted:
            reason = f"the checker rejects its certificate: {report.reason} [{report.code}]"
        elif result.verdict not in _allowed(said):
            reason = f"proving it says {result.verdict.label}"
        else:
            return result.verdict
    goals = answers.show(row) or (answers.query,)
    return RowDifference(row, ", ".join(goals), said.label, verdict, reason)


def _allowed(said: object) -> tuple[Verdict, ...]:
    """Give what proving a row may say: by itself it may rest on less, never on more."""
    under = getattr(said, "value", "").endswith("UNDER")
    return _ACCEPTED if under else _ACCEPTED[:1]


def row_goal(compiled: Compiled, row: Row) -> Atom:
    """Give the query's atom with the values of a row in it."""
    predicate = compiled.program.program.predicates[compiled.goal.predicate]
    terms = list(compiled.goal.terms)
    for place, value in zip(compiled.places, row, strict=True):
        terms[place] = Constant(value, predicate.columns[place].kind)
    return replace(compiled.goal, terms=tuple(terms))
