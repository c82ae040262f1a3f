"""What prose names exactly: numbers with their units, dates, times, ids, paths, addresses.

In: a passage that is no JSON.  Out: ``entity_value``: key is the kind of thing, value its plain
form.  Invariants: the span is the piece as it was written; the first kind that fits decides, so a
date is not three numbers; a bounded number of pieces is taken from one text.

Example: ``pay $1,250.50 by May 20, 2024`` has money 1250.50 in USD and the date 2024-05-20.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_MOST: Final = 5_000
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_UNITS: Final = (
    r"(?:percent|hours?|minutes?|seconds?|days?|weeks?|months?|years?|km|kg|cm|mm|ms|min"
    r"|[KMGT]i?B|tokens?|rows?|miles?|dollars?|euros?|USD|EUR|GBP)"
)
_NUMBER: Final = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
# Bounded repetitions, and no two ways to read one character: the time is that of one reading.
_PIECES: Final = re.compile(
    rf"""
      (?P<url>\b(?:https?|ftp|file)://[^\s<>"'`\])]{{1,2000}}(?<![.,;:!?]))
    | (?P<email>\b[A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+)
    | (?P<path>(?<![\w/.~])(?:~|\.{{1,2}})?(?:/[\w.@+-]{{1,255}}){{2,60}}/?(?<![.,;:])
        |(?<![\w/])(?:[\w-]{{1,100}}/){{1,30}}[\w-]{{1,100}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\b)
    | (?P<moment>\b[0-9]{{4}}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]
        (?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)
    | (?P<date>\b[0-9]{{4}}-[01]?[0-9]-[0-3]?[0-9]\b
        |\b{_MONTH}[ ][0-3]?[0-9](?:st|nd|rd|th)?,?[ ][0-9]{{4}}\b
        |\b[0-3]?[0-9](?:st|nd|rd|th)?[ ]{_MONTH},?[ ][0-9]{{4}}\b)
    | (?P<clock>\b[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?:[ ]?[ap]\.?m\b\.?)?|\b1?[0-9][ ]?[ap]m\b)
    | (?P<money>[$€£][ ]?(?:{_NUMBER}))
    | (?P<id>\b(?=[A-Za-z0-9_-]{{0,60}}[0-9])(?=[A-Za-z0-9_-]{{0,60}}[A-Za-z])[A-Za-z0-9]
        [A-Za-z0-9_-]{{2,80}}\b)
    | (?P<amount>(?<![\w.,])-?(?:{_NUMBER})(?:[ ]?%|[ ]?{_UNITS}\b)?)
    """,
    re.VERBOSE,
)
_CURRENCIES: Final = (("$", "USD"), ("€", "EUR"), ("£", "GBP"))
_SPLIT: Final = re.compile(rf"(-?(?:{_NUMBER}))[ ]?(.*)", re.DOTALL)


def from_values(passage: Passage) -> Iterator[Fact]:
    """Yield a fact for each piece."""
    if passage.place is Place.ARGUMENTS or passage.content.lstrip()[:1] in {b"{", b"["}:
        return
    for found in islice(_PIECES.finditer(passage.text), _MOST):
        said = _said(found.lastgroup or "", found.group())
        yield fact(passage, said, found.start(), found.end(), "prose")


def _said(kind: str, text: str) -> Said:
    match kind:
        case "date":
            return Said("entity_value", "date", _date(text) or text, "date")
        case "money":
            number = text[1:].strip().replace(",", "")
            return Said("entity_value", "money", number, "number", dict(_CURRENCIES)[text[0]])
        case "amount":
            split = _SPLIT.fullmatch(text)
            number, unit = split.groups() if split else (text, "")
            return Said("entity_value", "number", number.replace(",", ""), "number", unit)
        case _:
            return Said("entity_value", kind, text)


def _date(text: str) -> str:
    """Return a date in its ISO form; empty for a day that does not exist."""
    words = re.findall(r"[A-Za-z]{3,}|[0-9]+", text)
    months = [word for word in words if word[0].isalpha() and word[:3].lower() in _MONTHS]
    numbers = [int(word) for word in words if word.isdigit()]
    try:
        if months:
            day, year = numbers
            return date(year, _MONTHS.index(months[0][:3].lower()) + 1, day).isoformat()
        return date(*numbers).isoformat()
    except (TypeError, ValueError):
        return ""
