"""Days and periods that questions speak of: today, this quarter, last year, Q4 2024.

In: the day that counts as today. Out: the relations `today(day)` and `period(name, first, last)`,
both days included. Invariant: they are functions of that day, so a question that is asked again
with the same day means the same. Names: `2024`, `2024-Q4`, `Q4 2024`, `2024-12`, and `this`, `last`
or `next` with `month`, `quarter`, `year`, besides `year to date`, `last 12 months`, `last 30 days`.
Example: on 2025-11-21, `period("this quarter", ?f, ?l)` has the days 2025-10-01 and 2025-12-31.
"""

from __future__ import annotations

from datetime import date, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Column, Kind, Predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Row

_MONTHS: Final = 12
_BEFORE, _AFTER = 40, 10
_SPANS: Final = (("month", 1), ("quarter", 3), ("year", 12))
_DAYS_BACK: Final = (7, 30, 90, 365)


def _column(name: str, kind: Kind) -> Column:
    return Column(name, kind.value, kind)


PERIODS: Final = MappingProxyType(
    {
        "today": Predicate(
            "today",
            (_column("day", Kind.DATE),),
            attributes={"says": "today is {day}"},
            description="The day on which the question is asked.",
        ),
        "period": Predicate(
            "period",
            (
                _column("name", Kind.SYMBOL),
                _column("first", Kind.DATE),
                _column("last", Kind.DATE),
            ),
            attributes={"says": "{name} is from {first} to {last}"},
            description="Periods by name, such as `this quarter`, `last year`, `2024-Q4`.",
        ),
    }
)
"""The relations that every plan may read besides those of the project."""


def period_rows(today: date) -> tuple[Row, ...]:
    """Give the rows of `period` for a day, sorted."""
    found: dict[str, tuple[date, date]] = {}
    for year in range(max(1, today.year - _BEFORE), min(9998, today.year + _AFTER) + 1):
        found |= dict(_of_year(year))
    found |= dict(_relative(today))
    return tuple(sorted((name, str(first), str(last)) for name, (first, last) in found.items()))


def _of_year(year: int) -> Iterator[tuple[str, tuple[date, date]]]:
    yield f"{year:04}", _months(year, 1, _MONTHS)
    for quarter in range(1, 5):
        days = _months(year, 3 * quarter - 2, 3)
        yield f"{year:04}-Q{quarter}", days
        yield f"Q{quarter} {year:04}", days
    for half in (1, 2):
        yield f"{year:04}-H{half}", _months(year, 6 * half - 5, 6)
    for month in range(1, _MONTHS + 1):
        yield f"{year:04}-{month:02}", _months(year, month, 1)


def _relative(today: date) -> Iterator[tuple[str, tuple[date, date]]]:
    for name, length in _SPANS:
        first = (today.month - 1) // length * length + 1
        for word, shift in (("last", -1), ("this", 0), ("next", 1)):
            yield f"{word} {name}", _months(today.year, first + shift * length, length)
        # The same part of the year before, to compare this one with.
        yield f"this {name} last year", _months(today.year - 1, first, length)
        yield f"{name} to date", (_months(today.year, first, 1)[0], today)
    yield "last 12 months", (_months(today.year, today.month - _MONTHS, 1)[0], _eve(today))
    for days in _DAYS_BACK:
        yield f"last {days} days", (today - timedelta(days=days - 1), today)
    yield "today", (today, today)
    yield "yesterday", (today - timedelta(days=1), today - timedelta(days=1))


def _eve(day: date) -> date:
    """The last day of the month before."""
    return day.replace(day=1) - timedelta(days=1)


def _months(year: int, month: int, count: int) -> tuple[date, date]:
    """The first and the last day of so many months from a month, which may lie outside 1 to 12."""
    start = year * _MONTHS + month - 1
    end = start + count
    first = date(start // _MONTHS, start % _MONTHS + 1, 1)
    return first, date(end // _MONTHS, end % _MONTHS + 1, 1) - timedelta(days=1)
