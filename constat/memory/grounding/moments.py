"""Days and times of the day, however they are written.

In: the text of a day or time, as ``pieces`` has cut it out.  Out: its plain form, or nothing where
it is ambiguous or does not exist.  Invariants: a day without its year and a time that may be before
or after noon are never completed by a guess; ``3/4/2024`` is two days, so it is none.

Example: ``half past 11 in the morning`` is ``11:30``, ``May 20th, 2024`` is ``2024-05-20`` and
``May 20`` is ``--05-20``.
Reference: ISO 8601.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from constat.memory.grounding import quantities

_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NOON: Final = 12
_DAY_PART: Final = r"(?:in[ ]the[ ](?:morning|afternoon|evening)|at[ ]night)"
_HOUR: Final = r"(?:1[0-2]|0?[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HALF: Final = r"[ap]\.?[ ]?m\b\.?"
# Text is small when this is used, and blanks are single.
DAY: Final = (
    r"[0-9]{4}-[01]?[0-9]-[0-3]?[0-9](?![\w-])|[0-3]?[0-9][./][0-3]?[0-9][./][0-9]{4}(?![\w/])"
    rf"|{MONTH}\b\.?[ ][0-3]?[0-9](?:st|nd|rd|th)?\b(?!:)(?:,?[ ][12][0-9]{{3}}\b)?"
    rf"|(?:the[ ])?[0-3]?[0-9](?:st|nd|rd|th)?[ ](?:of[ ])?{MONTH}\b(?:,?[ ][12][0-9]{{3}}\b)?"
)
CLOCK: Final = (
    rf"(?:half[ ]past|quarter[ ](?:past|to))[ ]{_HOUR}(?:[ ]?{_HALF}|[ ]{_DAY_PART}\b)?"
    rf"|[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![\w:])?(?:[ ]?{_HALF}|[ ]{_DAY_PART}\b)?"
    rf"|\b{_HOUR}(?:[ ]?{_HALF}|[ ]o'clock(?:[ ]{_DAY_PART}\b)?|[ ]{_DAY_PART}\b)"
    r"|\bnoon\b|\bmidnight\b"
)
_WORDS: Final = tuple(quantities.WORDS)[1 : _NOON + 1]
_PARTS: Final = re.compile(
    rf"(?:(?P<shift>half|quarter) (?P<side>past|to) )?(?P<hour>[0-9]+|[a-z]+)"
    r"(?::(?P<minute>[0-9]+))?"
    rf"(?::(?P<second>[0-9]+))?(?: o'clock)?(?: ?(?P<half>{_HALF})| (?P<part>{_DAY_PART}))?"
)
_NUMERIC: Final = re.compile(r"([0-9]+)[./]([0-9]+)[./]([0-9]{4})")


def day_of(text: str) -> str:
    """Return a day in its ISO form, ``--05-20`` without a year; empty where it is none."""
    numeric = _NUMERIC.fullmatch(text)
    if numeric:
        return _numeric_day(*map(int, numeric.groups()))
    months = [
        at
        for word in re.findall(r"[a-z]+", text)
        for at, month in enumerate(_MONTHS, 1)
        if word.startswith(month)
    ]
    numbers = [int(one) for one in re.findall(r"[0-9]+", text)]
    if not months:
        year, month, day = numbers
        return _iso(year, month, day)
    if len(numbers) == 1:
        # A leap year has every day that there is.
        return _iso(2000, months[0], numbers[0]).replace("2000-", "--", 1)
    return _iso(numbers[1], months[0], numbers[0])


def _numeric_day(first: int, second: int, year: int) -> str:
    readings = {_iso(year, first, second), _iso(year, second, first)} - {""}
    return readings.pop() if len(readings) == 1 else ""


def _iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def clock_of(text: str) -> str:
    """Return a time as ``HH:MM``, with seconds where they are told; empty where it is none."""
    if text in {"noon", "midnight"}:
        return "12:00" if text == "noon" else "00:00"
    found = _PARTS.fullmatch(text)
    if found is None:
        return ""
    word, minute = found["hour"], int(found["minute"] or 0)
    hour = _WORDS.index(word) + 1 if word in _WORDS else int(word) if word.isdecimal() else 99
    if found["shift"]:
        minute = {"half": 30, "quarter": 15}[found["shift"]]
        hour, minute = (hour, minute) if found["side"] == "past" else (hour - 1, 60 - minute)
    late = _late(found["half"] or "", found["part"] or "", hour)
    if late is None and found["minute"] is None:
        return ""
    if late is not None:
        if not 0 <= hour <= _NOON:
            return ""
        hour = hour % _NOON + (_NOON if late else 0)
    second = f":{found['second']}" if found["second"] else ""
    return f"{hour:02d}:{minute:02d}{second}" if hour < 2 * _NOON else ""


def _late(half: str, part: str, hour: int) -> bool | None:
    """Tell whether a time is after noon; ``None`` where nothing says so."""
    if half:
        return half.startswith("p")
    if part.endswith("night"):
        return hour % _NOON >= 6  # noqa: PLR2004  "2 at night" is before the morning
    return None if not part else not part.endswith("morning")
