"""What the reference engine found of a program that is run as a whole.

In: an outcome. Out: the rows of a relation, or the mistake that keeps them from being all rows.
Invariant: a relation that is not whole is never taken for one; an instance that errs is a mistake
where a row is undecided by it, and of no concern where another literal denies it, or another rule
gives its row. Example: a division by zero is C0608, with the rule and the values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import ACCEPTED, CONCEIVABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Failure, Outcome
    from constat.logic import Row

_MOST_SHOWN: Final = 10
_OPTIONS: Final = (
    ("time limit", "--timeout"),
    ("did not finish within", "--timeout"),
    ("memory", "--memory"),
    (" MB of ", "--memory"),
)
"""Words of a reason, and the option of `constat run` that allows more."""


def whole(outcome: Outcome, predicate: str) -> list[Row]:
    """Give the rows of an outcome, sorted; raise where it is not the whole relation."""
    rows: set[Row] = set(outcome.rows(predicate, ACCEPTED))  # type: ignore[arg-type]  # what is accepted has values
    if any(row not in rows for row in outcome.rows(predicate, CONCEIVABLE)) and outcome.failures:
        found = [_failed(outcome, one) for one in outcome.failures[:_MOST_SHOWN]]
        more = len(outcome.failures) - len(found)
        if more > 0:
            found[-1] = replace(found[-1], note=f"and {more:,} more instances of rules err")
        raise ConstatError(found)
    if outcome.stopped:
        raise stopped(outcome.stopped, ())
    return sorted(rows)


def _failed(outcome: Outcome, failure: Failure) -> Diagnostic:
    rule = outcome.program.rules[failure.rule]
    bindings = ", ".join(f"?{name} = {value}" for name, value in failure.bindings.items())
    return Diagnostic(
        "C0608",
        f"rule `{rule.id}` cannot be evaluated: {failure.reason}",
        rule.span,
        label=f"with {bindings}" if bindings else "",
        note="a relation without these rows would look whole, so nothing was written",
        help="leave the values out that it is not defined for, for example by `?y != 0`",
    )


def stopped(reason: str, notes: Sequence[str]) -> ConstatError:
    """Say that a bound was reached, which option raises it, and what was finished by then."""
    named = dict.fromkeys(f"`{option}`" for word, option in _OPTIONS if word in reason)
    more = f"allow more by {' or '.join(named)}, or " if named else ""
    return ConstatError(
        [
            Diagnostic(
                "C0609",
                f"the evaluation was stopped: {reason}",
                note="; ".join([*notes, "no file is half written"]),
                help=f"{more}make the program ask for less",
            )
        ]
    )
