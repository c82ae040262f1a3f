"""How proofs speak: the language of templates, and how numbers and days are written.

In: a locale, or none.  Out: ``Speech``.  Invariant: the process's own locale plays no part; without
one numbers have commas between thousands and days are as in ISO 8601.

Example: in ``de_DE`` the template of ``@[says(de = "...")]`` comes before that of ``@[says]``, and
150000 is ``150.000``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.logic import LOCALES, Attributes, Kind, NullCell, Open, display_value, find_locale

if TYPE_CHECKING:
    from constat.logic import Column, Locale, Slot

# A year or a number that only names something is not written with separators.
_NAMING: Final = re.compile(r"(^|_)(id|ids|key|no|nr|number|code|year|zip)$", re.IGNORECASE)
_GROUPED_FROM: Final = 1_000


# What a column can say of how its values are written.
STYLES: Final = ("id", "percent", "places", "unit", "year")
_NAMES: Final = frozenset({"id", "year"})
_NO_STYLE: Final[Attributes] = MappingProxyType({})


class Measured(str):
    """A value with its unit; ``bare`` is for a template that has the unit beside it already."""

    __slots__ = ("bare", "unit")
    bare: str
    unit: str

    def __new__(cls, bare: str, unit: str) -> Self:
        """Put a sign such as ``$`` before the value, and a word behind it."""
        sign = not any(one.isalnum() or one.isspace() for one in unit) and unit != "%"
        minus = "-" if sign and bare.startswith("-") else ""
        told = f"{minus}{unit}{bare.removeprefix('-')}" if sign else f"{bare} {unit}"
        found = super().__new__(cls, told)
        found.bare, found.unit = bare, unit
        return found


def style_of(column: Column) -> Attributes:
    """Return what a column says of how its values are written."""
    if not column.attributes:
        return _NO_STYLE
    return {key: column.attributes[key] for key in STYLES if key in column.attributes}


def _placed(number: Decimal, places: str, shift: int = 0) -> Decimal:
    """Return a number moved by so many places, with at least ``places``: no digit is lost."""
    # Digit by digit: arithmetic would round to the digits of the context.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return number
    lowest = min(exponent + shift, 0, -int(places) if places.isdecimal() else 0)
    return Decimal((sign, (*digits, *(0,) * (exponent + shift - lowest)), lowest))


@dataclass(frozen=True, slots=True)
class Speech:
    """Writes values for people; ``locale`` is empty for the spelling that no place has."""

    locale: Locale | None = None

    def template(self, attributes: Attributes, form: str) -> str | None:
        """Return a template: ``says``, ``says_not`` or ``says_unknown``, in the language if any."""
        if self.locale is not None:
            found = attributes.get(f"{form}.{self.locale.language}")
            if found is not None:
                return found
        return attributes.get(form)

    def value(self, slot: Slot, kind: Kind, name: str = "", style: Attributes = _NO_STYLE) -> str:
        """Write a value; ``name`` is the column or variable it stands in.

        ``style`` has the attributes of its column: ``unit``, ``places``, ``percent``, ``id`` and
        ``year`` say how it is written.
        """
        if isinstance(slot, Open):
            return "something unknown"
        shown = display_value(slot, kind)
        cell: object = slot
        if isinstance(cell, NullCell):
            return shown
        if kind.numeric and (_NAMING.search(name) or not style.keys().isdisjoint(_NAMES)):
            return shown
        if style and kind.numeric:
            number = Decimal(shown if kind is Kind.FLOAT else slot)
            hundredfold = 2 if "percent" in style else 0
            return self._measured(_placed(number, style.get("places", ""), hundredfold), style)
        spelled = (
            self._plain(slot, kind, shown)
            if self.locale is None
            else _local(self.locale, slot, kind, shown)
        )
        return self._with_unit(spelled, style) if style else spelled

    def _measured(self, number: Decimal, style: Attributes) -> str:
        """Write a number in the style of its column."""
        if self.locale is not None:
            spelled = self.locale.number(number)
        else:
            spelled = f"{number:,f}" if abs(number) >= _GROUPED_FROM else f"{number:f}"
        return f"{spelled}%" if "percent" in style else self._with_unit(spelled, style)

    @staticmethod
    def _with_unit(spelled: str, style: Attributes) -> str:
        unit = style.get("unit", "")
        return Measured(spelled, unit) if unit else spelled

    @staticmethod
    def _plain(slot: Slot, kind: Kind, shown: str) -> str:
        if not kind.numeric or kind is Kind.FLOAT:
            return shown
        number = Decimal(slot)  # type: ignore[arg-type]  # no open slot is left
        return f"{number:,f}" if abs(number) >= _GROUPED_FROM else shown


def _local(locale: Locale, slot: Slot, kind: Kind, shown: str) -> str:
    match kind:
        case Kind.FLOAT:
            return locale.plain(shown)
        case Kind.DATE:
            return locale.date(shown)
        case Kind.TIMESTAMP:
            return locale.moment(shown)
        case _ if kind.numeric:
            return locale.number(Decimal(slot))  # type: ignore[arg-type]  # no open slot is left
        case _:
            return shown


PLAIN: Final = Speech()


def speech_in(name: str) -> Speech:
    """Return the speech of a locale, the plain one of no name; ``ConstatError`` for others."""
    if not name:
        return PLAIN
    found = find_locale(name)
    if found is None:
        known = [one.name for one in LOCALES]
        near = nearest(name, known)
        help_ = f"write `{near}`" if near else f"known: {', '.join(known)}"
        raise ConstatError([Diagnostic("C0790", "this locale is not known", help=help_)])
    return Speech(found)
