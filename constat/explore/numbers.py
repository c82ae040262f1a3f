"""Tell whether the numbers of a sentence are those of a result.

In: a sentence, and the cells of a relation. Out: the numbers that are neither in the result nor
computed from it. Invariant: a number passes only where a cell, a count, or a sum, mean, difference,
ratio or percentage of cells rounds to it at the places that it is written with; the numbers of the
question pass, for they are its own. Example: "North led with $890K" passes where a cell is 890,123.
Pairs are taken of the first rows only: with many pairs every number would be somewhere among them.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import chain, permutations
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.explore.number_words import PLACE, SHARE, VAGUE, Number, numbers_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.explore.relations import Relation

_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<sign>[-\u2212+]?)[$€£¥]?\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<scale>\s?(?:dozen|hundred|thousand|million|billion|[KkMmBb](?!\w)))?(?P<percent>\s?(?:%|percent))?"
    r"(?P<times>\s?(?:times|-?fold|x\b))?"
    r"(?![\d])"
)
_SCALES: Final = MappingProxyType(
    {
        "": 1,
        "dozen": 12,
        "hundred": 100,
        "thousand": 1_000,
        "k": 1_000,
        "million": 1_000_000,
        "m": 1_000_000,
        "billion": 1_000_000_000,
        "b": 1_000_000_000,
    }
)
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_ROWS: Final = 200
_MOST_PAIRED: Final = 12
_HUNDRED: Final = Decimal(100)
_ROUNDINGS: Final = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_DOWN)


def numbers_in(sentence: str) -> tuple[Number, ...]:
    """Read the numbers of a sentence, in digits and in words."""
    found = [*numbers_in_words(sentence)]
    for match in _NUMBER.finditer(sentence):
        plain = match["digits"].replace(",", "")
        scale = Decimal(_SCALES[(match["scale"] or "").strip().lower()])
        places = len(plain.partition(".")[2])
        value = Decimal(plain) * scale * (-1 if match["sign"] in {"-", "\u2212"} else 1)
        unit = Decimal(1).scaleb(-places) * scale
        share = "percent" if match["percent"] else "times" if match["times"] else ""
        found.append(Number(match[0].strip(), value, unit, share))
    return tuple(found)


def unfounded(sentence: str, relation: Relation, question: str) -> tuple[str, ...]:
    """Give the numbers of a sentence that nothing in the result or the question accounts for."""
    asked = {_plain(one) for one in _DIGITS.findall(question)}
    asked |= {str(one.value) for one in numbers_in_words(question)}
    known = asked | set(_texts(relation))
    wanted = [
        one
        for one in numbers_in(_without(sentence, relation))
        if one.share not in {"", PLACE} or not _written(one) & known
    ]
    if not wanted:
        return ()
    candidates = {"": list(_values(relation)), "percent": [], "times": [], VAGUE: []}
    candidates[PLACE] = [Decimal(one) for one in range(1, len(relation.rows) + 1)]
    for one, other in _pairs(relation):
        candidates["times"].append(one / other)
        candidates["percent"] += [one / other * _HUNDRED, (one - other) / other * _HUNDRED]
    candidates[SHARE] = candidates["times"]
    candidates["cells"] = [cell for column in _columns(relation) for cell in column]
    return tuple(one.text for one in wanted if not _is_founded(one, candidates))


def _written(number: Number) -> set[str]:
    """How a number is written in digits, as far as others may have written it so."""
    digits = _DIGITS.findall(number.text)
    return {_plain(digits[0])} if digits else {str(number.value)}


def _is_founded(number: Number, candidates: Mapping[str, Sequence[Decimal]]) -> bool:
    if number.share == VAGUE:
        return False
    # A column may hold percentages itself. A fall of 3 % may be said without its sign.
    own = number.share not in {"", PLACE}
    found = chain(candidates[number.share], candidates["cells"] if own else candidates[""])
    return any(_rounds(abs(one) if number.value >= 0 else one, number) for one in found)


def _rounds(value: Decimal, number: Number) -> bool:
    try:
        scaled = value / number.unit
        return any(
            scaled.quantize(Decimal(1), rounding=way) * number.unit == number.value
            for way in _ROUNDINGS
        )
    except InvalidOperation:
        return False


def _without(sentence: str, relation: Relation) -> str:
    """Take texts of the result out of a sentence: the digits of an id are no number."""
    texts = {cell for row in relation.rows[:_MOST_ROWS] for cell in row if isinstance(cell, str)}
    named = (one for one in texts if any(map(str.isdigit, one)) or numbers_in_words(one))
    for text in sorted(named, key=len, reverse=True):
        sentence = sentence.replace(text, " , ")
    return sentence


def _texts(relation: Relation) -> Iterator[str]:
    """The groups of digits in texts of the result, such as the year of a day."""
    for row in relation.rows[:_MOST_ROWS]:
        for cell in row:
            if isinstance(cell, str):
                yield from map(_plain, _DIGITS.findall(cell))


def _plain(digits: str) -> str:
    return digits.replace(",", "")


def _columns(relation: Relation) -> Iterator[list[Decimal]]:
    rows: Sequence[tuple[object, ...]] = relation.shown[:_MOST_ROWS]
    for place, kind in enumerate(relation.kinds):
        if kind.numeric:
            yield [Decimal(str(row[place])) for row in rows]


def _values(relation: Relation) -> Iterator[Decimal]:
    """Cells, counts, sums, means and differences."""
    yield Decimal(len(relation.rows))
    for cells in _columns(relation):
        yield from cells
        if cells:
            yield sum(cells, Decimal(0))
            yield sum(cells, Decimal(0)) / len(cells)
        for one, other in permutations(cells[:_MOST_PAIRED], 2):
            yield one - other
    for row in relation.shown[:_MOST_PAIRED]:
        cells = _numbers(relation, row)
        for one, other in permutations(cells, 2):
            yield one - other
            yield one + other


def _pairs(relation: Relation) -> Iterator[tuple[Decimal, Decimal]]:
    """Pairs to divide: cells of a column, a cell and the sum of its column, cells of a row."""
    groups = [[*cells[:_MOST_PAIRED], sum(cells, Decimal(0))] for cells in _columns(relation)]
    groups += [_numbers(relation, row) for row in relation.shown[:_MOST_PAIRED]]
    for cells in groups:
        yield from ((one, other) for one, other in permutations(cells, 2) if other)


def _numbers(relation: Relation, row: tuple[object, ...]) -> list[Decimal]:
    return [
        Decimal(str(cell)) for cell, kind in zip(row, relation.kinds, strict=True) if kind.numeric
    ]
