"""Functions of the calendar on Date and Timestamp values.

In: canonical ISO text. Out: numbers and canonical text, or `EvaluationError`. Days are those of
the proleptic Gregorian calendar, years 1 to 9999. Example: `years_between("2000-02-29",
"2001-02-28") == 0`.
"""

from __future__ import annotations

from datetime import date

from constat.logic.failure import EvaluationError

_LAST_DAY = date.max.toordinal()


def days_between(first: str, second: str) -> int:
    """Count the days from the first date to the second."""
    return date.fromisoformat(second).toordinal() - date.fromisoformat(first).toordinal()


def years_between(first: str, second: str) -> int:
    """Count the whole years from the first date to the second, negative when it lies before."""
    if second < first:
        return -years_between(second, first)
    # Text order of "MM-DD" makes 29 February end its year on 1 March where there is no such day.
    return int(second[:4]) - int(first[:4]) - (second[5:] < first[5:])


def date_add(start: str, days: int) -> str:
    """Give the date that many days later."""
    ordinal = date.fromisoformat(start).toordinal() + days
    if not 1 <= ordinal <= _LAST_DAY:
        raise EvaluationError("the date is outside the years 0001 to 9999")
    return date.fromordinal(ordinal).isoformat()


def year(moment: str) -> int:
    """Give the year of a Date or Timestamp."""
    return int(moment[:4])


def month(moment: str) -> int:
    """Give the month, 1 to 12."""
    return int(moment[5:7])


def day(moment: str) -> int:
    """Give the day of the month, 1 to 31."""
    return int(moment[8:10])


def quarter(moment: str) -> int:
    """Give the quarter of the year, 1 to 4."""
    return (int(moment[5:7]) + 2) // 3


def date_of(moment: str) -> str:
    """Give the date of a Timestamp, in UTC."""
    return moment[:10]
