"""Dates: differences, additions and parts.

In: spelled dates and timestamps.  Out: numbers and spelled dates; ``None`` where a date would fall
outside the years 0001 to 9999.  Invariant: only the proleptic Gregorian calendar, in UTC.

Example: ``years_between("2004-02-29", "2005-03-01") == 1``, and one day earlier 0.
"""

from __future__ import annotations

from datetime import date, timedelta


def days_between(first: str, second: str) -> int:
    """Return second minus first, in days."""
    return (date.fromisoformat(second) - date.fromisoformat(first)).days


def years_between(first: str, second: str) -> int:
    """Return the whole years from first to second."""
    if second < first:
        return -years_between(second, first)
    start, end = date.fromisoformat(first), date.fromisoformat(second)
    # In a year without 29 February the first day that is not before it is 1 March.
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))


def date_add(day: str, days: int) -> str | None:
    """Return the date so many days later."""
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def part(name: str, moment: str) -> int:
    """Return the year, month, day or quarter of a date or timestamp."""
    match name:
        case "year":
            return int(moment[:4])
        case "month":
            return int(moment[5:7])
        case "day":
            return int(moment[8:10])
        case _:
            return (int(moment[5:7]) + 2) // 3
