"""How far a comparison is from turning: a distance for people, and a gap to rank by.

In: the two sides of a comparison that fails, and their kind.  Out: a ``Distance``.  Invariant: the
gap lies between 0 (any change turns it) and 1 (nothing is known to be near), and among comparisons
of one kind with one threshold the nearer value has the smaller gap.

Numbers: the difference, and its share of both magnitudes.  Dates: days, times: seconds, each as a
share of itself and a year.  Texts that should be equal: the edits that would make them so
(Levenshtein, 1966), as a share of the longer one; other comparisons of texts have no distance.

Example: 950 where 1,000 is needed is 50 off, a gap of 50 / 1,950.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from constat.logic import Kind
from constat.logic.dates import days_between
from constat.proof.sentences import show_value

if TYPE_CHECKING:
    from constat.logic import Value

FARTHEST: Final = Fraction(1)
_YEAR_DAYS: Final = 365
_DAY: Final = 86_400
_LONGEST_TEXT: Final = 64


@dataclass(frozen=True, slots=True)
class Distance:
    """A distance in words, empty where there is none, and its gap."""

    text: str
    gap: Fraction


def distance(operator: str, left: Value, right: Value, kind: Kind) -> Distance:
    """Measure how far a comparison that fails is from holding."""
    if operator == "!=":
        # Equal values: whatever changes, changes it.
        return Distance("", Fraction(0))
    if kind.numeric:
        return _of_numbers(left, right, kind)
    if kind is Kind.DATE:
        return _of_days(abs(days_between(str(left), str(right))))
    if kind is Kind.TIMESTAMP:
        return _of_seconds(abs(_moment(str(left)) - _moment(str(right))))
    if kind is Kind.SYMBOL and operator == "=":
        return _of_texts(str(left), str(right))
    return Distance("", FARTHEST)


def _of_numbers(left: Value, right: Value, kind: Kind) -> Distance:
    one, other = Fraction(left), Fraction(right)
    off = abs(one - other)
    whole = abs(one) + abs(other)
    shown: Value = abs(left - right)  # type: ignore[operator]  # numbers of one kind
    return Distance(show_value(shown, kind), off / whole if whole else Fraction(0))


def _of_days(days: int) -> Distance:
    text = f"{days:,} day" + ("" if days == 1 else "s")
    return Distance(text, Fraction(days, days + _YEAR_DAYS))


def _of_seconds(microseconds: int) -> Distance:
    whole = Fraction(microseconds, 1_000_000)
    seconds = microseconds // 1_000_000
    if seconds >= 2 * _DAY:
        text = f"{seconds // _DAY:,} days"
    else:
        text = f"{seconds:,} second" + ("" if seconds == 1 else "s")
    return Distance(text, whole / (whole + _YEAR_DAYS * _DAY))


def _moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = moment - datetime.fromisoformat("0001-01-01T00:00:00Z")
    return (since.days * _DAY + since.seconds) * 1_000_000 + since.microseconds


def _of_texts(left: str, right: str) -> Distance:
    if max(len(left), len(right)) > _LONGEST_TEXT:
        return Distance("", FARTHEST)
    edits = _edits(left, right)
    text = f"{edits} edit" + ("" if edits == 1 else "s")
    return Distance(text, Fraction(edits, max(len(left), len(right), 1)))


def _edits(left: str, right: str) -> int:
    """Count the single letters to insert, delete or replace."""
    row = list(range(len(right) + 1))
    for done, letter in enumerate(left, start=1):
        before, row[0] = row[0], done
        for place, other in enumerate(right, start=1):
            before, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, before + (letter != other)),
            )
    return row[-1]
