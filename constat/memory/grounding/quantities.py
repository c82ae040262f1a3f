"""Numbers with their units: what is written, and what it comes to.

In: the words of a number and of a unit.  Out: exact values and dimensions.  Invariants: two numbers
agree only if they come to the same in the same dimension; a number without a unit agrees with any,
for columns often carry the unit in their name; money of two currencies never agrees.

Example: 1.5 ``hours`` and 90 ``min`` agree; 5 ``USD`` and 5 ``EUR`` do not.
"""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LISTED: Final = (
    ("time", "1/1000", "ms msec millisecond milliseconds"),
    ("time", "1", "s sec secs second seconds"),
    ("time", "60", "min mins minute minutes"),
    ("time", "3600", "h hr hrs hour hours"),
    ("time", "86400", "day days"),
    ("time", "604800", "week weeks"),
    ("months", "1", "month months"),
    ("months", "12", "year years yr yrs"),
    ("length", "1/1000", "mm millimetre millimetres millimeter millimeters"),
    ("length", "1/100", "cm centimetre centimetres centimeter centimeters"),
    ("length", "1", "metre metres meter meters"),
    ("length", "1000", "km kilometre kilometres kilometer kilometers"),
    ("length", "1609.344", "mile miles"),
    ("mass", "1/1000", "mg milligram milligrams"),
    ("mass", "1", "g gram grams"),
    ("mass", "1000", "kg kilogram kilograms kilo kilos"),
    ("mass", "453.59237", "lb lbs"),
    ("pounds", "1", "pound pounds"),
    ("bytes", "1", "byte bytes"),
    ("bytes", "1000", "kb"),
    ("bytes", "1000000", "mb"),
    ("bytes", "1000000000", "gb"),
    ("bytes", "1000000000000", "tb"),
    ("bytes", "1024", "kib"),
    ("bytes", "1048576", "mib"),
    ("bytes", "1073741824", "gib"),
    ("ratio", "1/100", "% percent pct"),
    ("USD", "1", "$ usd dollar dollars"),
    ("USD", "1/100", "cent cents"),
    ("EUR", "1", "\u20ac eur euro euros"),
    ("GBP", "1", "\u00a3 gbp"),
    ("JPY", "1", "\u00a5 jpy yen"),
    ("CHF", "1", "chf"),
    ("heat in C", "1", "\u00b0c celsius"),
    ("heat in F", "1", "\u00b0f fahrenheit"),
)
UNITS: Final[Mapping[str, tuple[str, Fraction]]] = MappingProxyType(
    {word: (kind, Fraction(factor)) for kind, factor, words in _LISTED for word in words.split()}
)
SCALES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "hundred": 10**2,
        "k": 10**3,
        "thousand": 10**3,
        "mn": 10**6,
        "mio": 10**6,
        "million": 10**6,
        "bn": 10**9,
        "billion": 10**9,
        "trillion": 10**12,
        "dozen": 12,
    }
)
_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {word: value for value, word in enumerate(_SMALL)}
    | {word: 10 * value for value, word in enumerate(_TENS, 2)}
)


def number_of(words: Sequence[str]) -> Fraction | None:
    """Return the value of a number in words, ``two hundred and five``; ``None`` for others."""
    whole, group = Fraction(0), Fraction(0)
    seen = False
    for word in words:
        if word in WORDS:
            group += WORDS[word]
            seen = True
        elif word in SCALES:
            group = (group or Fraction(1)) * SCALES[word]
            if word != "hundred":
                whole, group = whole + group, Fraction(0)
            seen = True
        elif word not in {"and", "a"}:
            return None
    return whole + group if seen else None


def plain(digits: str) -> Fraction:
    """Return the value of digits with commas between thousands and a point."""
    return Fraction(digits.replace(",", ""))


def agree(claimed: tuple[Fraction, str], written: tuple[Fraction, str]) -> bool:
    """Tell whether a claimed number with its unit is what is written."""
    (value, unit), (other, other_unit) = claimed, written
    if not unit:
        shown = {other, other / 100} if UNITS.get(other_unit, ("",))[0] == "ratio" else {other}
        return value in shown
    if not other_unit:
        return False
    dimension, factor = UNITS[unit]
    other_dimension, other_factor = UNITS[other_unit]
    return dimension == other_dimension and value * factor == other * other_factor
