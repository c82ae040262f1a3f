"""How numbers and days are written in a place: a table of our own, never the process's locale.

In: the name of a locale, such as `de_DE`. Out: a `Locale`, which writes decimal numbers and days.
Invariant: the same locale writes the same text on every machine; only the spelling differs, no
digit is lost. Blanks between groups are plain ones: typographic blanks do not print everywhere.
Example: `find_locale("de_DE")` writes 1234.5 as `1.234,5` and 2025-01-31 as `31.01.2025`.
Reference: Unicode CLDR, number symbols and short dates with four digits of the year.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from constat.frozen import frozen
from constat.patterns import regex

_GROUP: Final = 3
_LONGEST: Final = 1_000
"""Characters of a number at most."""
_LIKE_A_NUMBER: Final = regex(r"[+-]?\d+(?:\.\d+)?\Z", re.ASCII)
_ACCOUNTED: Final = regex(r"(?:\((\d[^()+-]*)\)|(\d[^()+-]*)-)\Z", re.ASCII)
# A unit stands on one side: `$-5`, `-$5`, `($5)`, `5 %`, `5-EUR` are such, `$5 USD` is none.
_UNIT: Final = r"[^\d\s().,'+-][^\d().,'+-]{0,18}"
_PARTS: Final = regex(
    rf"(?P<open>\(?)(?P<sign>[+-]?)(?P<before>(?:{_UNIT})?)(?(before)\s?)"
    rf"(?P<number>[+-]?\d(?:[\d.,' ]*\d)?-?)\s?(?P<behind>(?:{_UNIT})?)(?P<close>\)?)\Z"
)
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d{2}(?::\d{2}(?:\.\d{1,6})?)?)"
_BLANKS: Final = MappingProxyType(str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'"}))


@frozen
class Locale:
    """A locale; `group` stands between groups of digits from `least` digits on.

    `day` is the order of a date, with `Y`, `m` and `d`. `groups` is the size of the groups behind
    the first three digits.
    """

    name: str
    group: str
    mark: str
    day: str
    groups: int = _GROUP
    least: int = 4

    @property
    def language(self) -> str:
        """The language: `de` of `de_DE`."""
        return self.name.partition("_")[0]

    def number(self, number: Decimal) -> str:
        """Write a number with groups; the digits behind the point are all there."""
        # `abs` would round to the digits of the context.
        whole, _, part = f"{number.copy_abs():f}".partition(".")
        sign = "-" if number < 0 else ""
        shown = self._grouped(whole) if len(whole) >= self.least else whole
        return f"{sign}{shown}{self.mark}{part}" if part else f"{sign}{shown}"

    def plain(self, text: str) -> str:
        """Write a number that is a text already, with the mark of this locale."""
        return text.replace(".", self.mark)

    def date(self, text: str) -> str:
        """Write a day, given as `YYYY-MM-DD`."""
        year, month, day = text.split("-")
        return self.day.replace("Y", year).replace("m", month).replace("d", day)

    def moment(self, text: str) -> str:
        """Write a time, given as a `Timestamp` for people: the day, then the time in UTC."""
        day, _, time = text.removesuffix("Z").partition("T")
        clock, _, fraction = time.partition(".")
        return f"{self.date(day)} {clock}{self.mark + fraction if fraction else ''} UTC"

    def read(self, words: str, unit: str = "") -> str:
        """Spell a number or a day of this locale plainly; everything else stays as it is.

        Where there is a unit only numbers with it are read.
        """
        if len(words) > _LONGEST:
            return words
        number = self.read_number(without_unit(words, unit))
        if unit:
            return number or _marked(words, f"has no {unit}")
        return self.read_day(words) or number or self.foreign(words)

    def read_number(self, words: str) -> str:
        """Spell a number of this locale plainly: `1.234,5` is `1234.5`; empty where it is none.

        A number in parentheses, or with the minus behind it, is negative.
        """
        spelled = _signed(words[: _LONGEST + 1].translate(_BLANKS))
        found = _number_form(self.group, self.mark).match(spelled)
        if found is None:
            return ""
        whole = found[2].replace(self.group, "")
        # The spelling of the locale itself is the rule for where groups stand.
        threes = f"{int(whole):,}".replace(",", self.group)
        if self.group in found[2] and found[2] not in {self.number(Decimal(whole)), threes}:
            return ""
        return f"{found[1].replace('+', '')}{whole}" + (f".{found[3]}" if found[3] else "")

    def read_day(self, words: str) -> str:
        """Spell a day of this locale as `YYYY-MM-DD`; empty where it is none.

        A time of day may stand behind it, from 0 to 23 hours, and stays.
        """
        found = _day_form(self.day).match(words.strip())
        if found is None:
            return ""
        time = f" {int(found['hour']):02}:{found['minute']}" if found["hour"] else ""
        return f"{found['Y']}-{int(found['m']):02}-{int(found['d']):02}{time}"

    def foreign(self, words: str) -> str:
        """Say of what looks like a number, and is none of this locale, that it is none."""
        return _marked(words, f"is not written as in {self.name}")

    def _grouped(self, digits: str) -> str:
        head, parts = digits[:-_GROUP], [digits[-_GROUP:]]
        while head:
            head, last = head[: -self.groups], head[-self.groups :]
            parts.append(last)
        return self.group.join(reversed(parts))


@lru_cache(maxsize=64)
def _number_form(group: str, mark: str) -> re.Pattern[str]:
    """Compile what numbers of a locale look like: each cell of a file is held against it."""
    group, mark = re.escape(group), re.escape(mark)
    groups = rf"\d{{1,3}}(?:{group}\d{{2,3}})*{group}\d{{3}}"
    return re.compile(rf"([+-]?)({groups}|\d+)(?:{mark}(\d+))?\Z", re.ASCII)


@lru_cache(maxsize=64)
def _day_form(day: str) -> re.Pattern[str]:
    names = {"Y": r"(?P<Y>\d{4})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})"}
    form = "".join(names.get(letter, re.escape(letter)) for letter in day)
    return re.compile(rf"{form}(?:,? +{_TIME})?\Z", re.ASCII)


def without_unit(words: str, unit: str) -> str:
    """Take the unit away that stands before or behind a number; empty where there is none."""
    if not unit:
        return words
    found = _PARTS.match(words.translate(_BLANKS).strip())
    if found is None or found["before"].strip() + found["behind"].strip() != unit:
        return ""
    return f"{found['open']}{found['sign']}{found['number']}{found['close']}"


def unit_of(words: str) -> str:
    """Give what stands before or behind a number: `$` of `($1,200)`; empty where nothing does."""
    found = _PARTS.match(words[: _LONGEST + 1].translate(_BLANKS).strip())
    return found["before"].strip() + found["behind"].strip() if found is not None else ""


def _signed(spelled: str) -> str:
    """Write the minus of accountants in front: `(5)` and `5-` are `-5`."""
    found = _ACCOUNTED.match(spelled)
    return f"-{found[1] or found[2]}" if found is not None else spelled


def _marked(words: str, why: str) -> str:
    return f"{words} {why}" if _LIKE_A_NUMBER.match(words) else words


# Poland, Portugal and Spain write no group in numbers of four digits.
LOCALES: Final = (
    Locale("cs_CZ", " ", ",", "d. m. Y"),
    Locale("da_DK", ".", ",", "d.m.Y"),
    Locale("de_AT", ".", ",", "d.m.Y"),
    Locale("de_CH", "'", ".", "d.m.Y"),
    Locale("de_DE", ".", ",", "d.m.Y"),
    Locale("en_CA", ",", ".", "Y-m-d"),
    Locale("en_GB", ",", ".", "d/m/Y"),
    Locale("en_IE", ",", ".", "d/m/Y"),
    Locale("en_IN", ",", ".", "d/m/Y", groups=2),
    Locale("en_US", ",", ".", "m/d/Y"),
    Locale("es_ES", ".", ",", "d/m/Y", least=5),
    Locale("fi_FI", " ", ",", "d.m.Y"),
    Locale("fr_CH", " ", ",", "d.m.Y"),
    Locale("fr_FR", " ", ",", "d/m/Y"),
    Locale("it_CH", "'", ".", "d.m.Y"),
    Locale("it_IT", ".", ",", "d/m/Y"),
    Locale("ja_JP", ",", ".", "Y/m/d"),
    Locale("ko_KR", ",", ".", "Y. m. d."),
    Locale("nb_NO", " ", ",", "d.m.Y"),
    Locale("nl_NL", ".", ",", "d-m-Y"),
    Locale("pl_PL", " ", ",", "d.m.Y", least=5),
    Locale("pt_BR", ".", ",", "d/m/Y"),
    Locale("pt_PT", " ", ",", "d/m/Y", least=5),
    Locale("sv_SE", " ", ",", "Y-m-d"),
    Locale("zh_CN", ",", ".", "Y/m/d"),
)


PLAIN: Final = Locale("plain", "", ".", "Y-m-d")
"""How numbers and days are spelled where nothing else is said: `1234.5` and `2025-01-31`."""


def find_locale(name: str) -> Locale | None:
    """Return a locale; `de-DE` is the same as `de_DE`."""
    return {one.name: one for one in LOCALES}.get(name.replace("-", "_"))
