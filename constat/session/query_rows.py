"""One row of a query's answers, written by hand: the goals whose proofs show it.

In: a compiled query and the values of its columns as people write them. Out: goals for `prove`, one
for each positive atom. Invariant: constants are read as in goals, by the kinds of the columns.
Example: for `customer_revenue(?c, ?r), ?r > 5` and the row `C001, 150` the goal is
`customer_revenue(C001, 150)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Constant, Predicate, Program
from constat.session.querying import answer_columns, row_goals
from constat.syntax import parse_goal

if TYPE_CHECKING:
    from constat.logic import Row
    from constat.session.querying import Compiled

_NAME = "row"


def goals_of_row(compiled: Compiled, text: str) -> tuple[str, ...]:
    """Give the goals to prove for a row. Raises `ConstatError` where the row cannot be read."""
    return tuple(dict.fromkeys(row_goals(compiled)(read_row(compiled, text))))


def read_row(compiled: Compiled, text: str) -> Row:
    """Read the values of the answer's columns."""
    columns = answer_columns(compiled)
    declared = {column.name: column for column in compiled.query.columns}
    plain = tuple(replace(declared[column.name], attributes={}) for column in columns)
    written = f"{_NAME}({text})"
    try:
        atom = parse_goal(written, Program({_NAME: Predicate(_NAME, plain)}, ()))
    except ConstatError as problem:
        raise ConstatError(
            [_unreadable(one.message, compiled) for one in problem.diagnostics]
        ) from None
    values = [term.value for term in atom.terms if isinstance(term, Constant)]
    if len(values) != len(columns):
        raise ConstatError([_unreadable("not every column has a value", compiled)])
    return tuple(values)


def _unreadable(reason: str, compiled: Compiled) -> Diagnostic:
    listed = ", ".join(f"?{column.name}" for column in answer_columns(compiled)) or "no variables"
    return Diagnostic(
        "C0665",
        f"the row to explain cannot be read: {reason}",
        note=f"a row has a value for each of the query's columns, in their order: {listed}",
        help='write the values with commas between: `--explain-row "C001, 150"`',
    )
